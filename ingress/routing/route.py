"""A route: one entry of the table, and the values that say what it matches."""

from enum import Enum

from ingress.filters import FilterSpec
from ingress.model.cluster.objects import Owner
from ingress.model.frozen import frozen
from ingress.model.serving.limits import AskedTimeouts
from ingress.model.text.path_expressions import PathExpression
from ingress.model.upstream.backends import BackendReference
from ingress.model.upstream.balancing import Balancing
from ingress.model.upstream.retries import DEFAULT_RETRIES, RetryRule
from ingress.routing.beginnings import Beginnings
from ingress.routing.match_conditions import MatchCondition
from ingress.routing.variants import Variant, WeightedBackend, backends_of


class Match(Enum):
    """How the path of a route is compared (``HTTPIngressPath.pathType``)."""

    EXACT = "Exact"
    PREFIX = "Prefix"
    """Element by element; ImplementationSpecific is read as this."""
    EXPRESSION = "Expression"
    """As a regular expression, fixed to the beginning of the path."""
    BEGINNING = "Beginning"
    """By the beginnings of what matches the path, which is a regular expression; nothing of it is served."""
    PATTERN = "RegularExpression"
    """As a regular expression that describes all of the path; one of its route's conditions is that."""


@frozen(weakref_slot=False)
class Route:
    """What is matched, who asked for it, and where it leads.

    *host* is lower case, ``*.example.com`` for a wildcard, empty for all hosts.
    *path* is as its owner wrote it, ``/`` where it wrote none.
    """

    host: str
    path: str
    match: Match
    owner: Owner | None
    """The object that asked for it; None for the controller's own default backend."""
    backend: BackendReference
    max_body_bytes: int = 0
    """Largest request body that is passed on; 0 means no limit."""
    secure_backend: BackendReference | None = None
    """What requests that came over TLS get in place of *backend*, where that is something else."""
    passthrough: BackendReference | None = None
    """Where TLS for the host goes as it is (only of ``/``); None where it is terminated here."""
    balancing: Balancing | None = None
    """How requests are shared among endpoints; None where nothing is asked and the usual way is taken."""
    retries: RetryRule = DEFAULT_RETRIES
    timeouts: AskedTimeouts | None = None
    """How long endpoints may take; None where nothing is asked and what holds for all does."""
    is_logged: bool = True
    """Whether its requests have lines in the access log."""
    stand_in: WeightedBackend | None = None
    """What requests get in place of a backend without endpoints; None where they get 503."""
    beside: tuple[BackendReference, ...] = ()
    """Backends that its filters ask."""
    beginnings: Beginnings | None = None
    """What every path begins with that it takes, of a route that is an expression, or closed in the place of one."""
    expressions: tuple[PathExpression, ...] = ()
    """What it takes, of a route that is an expression: whatever one of them takes."""
    filters: tuple[FilterSpec, ...] = ()
    """All that stand before its backend, the host's and its own, in order of phase and place."""
    weighted: tuple[WeightedBackend, ...] = ()
    """Backends that share the requests in place of *backend*, which is the first of them then; empty for nearly all routes."""
    variants: tuple[Variant, ...] = ()
    """Requests that lead elsewhere by what else they say; the first one that takes a request has it."""
    conditions: tuple[MatchCondition, ...] = ()
    """What a request has to say besides; what does not goes to the next route that takes its path.  Only of Gateways."""
    balancing_beside: tuple[tuple[BackendReference, Balancing | None], ...] = ()
    """How requests to those of its backends are shared that say it themselves, in place of *balancing*; None is the usual way."""
    place: str = ""
    """Where its owner asks for it, of a route of Gateways, which may have several for a path: ``spec.rules[0].matches[1]``."""
    broken_status: int = 503
    """What requests get whose backend can lead nowhere as it is written; one without endpoints is answered 503."""

    @property
    def key(self) -> tuple[str, str, Match, str]:
        """What no two routes of a table have the same of: host, path, match, and the realm of an expression or whose place it is."""
        return self.host, self.path, self.match, self._which

    def balancing_of(self, backend: BackendReference) -> Balancing | None:
        """Return how requests to *backend*, one of its own, are shared among endpoints."""
        for one, balancing in self.balancing_beside:
            if one == backend:
                return balancing
        return self.balancing

    @property
    def _which(self) -> str:
        if self.place:
            return f"{self.owner} {self.place}"
        return "" if self.beginnings is None else self.beginnings.realm

    @property
    def backends(self) -> tuple[BackendReference, ...]:
        """All that it may lead to, and that its filters ask; a stand-in is among the latter."""
        if (
            self.secure_backend is None
            and self.passthrough is None
            and not self.weighted
            and not self.variants
            and not self.beside
        ):
            return (self.backend,)
        own = [one for one in (self.backend, self.secure_backend, self.passthrough) if one is not None]
        own += self.beside
        own += backends_of(self.weighted)
        for variant in self.variants:
            own += backends_of(variant.weighted)
        return tuple(dict.fromkeys(own))
