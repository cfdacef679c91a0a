"""What a route object asks for, whatever its kind: the form in which its reader hands it over.

Paths of hosts, a default backend, certificates, settings; each checked by itself.  What several
objects ask for is brought together by ``ingress.translate.hosts.decision``, which knows nothing of their kinds.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Final, NamedTuple, TypeVar

from attrs import field

from ingress.annotations.annotations import AnnotationSettings
from ingress.model.cluster.objects import ObjectKey, Owner
from ingress.model.cluster.problems import Problem
from ingress.model.frozen import frozen
from ingress.model.network.listeners import MAIN, Listener
from ingress.model.stepwise import SORTED_AT_ONCE, Stepwise, finished
from ingress.model.text.expressions import ExpressionRefused
from ingress.model.text.path_expressions import PathExpression, read_path_expression
from ingress.model.upstream.backends import BackendReference
from ingress.routing.beginnings import Beginnings, regex_beginnings
from ingress.routing.route import Match
from ingress.translate.gateway.claims import NOTHING_CLAIMED, GatewayClaims
from ingress.translate.gateway.handshake_requests import NOTHING_ASKED as NO_GATEWAY_TLS
from ingress.translate.gateway.handshake_requests import GatewayTls
from ingress.translate.protocols import NOTHING_ASKED, ProtocolReading
from ingress.translate.readers.gateway.objects.policies import BackendTLSPolicy

ROOT = "/"
IN_MAIN = (MAIN,)
DEFAULT_BACKEND_FIELD = "spec.defaultBackend"
SERVICE_KIND = "Service"
INVALID_KIND = "Invalid"
"""The kind of a reference that stands where an object names nothing usable."""
CLAIMS_AT_ONCE: Final = 100
"""Of one host: as many are decided about in a step."""


@frozen(weakref_slot=False)
class Claim:
    """A host and a path that an object asks for: by a rule, or for its default backend."""

    owner: Owner
    host: str
    path: str
    match: Match
    backend: BackendReference
    field: str
    """Where the owner says so: ``spec.rules[0].http.paths[0]`` or ``spec.defaultBackend``."""
    backend_field: str
    regex: "RegexPath | None" = None
    """Where *path* would mean something else as a regular expression."""
    beginnings: Beginnings | None = None
    """What every path begins with that is meant, where that is so: of an expression, or closed in the place of one."""
    expressions: tuple[PathExpression, ...] = ()
    """What it takes, where its path is a regular expression."""
    is_prefix: bool = False
    """Whether its type is Prefix, and not only read as that."""
    is_added: bool = False
    """Whether no path of a rule says so but an annotation, so that it is compared as it is whatever becomes of paths."""


@frozen(weakref_slot=False)
class RegexPath:
    """A path with the signs of a regular expression: what it means as one, and what where it is compared as it is written."""

    path: str
    fault: str | None
    """Why no request could match it then."""
    is_likely: bool
    """Whether it was hardly meant to be compared so."""

    @cached_property
    def beginnings(self) -> Beginnings:
        """What every match of the expression begins with."""
        return regex_beginnings(self.path)

    @cached_property
    def expression(self) -> PathExpression | None:
        """The expression; None where it is not run here."""
        return None if self.refusal else read_path_expression(self.path)

    @cached_property
    def refusal(self) -> str:
        """Why it is not run here; empty where it is."""
        try:
            read_path_expression(self.path)
        except ExpressionRefused as refused:
            return str(refused)
        return ""


class FurtherHost(NamedTuple):
    """A host that an object asks for besides those of its rules, unless somebody has a rule for it."""

    host: str
    target: str
    """The host of its rules that it is served as, or sent to."""
    is_redirect: bool
    field: str
    """Where the object asks."""


class CertificateRequest(NamedTuple):
    """Hosts for which an object asks for TLS, with the certificate in *secret*.

    Without *hosts* they are those of the object's rules; without *secret* it is the default certificate.
    The fields say where the object asks.
    """

    hosts: tuple[str, ...]
    """As they were written."""
    secret: ObjectKey | None
    field: str
    hosts_field: str
    secret_field: str
    issued_by: str = ""
    """The annotation of the object by which cert-manager makes the Secret; empty for none."""


class AskedListener(NamedTuple):
    """A listener that is to be there for an object, and where the object asks for it."""

    listener: Listener
    field: str


T = TypeVar("T")

NO_HOSTS: Final[frozenset[str]] = frozenset()
"""The same one for all: an empty one takes 216 bytes."""

_FEW: Final = 8
"""As many claims are sooner looked through than sorted by hosts."""


@frozen(weakref_slot=False)
class ParsedObject:
    """Everything that one object asks for, as far as it makes sense by itself.

    This is the form that translation knows, whatever the kind of the object.
    """

    owner: Owner
    source: object = field(eq=False, repr=False)
    """What was read; the same one need not be read again."""
    claims: tuple[Claim, ...]
    hosts: tuple[str, ...]
    """The valid hosts of its rules, each once, in order; empty text for all hosts."""
    default_backend: BackendReference | None
    settings: AnnotationSettings
    problems: tuple[Problem, ...]
    has_rules: bool = True
    """Whether it has anything but a default backend."""
    certificates: tuple[CertificateRequest, ...] = ()
    rules_field: str = "spec.rules"
    """Where the object names its hosts."""
    service_at: str = "service."
    """Where a backend names its Service: what stands before ``name`` and ``port``."""
    protocols: ProtocolReading = NOTHING_ASKED
    beside: tuple[tuple[str, BackendReference], ...] = ()
    """Backends that its filters ask, with the fields that name them."""
    answered: frozenset[str] = NO_HOSTS
    """Those of *hosts* whose requests its annotations answer by themselves where no rule has a path for them."""
    further: tuple[FurtherHost, ...] = ()
    """What it asks for besides *hosts*, each host once."""
    needs_backends: bool = True
    """Whether requests ever get to the backends that it names."""
    has_annotations: bool = False
    """Whether it has annotations of the prefix that is honored, so that its owner counts on what ingress-nginx does."""
    keeps_to_hosts: bool = False
    """Whether its default backend is for *hosts* alone, as ingress-nginx has it: Q14."""
    has_regexes: bool = False
    """Whether any of *claims* has a path that would mean something else as a regular expression."""
    tables: tuple[str, ...] = IN_MAIN
    """The names of the tables in which all of it holds."""
    listeners: tuple[AskedListener, ...] = ()
    """Listeners that are to be there for it."""
    canary_claims: tuple[Claim, ...] = ()
    """Of a canary, which claims nothing: the hosts and paths of which it wants a part."""
    gateway: GatewayClaims = NOTHING_CLAIMED
    """What it asks for in tables of Gateways; nothing else of it but certificates and listeners counts there."""
    gateway_tls: GatewayTls = NO_GATEWAY_TLS
    """What the listeners of a Gateway or ListenerSet ask of TLS."""
    kept_service: ObjectKey | None = None
    """The Service that is kept for it, which must be nobody else's."""
    policy: BackendTLSPolicy | None = None
    """What it says of TLS to the endpoints of Services."""
    related: Hashable = field(default=None, eq=False, repr=False)
    """What of other objects it was read by; by another one it has to be read again."""

    @cached_property
    def by_host(self) -> "ByHost":
        """What it asks for, sorted by hosts: for who would look through all of it for each of its hosts."""
        return ByHost(self.claims, self.canary_claims, self.further)

    def sort_by_host(self) -> Iterator[None]:
        """Sort what it asks for in steps, where it is so much that whoever wants the first of it would wait."""
        if len(self.hosts) > 1 or self.canary_claims or self.further:
            yield from self.by_host.sort()

    def read_expressions(self) -> Iterator[None]:
        """Read what may be regular expressions, one a step, before hosts are decided about, each in one step but for its routes."""
        if self.has_regexes:
            for claim in self.claims:
                if claim.regex is not None:
                    _ = claim.regex.beginnings
                    _ = claim.regex.expression
                    yield

    def named_backends(self) -> Iterator[tuple[str, BackendReference]]:
        """Yield every backend that it names, used or not, with its field; a field may come twice."""
        for claim in (*self.claims, *self.canary_claims):
            yield claim.backend_field, claim.backend
        if self.default_backend is not None:
            yield DEFAULT_BACKEND_FIELD, self.default_backend
        yield from self.beside
        if self.gateway is not NOTHING_CLAIMED:
            yield from self.gateway.named_backends()


