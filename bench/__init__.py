"""The benchmarks: what a request costs here and in other proxies, and whatever else has a price.

``make bench`` and ``make bench-quick`` run this package itself; ``docs/performance.md`` says how it measures and what
came out.  ``make bench-NAME`` runs the module that is called ``NAME``, in the room of what it is about.  A room imports
from those above it in this list alone.  First what all are made of:

- ``setup``: processes and how they end, certificates, other commits, what is chosen of all that could be measured;
- ``loads``: what is asked, and the programs that ask it;
- ``endpoints``: who answers behind the proxies;
- ``peers``: the proxies, ours and others: how they are installed, configured and started;
- ``measuring``: rounds, counters and gauges, and the statistics of them;
- ``reports``: tables, plots, ``results.json``.

Then what is measured:

- ``connections``: what accepting, handshakes and datagrams cost;
- ``cluster``: what a large cluster costs: 10,000 Ingresses, their memory, their pages;
- ``requests``: what one request costs, how long it takes, and what becomes of too many;
- ``features``: what is added by what a route asks for, from a limit to PHP;
- ``disruptions``: what clients lose while something breaks, restarts or is replaced.

It is no part of what is installed.  Nothing here is imported by ``ingress``, and other proxies are only ever met over
their sockets.
"""
