"""The tally: what came of all samples, gathered while they are asked for, so that an end before the last one has a result."""

from collections.abc import Mapping
from typing import Final

from attrs import evolve, field

from ingress.ctl.comparing.accepted import Accepted
from ingress.ctl.comparing.differences import Compared, Difference
from ingress.model.frozen import frozen

MAX_KEPT: Final = 20_000
"""Samples that differ, of which more than the number is kept."""


@frozen
class Result:
    """What came of it; *asked* counts samples to which both sides were asked."""

    asked: int
    equal: int
    unanswered: int
    """Those among the equal ones to which neither side gave an answer."""
    differing: tuple[Compared, ...] = field(repr=False)
    accepted: int
    """Samples of which every difference is accepted; they count neither as equal nor as differing."""
    unsteady: tuple[Compared, ...] = field(repr=False)
    hints: tuple[Compared, ...] = field(repr=False)
    beyond: int
    """Samples that differ and are not among *differing*, since there are too many."""
    used: Mapping[str, int]
    """How many differences each accepted entry took, by its words."""


class Tally:
    """Counts what is added; differences that *accepted* takes are none."""

    def __init__(self, accepted: tuple[Accepted, ...] = ()) -> None:
        self._accepted = accepted
        self._used = {str(one): 0 for one in accepted}
        self._asked = self._equal = self._unanswered = self._taken = self._beyond = 0
        self._differing: list[Compared] = []
        self._unsteady: list[Compared] = []
        self._hints: list[Compared] = []

    def add(self, compared: Compared) -> None:
        """Count one."""
        self._asked += 1
        self._unanswered += compared.is_unanswered
        left = tuple(one for one in compared.differences if not self._is_accepted(compared, one))
        if left:
            self._keep(self._differing, evolve(compared, differences=left))
        elif compared.differences:
            self._taken += 1
        elif compared.unsteady:
            self._keep(self._unsteady, compared)
        else:
            self._equal += 1
            if compared.hint:
                self._keep(self._hints, compared)

    def _keep(self, some: list[Compared], compared: Compared) -> None:
        if len(some) < MAX_KEPT:
            some.append(compared)
        elif some is self._differing:
            self._beyond += 1

    def _is_accepted(self, compared: Compared, difference: Difference) -> bool:
        for one in self._accepted:
            if one.takes(compared.sample, difference):
                self._used[str(one)] += 1
                return True
        return False

    def result(self) -> Result:
        """Return what there is so far."""
        return Result(
            self._asked,
            self._equal,
            self._unanswered,
            tuple(self._differing),
            self._taken,
            tuple(self._unsteady),
            tuple(self._hints),
            self._beyond,
            dict(self._used),
        )
