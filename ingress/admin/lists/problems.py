"""Problems: what objects ask for in vain, each once."""

from collections.abc import Callable, Iterable
from typing import Final

from ingress.admin.contract.listing import Filter, Listing, Position
from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.page_row import listing_rows
from ingress.admin.contract.parameters import Parameter
from ingress.admin.contract.schemas import Schema, fields_of, one_of, text
from ingress.admin.lists.parameters import NAMESPACE
from ingress.model.cluster.problems import Problem, Reason

PROBLEM: Final[Schema] = fields_of(
    {
        "kind": text("The kind of the object."),
        "namespace": text("Its namespace; empty where it has none."),
        "name": text("Its name."),
        "field": text("The path of the field at fault; empty for the whole object."),
        "reason": one_of([reason.value for reason in Reason], "A code of [problems.md](problems.md)."),
        "message": text("What is wrong, in a sentence."),
    }
)


def _entries(asked: PageRequest) -> Iterable[Problem]:
    return asked.snapshot.unordered_problems()


def _position(problem: Problem) -> Position:
    # Comparing problems themselves takes ten times as long.
    return (
        problem.kind,
        problem.namespace,
        problem.name,
        problem.reason.value,
        problem.message,
        problem.field,
    )


def _as_data(problem: Problem, asked: PageRequest) -> dict[str, object]:
    return {
        "kind": problem.kind,
        "namespace": problem.namespace,
        "name": problem.name,
        "field": problem.field,
        "reason": problem.reason.value,
        "message": problem.message,
    }


def _in_namespace(namespace: str, asked: PageRequest) -> Callable[[Problem], bool]:
    return lambda problem: problem.namespace == namespace


def _for_reason(reason: str, asked: PageRequest) -> Callable[[Problem], bool]:
    return lambda problem: problem.reason.value == reason


REASON: Final = Parameter(
    "reason", "Only those of this reason.", choices=tuple(reason.value for reason in Reason)
)

PROBLEMS: Final = Listing(
    "problems",
    (str,) * 6,
    _entries,
    _position,
    _as_data,
    (Filter(NAMESPACE, _in_namespace), Filter(REASON, _for_reason)),
)
"""Sorted by object, reason, message and field."""

ROWS: Final = listing_rows(
    PROBLEMS, "what objects ask for in vain, and why", PROBLEM, has_alias=True, is_of_snapshot=True
)
