"""A worker as its parent knows it: its channel, what it was asked, and how far it is."""

import socket
from collections.abc import Callable, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred

from ingress.process.control_channel import Bounds, ControlChannel
from ingress.process.framing import Frame, NonsenseError
from ingress.workers.feed.feeding import Fed, Feed, Numbered
from ingress.workers.messages import Kind, named_from_bytes, named_to_bytes
from ingress.workers.supervising import Looks
from ingress.workers.telling.log_lines import tell_line

_OF_A_WORKER: Final = Bounds(bytes_of_frame=1 << 20, descriptors=0)
"""What a worker says is short: it speaks to strangers, and may not be itself any more."""


class WorkerGoneError(Exception):
    """The worker ended before it answered."""


class WorkerLink:
    """Worker *number* in its *life*: a number that no other has, nor the next worker of the same number.

    *pushed* is told what the worker says unasked, *progressed* that a snapshot was sent to it, *gone* that it ended.
    """

    def __init__(
        self,
        reactor: Any,
        number: int,
        life: int,
        pushed: Callable[["WorkerLink", str, bytes], None],
        progressed: Callable[["WorkerLink"], None],
        gone: Callable[["WorkerLink"], None],
    ) -> None:
        self.number = number
        self.life = life
        self.pid: int | None = None
        self.looks = Looks()
        self.sockets: set[int] = set()
        """The numbers of the sockets that it has."""
        self.is_hung = False
        """Whether it is killed, since it gave no sign of life."""
        self.is_retired = False
        """Whether it was told to make way for another one of its number."""
        self.is_serving = False
        """Whether it has opened all that it was first asked to."""
        self.behind: int | None = 0
        """The number of the snapshot behind which it is to be told of other listeners; None where it knows them."""
        self.fed: Fed | None = None
        self._seconds = reactor.seconds
        self._pushed = pushed
        self._progressed = progressed
        self._gone = gone
        self._asked: dict[int, Deferred[bytes]] = {}
        self._last = 0
        self._channel = ControlChannel(reactor, self._came, self._ended, str(self), _OF_A_WORKER)

    def __str__(self) -> str:
        return f"worker {self.number}"

    def begin(self, sock: socket.socket, feed: Feed, has: Numbered) -> None:
        """Begin to talk over *sock*; the worker begins with the snapshot *has* of *feed*."""
        self._channel.open(sock)
        self.fed = Fed(feed, self._channel, has, lambda: self._progressed(self), self._seconds)

    @property
    def is_gone(self) -> bool:
        """Whether it ended."""
        return not self._channel.is_open

    def ask(self, name: str, payload: bytes = b"", sockets: Sequence[socket.socket] = ()) -> Deferred[bytes]:
        """Ask by *name*; fires with the answer, or fails with ``WorkerGoneError``."""
        answer: Deferred[bytes] = Deferred()
        if self.is_gone:
            answer.errback(WorkerGoneError(f"{self} is gone"))
            return answer
        self._last += 1
        self._asked[self._last] = answer
        self._channel.send(Frame(Kind.ASK, self._last, named_to_bytes(name, payload), len(sockets)), sockets)
        return answer

    def _came(self, frame: Frame, descriptors: tuple[int, ...]) -> bool:
        if frame.kind == Kind.ANSWER:
            self._channel.forget(frame.number)
            answered = self._asked.pop(frame.number, None)
            if answered is None:
                raise NonsenseError("an answer to no question")
            answered.callback(frame.payload)
        elif frame.kind == Kind.TOOK and self.fed is not None:
            self.fed.took(frame.number)
        elif frame.kind == Kind.LOG:
            tell_line(frame.payload, str(self), self.number)
            return True
        elif frame.kind == Kind.PUSH:
            self._pushed(self, *named_from_bytes(frame.payload))
            return True
        return False

    def _ended(self) -> None:
        asked, self._asked = self._asked, {}
        if self.fed is not None:
            self.fed.end()
        self._gone(self)
        for answer in asked.values():
            answer.errback(WorkerGoneError(f"{self} ended"))
