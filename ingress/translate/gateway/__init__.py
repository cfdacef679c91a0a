"""The tables of Gateways: which routes each host has, as the Gateway API says, and which of several objects has precedence.

    readers ──▶ GatewayClaims ──▶ hosts of a table ──▶ matches in order of precedence ──▶ HostRoutes
                claims.py         kind_conflicts.py     host_routes.py

``table.py`` makes a table as a whole, ``table_cache.py`` keeps one up to date, host by host; ``attached.py`` counts the routes that
each listener has.

    GatewayTls ──▶ Secrets and ConfigMaps ──▶ certificates and settings of each hostname
    handshake_requests.py                     handshakes.py, handshake_cache.py
"""
