"""Streams on real sockets: bytes of which no request is read, and datagrams."""
