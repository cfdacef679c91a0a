"""Which endpoint gets a request, how it is spoken to, and for how long.

    backend_protocols.py ──▶ fastcgi.py     the protocol and TLS; what programs of FastCGI are told
    balancing.py, affinity.py, canaries.py  which endpoint, and of which backend
    cluster_ips.py                          the Service as a whole instead
    timeouts.py, retries.py                 how long, and when another one is tried

Most are settings of the route, of which the proxy makes what it does anyway; no filters.
"""
