"""The routes of one host: its claims with their filters, and the default backend of the controller.

The filters of a route are in order of phase, and within a phase in order of place: what holds for the host as a whole
comes before what the route's own object asks for.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter

from attrs import evolve

from ingress.annotations.access_logs import ACCESS_LOGS
from ingress.annotations.annotations import DEFAULTS, AnnotationReader, AnnotationSettings
from ingress.annotations.balancing import BALANCING
from ingress.annotations.bodies import BODIES, DEFAULT_MAX_BYTES
from ingress.annotations.buffers import BUFFERS
from ingress.annotations.guards import GuardMissing
from ingress.annotations.passthrough import NotTerminatedHere
from ingress.annotations.redirects import REDIRECTS
from ingress.annotations.references import Found
from ingress.annotations.regexes import RegexMissing
from ingress.annotations.retries import RETRIES
from ingress.annotations.route_facts import RouteFacts
from ingress.annotations.timeouts import TIMEOUTS
from ingress.filters import FilterSpec
from ingress.model.backends import BackendReference
from ingress.model.limits import AskedTimeouts
from ingress.model.objects import Owner
from ingress.model.retries import DEFAULT_RETRIES
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes
from ingress.translate.claims import ROOT, SERVICE_KIND, Claim, ParsedObject
from ingress.translate.client_authentication import OPEN, HostGuard
from ingress.translate.closing import NOTHING_CLOSED, HostClosing
from ingress.translate.merging import HostMerge
from ingress.translate.passthrough import passed_backend
from ingress.translate.redirects import RedirectRule

FoundFor = Callable[[Owner | None], Found]
"""Says what was found of what an owner refers to, or the operator (None)."""

_GUARD_MISSING = GuardMissing()
_REGEX_MISSING = RegexMissing()
_NOT_TERMINATED_HERE = NotTerminatedHere()
_PHASE = attrgetter("phase")


def host_routes(
    host: str,
    merged: HostMerge,
    all_parsed: Sequence[ParsedObject],
    default: BackendReference | None,
    annotations: AnnotationReader,
    redirects: RedirectRule,
    found_for: FoundFor,
    guard: HostGuard,
    passing: Claim | None = None,
    closing: HostClosing = NOTHING_CLOSED,
) -> HostRoutes:
    """Return the routes of *host*, sorted by path and match, and what stands before it where none of them matches.

    *all_parsed* are those that *merged* was made of; *default* is the controller's own
    default backend, *found_for* says what was found of all that an owner refers to, *guard* what stands before the host as a whole,
    *passing* the claim whose backend gets TLS for the host as it is, *closing* what of the host is closed.
    """
    filters = _HostFilters(host, annotations, redirects, found_for, guard, closing, passing)
    asked = {parsed.owner: parsed for parsed in all_parsed}
    routes = [
        _route(
            claim,
            asked[claim.owner],
            filters.of_claim(claim, asked[claim.owner]),
            passed_backend(claim) if claim is passing else None,
        )
        for claim in merged.claims
    ]
    if default is not None and merged.is_open:
        # No Ingress asked for this route, so nothing holds for it but what is about the host, and what the operator says.
        routes.append(_default_route(host, default, annotations.usual, filters.of_default))
    if len(routes) > 1:
        routes.sort(key=_order)
    return HostRoutes(tuple(routes), filters.of_host)


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
        passing: Claim | None,
    ) -> None:
        self._annotations = annotations
        self._found_for = found_for
        self._guard = guard
        self._closing = closing
        self._passing = None if passing is None else passing.owner
        self._facts = redirects.facts(host)
        self._facts_of_passing = self._facts if passing is None else redirects.facts(host, passes_tls=True)
        self._marks: tuple[FilterSpec, ...] = () if passing is None else (_NOT_TERMINATED_HERE,)
        hsts = redirects.transport_security(host)
        self._answers: tuple[FilterSpec, ...] = () if hsts is None else (hsts,)
        self._edits: tuple[FilterSpec, ...] = () if guard.fields is None else (guard.fields,)
        # Nearly all routes of an owner have the same.
        self._usual: dict[Owner, tuple[FilterSpec, ...]] = {}

    @property
    def of_host(self) -> tuple[FilterSpec, ...]:
        """What stands before the host where no route matches."""
        if self._guard is OPEN and self._closing is NOTHING_CLOSED and not self._marks:
            return self._answers
        check = () if self._guard.check is None else (self._guard.check,)
        missing = (_GUARD_MISSING,) if self._closing.guards_all else ()
        return _in_order((*self._marks, *check, *missing, *self._answers))

    @property
    def of_default(self) -> tuple[FilterSpec, ...]:
        """What stands before the controller's own default backend."""
        usual = self._annotations.usual
        # It redirects only if that is forced on all hosts.
        settings = usual.but([(REDIRECTS, evolve(usual.of(REDIRECTS), ssl_redirect=False))])
        asked = self._annotations.filters(settings, RouteFacts(self._facts, found=self._found_for(None)))
        missing = (_GUARD_MISSING,) if self._closing.guards_all else ()
        return self._complete(self._guard.check_of(ROOT), (*asked, *missing))

    def of_claim(self, claim: Claim, parsed: ParsedObject) -> tuple[FilterSpec, ...]:
        """What stands before the route of *claim*, which *parsed* asks for."""
        check = self._guard.check_of(claim.path, claim.owner)
        if (
            check is None
            and claim.match is not Match.BEGINNING
            and not self._annotations.differ_by_path(parsed.settings)
        ):
            usual = self._usual.get(claim.owner)
            if usual is None:
                usual = self._usual[claim.owner] = self._complete(None, self._asked(claim, parsed))
            return usual
        regex = (_REGEX_MISSING,) if claim.match is Match.BEGINNING else ()
        return self._complete(check, (*self._asked(claim, parsed), *regex))

    def _asked(self, claim: Claim, parsed: ParsedObject) -> tuple[FilterSpec, ...]:
        host = self._facts_of_passing if parsed.owner == self._passing else self._facts
        asked = self._annotations.filters(
            parsed.settings,
            RouteFacts(host, parsed.owner, claim.path, claim.backend, self._found_for(parsed.owner)),
        )
        return (*asked, _GUARD_MISSING) if self._closing.lacks_guard(parsed) else asked

    def _complete(self, check: FilterSpec | None, own: tuple[FilterSpec, ...]) -> tuple[FilterSpec, ...]:
        checks = () if check is None else (check,)
        return _in_order((*self._marks, *checks, *self._edits, *self._answers, *own))


