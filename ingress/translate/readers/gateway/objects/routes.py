"""The values that are kept of HTTPRoutes, GRPCRoutes, TLSRoutes, TCPRoutes and UDPRoutes, as they were written.

Types, values of enumerations and durations are as written, or what the API fills in where nothing is; whether they make
sense is for the readers.  An entry that could not be read at all is not dropped where its loss would widen the rest: it is
there with what no request meets, and *is_broken* says so.

Source: ``HTTPRoute``, ``GRPCRoute``, ``TLSRoute``, ``TCPRoute`` and ``UDPRoute`` of ``gateway.networking.k8s.io/v1``.
"""

from typing import ClassVar

from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.frozen import frozen
from ingress.translate.readers.gateway.objects.names import (
    GRPC_ROUTE,
    HTTP_ROUTE,
    TCP_ROUTE,
    TLS_ROUTE,
    UDP_ROUTE,
    ObjectReference,
)


@frozen(weakref_slot=False)
class ParentReference:
    """An entry of ``spec.parentRefs``; *section* is empty and *port* 0 where it names none."""

    parent: ObjectReference
    section: str = ""
    port: int = 0


@frozen(weakref_slot=False)
class BackendObject:
    """An object that requests are sent to, and its port; 0 where none was written."""

    target: ObjectReference
    port: int = 0


@frozen(weakref_slot=False)
class NamedMatch:
    """A header or query parameter, and the value that it has to have or be like."""

    name: str
    type: str
    """``Exact`` or ``RegularExpression``, or whatever else was written."""
    value: str


@frozen(weakref_slot=False, cache_hash=True)
class PathMatch:
    """``path`` of a match."""

    type: str = "PathPrefix"
    """``Exact``, ``PathPrefix`` or ``RegularExpression``, or whatever else was written."""
    value: str = "/"


@frozen(weakref_slot=False)
class HTTPMatch:
    """An entry of ``matches`` of an HTTPRoute; *method* is empty for all."""

    path: PathMatch = PathMatch()
    headers: tuple[NamedMatch, ...] = ()
    query: tuple[NamedMatch, ...] = ()
    method: str = ""
    is_broken: bool = False
    """Whether part of it could not be read: no request meets it."""


@frozen(weakref_slot=False)
class MethodMatch:
    """``method`` of a match of a GRPCRoute; either may be empty for all."""

    type: str = "Exact"
    service: str = ""
    method: str = ""


@frozen(weakref_slot=False)
class GRPCMatch:
    """An entry of ``matches`` of a GRPCRoute."""

    method: MethodMatch | None = None
    headers: tuple[NamedMatch, ...] = ()
    is_broken: bool = False


@frozen(weakref_slot=False)
class HeaderEdits:
    """``requestHeaderModifier`` or ``responseHeaderModifier``: fields to set, to add and to remove."""

    put: tuple[tuple[str, str], ...] = ()
    add: tuple[tuple[str, str], ...] = ()
    drop: tuple[str, ...] = ()


@frozen(weakref_slot=False)
class PathEdit:
    """``path`` of a redirect or of a rewrite."""

    type: str
    """``ReplaceFullPath`` or ``ReplacePrefixMatch``, or whatever else was written."""
    value: str


@frozen(weakref_slot=False)
class RequestRedirect:
    """``requestRedirect``; empty, None or 0 keep what the request has."""

    scheme: str = ""
    hostname: str = ""
    path: PathEdit | None = None
    port: int = 0
    status: int = 302


@frozen(weakref_slot=False)
class URLRewrite:
    """``urlRewrite``; empty or None keep what the request has."""

    hostname: str = ""
    path: PathEdit | None = None


@frozen(weakref_slot=False)
class RequestMirror:
    """``requestMirror``: a copy of *numerator* of *denominator* requests goes to *backend*."""

    backend: BackendObject
    numerator: int = 1
    denominator: int = 1


@frozen(weakref_slot=False)
class CORS:
    """``cors``."""

    origins: tuple[str, ...] = ()
    credentials: bool = False
    methods: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    max_age: int = 5
    """Seconds."""


@frozen(weakref_slot=False)
class UnreadFilter:
    """A filter that is not known, or whose part could not be read; requests that it stands before get 500."""

    type: str
    """As written; empty for none."""


RouteFilter = HeaderEdits | RequestRedirect | URLRewrite | RequestMirror | CORS | UnreadFilter


