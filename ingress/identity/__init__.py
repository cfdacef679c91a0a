"""Who a certificate is for, which names handshakes go by, and where a request does not belong."""
