"""Values that every room shares.

    exchanges/, serving/                what became of a request, and what the proxy goes by
      ▼
    upstream/, reporting/               where a route leads, and what the cluster is told
      ▼
    requests/, cluster/                 what a request says, and what is kept of the cluster
      ▼
    text/, network/, observability/     texts of tenants, addresses, and what whoever watches sees
      ▼
    frozen.py, shared_map.py,           what a value is, a mapping with successors, and what is found out in steps
    stepwise.py

Each floor knows those below it, and nothing beside it.
Nothing here does I/O, reads a clock, or imports another room of the house.
"""
