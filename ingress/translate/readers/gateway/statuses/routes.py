"""The status of a route of any kind: an entry for each of its parents that is ours.

Source: ``RouteStatus`` and ``RouteParentStatus`` of ``gateway.networking.k8s.io/v1``, with their conditions.
"""

from collections.abc import Sequence
from typing import Any, Final, cast

from ingress.model.cluster.object_meta import Condition
from ingress.model.cluster.objects import Kind
from ingress.model.cluster.problems import ORDER, Problem, Reason
from ingress.model.reporting.reports import StatusDocument, StatusEntry
from ingress.model.reporting.writes import ListShape, StatusShape
from ingress.translate.readers.gateway.objects.routes import AnyRoute, ParentReference, hostnames_of
from ingress.translate.readers.gateway.statuses.conditions import broken, condition_of, held, is_within
from ingress.translate.readers.gateway.statuses.route_acceptance import UNRESOLVED, is_all_dropped, is_dropped
from ingress.translate.readers.gateway.topology.attachments import Attachment
from ingress.translate.readers.gateway.topology.topology_making import last_topology
from ingress.translate.reports import ReportFacts, told

ROUTE_SHAPE: Final = StatusShape(
    lists=(
        ListShape(
            "parents",
            ("controllerName", "parentRef"),
            frozenset({"Accepted", "ResolvedRefs", "PartiallyInvalid"}),
            32,
            is_shared=True,
        ),
    )
)

_OWN_WORDS: Final = frozenset({Reason.INCOMPATIBLE_FILTERS})


def route_document(kind: Kind, facts: ReportFacts) -> StatusDocument:
    """Return what the status of a route of *kind* is to say: nothing of parents that are not ours."""
    route = cast("AnyRoute", facts.state.of(kind)[facts.key])
    topology = last_topology(facts.state, facts.options)
    attachments = topology.attach(kind, facts.key.namespace, hostnames_of(route), route.parents)
    controller = facts.options.gateway.controller_name
    problems = sorted(facts.problems, key=ORDER)
    resolved = condition_of("ResolvedRefs", problems, UNRESOLVED)
    entries = [
        StatusEntry(
            {"parentRef": _reference(one.parent), "controllerName": controller},
            (*_accepted(one, problems, route.rules), resolved),
        )
        for one in attachments
        if one.gateway is not None
    ]
    return StatusDocument(lists={"parents": tuple(entries)}, controller=controller)


def _accepted(one: Attachment, problems: Sequence[Problem], rules: Sequence[object]) -> tuple[Condition, ...]:
    """Return whether a parent accepts the route, and what of the route is not done though it does."""
    if one.reason is not None:
        return (broken("Accepted", one.reason.value, f"{one.field}: {one.message}"),)
    dropped = [problem for problem in problems if _is_dropped(problem, one.field)]
    if not dropped:
        return (held("Accepted"),)
    taken = [problem for problem in dropped if problem.reason is Reason.HOST_CONFLICT]
    if len([problem for problem in taken if problem.field == one.field]) >= len(one.listeners):
        return (broken("Accepted", Reason.HOST_CONFLICT.value, told(taken)),)
    if is_all_dropped(dropped, rules):
        reason = next((one.reason.value for one in dropped if one.reason in _OWN_WORDS), "UnsupportedValue")
        return (broken("Accepted", reason, told(dropped)),)
    message = f"Dropped Rule, or part of it: {told(dropped)}"
    return held("Accepted"), held("PartiallyInvalid", "UnsupportedValue", message)


def _is_dropped(problem: Problem, parent: str) -> bool:
    """Whether *problem* keeps something from being done that the route asks for, as far as the entry at *parent* goes."""
    return is_dropped(problem) and (
        not problem.field.startswith("spec.parentRefs[") or is_within(problem, parent)
    )


def _reference(parent: ParentReference) -> dict[str, Any]:
    """Return *parent* as it was written, with what the API fills in."""
    reference: dict[str, Any] = {
        "group": parent.parent.group,
        "kind": parent.parent.kind,
        "name": parent.parent.name,
    }
    if parent.parent.namespace:
        reference["namespace"] = parent.parent.namespace
    if parent.section:
        reference["sectionName"] = parent.section
    if parent.port:
        reference["port"] = parent.port
    return reference
