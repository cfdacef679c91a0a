"""Which listeners there are to be: those of the command line, then those that objects ask for, oldest first.

A listener that two objects ask for alike is one; where another one has the address already, the younger is told.
"""

from collections.abc import Iterable, Sequence

from ingress.model.listeners import Listener
from ingress.model.objects import Owner
from ingress.model.problems import Problem, Reason
from ingress.translate.age import by_age
from ingress.translate.claims import ParsedObject


def choose_listeners(
    given: Sequence[Listener], asking: Iterable[ParsedObject]
) -> tuple[tuple[Listener, ...], tuple[Problem, ...]]:
    """Return the listeners, *given* ones first, and what is told to objects that ask for one in vain."""
    chosen = {listener.description: listener for listener in given}
    others: list[Listener] = []
    owners: dict[str, Owner] = {}
    problems: list[Problem] = []
    for parsed in sorted(asking, key=lambda one: by_age(one.owner)):
        for listener in parsed.listeners:
            winner = chosen.get(listener.description)
            if winner is None:
                chosen[listener.description] = listener
                owners[listener.description] = parsed.owner
                others.append(listener)
            elif winner != listener:
                owner = owners.get(listener.description)
                whose = "the command line" if owner is None else str(owner)
                message = f"{listener.description} is a listener of {whose}; this one is not opened"
                problems.append(
                    parsed.owner.problem(Reason.LISTENER_CONFLICT, message, parsed.listeners_field)
                )
    # Two of the command line that are in each other's way are the operator's fault, and fail the start.
    return (*given, *others), tuple(problems)
