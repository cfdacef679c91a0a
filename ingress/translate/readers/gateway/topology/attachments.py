"""Where a route attaches: which listeners take it, under which hosts, and why others do not.  Plain values.

The topology (``topology.py``) makes them of a route's ``parentRefs``; readers of routes make routes of them, and status conditions.
"""

from typing import Final, NamedTuple

from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.cluster.problems import Reason
from ingress.model.frozen import frozen
from ingress.model.network.streams import StreamSort
from ingress.translate.readers.gateway.objects.gateways import AllowedNamespaces, ListenerTls
from ingress.translate.readers.gateway.objects.routes import ParentReference

_SORTS: Final = {"TCP": StreamSort.TCP, "UDP": StreamSort.UDP, "HTTPS": StreamSort.REQUESTS}


@frozen(weakref_slot=False)
class ListenerCertificate:
    """A Secret that a listener may show the certificate of: its kind is known, and it is permitted."""

    secret: ObjectKey
    field: str
    """Where it is named: ``spec.listeners[0].tls.certificateRefs[0]``."""


class BackendCertificate(NamedTuple):
    """What a Gateway shows to endpoints that ask for a certificate; *fault* says why it may not be."""

    secret: ObjectKey
    fault: str = ""


@frozen(weakref_slot=False)
class ListenerState:
    """What became of a listener of a Gateway or of a ListenerSet."""

    owner: Owner
    """The object that has it."""
    gateway: Owner
    """The Gateway that it belongs to."""
    name: str
    port: int
    protocol: str
    hostname: str
    """In lower case, ``*.example.com`` for a wildcard, empty for all hosts."""
    kinds: tuple[Kind, ...]
    """The kinds of routes that it takes."""
    table: str
    """The name of the table of its address and port; empty where nothing is served, since it is no usable listener."""
    field: str
    """Where it stands in its object."""
    tls: ListenerTls | None = None
    namespaces: AllowedNamespaces = AllowedNamespaces("Same")
    """Whose routes it takes; those of the namespace of *owner* are the same."""
    is_accepted: bool = True
    """Whether it makes sense, and no other has its port and hostname before it."""
    certificates: tuple[ListenerCertificate, ...] = ()
    """Those that it may show, in order, whether they are there or not."""
    backend_certificate: BackendCertificate | None = None
    """What its Gateway shows to endpoints; None for nothing."""

    @property
    def stream_sort(self) -> StreamSort | None:
        """What becomes of its connections, or datagrams, as far as server names decide, or nothing but the port; None for plain requests."""
        if self.protocol == "TLS":
            is_passed = self.tls is not None and self.tls.mode == "Passthrough"
            return StreamSort.PASSTHROUGH if is_passed else StreamSort.TERMINATED
        return _SORTS.get(self.protocol)

    @property
    def is_served(self) -> bool:
        """Whether requests come by it."""
        return bool(self.table)


@frozen(weakref_slot=False)
class ListenerHosts:
    """A listener that takes a route, and the hosts of both: those of the one that the other has, too.

    A listener of the same address and port whose hostname says more of a host has it alone, so *hosts* may be none at all, though
    the route is attached.  They are written as in ``Route.host``.  A listener that is not served takes routes, too: it counts them.
    """

    listener: ListenerState
    hosts: tuple[str, ...]


@frozen(weakref_slot=False)
class Attachment:
    """What became of one entry of ``parentRefs``.

    *listeners* are those that take the route; without any, *reason* and *message* say why that is.  *gateway* is None where the
    parent is no Gateway of ours, or there is none: then nothing is told of it, since another controller may.
    """

    parent: ParentReference
    field: str
    """Where it stands: ``spec.parentRefs[0]``."""
    gateway: Owner | None
    listeners: tuple[ListenerHosts, ...] = ()
    reason: Reason | None = None
    message: str = ""
