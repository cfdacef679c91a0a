"""A route: one entry of the table, and the values that say what it matches."""

from enum import Enum

from attrs import frozen

from ingress.model.backends import BackendReference
from ingress.model.objects import ObjectKey
from ingress.model.policy import Policy


class Match(Enum):
    """How the path of a route is compared (``HTTPIngressPath.pathType``)."""

    EXACT = "Exact"
    PREFIX = "Prefix"
    """Element by element; ImplementationSpecific is read as this."""


@frozen(weakref_slot=False)
class Route:
    """What is matched, which Ingress asked for it, and where it leads.

    *host* is lower case, ``*.example.com`` for a wildcard, empty for all hosts.
    *path* is as the Ingress wrote it, ``/`` where it wrote none.
    """

    host: str
    path: str
    match: Match
    ingress: ObjectKey | None
    """None for the controller's own default backend."""
    backend: BackendReference
    policies: tuple[Policy, ...] = ()
    max_body_bytes: int = 0
    """Largest request body that is passed on; 0 means no limit."""
