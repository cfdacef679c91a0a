"""Client certificates: the ``auth-tls-...`` annotations, and the check of what the handshake found out."""
