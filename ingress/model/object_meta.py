"""What the API server says about an object apart from what it asks for: identity and status.

The metadata is kept beside the value of an object and never is part of it: when only the
standing changes, nothing has to be translated.  It is for those who report back to the
cluster.

Sources: ``metadata.uid``, ``metadata.managedFields``, and ``status.loadBalancer`` of Ingress
and Service.
"""

from typing import NamedTuple


class Address(NamedTuple):
    """Where traffic for an Ingress goes: an IP address or, where *ip* is empty, a host name."""

    ip: str = ""
    hostname: str = ""

    def __str__(self) -> str:
        return self.ip or self.hostname


class ObjectMeta(NamedTuple):
    """What is known of one object by its *uid*."""

    uid: str = ""
    addresses: tuple[Address, ...] = ()
    """``status.loadBalancer.ingress`` of an Ingress or a Service, in its order, without ports."""
    external_ips: tuple[str, ...] = ()
    """``spec.externalIPs`` of a Service."""
    writer: str = ""
    """The field manager that wrote the addresses of an Ingress, all of them when they are
    several; empty when the object does not say."""


NO_META = ObjectMeta()
