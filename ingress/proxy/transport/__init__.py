"""Bytes on sockets: accepting, connecting, resolving, handshakes.  Knows no HTTP."""