@lru_cache(maxsize=1024)
def _in_order(specs: tuple[FilterSpec, ...]) -> tuple[FilterSpec, ...]:
    """Return *specs*, which are given by place, in order of phase.

    Of thousands of hosts most have the same ones; they have one tuple, and so the proxy has one chain for all of them.
    """
    return tuple(sorted(specs, key=_PHASE))


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
        filters=filters,
    )


def _route(
    claim: Claim, parsed: ParsedObject, filters: tuple[FilterSpec, ...], passthrough: BackendReference | None
) -> Route:
    backend = claim.backend
    secure = parsed.protocols.secure
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
        balancing=settings.of(BALANCING).balancing() if asks else None,
        retries=settings.of(RETRIES).rule() if asks else DEFAULT_RETRIES,
        timeouts=_timeouts(settings) if asks else None,
        is_logged=not asks or settings.of(ACCESS_LOGS).is_logged,
        beginnings=claim.beginnings,
        filters=filters,
    )


def _timeouts(settings: AnnotationSettings) -> AskedTimeouts | None:
    asked = settings.of(TIMEOUTS).asked()
    head_bytes = settings.of(BUFFERS).most_head_bytes
    return asked if head_bytes is None else evolve(asked or AskedTimeouts(), head_bytes=head_bytes)


def _order(route: Route) -> tuple[str, bool, bool]:
    return (route.path, route.match is not Match.EXACT, route.match is Match.BEGINNING)
