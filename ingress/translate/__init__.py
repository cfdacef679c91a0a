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

Beside the rooms:

    ways in                 translate.py, incremental.py ──▶ snapshot.py  (self_check.py: whether both are the same)
    what decides            options.py, gateway_options.py, replicas.py
    objects and each other  age.py, ownership.py: who comes first, whose a host is
    what is referred to     found_references.py, absent_secrets.py; named_backends.py
    parts of Ingresses      annotation_reading.py, protocols.py
    what listens            listeners.py, port_services.py
"""
