"""The routes of one host: its claims with their filters, and the default backend of the controller."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import cast

from attrs import evolve

from ingress.annotations.annotations import DEFAULTS, AnnotationSettings
from ingress.annotations.bodies import DEFAULT_MAX_BYTES
from ingress.annotations.guards import GuardMissing
from ingress.annotations.passthrough import NotTerminatedHere
from ingress.annotations.redirects import RedirectSettings
from ingress.annotations.regexes import RegexMissing
from ingress.filters import FilterSpec
from ingress.model.backends import BackendReference
from ingress.model.policy import Policy, SecureFields
from ingress.model.retries import DEFAULT_RETRIES
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes
from ingress.translate.client_authentication import HostGuard
from ingress.translate.closing import NOTHING_CLOSED, HostClosing
from ingress.translate.merging import HostMerge
from ingress.translate.passthrough import passed_backend
from ingress.translate.redirects import RedirectRule
from ingress.translate.rules import ROOT, SERVICE_KIND, Claim, ParsedObject

_GUARD_MISSING = GuardMissing()
_REGEX_MISSING = RegexMissing()
_NOT_TERMINATED_HERE = NotTerminatedHere()
_PHASE = attrgetter("phase")
# The controller's own default backend redirects only if that is forced on all hosts.
_OPERATORS = evolve(DEFAULTS, redirects=RedirectSettings(ssl_redirect=False))


def host_routes(
    host: str,
    merged: HostMerge,
    all_parsed: Sequence[ParsedObject],
    default: BackendReference | None,
    redirects: RedirectRule,
    guard: HostGuard,
    passing: Claim | None = None,
    closing: HostClosing = NOTHING_CLOSED,
) -> HostRoutes:
    """Return the routes of *host*, sorted by path and match, and what stands before it where none of them matches.

    *all_parsed* are those that *merged* was made of; *default* is the controller's own
    default backend, *guard* what stands before the host as a whole,
    *passing* the claim whose backend gets TLS for the host as it is, *closing* what of the host is closed.
    """
    asked = {parsed.owner: parsed for parsed in all_parsed}
    passing_owner = None if passing is None else passing.owner
    usual = {
        owner: _policies(
            host,
            parsed.settings,
            redirects,
            passes_tls=owner == passing_owner,
            lacks_guard=closing.lacks_guard(parsed),
        )
        for owner, parsed in asked.items()
    }
    secure_fields = redirects.transport_security(host)
    routes: list[Route] = []
    for claim in merged.claims:
        parsed = asked[claim.owner]
        check = guard.policy_of(claim.path, claim.owner)
        policies = usual[claim.owner]
        if check is not None:
            passes_tls = claim.owner == passing_owner
            policies = _policies(
                host,
                parsed.settings,
                redirects,
                check,
                passes_tls=passes_tls,
                lacks_guard=closing.lacks_guard(parsed),
            )
        if claim.match is Match.BEGINNING:
            policies = (*policies, _REGEX_MISSING)
        route = _route(claim, parsed, policies, guard, secure_fields)
        if passing is not None:
            passthrough = passed_backend(claim) if claim is passing else None
            policies = (_NOT_TERMINATED_HERE, *policies)
            route = evolve(route, policies=policies, passthrough=passthrough)
        routes.append(route)
    if default is not None and merged.is_open:
        # No Ingress asked for this route, so no annotation holds for it but what is about the host.
        policies = _policies(
            host, _OPERATORS, redirects, guard.policy_of(ROOT), lacks_guard=closing.guards_all
        )
        routes.append(
            Route(
                host,
                ROOT,
                Match.PREFIX,
                None,
                default,
                policies,
                DEFAULT_MAX_BYTES,
                secure_fields=secure_fields,
                upstream_fields=guard.upstream_fields,
            )
        )
    if len(routes) > 1:
        routes.sort(key=_order)
    routes = [evolve(route, filters=_filters(route)) for route in routes]
    return HostRoutes(tuple(routes), _host_filters(guard, closing, secure_fields, passes=passing is not None))


def _host_filters(
    guard: HostGuard, closing: HostClosing, secure_fields: SecureFields | None, *, passes: bool
) -> tuple[FilterSpec, ...]:
    """Return what stands before a host as a whole, in order."""
    specs = (
        _NOT_TERMINATED_HERE if passes else None,
        guard.policy,
        _GUARD_MISSING if closing.guards_all else None,
        secure_fields,
    )
    return _in_order(cast(FilterSpec, one) for one in specs if one is not None)


def _filters(route: Route) -> tuple[FilterSpec, ...]:
    specs = (*route.policies, route.upstream_fields, route.secure_fields)
    return _in_order(cast(FilterSpec, one) for one in specs if one is not None)


def _in_order(specs: Iterable[FilterSpec]) -> tuple[FilterSpec, ...]:
    """Return *specs*, which are given by place, in order of phase."""
    return tuple(sorted(specs, key=_PHASE))


def _route(
    claim: Claim,
    parsed: ParsedObject,
    policies: tuple[Policy, ...],
    guard: HostGuard,
    secure_fields: SecureFields | None,
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
        policies,
        settings.bodies.max_bytes,
        None if secure is None or backend.kind != SERVICE_KIND else backend._replace(protocol=secure),
        secure_fields=secure_fields,
        upstream_fields=guard.upstream_fields,
        balancing=settings.balancing.balancing() if asks else None,
        retries=settings.retries.rule() if asks else DEFAULT_RETRIES,
        timeouts=settings.timeouts.asked() if asks else None,
        beginnings=claim.beginnings,
    )


def _order(route: Route) -> tuple[str, bool, bool]:
    return (route.path, route.match is not Match.EXACT, route.match is Match.BEGINNING)


def _policies(
    host: str,
    settings: AnnotationSettings,
    redirects: RedirectRule,
    check: Policy | None = None,
    *,
    passes_tls: bool = False,
    lacks_guard: bool = False,
) -> tuple[Policy, ...]:
    """Return the policies of a route, in the order in which they are asked.

    The redirect comes before the *check* of client certificates: over plain HTTP there is none to see.
    """
    policies: tuple[Policy, ...] = ()
    redirect = redirects.policy(host, settings.redirects, passes_tls=passes_tls)
    if redirect is not None:
        policies = (redirect,)
    if check is not None:
        policies = (*policies, check)
    if lacks_guard:
        policies = (*policies, _GUARD_MISSING)
    return policies
