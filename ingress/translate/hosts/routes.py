"""The routes of one host: its claims with their filters, and the default backend of the controller.

The filters of a route are in order of phase, and within a phase in order of place: what holds for the host as a whole
comes before what the route's own object asks for.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import filterfalse
from operator import attrgetter
from typing import Final

from attrs import evolve

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.annotations import DEFAULTS, AnnotationReader, AnnotationSettings
from ingress.annotations.answers.custom_errors import (
    CUSTOM_ERRORS,
    CustomErrors,
    CustomErrorSettings,
    StandingIn,
    about_route,
    own_default_backend,
)
from ingress.annotations.client_certificates.check import ClientCheck, HostClosed
from ingress.annotations.contract.host_facts import HostFacts
from ingress.annotations.contract.references import Found
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.snippet_blocks import EMPTY
from ingress.annotations.hosts.passthrough import NotTerminatedHere
from ingress.annotations.observability.access_logs import ACCESS_LOGS
from ingress.annotations.redirects.https_redirect import REDIRECTS
from ingress.annotations.redirects.slash_redirect import SlashRedirect
from ingress.annotations.redirects.url_redirects import URL_REDIRECTS, UrlRedirect
from ingress.annotations.requests.bodies import BODIES, DEFAULT_MAX_BYTES
from ingress.annotations.requests.buffers import BUFFERS
from ingress.annotations.requests.path_rewrites import PATH_REWRITES, RegexMissing
from ingress.annotations.snippets.ending import UnlessEnded
from ingress.annotations.snippets.family import SNIPPETS, snippet_filters
from ingress.annotations.upstream.affinity import AFFINITY
from ingress.annotations.upstream.balancing import BALANCING
from ingress.annotations.upstream.retries import RETRIES
from ingress.annotations.upstream.timeouts import TIMEOUTS
from ingress.filters import FilterSpec, Phase
from ingress.model.cluster.objects import Owner
from ingress.model.serving.limits import AskedTimeouts
from ingress.model.stepwise import Stepwise, in_order
from ingress.model.upstream.backends import BackendReference
from ingress.model.upstream.balancing import Balancing
from ingress.model.upstream.retries import DEFAULT_RETRIES
from ingress.routing.paths import rule_path
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes
from ingress.routing.variants import WeightedBackend
from ingress.translate.claims import CLAIMS_AT_ONCE, ROOT, SERVICE_KIND, Claim, ParsedObject
from ingress.translate.hosts.canaries import HostCanaries, with_canaries
from ingress.translate.hosts.closing import NOTHING_CLOSED, HostClosing
from ingress.translate.hosts.merging import HostMerge
from ingress.translate.hosts.passthrough import Passing, passed_backend
from ingress.translate.hosts.redirects import RedirectRule
from ingress.translate.hosts.server_snippets import ServerSnippets
from ingress.translate.ownership import owner_of
from ingress.translate.tls.client_authentication import OPEN, HostGuard, checks_before

FoundFor = Callable[[Owner | None], Found]
"""Says what was found of what an owner refers to, or the operator (None)."""


_LIKE_PLAIN_CLAIMS: Final = 10
"""A claim of somebody with annotations takes as long as so many others."""
_GUARD_MISSING = GuardMissing()
_REGEX_MISSING = RegexMissing()
_NOT_TERMINATED_HERE = NotTerminatedHere()
_PHASE = attrgetter("phase")
_OF_LOCATIONS = frozenset({Phase.PREFLIGHT, Phase.REWRITE})
"""Phases of what is done in a location alone."""


def host_routes(
    host: str,
    merged: HostMerge,
    all_parsed: Sequence[ParsedObject],
    default: BackendReference | None,
    annotations: AnnotationReader,
    redirects: RedirectRule,
    found_for: FoundFor,
    guard: HostGuard,
    passing: Passing | None,
    closing: HostClosing,
    snippets: ServerSnippets,
    canaries: HostCanaries,
    slashed: Iterable[Claim],
) -> Stepwise[HostRoutes]:
    """Return, some claims a step, the routes of *host*, sorted by path and match, and what stands before it where none of them matches.

    *all_parsed* are those that *merged* was made of; *default* is the controller's own
    default backend, *found_for* says what was found of all that an owner refers to, *guard* what stands before the host as a whole,
    *passing* whose backend gets TLS for the host as it is, *closing* what of the host is closed,
    *snippets* what stands before its paths by ``server-snippet``,
    *canaries* what stands behind its claims,
    *slashed* the paths that are redirected to themselves with a slash.
    """
    asked = {parsed.owner: parsed for parsed in all_parsed}
    if len(asked) > CLAIMS_AT_ONCE:
        yield
    owner = owner_of(host, all_parsed)
    speaker = None if owner is None else asked[owner]
    yield from redirects.collecting(host)
    filters = _HostFilters(
        host,
        annotations,
        redirects,
        found_for,
        guard,
        closing,
        snippets,
        None if passing is None else passing.claim,
        speaker,
    )

    def made(claim: Claim, *more: FilterSpec) -> Route:
        parsed = asked[claim.owner]
        own = filters.of_claim(claim, parsed)
        if more:
            own = _in_order((*filterfalse(_is_of_location, own), *more))
        passed = None
        if passing is not None and claim is passing.carrier:
            passed = passed_backend(passing.claim)
        route = _route(claim, parsed, own, passed)
        if parsed.settings is DEFAULTS:
            return route
        return _asking_beside(route, parsed, filters.facts_of(claim, parsed), annotations)

    routes: list[Route] = []
    work = 0
    for claim in merged.claims:
        if work >= CLAIMS_AT_ONCE:
            work = 0
            yield
        work += 1 if asked[claim.owner].settings is DEFAULTS else _LIKE_PLAIN_CLAIMS
        route = made(claim)
        routes.append(_with_canaries(route, claim, canaries, asked) if canaries.behind else route)
    for number, claim in enumerate(slashed, 1):
        is_relative = asked[claim.owner].settings.of(URL_REDIRECTS).relative
        routes.append(made(claim, SlashRedirect(rule_path(claim.path) + b"/", is_relative)))
        if not number % CLAIMS_AT_ONCE:
            yield
    if default is not None and merged.is_open:
        # No Ingress asked for this route, so nothing holds for it but what is about the host, and what the operator says.
        routes.append(_default_route(host, default, annotations.usual, filters.of_default))
    in_their_order = yield from in_order(routes, _order)
    return HostRoutes(tuple(in_their_order), filters.of_host)


def _is_of_location(spec: FilterSpec) -> bool:
    """Whether nginx does *spec* in a location, which it does not enter where it redirects to a slash.

    That of the redirect to HTTPS is left: it leads to the same, with two requests less.
    """
    return spec.phase in _OF_LOCATIONS or isinstance(spec, (UrlRedirect, UnlessEnded))


class _HostFilters:
    """The filters of one host and its routes."""

    def __init__(
        self,
        host: str,
        annotations: AnnotationReader,
        redirects: RedirectRule,
        found_for: FoundFor,
        guard: HostGuard,
        closing: HostClosing,
        snippets: ServerSnippets,
        passing: Claim | None,
        speaker: ParsedObject | None,
    ) -> None:
        """*speaker* is the object by which the host belongs to its namespace, if it does to any."""
        self._annotations = annotations
        self._found_for = found_for
        self._guard = guard
        self._closing = closing
        self._snippets = snippets
        self._passing = None if passing is None else passing.owner
        self._facts = redirects.facts(host)
        self._facts_of_passing = self._facts if passing is None else redirects.facts(host, passes_tls=True)
        self._marks: tuple[FilterSpec, ...] = () if passing is None else (_NOT_TERMINATED_HERE,)
        hsts = redirects.transport_security(host)
        self._answers: tuple[FilterSpec, ...] = () if hsts is None else (hsts,)
        self._edits: tuple[FilterSpec, ...] = () if guard.fields is None else (guard.fields,)
        self._unmatched: tuple[FilterSpec, ...] = ()
        """What stands before requests that no path takes."""
        self._is_spoken_for = speaker is not None and speaker.settings is not DEFAULTS
        if speaker is not None and speaker.settings is not DEFAULTS:
            facts = RouteFacts(self._facts, speaker.owner, found=found_for(speaker.owner))
            self._unmatched = annotations.unmatched_filters(speaker.settings, facts)
        # Nearly all routes of an owner have the same.
        self._usual: dict[Owner, tuple[FilterSpec, ...]] = {}
        self._differ: dict[Owner, bool] = {}

    @property
    def of_host(self) -> tuple[FilterSpec, ...]:
        """What stands before the host where no route matches."""
        asked = snippet_filters(self._annotations.usual.of(SNIPPETS), RouteFacts(self._of_all, path=""))
        if (
            self._guard is OPEN
            and self._closing is NOTHING_CLOSED
            and not (self._marks or asked or self._unmatched)
        ):
            return self._answers
        checks = checks_before((*asked, *self._unmatched), self._guard.check)
        missing = (_GUARD_MISSING,) if self._closing.guards_all else ()
        return _in_order((*self._marks, *checks, *missing, *asked, *self._answers, *self._unmatched))

    @property
    def _of_all(self) -> HostFacts:
        """What is known of the host where no Ingress has a path."""
        snippet = self._snippets.of_host
        return self._facts if snippet == EMPTY else evolve(self._facts, server_snippet=snippet)

    @property
    def of_default(self) -> tuple[FilterSpec, ...]:
        """What stands before the controller's own default backend."""
        usual = self._annotations.usual
        # It redirects only if that is forced on all hosts.
        settings = usual.but([(REDIRECTS, evolve(usual.of(REDIRECTS), ssl_redirect=False))])
        asked = self._annotations.filters(settings, RouteFacts(self._of_all, found=self._found_for(None)))
        missing = (_GUARD_MISSING,) if self._closing.guards_all else ()
        if self._is_spoken_for or missing:
            # Which errors are replaced is for the Ingress to say that the host belongs to, and what is closed has no pages.
            asked = tuple(one for one in asked if not isinstance(one, CustomErrors))
        # The operator's own may be among both.
        own = tuple(dict.fromkeys((*asked, *missing, *self._unmatched)))
        return self._complete(self._guard.check_of(ROOT), own)

    def of_claim(self, claim: Claim, parsed: ParsedObject) -> tuple[FilterSpec, ...]:
        """What stands before the route of *claim*, which *parsed* asks for."""
        check = self._guard.check_of(_path_to_check(claim, parsed), claim.owner)
        if check is None and claim.match is not Match.BEGINNING and not self._differ_by_path(parsed):
            usual = self._usual.get(claim.owner)
            if usual is None:
                usual = self._usual[claim.owner] = self._complete(None, self._asked(claim, parsed))
            return usual
        regex = (_REGEX_MISSING,) if claim.match is Match.BEGINNING else ()
        return self._complete(check, (*self._asked(claim, parsed), *regex))

    def _differ_by_path(self, parsed: ParsedObject) -> bool:
        """Whether routes of *parsed* on this host may have different filters."""
        differ = self._differ.get(parsed.owner)
        if differ is None:
            differ = self._snippets.differ_by_path or self._annotations.differ_by_path(parsed.settings)
            self._differ[parsed.owner] = differ
        return differ

    def facts_of(self, claim: Claim, parsed: ParsedObject) -> RouteFacts:
        """What families may know of the route of *claim*, which *parsed* asks for."""
        host = self._facts_of_passing if parsed.owner == self._passing else self._facts
        snippet = self._snippets.of(parsed.owner)
        if snippet is not EMPTY and snippet != EMPTY:
            host = evolve(host, server_snippet=snippet)
        found, match = self._found_for(parsed.owner), claim.match
        is_expression = match in (Match.EXPRESSION, Match.BEGINNING)
        return RouteFacts(
            host,
            parsed.owner,
            claim.path,
            claim.backend,
            found,
            match is Match.EXACT,
            is_expression,
            parsed.settings.of(URL_REDIRECTS).relative,
        )

    def _asked(self, claim: Claim, parsed: ParsedObject) -> tuple[FilterSpec, ...]:
        asked = self._annotations.filters(parsed.settings, self.facts_of(claim, parsed))
        if self._closing.lacks_guard(parsed):
            asked = (*asked, _GUARD_MISSING)
        if _GUARD_MISSING in asked:
            # What nobody gets to has no pages of errors either: the Service that has them may be the one that is closed.
            return tuple(one for one in asked if not isinstance(one, CustomErrors))
        return asked

    def _complete(
        self, check: ClientCheck | HostClosed | None, own: tuple[FilterSpec, ...]
    ) -> tuple[FilterSpec, ...]:
        checks = checks_before(own, check)
        # What an Ingress says of answers comes last: it may say more of HTTPS than the controller does.
        return _in_order((*self._marks, *checks, *self._edits, *own, *self._answers))


