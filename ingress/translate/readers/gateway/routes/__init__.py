"""The readers of routes: what these ask for, by the topology and rule by rule.

    http_route_reader.py      HTTPRoute, GRPCRoute            http_routes.py ─┬── match_reading.py
                                                                              │
    stream_route_reader.py    TLSRoute, TCPRoute, UDPRoute    stream_routes.py┴── rule_reading.py ─┬── filter_reading.py
                                                                                                   └── rule_times.py

    all of them: route_relations.py     where a route attaches, and which backends in other namespaces it may refer to

Which of several rules takes a request is decided in ``ingress.translate.gateway``.
"""
