"""The kinds of the Gateway API: Gateways with their listeners, and the routes that attach to these.

    GatewayClass ◀── Gateway ◀── ListenerSet          who listens where            gateways.py
                        ▲             ▲
                        └── parentRefs ┘
         HTTPRoute, GRPCRoute, TLSRoute, TCPRoute     what goes where              routes.py
                        │
                    backendRefs ──▶ Service ◀── BackendTLSPolicy                   policies.py

    ReferenceGrant, Namespace                         who may refer to whom        grants.py

These modules have what is kept of the objects, as it was written; defaults of the API are filled in, since manifests lack them.
The *topology* (``topology.py``, made by ``topology_of`` in ``working_out.py``) is what Gateways, their classes and ListenerSets come to together: the listeners that there are,
their tables, and which route attaches to which of them.  It is worked out once for all readers until one of these objects changes.

What becomes of all these is said in their statuses (``statuses/``): GatewayClasses have the list of what is served (``features.py``).

Source: https://gateway-api.sigs.k8s.io, version 1.6 (``gateway.networking.k8s.io/v1``).
"""
