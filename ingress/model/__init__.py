"""Values that every room shares.

    serving/ ─────▶ upstream/ ◀───── exchanges/        what the proxy goes by, where routes lead, and what became of requests
       │             │     │          │      │
       │             ▼     ▼          ▼      │
       │       requests/  cluster/ ◀─────────│──── reporting/   what requests say, what the cluster has, and what it is told
       │             │     │                 │
       ▼             ▼     ▼                 ▼
    observability/   text/             network/                what whoever watches sees; expressions of tenants; addresses

    every one of them stands on   frozen.py (what a value is), shared_map.py (a mapping with successors),
                                  stepwise.py (what is found out in steps)

Nothing here does I/O, reads a clock, or imports another room of the house.
"""
