"""The parent asks all workers for what they counted, when somebody wants to see it.

    asked for ──▶ a round: all are asked ──▶ all have told, or some time is over ──▶ shown
                        └── whoever asks meanwhile waits for the next round

However many ask, there is a round at a time, and few in a second.  Who has not told in one is waited for no more, nor asked again,
until it does: of a worker that hangs there is what it told last.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

PATIENCE_SECONDS: Final = 0.25
"""How long a round waits for a worker."""
APART_SECONDS: Final = 0.1
"""The least time from the beginning of a round to that of the next one."""


class TallyRounds:
    """Asks by *ask*, which gets the lives that still owe an answer, and returns what fires for each of the others, or fails."""

    def __init__(
        self, clock: IReactorTime, ask: Callable[[Collection[int]], Mapping[int, Deferred[bytes]]]
    ) -> None:
        self._clock = clock
        self._ask = ask
        self._owing: set[int] = set()
        self._awaited: set[int] | None = None
        """Who has not told in this round."""
        self._waiting: list[Deferred[None]] = []
        """Of who waits for the next round."""
        self._shown: list[Deferred[None]] = []
        """Of who waits for this one."""
        self._due = clock.seconds()
        self._begins: IDelayedCall | None = None
        self._ends: IDelayedCall | None = None

    def told(self) -> Deferred[None]:
        """Return what fires when all was told that had been counted by now, as far as it can be had; it may be cancelled."""
        waiting: Deferred[None] = Deferred(self._forget)
        self._waiting.append(waiting)
        self._begin_when_due()
        return waiting

    def _forget(self, waiting: Deferred[None]) -> None:
        for some in (self._waiting, self._shown):
            if waiting in some:
                some.remove(waiting)

    def _begin_when_due(self) -> None:
        if self._begins is None and self._ends is None and self._waiting:
            self._begins = self._clock.callLater(max(0.0, self._due - self._clock.seconds()), self._begin)

    def _begin(self) -> None:
        self._begins = None
        self._due = self._clock.seconds() + APART_SECONDS
        self._shown, self._waiting = self._waiting, []
        self._ends = self._clock.callLater(PATIENCE_SECONDS, self._end)
        asked = self._ask(self._owing)
        awaited = self._awaited = set(asked)
        self._owing |= awaited
        for life, answer in asked.items():
            answer.addBoth(self._answered, life, awaited)
        self._end_if_told(awaited)

    def _answered(self, _: object, life: int, awaited: set[int]) -> None:
        # Whether it told, or ended: nobody waits for it any longer.
        self._owing.discard(life)
        awaited.discard(life)
        self._end_if_told(awaited)

    def _end_if_told(self, awaited: set[int]) -> None:
        """End the round of *awaited*, if that is the one under way, and all have told."""
        if awaited is self._awaited and not awaited and self._ends is not None:
            self._ends.cancel()
            self._end()

    def _end(self) -> None:
        self._ends = self._awaited = None
        shown, self._shown = self._shown, []
        for one in shown:
            one.callback(None)
        self._begin_when_due()
