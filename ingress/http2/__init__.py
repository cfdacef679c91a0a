"""HTTP/2 as bytes (RFC 9113, RFC 7541): fields, frames, windows, and what a peer may do.

Pure, for both roles: the proxy answers clients as a server and asks endpoints as a client.
"""
