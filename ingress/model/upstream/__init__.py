"""Where a route leads, and how its requests get there.

    backends.py ──▶ upstream_tls.py     the backend and its endpoints; the protocol and the TLS of connections to them
    balancing.py ──▶ affinity.py        which endpoint is taken; the cookie by which a client stays at one
    retries.py                          when another one is tried

Which endpoint has its turn is decided by ``ingress.routing.balancing``; here is what is asked for.
"""
