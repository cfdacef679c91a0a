"""Cluster objects to routes, certificates and problems.  Pure and total.

Nothing here fetches, waits or raises for what a user wrote.  ``translate`` remembers
nothing; ``incremental`` remembers what it has worked out, and comes to the same result.

    readers/         what one object asks for, by kind             claims.py
    deciding.py, merging.py, table_cache.py                        the tables of Ingresses, host by host
    gateway/         the tables of Gateways                        table.py, table_cache.py there
    backends.py, backend_cache.py, certificates.py, authorities.py what these lead to and are known by
    reports.py       what statuses and Events say of it
"""
