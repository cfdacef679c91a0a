"""``translate``: the cluster state in, one snapshot out.

Pure and total: the same state and options give the same snapshot, whatever the order
of the objects; nothing that a user can write makes it raise, and one bad object spoils
only itself.  Nothing is remembered from one call to the next.

The way through: choose the Ingresses that are ours (``classes``), read each by itself
(``rules``, and their annotations), bring them together (``merging``), read their
certificates (``certificates``), and make routes and backends of what is left.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from ingress.model.backends import BackendReference
from ingress.model.objects import Ingress, ObjectKey
from ingress.model.policy import Policy
from ingress.model.problems import Problem
from ingress.model.state import ClusterState
from ingress.policy.annotations import AnnotationReader, IngressPolicySettings
from ingress.policy.guards import GuardMissing
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from ingress.translate.age import by_age
from ingress.translate.backends import BackendFault, backend_faults, resolve_backends
from ingress.translate.certificates import translate_certificates
from ingress.translate.classes import judge_class
from ingress.translate.merging import Merged, merge
from ingress.translate.options import TranslateOptions
from ingress.translate.redirects import RedirectRule
from ingress.translate.rules import ROOT, IngressReading, read_rules
from ingress.translate.snapshot import Snapshot

__all__ = ["TranslateOptions", "translate"]


def translate(state: ClusterState, options: TranslateOptions, now: datetime) -> Snapshot:
    """Translate *state*; *now* (UTC) decides which certificates have expired."""
    problems = set(state.problems)
    ours: list[Ingress] = []
    for ingress in state.ingresses.values():
        verdict = judge_class(ingress, state, options)
        problems.update(verdict.problems)
        if verdict.is_ours:
            ours.append(ingress)
    ours.sort(key=by_age)

    reader = AnnotationReader(options.annotations_prefix)
    settings: dict[ObjectKey, IngressPolicySettings] = {}
    readings: list[IngressReading] = []
    default = options.default_backend_service
    for ingress in ours:
        settings[ingress.key], found = reader.read(ingress)
        problems.update(found)
        readings.append(read_rules(ingress, has_global_default=default is not None))
        problems.update(readings[-1].problems)

    merged = merge(readings, has_global_default=default is not None)
    problems.update(merged.problems)
    certificates, found = translate_certificates(ours, state, options, now)
    problems.update(found)

    routes = _routes(merged, settings, default, RedirectRule(certificates, options.https_port))
    references = dict.fromkeys(route.backend for route in routes)
    problems.update(_backend_problems(readings, default, state, options))
    return Snapshot(
        table=RouteTable(routes),
        backends=resolve_backends(references, state, options),
        certificates=certificates,
        problems=tuple(sorted(problems)),
    )


def _routes(
    merged: Merged,
    settings: Mapping[ObjectKey, IngressPolicySettings],
    default: BackendReference | None,
    redirects: RedirectRule,
) -> list[Route]:
    """Make routes, sorted by host, path and match, of the claims and the controller's default backend."""
    routes: list[Route] = []
    for claim in merged.claims:
        key = claim.ingress.key
        policies: tuple[Policy, ...] = ()
        redirect = redirects.policy(claim.host, settings[key].redirects)
        if redirect is not None:
            policies = (redirect,)
        if settings[key].lacks_guard:
            policies = (*policies, GuardMissing())
        routes.append(Route(claim.host, claim.path, claim.match, key, claim.backend, policies))
    if default is not None:
        # No Ingress asked for these routes, so no annotation, and no policy, holds for them.
        routes += [Route(host, ROOT, Match.PREFIX, None, default) for host in merged.unserved]
    routes.sort(key=lambda route: (route.host, route.path, route.match.value))
    return routes


def _backend_problems(
    readings: Iterable[IngressReading],
    default: BackendReference | None,
    state: ClusterState,
    options: TranslateOptions,
) -> set[Problem]:
    """Tell each Ingress what is wrong with the backends it names, be they used or not."""
    named: dict[tuple[ObjectKey, str], BackendReference] = {}
    for reading in readings:
        key = reading.ingress.key
        for claim in reading.claims:
            named[key, claim.backend_field] = claim.backend
        if reading.default_backend is not None:
            named[key, "spec.defaultBackend"] = reading.default_backend
    faults = backend_faults({*named.values(), *(() if default is None else (default,))}, state, options)
    problems = {
        _backend_problem(key, field, fault)
        for (key, field), reference in named.items()
        if (fault := faults.get(reference)) is not None
    }
    if default is not None and default in faults:
        fault = faults[default]
        message = f"--default-backend-service: {fault.message}"
        problems.add(Problem("Service", default.namespace, default.name, fault.reason, message))
    return problems


def _backend_problem(key: ObjectKey, field: str, fault: BackendFault) -> Problem:
    field = f"{field}.{fault.field}" if fault.field else field
    return Problem("Ingress", key.namespace, key.name, fault.reason, fault.message, field)
