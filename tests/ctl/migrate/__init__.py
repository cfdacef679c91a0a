"""The report of a move from ingress-nginx."""