def _path_to_check(claim: Claim, parsed: ParsedObject) -> str:
    """Return the path by which it is told whether *claim* is one of ACME challenges, which need no client certificate.

    An expression may take other paths than its text begins with, and its endpoint may be asked for others than it takes.
    """
    is_plain = claim.beginnings is None or (
        claim.regex is None and not parsed.settings.of(PATH_REWRITES).rewrites(claim.path)
    )
    return claim.path if is_plain else ROOT


@lru_cache(maxsize=1024)
def _in_order(specs: tuple[FilterSpec, ...]) -> tuple[FilterSpec, ...]:
    """Return *specs*, which are given by place, in order of phase.

    Of thousands of hosts most have the same ones; they have one tuple, and so the proxy has one chain for all of them.
    """
    return tuple(sorted(specs, key=_PHASE))


def forget_filters() -> None:
    """Keep no filters that were put in order: what they were made of is another, or gone, and some have hashes of passwords."""
    _in_order.cache_clear()


def _default_route(
    host: str, backend: BackendReference, settings: AnnotationSettings, filters: tuple[FilterSpec, ...]
) -> Route:
    return Route(
        host,
        ROOT,
        Match.PREFIX,
        None,
        backend,
        settings.of(BODIES).max_bytes,
        balancing=settings.of(BALANCING).balancing(),
        retries=settings.of(RETRIES).rule(),
        is_logged=settings.of(ACCESS_LOGS).is_logged,
        filters=filters,
    )


