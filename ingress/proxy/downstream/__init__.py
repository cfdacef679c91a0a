"""Connections of clients: HTTP/1.1 and HTTP/2 as sides of exchanges."""