@frozen(weakref_slot=False)
class FilterEntry:
    """An entry of ``filters``."""

    type: str
    """``RequestHeaderModifier``, ``ResponseHeaderModifier``, ``RequestRedirect``, ``URLRewrite``, ``RequestMirror``,
    ``CORS``, ``ExtensionRef``, ``ExternalAuth``, or whatever else was written."""
    filter: RouteFilter
    field: str


@frozen(weakref_slot=False)
class RouteBackend:
    """An entry of ``backendRefs``."""

    backend: BackendObject
    weight: int = 1
    filters: tuple[FilterEntry, ...] = ()


@frozen(weakref_slot=False)
class Retry:
    """``retry`` of a rule; None for what it does not say."""

    codes: tuple[int, ...] = ()
    attempts: int | None = None
    backoff: str = ""
    """A duration of the API (GEP-2257), such as ``100ms``."""


@frozen(weakref_slot=False)
class HTTPRule:
    """An entry of ``rules`` of an HTTPRoute."""

    field: str
    """Where it stands: ``spec.rules[0]``.  Its name changes nothing."""
    matches: tuple[HTTPMatch, ...] = (HTTPMatch(),)
    filters: tuple[FilterEntry, ...] = ()
    backends: tuple[RouteBackend, ...] = ()
    request_timeout: str = ""
    """``timeouts.request``: a duration of the API (GEP-2257), empty for none."""
    backend_timeout: str = ""
    """``timeouts.backendRequest``."""
    retry: Retry | None = None
    unread: tuple[str, ...] = ()
    """Fields of it that nobody here honors, such as ``sessionPersistence``."""


@frozen(weakref_slot=False)
class GRPCRule:
    """An entry of ``rules`` of a GRPCRoute."""

    field: str
    matches: tuple[GRPCMatch, ...] = (GRPCMatch(),)
    filters: tuple[FilterEntry, ...] = ()
    backends: tuple[RouteBackend, ...] = ()
    unread: tuple[str, ...] = ()


@frozen(weakref_slot=False)
class StreamRule:
    """An entry of ``rules`` of a TLSRoute, TCPRoute or UDPRoute."""

    field: str
    backends: tuple[RouteBackend, ...] = ()


@frozen(weakref_slot=False)
class _Route:
    """What routes of all kinds have."""

    kind: ClassVar[Kind]

    key: ObjectKey
    created: str = ""
    parents: tuple[ParentReference, ...] = ()

    @property
    def owner(self) -> Owner:
        """What stands for it in what it asks for."""
        return Owner(self.kind, self.key, self.created)


@frozen(weakref_slot=False)
class HTTPRoute(_Route):
    """An HTTPRoute."""

    kind: ClassVar[Kind] = HTTP_ROUTE

    hostnames: tuple[str, ...] = ()
    """As written; none means those of its listeners."""
    rules: tuple[HTTPRule, ...] = ()


@frozen(weakref_slot=False)
class GRPCRoute(_Route):
    """A GRPCRoute."""

    kind: ClassVar[Kind] = GRPC_ROUTE

    hostnames: tuple[str, ...] = ()
    rules: tuple[GRPCRule, ...] = ()


@frozen(weakref_slot=False)
class TLSRoute(_Route):
    """A TLSRoute."""

    kind: ClassVar[Kind] = TLS_ROUTE

    hostnames: tuple[str, ...] = ()
    rules: tuple[StreamRule, ...] = ()


@frozen(weakref_slot=False)
class TCPRoute(_Route):
    """A TCPRoute."""

    kind: ClassVar[Kind] = TCP_ROUTE

    rules: tuple[StreamRule, ...] = ()


@frozen(weakref_slot=False)
class UDPRoute(_Route):
    """A UDPRoute."""

    kind: ClassVar[Kind] = UDP_ROUTE

    rules: tuple[StreamRule, ...] = ()


AnyStreamRoute = TLSRoute | TCPRoute | UDPRoute
AnyRoute = HTTPRoute | GRPCRoute | AnyStreamRoute
ROUTES: tuple[Kind, ...] = (HTTP_ROUTE, GRPC_ROUTE, TLS_ROUTE, TCP_ROUTE, UDP_ROUTE)
"""The kinds of routes of the Gateway API that are served."""


def hostnames_of(route: AnyRoute) -> tuple[str, ...]:
    """Return the hostnames of *route*; none stand for all hosts."""
    return () if isinstance(route, TCPRoute | UDPRoute) else route.hostnames
