"""The explanation of one request or stream, as plain frozen values; ``ingress.explain.plain_data`` makes data for JSON of it."""

from enum import StrEnum

from ingress.model.frozen import frozen


class End(StrEnum):
    """How a request ends, as far as it is known before an endpoint answers."""

    ANSWERED = "answered"
    """By the proxy itself, or by a filter."""
    SENT = "sent"
    """To an endpoint."""
    PASSED_THROUGH = "passed-through"
    """The connection goes to an endpoint as it is."""
    CLOSED = "closed"
    """The connection is closed, or the datagram dropped, without an answer."""
    REFUSED = "refused"
    """Nothing listens there for it."""


@frozen
class Outcome:
    """What becomes of the request, in one line and for programs."""

    end: End
    sentence: str
    is_taken: bool
    """Whether anybody takes it: an endpoint, or a filter that answers by anything but 404, 421 or 503."""
    status: int | None = None
    """Of an answer of the proxy's own; None where an endpoint says it."""
    by: str = ""
    """The filter that answers; empty for the proxy itself."""
    location: str = ""
    conditions: tuple[str, ...] = ()
    """What has to come true for it, a sentence each: what another service says, a password, a rate."""


@frozen
class AskedRequest:
    """The request, and how the proxy reads it; of a stream there is neither method nor path."""

    url: str
    method: str
    fields: tuple[tuple[str, str], ...]
    """Names and values; credentials are not shown."""
    client: str
    client_seen: str
    """Who the client is to endpoints and filters: another one where a trusted proxy says so."""
    host: str
    """In normal form; empty where it cannot be read."""
    path: str
    notes: tuple[str, ...] = ()


@frozen
class ShownCertificate:
    """A certificate that the handshake shows."""

    secret: str
    """``NAMESPACE/NAME``; empty for the one that the controller makes for itself."""
    names: tuple[str, ...]
    key_type: str
    not_after: str
    """RFC 3339."""
    covers: bool
    """Whether clients take it for the host."""
    is_default: bool


@frozen
class Handshake:
    """What TLS does before the request."""

    server_name: str
    """Empty where the client names none, which is so for addresses."""
    certificates: tuple[ShownCertificate, ...] = ()
    """The first one that the client can use is shown."""
    client_certificate: str = ""
    """What is asked of clients, in a sentence; empty for nothing."""
    passthrough: str = ""
    """The backend that the connection goes to as it is; empty where TLS ends here."""
    not_checked: str = ""
    """Why it is not known whether another certificate is shown; empty where it is."""
    is_refused: bool = False
    """Whether the handshake ends without a certificate (``--strict-sni``)."""


@frozen
class RouteSeen:
    """One route, and who asked for it."""

    host: str
    """Empty for all hosts."""
    path: str
    match: str
    """How the path is compared; of a stream its sort (``StreamSort``)."""
    kind: str
    namespace: str
    name: str
    """Of the object; all empty for the controller's own default backend."""
    field: str = ""
    """Where the object says so, such as ``spec.rules[0].http.paths[1]``; empty where that is not known."""
    created: str = ""


@frozen
class LostRoute:
    """A route that would have taken the request, and why it did not."""

    route: RouteSeen
    why: str
    """A word for programs."""
    sentence: str


@frozen
class HostSeen:
    """A host that was looked for."""

    host: str
    paths: int


@frozen
class VariantSeen:
    """A variant of the route, such as a canary."""

    is_taken: bool
    conditions: tuple[tuple[str, bool], ...]
    """Each with whether it holds; all have to."""
    backends: tuple[str, ...]


class Says(StrEnum):
    """What a filter does with the request before it goes to an endpoint."""

    PASSES = "passes"
    ANSWERS = "answers"
    DEPENDS = "depends"
    """On what another service says, on a password, on other requests."""
    FAILS = "fails"
    NOT_ASKED = "not-asked"
    """A filter before it answered, or its method is none that it looks at."""
    LATER = "later"
    """It looks at no requests, but at what goes to the endpoint, or at answers."""


@frozen
class FilterSeen:
    """A filter on the way, in the order in which they are met."""

    name: str
    phase: str
    does: str
    """What it does in general, in its own words."""
    says: Says
    sentence: str
    """What it does with this request."""
    changes: tuple[str, ...] = ()
    """What it changes of what the endpoint is asked, one each."""


@frozen
class BackendSeen:
    """A backend that the request may go to."""

    backend: str
    kind: str
    namespace: str
    name: str
    port: str
    share: float
    """Percent of such requests."""
    protocol: str
    endpoints: tuple[str, ...]
    reason: str
    """Why there are no endpoints; empty where there are some."""
    unknown: str = ""
    """Why it is not known whether there are some; empty where it is."""
    stands_in_for: str = ""
    """The backend without endpoints whose place it takes."""


@frozen
class UpstreamRequest:
    """What the endpoint is asked."""

    method: str
    target: str
    authority: str
    """What ``Host`` says."""


@frozen
class ProblemSeen:
    """A problem that may have to do with it."""

    object: str
    field: str
    reason: str
    message: str
    not_checked: str = ""
    """Why it is not known to be one; empty where it is."""


@frozen
class Unserved:
    """An object that names the host, or the request's path, and is not served."""

    object: str
    field: str
    why: str


@frozen
class Explanation:
    """Everything about one request or stream; what does not apply is None or empty."""

    request: AskedRequest
    outcome: Outcome
    handshake: Handshake | None = None
    hosts: tuple[HostSeen, ...] = ()
    route: RouteSeen | None = None
    variants: tuple[VariantSeen, ...] = ()
    filters: tuple[FilterSeen, ...] = ()
    upstream: UpstreamRequest | None = None
    backends: tuple[BackendSeen, ...] = ()
    settings: tuple[str, ...] = ()
    """How endpoints are chosen and waited for, where that is not the usual, a sentence each."""
    lost: tuple[LostRoute, ...] = ()
    more_lost: int = 0
    near_paths: tuple[RouteSeen, ...] = ()
    near_hosts: tuple[str, ...] = ()
    problems: tuple[ProblemSeen, ...] = ()
    more_problems: int = 0
    unserved: tuple[Unserved, ...] = ()
