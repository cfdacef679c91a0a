"""Has the fork server and all workers at the current snapshot, each by what is different from the one it has.

To each goes one snapshot at a time: the next one is what is current when it has taken that, however many there were between.
So one that is slow, or stopped, costs a bounded amount here.  What makes one snapshot of another is written once for all who
need just that.
"""

from collections.abc import Callable, Iterator
from weakref import WeakValueDictionary

from ingress.model.frozen import frozen
from ingress.process.control_channel import ControlChannel
from ingress.process.framing import Frame
from ingress.translate.snapshot import Snapshot
from ingress.workers.feed.sending import pieces
from ingress.workers.messages import Kind


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
    """What is current, and how it is come to."""

    def __init__(self) -> None:
        self.current = Numbered()
        self._differences: WeakValueDictionary[tuple[int, int], _Difference] = WeakValueDictionary()

    def publish(self, snapshot: Snapshot) -> None:
        """Have *snapshot* current."""
        self.current = Numbered(self.current.number + 1, snapshot)

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
        self._going_since = self._seconds()
        self._channel.feed_from(self)

    def took(self, number: int) -> None:
        """It has put snapshot *number* together."""
        self.taken = number
        # What is newer than this one came after it had begun to go.
        self._behind_since = None if number == self._feed.current.number else self._going_since
        self.advance()

    # IPullProducer

    def resumeProducing(self) -> None:
        """Send the next piece: all before it is sent."""
        assert self._difference is not None and self._going is not None
        piece = self._difference.piece(self._index)
        if piece is not None:
            self._index += 1
            self._channel.send(Frame(Kind.FEED, self._going.number, piece))
            return
        self.sent, self._going, self._difference = self._going, None, None
        self._channel.feed_no_more()
        self._progressed()

    def stopProducing(self) -> None:
        """The other end is gone."""
        self._difference = None
