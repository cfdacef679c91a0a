"""``ingressctl``: what its commands decide, print, and end with."""
