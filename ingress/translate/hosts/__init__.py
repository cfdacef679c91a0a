"""The tables of Ingresses, host by host: who is heard of a host, which routes it has, what is closed, and what its handshakes go by."""
