"""What the API server says about an object apart from what it asks for: identity and status.

The metadata is kept beside the value of an object and never is part of it: when only the
metadata changes, nothing has to be translated.  It is for those who report back to the
cluster.

Sources: ``metadata.uid``, ``metadata.managedFields``, ``status.loadBalancer`` of Ingress
and Service, ``status`` of other kinds, and ``metav1.Condition``.
"""

from typing import NamedTuple

from ingress.model.cluster.gateway_services import GatewayService


class Address(NamedTuple):
    """Where traffic for an Ingress goes: an IP address or, where *ip* is empty, a host name."""

    ip: str = ""
    hostname: str = ""

    def __str__(self) -> str:
        return self.ip or self.hostname


class Condition(NamedTuple):
    """One entry of ``status.conditions`` (``metav1.Condition``): what somebody says about an object."""

    type: str
    status: str = "True"
    """``True``, ``False`` or ``Unknown``."""
    reason: str = ""
    """One word for programs, CamelCase."""
    message: str = ""
    generation: int = 0
    """``observedGeneration``: which desired state this is about; 0 when the object has none."""
    since: str = ""
    """``lastTransitionTime``: since when the status is what it is, RFC 3339."""


class SeenStatus(NamedTuple):
    """The status of an object as the API server showed it last, and what a write of it needs."""

    text: bytes | None = b""
    """JSON, word for word, since what others wrote there has to stay; empty for none, None for what is no JSON."""
    generation: int = 0
    """``metadata.generation``, which counts changes of the desired state."""
    version: str = ""
    """``metadata.resourceVersion``: a list is replaced as a whole, so whoever was faster must be seen first."""


class ObjectMeta(NamedTuple):
    """What is known of one object by its *uid*."""

    uid: str = ""
    addresses: tuple[Address, ...] = ()
    """``status.loadBalancer.ingress`` of an Ingress or a Service, in its order, without ports."""
    external_ips: tuple[str, ...] = ()
    """``spec.externalIPs`` of a Service."""
    writer: str = ""
    """The field manager that wrote the addresses of an Ingress, or the conditions of an object, all
    of them when they are several; empty when the object does not say."""
    seen: SeenStatus | None = None
    """The status, for a kind in which we write more than addresses."""
    applied: GatewayService | None = None
    """Of a Service that is kept for a Gateway, what is as we applied it."""


NO_META = ObjectMeta()
