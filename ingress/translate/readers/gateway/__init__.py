"""The kinds of the Gateway API: Gateways with their listeners, and the routes that attach to these.

    GatewayClass ◀── Gateway ◀── ListenerSet          who listens where            gateways.py
                        ▲             ▲
                        └── parentRefs ┘
         HTTPRoute, GRPCRoute,                        what goes where              routes.py
         TLSRoute, TCPRoute, UDPRoute
                        │
                    backendRefs ──▶ Service ◀── BackendTLSPolicy                   policies.py

    ReferenceGrant, Namespace                         who may refer to whom        grants.py
    CustomResourceDefinition                          which of them there are      definitions.py

These modules have what is kept of the objects, as it was written; ``projection/`` makes that of raw objects, and fills in the
defaults of the API, since manifests lack them.  ``kinds.py`` has a row for each kind.

The *topology* (``topology.py``) is what Gateways, their classes and ListenerSets come to together: the listeners that there are,
their tables, and which route attaches to which of them (``attachments.py``).  ``topology_of`` of ``topology_making.py`` works it out once
for all readers, until one of these objects changes:

    which are ours, and where each is reached         addresses.py, ports.py
    what makes sense of a listener by itself          listener_checks.py, listener_references.py
    who has which port and hostname                   conflicts.py, hostnames.py
    whom they take, and who may refer to whom         selecting.py, permissions.py

Readers say what an object asks for by then:

    gateway_class_reader.py                           nothing; of which version the definitions are
    gateway_reader.py, listener_set_reader.py         listener_reading.py, gateway_tls.py
    http_route_reader.py, stream_route_reader.py      route_relations.py, and then, by rule:
        HTTPRoute, GRPCRoute: http_routes.py          match_reading.py, rule_reading.py, filter_reading.py, rule_times.py
        TLSRoute, TCPRoute, UDPRoute:                 stream_routes.py, rule_reading.py
    policy_reader.py                                  which authorities are needed

What is not ours says nothing of itself in the cluster; not_ours.py says why that is, to whoever asks.

What of several objects has precedence is decided in ``ingress.translate.gateway``.  What became of an object is said in its status
(``statuses/``); ``undone.py`` says which problems keep what a route asks for from being done, ``features.py`` what is served at all.

Source: https://gateway-api.sigs.k8s.io, version 1.6 (``gateway.networking.k8s.io/v1``).
"""