class ByHost:
    """What one object asks for, sorted by hosts, and what holds on all of them, each as far as anybody wants to know."""

    def __init__(
        self, claims: Sequence[Claim], canary_claims: Sequence[Claim], further: Sequence[FurtherHost]
    ) -> None:
        self._claims = claims
        self._canary_claims = canary_claims
        self._further = further

    def sort(self) -> Iterator[None]:
        """Sort in steps what there is very much of."""
        if len(self._claims) > SORTED_AT_ONCE:
            self.claims = yield from _sorted_by(_HOST, self._claims)
        if len(self._canary_claims) > SORTED_AT_ONCE:
            self.canary_claims = yield from _sorted_by(_HOST, self._canary_claims)
        if len(self._further) > SORTED_AT_ONCE:
            self.further_by_target = yield from _sorted_by(_TARGET, self._further)

    @cached_property
    def claims(self) -> Mapping[str, Sequence[Claim]]:
        """Its claims."""
        return finished(_sorted_by(_HOST, self._claims))

    @cached_property
    def canary_claims(self) -> Mapping[str, Sequence[Claim]]:
        """Those of a canary."""
        return finished(_sorted_by(_HOST, self._canary_claims))

    @cached_property
    def group_names(self) -> frozenset[str]:
        """The names of the groups of all paths, on whatever host: in nginx these are variables everywhere."""
        expressions = [claim.regex.expression for claim in self._claims if claim.regex is not None]
        return frozenset(name for one in expressions if one is not None for name in one.names)

    @cached_property
    def further(self) -> Mapping[str, FurtherHost]:
        """Its further hosts."""
        return {one.host: one for one in self._further}

    @cached_property
    def further_by_target(self) -> Mapping[str, Sequence[FurtherHost]]:
        """The same by the host of its rules that each goes by."""
        return finished(_sorted_by(_TARGET, self._further))


_HOST: Final = attrgetter("host")
_TARGET: Final = attrgetter("target")


def _sorted_by(key: Callable[[T], str], values: Iterable[T]) -> Stepwise[Mapping[str, Sequence[T]]]:
    found: dict[str, list[T]] = {}
    for number, value in enumerate(values, 1):
        found.setdefault(key(value), []).append(value)
        if not number % SORTED_AT_ONCE:
            yield
    return found


def claims_to(parsed: ParsedObject, host: str) -> Iterator[Claim]:
    """Yield the claims of *parsed* to *host*."""
    if len(parsed.hosts) == 1:
        return iter(parsed.claims if host in parsed.hosts else ())
    if len(parsed.claims) > _FEW:
        return iter(parsed.by_host.claims.get(host, ()))
    return (claim for claim in parsed.claims if claim.host == host)


def invalid_reference(owner: Owner, name: str = "") -> BackendReference:
    """Return the reference that stands where *owner* names nothing usable; it answers 503."""
    return BackendReference(owner.key.namespace, name, kind=INVALID_KIND)
