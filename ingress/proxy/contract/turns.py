"""How much a session reads at once, and when it reads nothing.

What comes in one read may be thousands of frames, each a request, and everybody else would wait
until all are answered.  So a session does a turn's work, and queues up for its next turn with the rest.  One that has
needed more than a turn queues up with all that comes, until that is less than half of such a turn's work: a hundred of
them would else do a hundred turns' work in one.  Its turns are shorter than what is read at once of others.

A client that takes nothing of what it gets is read no further, either.  The bodies of answers wait with their streams
and stop their endpoints, but heads and acknowledgements wait for nothing: a client that asks on would have us keep
any number of them.

    reading ──more came than one turn takes──▶ reads later ──its turn──▶ reading
       └──the client takes nothing────────────────▶│   └──only once the client has taken something

A session has a ``Turns`` and gives itself to each call: a part that knew whose it is would be a cycle.
"""

from typing import Final, Protocol

from ingress.http.work import LATER_TURN_WORK, TURN_WORK
from ingress.http2.frame_reader import FrameReader
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.contract.transport import Transport

LONG_AGO: Final = float("-inf")
LATELY_SECONDS: Final = 2.0
"""Who had to wait for a turn within so long is taken to have much to do, still."""


class TurnTaker(Protocol):
    """What ``Turns`` asks of the session that has it."""

    reader: FrameReader
    transport: Transport
    deadlines: Deadlines

    @property
    def waits_to_send(self) -> bool:
        """Whether nothing is read before the peer has taken something; who says so calls ``read_on`` then."""

    @property
    def is_for_nobody(self) -> bool:
        """Whether there is no use in reading what waits."""

    def take_turn(self) -> None:
        """Go on reading (``Turns.read_on``), in a batch; called from the run queue, so it must not raise."""

    def dataReceived(self, received: bytes) -> None:
        """Read on, with what has come; calls ``read_later`` where that says so."""


class Turns:
    """When a session reads."""

    __slots__ = ("is_heavy", "reads_later")

    def __init__(self) -> None:
        self.reads_later = False
        """Whether nothing is read for now, which is no fault of the peer's."""
        self.is_heavy = False
        """Whether it has needed more than a turn, and has what comes wait for its turn from the start."""

    def __repr__(self) -> str:
        state = "reads later" if self.reads_later else "reads"
        return f"<Turns: {state}{', heavy' if self.is_heavy else ''}>"

    def keep(self, session: TurnTaker, received: bytes) -> None:
        """Have what came wait: for its turn, or behind what waits already."""
        session.reader.keep(received)
        self.read_later(session)

    def read_later(self, session: TurnTaker) -> None:
        """Read nothing until a turn of its own, or until the peer has taken something."""
        if session.reader.has_more:
            self.is_heavy = True
            session.reader.turn_work = LATER_TURN_WORK
        if not self.reads_later:
            self.reads_later = True
            session.transport.pauseProducing()
        if not session.waits_to_send:
            session.deadlines.run_queue.put(session.take_turn)

    def read_on(self, session: TurnTaker) -> None:
        """Go on reading, if there is nothing against it."""
        reader = session.reader
        if self.reads_later and not session.waits_to_send and not reader.is_closed:
            if session.is_for_nobody:
                session.transport.abortConnection()
                return
            self.reads_later = False
            session.dataReceived(b"")
            if not self.reads_later:
                if reader.work_left > LATER_TURN_WORK // 2:
                    self.is_heavy = False
                    reader.turn_work = TURN_WORK
                session.transport.resumeProducing()