def _route(
    claim: Claim, parsed: ParsedObject, filters: tuple[FilterSpec, ...], passthrough: BackendReference | None
) -> Route:
    backend = claim.backend
    secure = parsed.protocols.secure_for(claim.host, backend.name)
    settings = parsed.settings
    asks = settings is not DEFAULTS
    return Route(
        claim.host,
        claim.path,
        claim.match,
        claim.owner,
        backend,
        settings.of(BODIES).max_bytes if asks else DEFAULT_MAX_BYTES,
        None if secure is None or backend.kind != SERVICE_KIND else backend._replace(protocol=secure),
        passthrough,
        balancing=_balancing(settings) if asks else None,
        retries=settings.of(RETRIES).rule() if asks else DEFAULT_RETRIES,
        timeouts=_timeouts(settings) if asks else None,
        is_logged=not asks or settings.of(ACCESS_LOGS).is_logged,
        beginnings=claim.beginnings,
        expressions=claim.expressions,
        filters=filters,
    )


def _asking_beside(
    route: Route, parsed: ParsedObject, facts: RouteFacts, annotations: AnnotationReader
) -> Route:
    """Return *route* with the backends that its filters ask, and with the one that stands in for its own."""
    found = annotations.backends(parsed.settings, facts)
    if not found:
        return route
    beside = tuple(dict.fromkeys(reference for _, reference in found))
    return evolve(route, beside=beside, stand_in=_stand_in(route, parsed.settings.of(CUSTOM_ERRORS), facts))


