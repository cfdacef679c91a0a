"""The status of a route of any kind: an entry for each of its parents that is ours.

Source: ``RouteStatus`` and ``RouteParentStatus`` of ``gateway.networking.k8s.io/v1``, with their conditions.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, cast

from ingress.model.object_meta import Condition
from ingress.model.objects import Kind
from ingress.model.problems import Problem, Reason
from ingress.model.reports import StatusDocument, StatusEntry
from ingress.model.writes import ListShape, StatusShape
from ingress.translate.readers.gateway.attachments import Attachment
from ingress.translate.readers.gateway.routes import AnyRoute, ParentReference
from ingress.translate.readers.gateway.statuses.conditions import Words, broken, condition_of, held, is_within
from ingress.translate.readers.gateway.working_out import last_topology
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

_RESOLVED: Final[Words] = {
    Reason.REFERENCE_NOT_PERMITTED: "RefNotPermitted",
    Reason.INVALID_KIND: "InvalidKind",
    Reason.RESOURCE_BACKEND: "InvalidKind",
    Reason.EXTERNAL_NAME_FORBIDDEN: "RefNotPermitted",
    Reason.SERVICE_NOT_FOUND: "BackendNotFound",
    Reason.SERVICE_PORT_NOT_FOUND: "BackendNotFound",
    Reason.INVALID_BACKEND: "BackendNotFound",
    Reason.UNSUPPORTED_PROTOCOL: "UnsupportedProtocol",
}
_ATTACHED: Final = frozenset(
    {Reason.NOT_ALLOWED_BY_LISTENERS, Reason.NO_MATCHING_PARENT, Reason.NO_MATCHING_LISTENER_HOSTNAME}
)
# What is done as it was asked for, though something about it deserves a word; or what is about the backend's TLS, whose
# policy says so in its own status.
_HARMLESS: Final = frozenset(
    {
        Reason.DEPRECATED_VERSION,
        Reason.DUPLICATE_OBJECT,
        Reason.ENDPOINT_FORBIDDEN,
        Reason.CERTIFICATE_EXPIRED,
        Reason.CERTIFICATE_NOT_YET_VALID,
        Reason.CERTIFICATE_NAME_MISMATCH,
    }
)
_OWN_WORDS: Final = frozenset({Reason.INCOMPATIBLE_FILTERS})
_RULE: Final = re.compile(r"spec\.rules\[(\d+)\]")


def route_document(kind: Kind, facts: ReportFacts) -> StatusDocument:
    """Return what the status of a route of *kind* is to say: nothing of parents that are not ours."""
    route = cast("AnyRoute", facts.state.of(kind)[facts.key])
    topology = last_topology(facts.state, facts.options)
    hostnames = getattr(route, "hostnames", ())
    attachments = topology.attach(kind, facts.key.namespace, hostnames, route.parents)
    controller = facts.options.gateway.controller_name
    problems = sorted(facts.problems)
    resolved = condition_of("ResolvedRefs", problems, _RESOLVED)
    entries = [
        StatusEntry(
            {"parentRef": _reference(one.parent), "controllerName": controller},
            (*_accepted(one, problems, len(route.rules)), resolved),
        )
        for one in attachments
        if one.gateway is not None
    ]
    return StatusDocument(lists={"parents": tuple(entries)}, controller=controller)


def _accepted(one: Attachment, problems: Sequence[Problem], rules: int) -> tuple[Condition, ...]:
    """Return whether a parent accepts the route, and what of the route is not done though it does."""
    if one.reason is not None:
        return (broken("Accepted", one.reason.value, f"{one.field}: {one.message}"),)
    undone = [problem for problem in problems if _is_undone(problem, one.field)]
    if not undone:
        return (held("Accepted"),)
    taken = [problem for problem in undone if problem.reason is Reason.HOST_CONFLICT]
    if len([problem for problem in taken if problem.field == one.field]) >= len(one.listeners):
        return (broken("Accepted", Reason.HOST_CONFLICT.value, told(taken)),)
    if _is_all_undone(undone, rules):
        reason = next((one.reason.value for one in undone if one.reason in _OWN_WORDS), "UnsupportedValue")
        return (broken("Accepted", reason, told(undone)),)
    message = f"Dropped Rule, or part of it: {told(undone)}"
    return held("Accepted"), held("PartiallyInvalid", "UnsupportedValue", message)


def _is_undone(problem: Problem, parent: str) -> bool:
    """Whether *problem* keeps something from being done that the route asks for, as far as the entry at *parent* goes."""
    if problem.is_note or problem.reason in _RESOLVED or problem.reason in _HARMLESS | _ATTACHED:
        return False
    return not problem.field.startswith("spec.parentRefs[") or is_within(problem, parent)


def _is_all_undone(undone: Sequence[Problem], rules: int) -> bool:
    """Whether nothing of a route with so many *rules* is left."""
    if any(problem.field in ("", "spec", "spec.rules") for problem in undone):
        return True
    places = {found[1] for problem in undone if (found := _RULE.match(problem.field)) is not None}
    return 0 < rules <= len(places)


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
