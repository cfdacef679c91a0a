"""From problems to conditions of the Gateway API, and what entries of a status have in common.

A *word* is the reason of the API for a reason of ours.  Several problems make one condition: the first in the order of the
words decides about its reason, and the message has all of them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ingress.model.cluster.object_meta import Condition
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import ORDER, Problem, Reason
from ingress.translate.readers.gateway.objects.names import GROUP
from ingress.translate.reports import told

Words = Mapping[Reason, str]


def held(of_type: str, reason: str = "", message: str = "") -> Condition:
    """Return a condition that holds; its reason is mostly called as itself."""
    return Condition(of_type, "True", reason or of_type, message)


def broken(of_type: str, reason: str, message: str) -> Condition:
    """Return a condition that does not hold."""
    return Condition(of_type, "False", reason, message)


def condition_of(of_type: str, problems: Iterable[Problem], words: Words) -> Condition:
    """Return a condition that those of *problems* break that there are *words* for."""
    order = list(words)
    found = [problem for problem in problems if problem.reason in words]
    if not found:
        return held(of_type)
    found.sort(key=lambda problem: (order.index(problem.reason), ORDER(problem)))
    return broken(of_type, words[found[0].reason], told(found))


def is_within(problem: Problem, field: str) -> bool:
    """Whether *problem* is about *field*, or about a part of it."""
    rest = problem.field[len(field) :]
    return problem.field.startswith(field) and (not rest or rest[0] in ".[")


def reference_to(owner: Owner) -> dict[str, Any]:
    """Return a reference to *owner*, an object of the group, as statuses have it."""
    return {"group": GROUP, "kind": str(owner.kind), "namespace": owner.key.namespace, "name": owner.key.name}
