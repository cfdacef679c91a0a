"""The status of a ListenerSet.

Source: ``ListenerSetStatus`` of ``gateway.networking.k8s.io/v1``, with its conditions.
"""

from collections.abc import Sequence
from typing import Final

from ingress.model.cluster.object_meta import Condition
from ingress.model.cluster.problems import ORDER, Problem, Reason
from ingress.model.reporting.reports import StatusDocument
from ingress.model.reporting.writes import StatusShape
from ingress.translate.readers.gateway.objects.gateways import gateways_of
from ingress.translate.readers.gateway.statuses.conditions import Words, broken, condition_of, held
from ingress.translate.readers.gateway.statuses.listeners import (
    LISTENERS,
    ClientProblems,
    ListenerOutcome,
    is_any_valid,
    listener_outcomes,
)
from ingress.translate.readers.gateway.topology.topology import ListenerSetState
from ingress.translate.readers.gateway.topology.topology_making import last_topology
from ingress.translate.reports import ReportFacts

LISTENER_SET_SHAPE: Final = StatusShape(frozenset({"Accepted", "Programmed"}), (LISTENERS,))

_ACCEPTED: Final[Words] = {
    Reason.NOT_ALLOWED: "NotAllowed",
    Reason.PARENT_NOT_ACCEPTED: "ParentNotAccepted",
}
_PARENT_WORDS: Final = {"NotAllowed": "NotAllowed", "ParentNotAccepted": "ParentNotProgrammed"}


def listener_set_document(facts: ReportFacts) -> StatusDocument:
    """Return what the status of a ListenerSet of a Gateway of ours is to say."""
    state = last_topology(facts.state, facts.options).listener_sets[facts.key]
    problems = sorted(facts.problems, key=ORDER)
    outcomes = _outcomes(state, problems, facts)
    accepted = _accepted(outcomes, problems)
    return StatusDocument(
        (accepted, _programmed(accepted, outcomes)), {"listeners": tuple(one.entry for one in outcomes)}
    )


def is_valid_set(state: ListenerSetState, facts: ReportFacts, clients: ClientProblems) -> bool:
    """Whether a ListenerSet is accepted: what *facts* of its Gateway say of it, whose problems with clients are given."""
    problems = facts.problems_of(state.owner.id)
    if not problems and not clients:
        # As nearly all of thousands are.
        return state.is_accepted
    is_refused = any(problem.reason in _ACCEPTED for problem in problems)
    return not is_refused and is_any_valid(state.listeners, problems, clients)


def _outcomes(
    state: ListenerSetState, problems: Sequence[Problem], facts: ReportFacts
) -> tuple[ListenerOutcome, ...]:
    gateway = gateways_of(facts.state).get(state.gateway.key)
    of_gateway = sorted(facts.problems_of(state.gateway.id), key=ORDER)
    waits_for = "its Gateway has no address" if state.is_accepted else "its ListenerSet is not accepted"
    return listener_outcomes(
        state.listeners,
        problems,
        ClientProblems(gateway, of_gateway),
        last_topology(facts.state, facts.options),
        facts.attached.counts,
        waits_for,
    )


def _accepted(outcomes: Sequence[ListenerOutcome], problems: Sequence[Problem]) -> Condition:
    found = condition_of("Accepted", problems, _ACCEPTED)
    invalid = [str(one.entry.fields["name"]) for one in outcomes if not one.is_valid]
    if found.status != "True" or (outcomes and not invalid):
        return found
    if len(invalid) == len(outcomes):
        named = f"none of its listeners is valid: {', '.join(invalid)}" if invalid else "it has no listener"
        return broken("Accepted", "ListenersNotValid", named)
    return held("Accepted", "ListenersNotValid", f"not valid: {', '.join(invalid)}")


def _programmed(accepted: Condition, outcomes: Sequence[ListenerOutcome]) -> Condition:
    if accepted.status != "True":
        return broken("Programmed", _PARENT_WORDS.get(accepted.reason, accepted.reason), accepted.message)
    if not any(one.is_programmed for one in outcomes):
        return broken("Programmed", "ParentNotProgrammed", "none of its listeners is programmed")
    return held("Programmed")
