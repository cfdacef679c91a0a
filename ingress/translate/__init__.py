"""Cluster objects to routes, certificates and problems.  Pure and total.

Nothing here fetches, waits or raises for what a user wrote.  ``translate`` remembers
nothing; ``incremental`` remembers what it has worked out, and comes to the same result.

    readers/         what one object asks for, by kind             claims.py
    hosts/           the tables of Ingresses, host by host         decision.py
    gateway/         the tables of Gateways                        table.py
    endpoints/       where backends are                            backends.py
    tls/             what handshakes show and ask for              certificates.py, client_authentication.py, authorities.py
    caches/          what ``incremental`` remembers                table_cache.py, backend_cache.py
    reports.py       what statuses and Events say of it
"""
