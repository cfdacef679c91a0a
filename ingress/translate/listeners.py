"""Which listeners there are to be: those of the command line, then those that objects ask for, oldest first.

A listener that two objects ask for alike is one; where another one has the address already, the younger is told.
So is whoever asks for one that cannot be opened; it stays among those that are to be.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.network.listeners import Listener
from ingress.model.stepwise import Stepwise, in_order
from ingress.translate.age import by_age
from ingress.translate.claims import ParsedObject

Refused = Mapping[Listener, str]
"""Listeners that could not be opened, and why."""
NONE_REFUSED: Final[Refused] = MappingProxyType({})
AT_ONCE: Final = 100
"""Objects whose listeners are looked at in one step."""


def choose_listeners(
    given: Sequence[Listener], asking: Sequence[ParsedObject], refused: Refused = NONE_REFUSED
) -> Stepwise[tuple[tuple[Listener, ...], tuple[Problem, ...]]]:
    """Return the listeners, *given* ones first, and what is told to objects that ask for one in vain."""
    chosen = {listener.description: listener for listener in given}
    others: list[Listener] = []
    owners: dict[str, Owner] = {}
    problems: list[Problem] = []
    in_turn = yield from in_order(asking, lambda one: by_age(one.owner))
    for number, parsed in enumerate(in_turn, 1):
        if not number % AT_ONCE:
            yield
        for listener, field in parsed.listeners:
            if listener in refused:
                problems.append(parsed.owner.problem(Reason.PORT_UNAVAILABLE, refused[listener], field))
            winner = chosen.get(listener.description)
            if winner is None:
                chosen[listener.description] = listener
                owners[listener.description] = parsed.owner
                others.append(listener)
            elif winner != listener:
                owner = owners.get(listener.description)
                whose = "the command line" if owner is None else str(owner)
                message = f"{listener.description} is a listener of {whose}; this one is not opened"
                problems.append(parsed.owner.problem(Reason.LISTENER_CONFLICT, message, field))
    # Two of the command line that are in each other's way are the operator's fault, and fail the start.
    return (*given, *others), tuple(problems)
