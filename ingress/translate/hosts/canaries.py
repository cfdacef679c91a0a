"""Canaries of a host: which claim each stands behind, and what becomes of that claim's route.

A canary claims nothing.  Each of its paths stands behind the claim of a rule that won the same host, path and match, whoever
is the older; where nobody else has it, the canary gets no request and is told so.  It has to be of the
namespace of its primary, or whoever may write Ingresses anywhere could take a part of another team's
requests; with ``--shared-hosts`` all namespaces are one.

A default backend is one of the prefix ``/``: of a canary for all hosts that no rule names, of a primary for what no rule of a host
takes.  So a canary without rules stands behind an Ingress without rules.

A request is decided in this order, as in ingress-nginx: by the session cookie of the primary, which says where its client
belongs, the primary itself or a canary that keeps its clients; by the field of each canary, by its cookie; and what nothing decides, by the weights.  The older canary
comes first.  Of these make variants and weights of the route (``ingress.routing.variants``).  While a canary has no
endpoint, or no Service at all, the primary gets its requests.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import lcm
from typing import Final

from attrs import evolve

from ingress.annotations.contract.values import quoted
from ingress.annotations.upstream.affinity import AFFINITY, AffinitySettings, CanaryBehavior, SessionCookie
from ingress.annotations.upstream.balancing import BALANCING
from ingress.annotations.upstream.canaries import CANARIES, NO_PATTERN, CanarySettings
from ingress.filters import FilterSpec
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise
from ingress.model.text.expressions import Expression
from ingress.model.upstream.affinity import mark_of_backend
from ingress.model.upstream.backends import BackendReference
from ingress.model.upstream.balancing import Balancing
from ingress.routing.paths import rule_path
from ingress.routing.route import Match, Route
from ingress.routing.variants import RequestCondition, Said, Variant, WeightedBackend
from ingress.translate.claims import CLAIMS_AT_ONCE, DEFAULT_BACKEND_FIELD, SERVICE_KIND, Claim, ParsedObject
from ingress.translate.ownership import OPTION

MOST_CANARIES: Final = 4
"""Of one path: for each set of them that a request does not want, there is a variant."""
_MOST_WEIGHT: Final = 1 << 40

_COMPARED: Final = (Match.EXACT, Match.PREFIX)
_ALWAYS: Final = frozenset({b"always"})
_NEVER: Final = frozenset({b"never"})


@frozen
class Canary:
    """One backend that stands behind a claim."""

    owner: Owner
    backend: BackendReference
    settings: CanarySettings
    is_sticky: bool = True
    """Whether clients that met it stay with it, where its primary has sessions."""
    balancing: Balancing | None = None
    """How its requests are shared among its endpoints, where no cookie says it."""


@frozen
class HostCanaries:
    """What stands behind the claims of one host."""

    behind: dict[Claim, tuple[Canary, ...]]
    problems: tuple[Problem, ...] = ()


NO_CANARIES: Final = HostCanaries({})


def canary_hosts(parsed: ParsedObject) -> tuple[str, ...]:
    """Return the hosts of which *parsed*, if it is a canary, wants a part; none for any other."""
    return tuple(parsed.by_host.canary_claims) if parsed.canary_claims else ()


def stand_behind(
    host: str, claims: Sequence[Claim], canaries: Sequence[ParsedObject], *, is_shared: bool
) -> Stepwise[HostCanaries]:
    """Find, some claims a step, what *canaries*, sorted oldest first, stand behind of the *claims* that won *host*."""
    if not canaries:
        return NO_CANARIES
    behind: dict[Claim, tuple[Canary, ...]] = {}
    problems: list[Problem] = []
    shown = f"host {host}" if host else "all hosts"
    primaries = _Primaries(claims)
    count = 0
    for parsed in canaries:
        settings = parsed.settings.of(CANARIES)
        is_sticky = parsed.settings.of(AFFINITY).canaries is CanaryBehavior.STICKY
        for claim in parsed.by_host.canary_claims.get(host, ()):
            count += 1
            if not count % CLAIMS_AT_ONCE:
                yield
            if claim.backend.kind != SERVICE_KIND:
                continue
            primary = primaries.of(claim)
            fault = ""
            if primary is None:
                fault = "no other Ingress has it; it gets no requests"
            elif not is_shared and primary.owner.key.namespace != claim.owner.key.namespace:
                fault = f"it belongs to {primary.owner}, of another namespace; it gets no requests, unless the controller is started with {OPTION}"
            elif len(behind.get(primary, ())) >= MOST_CANARIES:
                fault = f"{MOST_CANARIES} older canaries of {primary.owner} have it; it gets no requests"
            if primary is None and claim.field == DEFAULT_BACKEND_FIELD and len(parsed.canary_claims) > 1:
                # Beside paths it is no mistake: its primary may have a default backend for the hosts of its rules alone.
                continue
            if fault or primary is None:
                message = f"canary of {claim.match.value} path {quoted(claim.path)} of {shown}: {fault}"
                is_default = claim.field == DEFAULT_BACKEND_FIELD
                at = claim.field if is_default else f"{claim.field}.path"
                problems.append(claim.owner.problem(Reason.CANARY_WITHOUT_PRIMARY, message, at))
                continue
            # How its endpoints are spoken to is for the primary to say.
            wanted = claim.backend
            backend = primary.backend._replace(name=wanted.name, namespace=wanted.namespace, port=wanted.port)
            canary = Canary(
                claim.owner, backend, settings, is_sticky, parsed.settings.of(BALANCING).balancing()
            )
            behind[primary] = (*behind.get(primary, ()), canary)
    return HostCanaries(behind, tuple(problems))


class _Primaries:
    """Finds which of *claims*, those that won a host, is for the very requests of a canary.

    Among expressions the type of a path means nothing.
    """

    def __init__(self, claims: Sequence[Claim]) -> None:
        # Each with its place, for the first one counts.
        self._compared: dict[tuple[Match, bytes], tuple[int, Claim]] = {}
        self._expressions: dict[str, tuple[int, Claim]] = {}
        for place, claim in enumerate(claims):
            if claim.backend.kind != SERVICE_KIND:
                continue
            if claim.match in _COMPARED:
                self._compared.setdefault((claim.match, rule_path(claim.path)), (place, claim))
            else:
                self._expressions.setdefault(claim.path, (place, claim))

    def of(self, canary: Claim) -> Claim | None:
        """Return the primary of *canary*; None where there is none."""
        found = self._expressions.get(canary.path)
        if canary.match in _COMPARED:
            other = self._compared.get((canary.match, rule_path(canary.path)))
            if found is None or (other is not None and other[0] < found[0]):
                found = other
        return None if found is None else found[1]


def with_canaries(route: Route, canaries: tuple[Canary, ...], sessions: AffinitySettings) -> Route:
    """Return *route*, a primary's, with what *canaries* make of it; *sessions* says how its clients stay."""
    kept = [route.backend, *(canary.backend for canary in canaries if canary.is_sticky)]
    if not sessions.by_cookie:
        kept = []
    shares = _Shares(route, kept)
    variants = [
        *(shares.variant((_stays(sessions.cookie, one),), one) for one in kept),
        *(
            shares.variant(conditions, canary.backend)
            for canary in canaries
            for conditions in _wanted(canary.settings)
        ),
    ]
    weighty = [canary for canary in canaries if canary.settings.weight]
    choices = [((), *_unwanted(canary.settings)) for canary in weighty]
    unwanted = sorted(product(*choices), key=lambda choice: -sum(map(bool, choice)))
    for choice in unwanted:
        conditions = tuple(condition for conditions in choice for condition in conditions)
        if conditions:
            left = [canary for canary, refused in zip(weighty, choice, strict=True) if not refused]
            variants.append(Variant(conditions, shares.weighted(left), shares.filters))
    weighted = shares.weighted(weighty)
    if not variants and len(weighted) == 1 and weighted[0].backend == route.backend:
        return route
    return evolve(
        route,
        filters=shares.filters,
        weighted=weighted,
        variants=tuple(variants),
        balancing_beside=tuple(shares.balancing(canaries)),
    )


