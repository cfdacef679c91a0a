"""The same requests to two controllers, and where their answers differ: for who moves from ingress-nginx."""
