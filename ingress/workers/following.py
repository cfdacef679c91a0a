"""How a worker takes the pieces of snapshots, so that requests wait for none of it for long.

To put a snapshot together takes as many turns as it has pieces.  What else it costs is divided in the same way: garbage is looked for
after every few pieces, among what was made of them, and what is in no snapshot any more is let go in the turns after the last one.
What is still in use then, such as for requests under way, is looked at again after a while, and after longer ones.
"""

from collections.abc import Iterator
from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ingress.process.garbage_collection import CollectorTurns
from ingress.translate.snapshot import Snapshot
from ingress.workers.feed.follower import Follower

PIECES_COLLECTED: Final = 8
"""After so many pieces the collector is called: left to itself it comes after dozens, and takes some milliseconds."""

PAUSES: Final = (1.0, 10.0, 60.0, 600.0, 3600.0)
"""Seconds after which what was replaced and still in use is looked at again, each after the one before; the next snapshot begins anew."""


class Following:
    """Has *follower* take what comes; *clock* delays."""

    def __init__(self, follower: Follower, clock: IReactorTime) -> None:
        self._follower = follower
        self._clock = clock
        self._collector = CollectorTurns(PIECES_COLLECTED)
        self._letting_go: IDelayedCall | None = None
        self._looking: IDelayedCall | None = None
        self._pauses: Iterator[float] = iter(())

    @property
    def snapshot(self) -> Snapshot:
        """The last one that has come completely."""
        return self._follower.snapshot

    def take(self, piece: bytes) -> bool:
        """Take the next *piece*; return whether a snapshot is complete with it.  Raises ``SnapshotError``."""
        is_complete = self._follower.take(piece)
        self._collector.made += 1
        if is_complete:
            self.tidy()
        else:
            self._collector.take()
        return is_complete

    def tidy(self) -> None:
        """Let go of what was replaced, little by little from the next turn on."""
        self._pauses = iter(PAUSES)
        self._cancel_looking()
        self._go_on()

    def _go_on(self) -> None:
        if self._letting_go is None:
            self._letting_go = self._clock.callLater(0, self._let_go)

    def _let_go(self) -> None:
        self._letting_go = None
        if self._follower.let_go_some():
            self._go_on()
        elif self._looking is None and (pause := next(self._pauses, None)) is not None:
            self._looking = self._clock.callLater(pause, self._look_again)

    def _look_again(self) -> None:
        self._looking = None
        if self._follower.look_again():
            self._go_on()

    def _cancel_looking(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def stop(self) -> None:
        """Leave what is left."""
        self._cancel_looking()
        if self._letting_go is not None:
            self._letting_go.cancel()
            self._letting_go = None
