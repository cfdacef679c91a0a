"""Has the fork server and all workers at the current snapshot, each by what is different from the one it has.

To each goes one snapshot at a time: the next one is what is current when it has taken that, however many there were between.
So one that is slow, or stopped, costs a bounded amount here.  What makes one snapshot of another is written once for all who
need just that.

A snapshot is kept for as long as anybody follows from it, which is mostly longer than anything else here has it.  So what of it is in no
other is let go from here, little by little.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final
from weakref import WeakValueDictionary

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.changes.replaced_values import replaced
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise, let_go
from ingress.process.control_channel import ControlChannel
from ingress.process.framing import Frame
from ingress.process.in_slices import in_slices
from ingress.translate.snapshot import Snapshot
from ingress.workers.feed.sending import pieces
from ingress.workers.messages import Kind

MOST_LEFT: Final = 32
"""Snapshots that wait to be let go; before there are more, that for which it is longest goes at once."""


@frozen(eq=False)
class Numbered:
    """A snapshot that was published, with its number; the first one has 1."""

    number: int = 0
    snapshot: Snapshot | None = None


class _Difference:
    """What makes one snapshot of another, written as far as somebody needs it."""

    def __init__(self, written: Iterator[bytes]) -> None:
        self._rest = written
        self._pieces: list[bytes] = []

    def piece(self, index: int) -> bytes | None:
        """Return a piece; None behind the last one."""
        while index >= len(self._pieces):
            piece = next(self._rest, None)
            if piece is None:
                return None
            self._pieces.append(piece)
        return self._pieces[index]


class Feed:
    """What is current, and how it is come to; *clock* delays."""

    log = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self.current = Numbered()
        self._clock = clock
        self._differences: WeakValueDictionary[tuple[int, int], _Difference] = WeakValueDictionary()
        self._followers: dict[int, int] = {}
        """How many have a snapshot, or are about to, by its number."""
        self._left: deque[Snapshot] = deque()
        """Those that nobody has any more, and ..."""
        self._is_letting_go = False
        """... whether they are being let go."""

    def publish(self, snapshot: Snapshot) -> None:
        """Have *snapshot* current."""
        before, self.current = self.current, Numbered(self.current.number + 1, snapshot)
        if before.number not in self._followers:
            self._leave(before)

    def take(self, numbered: Numbered) -> None:
        """Note that one more has *numbered*, or is about to."""
        self._followers[numbered.number] = self._followers.get(numbered.number, 0) + 1

    def drop(self, numbered: Numbered) -> None:
        """Note that one who had *numbered* has it no more, which is to let go of it in the next turns, if it was the last one."""
        left = self._followers.pop(numbered.number) - 1
        if left:
            self._followers[numbered.number] = left
        elif numbered is not self.current:
            self._leave(numbered)

    def _leave(self, numbered: Numbered) -> None:
        if numbered.snapshot is None:
            return
        if len(self._left) >= MOST_LEFT:
            # They come faster than they can go: to wait is better than memory without bounds.
            self._left.popleft()
        self._left.append(numbered.snapshot)
        if not self._is_letting_go:
            self._is_letting_go = True
            in_slices(self._clock, self._let_go()).addErrback(self._failed)

    def _let_go(self) -> Stepwise[None]:
        while self._left:
            now = self.current.snapshot
            assert now is not None, "there is one after another"
            # Nothing here refers to it then but what looks through it.
            gone = yield from replaced(self._left.popleft(), now)
            yield from let_go(gone)
        self._is_letting_go = False

    def _failed(self, failure: Failure) -> None:
        """Tell of a bug: what is left goes at once."""
        self._left.clear()
        self._is_letting_go = False
        self.log.failure("Snapshots could not be let go in steps, which is a bug", failure=failure)

    def difference(self, before: Numbered) -> _Difference:
        """Return what makes the current one of *before*."""
        key = (before.number, self.current.number)
        found = self._differences.get(key)
        if found is None:
            assert self.current.snapshot is not None
            found = _Difference(pieces(before.snapshot, self.current.snapshot))
            self._differences[key] = found
        return found


class Fed:
    """One of those who follow, at the other end of *channel*."""

    def __init__(
        self,
        feed: Feed,
        channel: ControlChannel,
        has: Numbered,
        progressed: Callable[[], None],
        seconds: Callable[[], float],
    ) -> None:
        """It has *has* already; *progressed* is called whenever one was sent completely, *seconds* returns the time."""
        self._feed = feed
        self._channel = channel
        self._progressed = progressed
        self.sent = has
        """What it has once it has read all that was sent."""
        self.taken = has.number
        """The number of the snapshot that it has put together."""
        self._seconds = seconds
        self._behind_since: float | None = None
        self._going_since = 0.0
        self._going: Numbered | None = None
        self._difference: _Difference | None = None
        self._index = 0
        self._is_over = False
        feed.take(has)

    @property
    def is_amid(self) -> bool:
        """Whether a part of a snapshot was sent."""
        return self._going is not None

    @property
    def is_current(self) -> bool:
        """Whether the current snapshot was sent completely."""
        return self.sent is self._feed.current

    @property
    def behind_seconds(self) -> float:
        """For how long, at most, there has been a newer snapshot than the one that it has put together; 0 while there is none."""
        return 0.0 if self._behind_since is None else max(0.0, self._seconds() - self._behind_since)

    def advance(self) -> None:
        """Send what is current, if it is time for that."""
        if self._behind_since is None and self.taken != self._feed.current.number:
            self._behind_since = self._seconds()
        if self._going is not None or self.is_current or self.taken != self.sent.number:
            return
        if not self._channel.is_open:
            return
        self._difference = self._feed.difference(self.sent)
        self._going, self._index = self._feed.current, 0
        self._feed.take(self._going)
        self._going_since = self._seconds()
        self._channel.feed_from(self)

    def took(self, number: int) -> None:
        """It has put snapshot *number* together."""
        self.taken = number
        # What is newer than this one came after it had begun to go.
        self._behind_since = None if number == self._feed.current.number else self._going_since
        self.advance()

    def end(self) -> None:
        """Nobody follows here any more."""
        if not self._is_over:
            self._is_over = True
            self._difference = None
            # Whoever still knows of this one, since its end was not told yet, is to keep nothing by that.
            before, self.sent = self.sent, Numbered(self.sent.number)
            going, self._going = self._going, None
            self._feed.drop(before)
            if going is not None:
                self._feed.drop(going)

    # IPullProducer

    def resumeProducing(self) -> None:
        """Send the next piece: all before it is sent."""
        assert self._difference is not None and self._going is not None
        piece = self._difference.piece(self._index)
        if piece is not None:
            self._index += 1
            self._channel.send(Frame(Kind.FEED, self._going.number, piece))
            return
        before, self.sent = self.sent, self._going
        self._going = self._difference = None
        self._feed.drop(before)
        self._channel.feed_no_more()
        self._progressed()

    def stopProducing(self) -> None:
        """The other end is gone."""
        self._difference = None
