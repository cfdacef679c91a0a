"""How a worker takes the pieces of snapshots, so that requests wait for none of it for long.

To put a snapshot together takes as many turns as it has pieces.  What else it costs is divided in the same way: garbage is looked for
after every few pieces, among what was made of them, and what is in no snapshot any more is let go in the turns after the last one.
What is still in use then, such as for requests under way, is looked at again after a while, and after longer ones.
"""

from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ingress.process.garbage_collection import CollectorTurns
from ingress.translate.snapshot import Snapshot
from ingress.workers.feed.follower import Follower
from ingress.workers.feed.looks import Looks

PIECES_COLLECTED: Final = 8
"""After so many pieces the collector is called: left to itself it comes after dozens, and takes some milliseconds."""


class Following:
    """Has *follower* take what comes; *clock* delays."""

    def __init__(self, follower: Follower, clock: IReactorTime) -> None:
        self._follower = follower
        self._clock = clock
        self._collector = CollectorTurns(PIECES_COLLECTED)
        self._letting_go: IDelayedCall | None = None
        self._looking: IDelayedCall | None = None
        self._looks = Looks()

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
        self._looks.begin(self._clock.seconds())
        at = self._looks.at
        if self._looking is not None and at is not None and self._looking.getTime() > at:
            self._cancel_looking()
        self._go_on()

    def _go_on(self) -> None:
        if self._letting_go is None:
            self._letting_go = self._clock.callLater(0, self._let_go)

    def _let_go(self) -> None:
        self._letting_go = None
        if self._follower.let_go_some():
            self._go_on()
        else:
            self._look_later()

    def _look_later(self) -> None:
        if self._looking is None and self._looks.at is not None:
            seconds = max(0.0, self._looks.at - self._clock.seconds())
            self._looking = self._clock.callLater(seconds, self._look_again)

    def _look_again(self) -> None:
        self._looking = None
        if not self._looks.is_due(self._clock.seconds()):
            # The timer was a little early.
            self._look_later()
        elif self._follower.look_again():
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
