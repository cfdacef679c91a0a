"""Tells the operator of each problem when it comes and when it goes, and not in between.

A problem has to last a moment before anybody is told: an Ingress often comes just before its
Service.  Of very many, so many lines are written, and one now and then says how many more there were; and who tells
of them by itself has them some at a time.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ingress.model.cluster.problems import ORDER, Problem, Reason
from ingress.model.observability.changes_and_failures import ChangeSort, Mark
from ingress.model.stepwise import Stepwise, in_order

log = Logger()

SETTLE_SECONDS = 2.0
"""How long a problem has to last before anybody is told, here and by Events."""

LINES_AT_ONCE = 100
LINES_PER_SECOND = 10.0
"""How many lines there are at once, and in the long run."""

SUMMARY_SECONDS = 5.0
"""How long problems without a line wait for the one line that counts them."""

# As many take some tenths of a millisecond; the lines are what costs.
_PORTION = 100
_LINES_OF_TURN = 15


class ProblemLog:
    """Follows the problems of the snapshots; *clock* delays.  Reactor thread."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        # Those that came and are not old enough, with the time when they are; the oldest first.
        self._settling: dict[Problem, float] = {}
        # The others, by whether they had a line.
        self._told: set[Problem] = set()
        self._untold: set[Problem] = set()
        self._lines = float(LINES_AT_ONCE)
        self._filled_at = clock.seconds()
        self._more: Counter[Reason] = Counter()
        self._more_solved = 0
        self._settle_call: IDelayedCall | None = None
        self._summary_call: IDelayedCall | None = None

    def changed(self, came: Iterable[Problem], went: Iterable[Problem], *, at_once: bool = False) -> None:
        """Tell of *came*, *at_once* or when they have lasted for a moment, and of *went* if they were told."""
        for problem in went:
            if self._settling.pop(problem, None) is None:
                self._solved(problem)
        if at_once:
            for problem in came:
                self._tell(problem)
            return
        due = self._clock.seconds() + SETTLE_SECONDS
        self._settling.update(dict.fromkeys(came, due))
        self._schedule()

    def stop(self) -> None:
        """Tell nothing any more."""
        self._settling.clear()
        for call in (self._settle_call, self._summary_call):
            if call is not None and call.active():
                call.cancel()
        self._settle_call = self._summary_call = None

    def _schedule(self) -> None:
        if self._settle_call is None and self._settling:
            due = next(iter(self._settling.values()))
            self._settle_call = self._clock.callLater(max(0.0, due - self._clock.seconds()), self._settled)

    def _settled(self) -> None:
        """Tell of the problems that have lasted."""
        self._settle_call = None
        now = self._clock.seconds()
        told = len(self._told)
        for problem, due in [*islice(self._settling.items(), _PORTION)]:
            # Should the clock be set back, they are told early and not never.
            if now < due <= now + SETTLE_SECONDS or len(self._told) - told >= _LINES_OF_TURN:
                break
            del self._settling[problem]
            self._tell(problem)
        self._schedule()

    def _tell(self, problem: Problem) -> None:
        if self._has_line():
            self._told.add(problem)
            tell = log.info if problem.is_note else log.warn
            tell(
                "{problem}",
                problem=str(problem),
                reason=problem.reason.value,
                change=None if problem.is_note else _mark(problem, "came"),
            )
        else:
            self._untold.add(problem)
            self._more[problem.reason] += 1

    def _solved(self, problem: Problem) -> None:
        if problem in self._told and self._has_line():
            log.info(
                "Solved: {problem}",
                problem=str(problem),
                reason=problem.reason.value,
                change=None if problem.is_note else _mark(problem, "solved"),
            )
        else:
            self._has_more()
            self._more_solved += 1
        self._told.discard(problem)
        self._untold.discard(problem)

    def _has_line(self) -> bool:
        """Whether there may be a line more now."""
        now = self._clock.seconds()
        self._lines = min(LINES_AT_ONCE, self._lines + max(0.0, now - self._filled_at) * LINES_PER_SECOND)
        self._filled_at = now
        if self._lines < 1.0:
            self._has_more()
            return False
        self._lines -= 1.0
        return True

    def _has_more(self) -> None:
        if self._summary_call is None:
            self._summary_call = self._clock.callLater(SUMMARY_SECONDS, self._summarize)

    def _summarize(self) -> None:
        """Count those that had no line."""
        self._summary_call = None
        more, self._more = self._more, Counter()
        solved, self._more_solved = self._more_solved, 0
        if more:
            log.warn(
                "So many more like these: {more}; /api/v1/problems shows all of the moment",
                more=", ".join(f"{count} {reason}" for reason, count in more.most_common()),
            )
        if solved:
            log.info("Solved: {solved} more", solved=solved)


def _mark(problem: Problem, verb: str) -> Mark:
    where = f"{problem.namespace}/{problem.name}" if problem.namespace else problem.name
    return Mark(ChangeSort.PROBLEM, verb, problem.kind, where, is_trouble=verb == "came")


AT_ONCE: Final = 50
"""How many problems a portion has, if no object has more of them that belong together."""

COMPARED_AT_ONCE: Final = 200
"""How many are compared in one step."""

_Portion = tuple[Sequence[Problem], Sequence[Problem]]


def differing(
    before: Iterable[Problem], now: Iterable[Problem]
) -> Stepwise[tuple[list[Problem], list[Problem]]]:
    """Return which problems of *now*, which is sorted, were not there *before*, and which are not there any more; both sorted."""
    went: dict[Problem, None] = {}
    for number, problem in enumerate(before, 1):
        went[problem] = None
        if not number % COMPARED_AT_ONCE:
            yield
    came: list[Problem] = []
    for number, problem in enumerate(now, 1):
        if problem in went:
            del went[problem]
        else:
            came.append(problem)
        if not number % COMPARED_AT_ONCE:
            yield
    return came, (yield from in_order(went, ORDER))


def portions(
    came: Sequence[Problem], went: Sequence[Problem], divided: Container[str] = ()
) -> Iterator[_Portion]:
    """Yield *came* and *went*, which are sorted, in portions that have all of an object: what is told of it meanwhile is not half of it.

    Those of an object of one of the kinds *divided* are told one by one, and it may have thousands: they may be in several portions.
    """
    if len(came) + len(went) <= AT_ONCE:
        yield came, went
        return
    some_came: list[Problem] = []
    some_went: list[Problem] = []
    last: tuple[str, str, str] | None = None
    for problem, is_new in merge(
        ((one, True) for one in came), ((one, False) for one in went), key=lambda one: ORDER(one[0])
    ):
        of = problem.kind, problem.namespace, problem.name
        may_end = of != last or problem.kind in divided
        if may_end and len(some_came) + len(some_went) >= AT_ONCE:
            yield some_came, some_went
            some_came, some_went = [], []
        last = of
        (some_came if is_new else some_went).append(problem)
    yield some_came, some_went
