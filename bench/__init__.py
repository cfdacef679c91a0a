"""The benchmark: what a request costs here, in nginx, HAProxy, Caddy, Envoy, a Go proxy and stock Twisted.

``make bench`` and ``make bench-quick`` run it; ``docs/performance.md`` says how it
measures and what came out.  It is no part of what is installed.  Nothing here is
imported by ``ingress``, and the proxies are only ever met over their sockets.
"""
