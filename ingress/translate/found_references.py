"""What objects refer to by annotations, looked up in the cluster state: Secrets and ConfigMaps.  Pure.

What is missing, forbidden or in another namespace is a problem of whoever refers to it, and is not found; what becomes of
his routes then is for the filters of the family that needs it.
"""

from collections.abc import Generator
from typing import Final, NamedTuple

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.contract.references import NOTHING_FOUND, Found, Reference, found_of
from ingress.model.cluster.objects import ConfigMap, Kind, ObjectKey, Owner, Secret
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.translate.absent_secrets import FORBIDDEN, FORBIDDEN_REASONS, forbidden_by
from ingress.translate.claims import ParsedObject

_MISSING: Final = {Kind.SECRET: Reason.SECRET_NOT_FOUND, Kind.CONFIG_MAP: Reason.CONFIG_MAP_NOT_FOUND}


class Finding(NamedTuple):
    """What was found of all that one object refers to, and what is told of the rest."""

    found: Found = NOTHING_FOUND
    problems: tuple[Problem, ...] = ()


NOTHING_NAMED: Final = Finding()


Finds = Generator[None, None, Finding]
"""Looks something up step by step; what it returns at last is what it found."""


def find_references(parsed: ParsedObject, state: ClusterState, annotations: AnnotationReader) -> Finds:
    """Look up what *parsed* refers to, the operator's references included, step by step."""
    references = annotations.references(parsed.settings, parsed.owner.key)
    if not references:
        return NOTHING_NAMED
    finding = _find(parsed.owner, references, state, annotations)
    remarks = []
    for problem in annotations.content_problems(parsed.owner, parsed.settings, finding.found):
        if problem is None:
            yield
        else:
            remarks.append(problem)
    return finding._replace(problems=(*finding.problems, *remarks)) if remarks else finding


def find_at_once(finds: Finds) -> Finding:
    """Take all steps."""
    while True:
        try:
            next(finds)
        except StopIteration as end:
            found: Finding = end.value
            return found


def find_references_of_operator(state: ClusterState, annotations: AnnotationReader) -> Finding:
    """Look up what the operator's own settings refer to, and tell of what is not there."""
    references = annotations.references_of_operator
    if not references:
        return NOTHING_NAMED
    finding = _find(None, references, state, annotations)
    remarks = annotations.operator_content_problems(finding.found)
    return finding._replace(problems=(*finding.problems, *remarks))


def named_by(
    parsed: ParsedObject | None, annotations: AnnotationReader
) -> tuple[tuple[Kind, ObjectKey], ...]:
    """Return all objects within reach that *parsed* refers to."""
    if parsed is None:
        return ()
    key = parsed.owner.key
    references = annotations.references(parsed.settings, key)
    return tuple((one.kind, one.key) for one in references if one.is_in_reach(key)) if references else ()


def _find(
    owner: Owner | None,
    references: tuple[Reference, ...],
    state: ClusterState,
    annotations: AnnotationReader,
) -> Finding:
    there: dict[Reference, Secret | ConfigMap] = {}
    problems: list[Problem] = []
    for reference in references:
        one = None
        if owner is None or reference.is_in_reach(owner.key):
            one = _in_state(state, reference)
        if one is not None:
            there[reference] = one
        elif reference.is_operators:
            if owner is None:
                problems.append(_operators_problem(reference, state))
        elif owner is not None:
            problems.append(_problem(owner, reference, state, annotations))
    return Finding(found_of(there), tuple(problems))


def _in_state(state: ClusterState, reference: Reference) -> Secret | ConfigMap | None:
    if reference.kind is Kind.SECRET:
        return state.secrets.get(reference.key)
    one = state.of(reference.kind).get(reference.key)
    return one if isinstance(one, ConfigMap) else None


def _why_not(reference: Reference, state: ClusterState) -> tuple[Reason, str]:
    kind = reference.kind
    if forbidden_by(state, kind, reference.key):
        return FORBIDDEN_REASONS[kind], FORBIDDEN
    return _MISSING[kind], f"there is no such {kind}"


def _problem(
    owner: Owner, reference: Reference, state: ClusterState, annotations: AnnotationReader
) -> Problem:
    shown = f"{reference.kind} {reference.key}"
    if not reference.is_in_reach(owner.key):
        reason, message = (
            Reason.INVALID_ANNOTATION,
            f"{shown} is in another namespace and out of reach; {reference.without}",
        )
    else:
        reason, why = _why_not(reference, state)
        message = f"{shown}: {why}; {reference.without}"
    return owner.problem(
        reason, f"{reference.annotation}: {message}", annotations.field(reference.annotation)
    )


def _operators_problem(reference: Reference, state: ClusterState) -> Problem:
    reason, why = _why_not(reference, state)
    message = f"{reference.annotation} names it: {why}; {reference.without}"
    return Problem(reference.kind, reference.key.namespace, reference.key.name, reason, message)
