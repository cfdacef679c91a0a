"""The benchmarks: what a request costs here and in other proxies, and what everything else costs that has a price.

``make bench`` and ``make bench-quick`` run this package itself; ``docs/performance.md`` says how it measures and what
came out.  ``make bench-NAME`` runs the module called ``NAME``, in the room of what it is about:

- ``requests``: what one request costs, how long it takes, and what becomes of too many;
- ``features``: what is added by what a route asks for, from a limit to PHP;
- ``connections``: accepting, handshakes and datagrams;
- ``cluster``: what a large cluster costs: 10,000 Ingresses, their memory, their pages;
- ``disruptions``: what is lost while something breaks, restarts or is replaced.

What they are made of has rooms below these, each knowing only those before it: ``setup``, ``loads``, ``endpoints``,
``peers``, ``measuring``, ``reports``.

It is no part of what is installed.  Nothing here is imported by ``ingress``, and other proxies are only ever met over
their sockets.
"""
