"""How much a session reads at once, and when it reads nothing.

What comes in one read may be thousands of frames, each a request, and everybody else would wait
until all are answered.  So a session does a turn's work, and queues up for its next turn with the rest.  One that has
needed more than a turn queues up with all that comes, until that is less than half of a turn's work: a hundred of
them would else do a hundred turns' work in one.

A client that takes nothing of what it gets is read no further, either.  The bodies of answers wait with their streams
and stop their endpoints, but heads and acknowledgements wait for nothing: a client that asks on would have us keep
any number of them.

    reading ──more came than one turn takes──▶ reads later ──its turn──▶ reading
       └──the client takes nothing────────────────▶│   └──only once the client has taken something
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

from ingress.http.work import TURN_WORK
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.contract.never_raises import never_raises
from ingress.proxy.contract.transport import Transport, in_batch


class TurnTaking(ABC):
    """The part of a session that decides when it reads; what has no value here is its connection's."""

    transport: Transport
    deadlines: Deadlines
    has_failed: bool
    has_more: bool
    keep: Callable[[bytes], None]
    _left: int
    reads_later = False
    """Whether nothing is read for now, which is no fault of the peer's."""
    is_heavy = False
    """Whether it has needed more than a turn, and has what comes wait for its turn from the start."""

    @abstractmethod
    def dataReceived(self, received: bytes) -> None:
        """Read on, with what has come; calls ``read_later`` where that says so."""

    @abstractmethod
    def raised(self) -> None:
        """A bug was met."""

    @property
    def waits_to_send(self) -> bool:
        """Whether nothing is read before the peer has taken something; who says so calls ``read_on`` then."""
        return False

    @property
    def is_for_nobody(self) -> bool:
        """Whether there is no use in reading what waits."""
        return False

    def keep_for_turn(self, received: bytes) -> None:
        """Have what came wait: for its turn, or behind what waits already."""
        self.keep(received)
        self.read_later()

    def read_later(self) -> None:
        """Read nothing until a turn of its own, or until the peer has taken something."""
        if self.has_more:
            self.is_heavy = True
        if not self.reads_later:
            self.reads_later = True
            self.transport.pauseProducing()
        if not self.waits_to_send:
            self.deadlines.run_queue.put(self.take_turn)

    @never_raises
    def take_turn(self) -> None:
        """Go on reading; called from the run queue."""
        in_batch(self.transport, self.read_on)

    @never_raises
    def read_on(self) -> None:
        """Go on reading, if there is nothing against it."""
        if self.reads_later and not self.waits_to_send and not self.has_failed:
            if self.is_for_nobody:
                self.transport.abortConnection()
                return
            self.reads_later = False
            self.dataReceived(b"")
            if not self.reads_later:
                if self._left > TURN_WORK // 2:
                    self.is_heavy = False
                self.transport.resumeProducing()
