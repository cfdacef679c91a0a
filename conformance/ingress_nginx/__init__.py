"""The same objects and requests to the real ingress-nginx and to ours, and what is different between the two."""
