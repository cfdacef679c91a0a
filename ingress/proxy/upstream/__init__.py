"""Connections to endpoints: HTTP/1.1 and HTTP/2, their pool, and the rotation of endpoints."""