def _stand_in(route: Route, settings: CustomErrorSettings, facts: RouteFacts) -> WeightedBackend | None:
    backend = own_default_backend(settings, facts)
    if backend is None or route.backend.kind != SERVICE_KIND:
        return None
    return WeightedBackend(backend, filters=(StandingIn(about_route(facts)),))


def _timeouts(settings: AnnotationSettings) -> AskedTimeouts | None:
    asked = settings.of(TIMEOUTS).asked()
    head_bytes = settings.of(BUFFERS).most_head_bytes
    return asked if head_bytes is None else evolve(asked or AskedTimeouts(), head_bytes=head_bytes)


def _with_canaries(
    route: Route, claim: Claim, canaries: HostCanaries, asked: Mapping[Owner, ParsedObject]
) -> Route:
    found = canaries.behind.get(claim)
    return route if found is None else with_canaries(route, found, asked[claim.owner].settings.of(AFFINITY))


def _balancing(settings: AnnotationSettings) -> Balancing | None:
    affinity = settings.of(AFFINITY).affinity()
    return settings.of(BALANCING).balancing() if affinity is None else Balancing(affinity=affinity)


def _order(route: Route) -> tuple[str, bool, bool]:
    return (route.path, route.match is not Match.EXACT, route.match is Match.BEGINNING)
