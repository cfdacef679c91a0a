"""The routes of one host: its claims with their policies, and the default backend of the controller."""

from collections.abc import Sequence

from ingress.model.backends import BackendReference
from ingress.model.policy import Policy
from ingress.policy.annotations import IngressPolicySettings
from ingress.policy.bodies import DEFAULT_MAX_BYTES
from ingress.policy.guards import GuardMissing
from ingress.routing.route import Match, Route
from ingress.translate.merging import HostMerge
from ingress.translate.redirects import RedirectRule
from ingress.translate.rules import ROOT, Claim, IngressReading

_GUARD_MISSING = GuardMissing()


def host_routes(
    host: str,
    merged: HostMerge,
    readings: Sequence[IngressReading],
    default: BackendReference | None,
    redirects: RedirectRule,
) -> tuple[Route, ...]:
    """Return the routes of *host*, sorted by path and match.

    *readings* are those that *merged* was made of; *default* is the controller's own
    default backend.
    """
    asked = {
        reading.ingress.key: (
            _policies(host, reading.settings, redirects),
            reading.settings.bodies.max_bytes,
        )
        for reading in readings
    }
    routes = [_route(claim, *asked[claim.ingress.key]) for claim in merged.claims]
    if default is not None and merged.is_open:
        # No Ingress asked for this route, so no annotation, and no policy, holds for it.
        routes.append(Route(host, ROOT, Match.PREFIX, None, default, (), DEFAULT_MAX_BYTES))
    if len(routes) > 1:
        routes.sort(key=_order)
    return tuple(routes)


def _route(claim: Claim, policies: tuple[Policy, ...], max_bytes: int) -> Route:
    return Route(claim.host, claim.path, claim.match, claim.ingress.key, claim.backend, policies, max_bytes)


def _order(route: Route) -> tuple[str, str]:
    return (route.path, route.match.value)


def _policies(host: str, settings: IngressPolicySettings, redirects: RedirectRule) -> tuple[Policy, ...]:
    policies: tuple[Policy, ...] = ()
    redirect = redirects.policy(host, settings.redirects)
    if redirect is not None:
        policies = (redirect,)
    if settings.lacks_guard:
        policies = (*policies, _GUARD_MISSING)
    return policies
