"""What Services say in ``appProtocol`` of how their ports are spoken to, as far as routes of Gateways cannot follow it.

``kubernetes.io/h2c`` is HTTP/2 in the clear, ``kubernetes.io/ws`` HTTP/1.1, as anything that is not known; ``kubernetes.io/wss`` and ``https`` are
spoken over TLS, for which a BackendTLSPolicy has to say whom to trust.  gRPC is HTTP/2, and no WebSocket.

Source: GEP-1911, and ``HTTPBackendRef`` of ``gateway.networking.k8s.io/v1``.
"""

from typing import Final

from ingress.model.cluster.objects import Service, ServicePort

_OVER_TLS: Final = frozenset(("https", "kubernetes.io/wss"))
_WEBSOCKETS: Final = frozenset(("kubernetes.io/ws", "kubernetes.io/wss"))


def app_protocol_fault(port: ServicePort | None, *, is_grpc: bool, has_tls: bool) -> str:
    """Say why requests cannot be sent to *port*, the rest of a sentence about its Service; empty where they can."""
    said = "" if port is None else port.app_protocol
    if is_grpc and said in _WEBSOCKETS:
        return f"says appProtocol {said}, which gRPC is not spoken by"
    if said in _OVER_TLS and not has_tls:
        return (
            f"says appProtocol {said}, which is spoken over TLS, and no BackendTLSPolicy says whom to trust"
        )
    return ""


def needs_policy(service: Service | None) -> bool:
    """Whether *service* has a port to which nothing can be sent without a BackendTLSPolicy."""
    return service is not None and any(port.app_protocol in _OVER_TLS for port in service.ports)
