"""The tables of Gateways: which routes each host has, as the Gateway API says, and which of several objects has precedence.

    readers ──▶ GatewayClaims ──▶ hosts of a table ──▶ matches in order of precedence ──▶ HostRoutes
                claims.py         kind_conflicts.py     host_routes.py
                                                   └──▶ one route for each host of TCP or TLS ──▶ StreamRoute
                                                        streams.py

    GatewayTls ──▶ Secrets and ConfigMaps ──▶ certificates and settings of each hostname
    handshake_requests.py                     handshakes.py, handshake_cache.py

``table.py`` makes a table as a whole, ``table_cache.py`` keeps one up to date, host by host.  How endpoints are spoken to is asked
for by Services (``app_protocols.py``) and by policies about them (``backend_policies.py``); ``faults.py`` is what is wrong with either.

What is told of all that: which hosts are an Ingress's on a shared port (``side_by_side.py``), how many routes each listener has
(``attached_routes.py``), which Gateways lead to a Service (``gateways_of_services.py``).
"""
