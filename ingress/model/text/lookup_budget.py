"""What comparing a request with regular expressions may cost: one lookup, and all lookups of one turn of the reactor together.

Costs are counted, in steps of a program times bytes that it looks through, of which a million take at most about four
milliseconds; so what is refused does not depend on the machine, nor on what else it does.

What the expression of the route that is found captures of the path is taken out of it by filters, later in the same turn, and counts as a part of the
lookup.

A lookup that costs little is made when a request arrives.  What costs more draws on a budget that all lookups of the turn share; once that
is spent, a lookup is deferred (``LookupDeferred``) and made anew in a later turn, so many that come at once keep others waiting for one of them
and not for all.
"""

import sys
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from ingress.model.stepwise import Stepwise, finished

T = TypeVar("T")

MAX_WORK: Final = 1 << 21
"""Steps times bytes that one lookup may take: eight milliseconds of the worst expressions, and thousands of usual ones."""
MAX_RUN: Final = 3000
"""How many programs run in one lookup: fewer than are kept, and no more than six milliseconds of them."""
MAX_MAKING: Final = 1 << 21
"""What programs may count that are made in one turn: eight milliseconds, in which as many steps are run times bytes."""
_RUN: Final = 512
"""What it counts to begin to run a program, however little that looks through: two microseconds."""
_LOOK: Final = 128
"""What it counts to look whether a program is to be run, or at a condition that has none: half a microsecond."""
_FREE: Final = 1 << 15
"""What any lookup may cost, whatever others have: a tenth of a millisecond, in which some dozens of usual expressions are run."""
_CAPTURED: Final = 4
"""What it counts to look through a byte by a step where a few groups are captured: at worst some ten nanoseconds, and a tenth of one for usual expressions."""
_MANY_CAPTURED: Final = 8
"""What it counts where many are: at worst some twenty.

So none counts more than ``searches.MAX_CAPTURED``, from where RE2 takes its slow way, which copies all groups for each step.
"""
_FEW_GROUPS: Final = 6
_FREE_CAPTURE: Final = 3 << 16
"""What any capture may count, whatever others have: half a millisecond at worst, in which usual expressions have a path of two thousand bytes."""
_MAX_RUNNING: Final = MAX_WORK + MAX_RUN * (_RUN + _LOOK)
"""What lookups may cost in one turn besides: about as much as the dearest of them."""
UNBOUNDED: Final = sys.maxsize
"""What a lookup may cost that has a turn for itself: it is made anew each time, so nothing but making programs may defer it once more."""


def capturing_of(steps: int, groups: int) -> int:
    """Return what it counts, for each byte of a path, to take so many *groups* out of it by a program of so many *steps*."""
    if not groups:
        return 0
    return steps * (_CAPTURED if groups <= _FEW_GROUPS else _MANY_CAPTURED)


class LookupDeferred(Exception):  # noqa: N818 - it is a verdict on a lookup, no failure
    """The turn has no more left for so dear a lookup; programs that were made for it are kept, so whoever asks again gets further."""


class Made(Protocol):
    """An expression whose program may have to be made."""

    @property
    def is_made(self) -> bool:
        """Whether its program is kept, or it needs none."""

    def making(self) -> int:
        """Make its program, and return what that counts."""


class TurnBudget:
    """What the lookups of one turn may still cost together: to make programs, and to run them."""

    __slots__ = ("making", "running")

    def __init__(self, running: int = _MAX_RUNNING) -> None:
        self.making, self.running = MAX_MAKING, running

    def renew(self) -> None:
        """Let lookups cost as much again, since others have had a turn."""
        self.making, self.running = MAX_MAKING, _MAX_RUNNING


class LookupCost:
    """What one lookup has cost, and may still; without a *budget* of a turn it has one for itself."""

    __slots__ = ("_budget", "_free", "_runs", "_work")

    def __init__(self, budget: TurnBudget | None) -> None:
        self._budget = TurnBudget(UNBOUNDED) if budget is None else budget
        self._work, self._runs, self._free = MAX_WORK, MAX_RUN, _FREE

    def may_run(self, work: int) -> bool:
        """Count a program that is run for so much *work*, in steps times bytes; returns whether a lookup may cost that.

        Raises ``LookupDeferred``.
        """
        self._work -= work
        self._runs -= 1
        if self._work < 0 or self._runs < 0:
            return False
        self._take(work + _RUN)
        return True

    def may_capture(self, work: int) -> bool:
        """Count that groups are taken out of the path once the lookup is over, which is so much *work* (``capturing_of`` times bytes); returns whether it may.

        Raises ``LookupDeferred``.
        """
        return work <= _FREE_CAPTURE or self.may_run(work)

    def look(self, count: int) -> None:
        """Count that so many expressions or conditions are looked at; raises ``LookupDeferred``."""
        self._take(count * _LOOK)

    def _take(self, cost: int) -> None:
        if self._free >= cost:
            self._free -= cost
        else:
            if self._budget.running <= 0:
                raise LookupDeferred
            self._budget.running -= cost

    def make(self, expression: Made) -> None:
        """Have the program of *expression* made, if it is not kept; raises ``LookupDeferred``."""
        if not expression.is_made:
            if self._budget.making <= 0:
                raise LookupDeferred
            self._budget.making -= expression.making()


def found_in_steps(find: Callable[[], T]) -> Stepwise[T]:
    """Return what *find* finds, which has a turn for itself each time; each time that programs are made for it is a step."""
    while True:
        try:
            return find()
        except LookupDeferred:
            yield


def found_at_last(find: Callable[[], T]) -> T:
    """Return what *find* finds, however long programs are made for it: for those who keep nobody waiting."""
    return finished(found_in_steps(find))