class _Shares:
    """The backends of one route, with filters and weights; clients stay with those of them that are *kept*."""

    def __init__(self, route: Route, kept: Sequence[BackendReference]) -> None:
        self._route = route
        cookies = tuple(one for one in route.filters if isinstance(one, SessionCookie))
        self._cookies = cookies
        self._kept = kept
        self.filters = tuple(one for one in route.filters if one not in cookies)

    def variant(self, conditions: tuple[RequestCondition, ...], backend: BackendReference) -> Variant:
        """Return what sends requests to one backend alone."""
        return Variant(conditions, (self._entry(backend, 1),), self.filters)

    def weighted(self, canaries: Sequence[Canary]) -> tuple[WeightedBackend, ...]:
        """Return the shares that *canaries* leave to the primary, and theirs."""
        base = min(lcm(*(canary.settings.share[1] for canary in canaries)), _MOST_WEIGHT)
        left = base
        entries: list[WeightedBackend] = []
        for canary in canaries:
            weight, total = canary.settings.share
            taken = min(weight * base // total, left)
            left -= taken
            if taken:
                entries.append(self._entry(canary.backend, taken))
        primary = (self._entry(self._route.backend, left),) if left else ()
        return (*primary, *entries)

    def balancing(self, canaries: Sequence[Canary]) -> Iterator[tuple[BackendReference, Balancing | None]]:
        """Yield how requests to *canaries* are shared, as far as not as those to the primary; of two of one backend the first says it."""
        route = self._route
        told: set[BackendReference] = set()
        for canary in canaries:
            # Whoever stays by cookie stays at an endpoint, too.  What is the primary's backend goes by what the primary says.
            if canary.backend in self._kept or canary.backend == route.backend or canary.backend in told:
                continue
            told.add(canary.backend)
            if canary.balancing != route.balancing:
                entry = self._plain_entry(canary.backend, 1)
                for backend in (entry.backend, entry.secure_backend):
                    if backend is not None:
                        yield backend, canary.balancing

    def _entry(self, backend: BackendReference, weight: int) -> WeightedBackend:
        primary = self._route.backend
        if backend == primary:
            return self._plain_entry(backend, weight)
        return evolve(self._plain_entry(backend, weight), stand_in=self._plain_entry(primary, 1))

    def _plain_entry(self, backend: BackendReference, weight: int) -> WeightedBackend:
        secure = self._route.secure_backend
        over_tls = None if secure is None else backend._replace(protocol=secure.protocol)
        filters: tuple[FilterSpec, ...] = ()
        # As in ingress-nginx, a canary that does not keep its clients tells them nothing.
        if backend in self._kept:
            filters = tuple(evolve(one, mark=mark_of_backend(backend)) for one in self._cookies)
        return WeightedBackend(backend, weight, filters, over_tls)


def _stays(cookie: bytes, backend: BackendReference) -> RequestCondition:
    """Return what holds for a client whose cookie says *backend*."""
    mark = mark_of_backend(backend).decode()
    return RequestCondition(Said.COOKIE, cookie, pattern=Expression(rf"[ke][0-9a-f]+\.{mark}"))


def _wanted(settings: CanarySettings) -> Iterator[tuple[RequestCondition, ...]]:
    """Yield what a request has to say for the canary, each of which suffices."""
    for name in _field_names(settings):
        if settings.header_value:
            yield (RequestCondition(Said.HEADER, name, frozenset({settings.header_value})),)
        elif settings.header_pattern is None:
            yield (RequestCondition(Said.HEADER, name, _ALWAYS),)
        elif settings.header_pattern != NO_PATTERN:
            yield (RequestCondition(Said.HEADER, name, pattern=settings.header_pattern),)
    if settings.cookie:
        yield (*_undecided(settings), RequestCondition(Said.COOKIE, settings.cookie, _ALWAYS))


def _unwanted(settings: CanarySettings) -> Iterator[tuple[RequestCondition, ...]]:
    """Yield what a request has to say against the canary, each of which suffices."""
    refusing = _refusing(settings)
    if refusing is not None:
        for name in _field_names(settings):
            yield (RequestCondition(Said.HEADER, name, refusing),)
    if settings.cookie:
        yield (*_undecided(settings), RequestCondition(Said.COOKIE, settings.cookie, _NEVER))


def _undecided(settings: CanarySettings) -> tuple[RequestCondition, ...]:
    """Return what holds where the field, which comes before the cookie, says nothing."""
    refusing = _refusing(settings)
    if refusing is None:
        return ()
    values = refusing | _ALWAYS if refusing else refusing
    return tuple(
        RequestCondition(Said.HEADER, name, values, is_negated=True) for name in _field_names(settings)
    )


def _field_names(settings: CanarySettings) -> tuple[bytes, ...]:
    """Return which fields decide, none where none is named.

    As in nginx, whose variables have ``_`` for ``-``, a name with ``_`` is also that of the field with ``-``.
    """
    names = dict.fromkeys((settings.header, settings.header.replace(b"_", b"-")))
    return tuple(filter(None, names))


def _refusing(settings: CanarySettings) -> frozenset[bytes] | None:
    """Return what the field says against the canary, all texts if there are none; None where it says nothing against it."""
    if not settings.header or settings.header_value:
        return None
    if settings.header_pattern == NO_PATTERN:
        return frozenset()
    return _NEVER if settings.header_pattern is None else None
