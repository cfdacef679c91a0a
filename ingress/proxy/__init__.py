"""Where requests go through, from the socket of a client to that of an endpoint and back.

Read the rooms in this order; each imports only those before it, and the tables of ``docs/architecture.md`` say so:
``contract`` (what they promise each other), ``transport`` (bytes on sockets), ``upstream`` (connections to endpoints),
``exchange`` (one request with its answer, its filters and attempts), ``dispatch`` (where it goes), ``downstream``
(connections of clients) and ``listening`` (listeners, and what connections begin with).
"""
