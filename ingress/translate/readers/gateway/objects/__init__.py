"""What is kept of the objects of the Gateway API, as it was written.

    GatewayClass ◀── Gateway ◀── ListenerSet          who listens where            gateways.py
                        ▲             ▲
                        └── parentRefs ┘
         HTTPRoute, GRPCRoute,                        what goes where              routes.py
         TLSRoute, TCPRoute, UDPRoute
                        │
                    backendRefs ──▶ Service ◀── BackendTLSPolicy                   policies.py

    ReferenceGrant, Namespace                         who may refer to whom        grants.py
    CustomResourceDefinition                          which of them there are      definitions.py

All refer to each other by what is in names.py.
"""
