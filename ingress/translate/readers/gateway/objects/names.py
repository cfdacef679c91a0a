"""The names of the kinds and of the group, and references to objects by group, kind, namespace and name."""

from typing import Final, NamedTuple

from ingress.model.cluster.objects import Kind, ObjectKey

GROUP: Final = "gateway.networking.k8s.io"

GATEWAY_CLASS: Final = Kind("GatewayClass")
GATEWAY: Final = Kind("Gateway")
LISTENER_SET: Final = Kind("ListenerSet")
HTTP_ROUTE: Final = Kind("HTTPRoute")
GRPC_ROUTE: Final = Kind("GRPCRoute")
TLS_ROUTE: Final = Kind("TLSRoute")
TCP_ROUTE: Final = Kind("TCPRoute")
UDP_ROUTE: Final = Kind("UDPRoute")
REFERENCE_GRANT: Final = Kind("ReferenceGrant")
BACKEND_TLS_POLICY: Final = Kind("BackendTLSPolicy")
NAMESPACE: Final = Kind("Namespace")
DEFINITION: Final = Kind("CustomResourceDefinition")


class ObjectReference(NamedTuple):
    """A reference to one object; *namespace* is empty where none was written, which means that of the object that refers."""

    group: str
    kind: str
    namespace: str
    name: str

    def key(self, of: ObjectKey) -> ObjectKey:
        """Return what it refers to, in an object *of* that key."""
        return ObjectKey(self.namespace or of.namespace, self.name)

    def __str__(self) -> str:
        kind = f"{self.kind}.{self.group}" if self.group else self.kind
        return f"{kind} {self.namespace}/{self.name}" if self.namespace else f"{kind} {self.name}"


UNREADABLE: Final = ObjectReference("", "Invalid", "", "")
"""What stands where a reference could not be read: nothing is of that kind."""
