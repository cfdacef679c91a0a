"""HTTP/2 in the proxy: how a connection comes to speak it, and its sessions and streams as halves of exchanges."""
