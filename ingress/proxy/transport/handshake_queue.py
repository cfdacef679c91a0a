"""How many TLS handshakes there are at once, and how much of the reactor's time they get.

A handshake costs as much as a dozen requests, and anybody can ask for one.  An unfinished handshake
waits either for its peer or for us, and these are bounded in different ways:

1. *For us.*  Each turn of the reactor takes steps of handshakes for ``STEPS_SECONDS``, and at most ``STEPS``; who
   comes too late is *parked*, in order, unread.  So connections that are established have their turn
   after some two milliseconds, however many hellos arrive.  While more than ``MAX_PARKED`` wait so, nobody is accepted:
   newcomers wait in the kernel, and nobody is cut who means it.
2. *For the peer.*  Above ``MAX_HANDSHAKES``, the one that has been silent for longest is cut for the
   newest.  To leave newcomers waiting would let a thousand silent connections keep everybody out
   until their deadlines; who means it is done long before a thousand others have come.

The deadline of a handshake is that of the first head (``Limits.head_seconds``); the channel keeps it.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ingress.wording import number_of

MAX_HANDSHAKES = 1024
"""Each takes some 30 KiB."""

MAX_PARKED = 256
"""With two steps each, a tenth of a second's work with ECDSA, and twice that with RSA."""

STEPS = 32
"""Where no signature is to be made, as of TLS 1.2 with a session that is resumed, so many fit into a turn.  To be parked costs a tenth of such a step."""

STEPS_SECONDS = 0.002
"""After that a turn takes no further step.  One with a signature takes 0.2 ms with ECDSA and half a millisecond with RSA, or 2 ms with a key of
4096 bits; others take half of the former or less."""

_TELL_SECONDS = 60.0

_log: Final = Logger()


class Shaking(Protocol):
    """A connection in its handshake."""

    def park(self) -> None:
        """Read nothing until ``unpark``."""

    def unpark(self) -> None:
        """Go on with the handshake."""

    def abortConnection(self) -> None:
        """End at once."""


InBatch = Callable[[Callable[[], None]], None]


def _call(call: Callable[[], None]) -> None:
    call()


class HandshakeQueue:
    """Knows the handshakes of all listeners that are not finished."""

    def __init__(self, clock: IReactorTime, in_batch: InBatch = _call, hears_turns: bool = False) -> None:
        """*in_batch* makes a call during which what is written waits, to be sent together afterwards.

        Who *hears_turns* is told of each turn of the reactor (``new_turn``); others ask *clock* for it, by a timer.
        """
        self._clock = clock
        self._in_batch = in_batch
        self._hears_turns = hears_turns
        self.has_stepped = False
        """Whether anybody took a step since the last turn."""
        self._has_begun_turn = False
        """Whether those who were parked had theirs already, in the turn that is told of next."""
        self._silent: OrderedDict[Shaking, None] = OrderedDict()
        self._room_wanted: list[Callable[[], None]] = []
        self._parked: OrderedDict[Shaking, None] = OrderedDict()
        self._steps_left = STEPS
        self._steps_began = 0.0
        self._is_turn_due = False
        self._cut = 0
        self._told_at: float | None = None

    def __repr__(self) -> str:
        return f"<Handshakes: {len(self._silent)} wait for their peers, {len(self._parked)} for their turn>"

    def has_room(self, told: Callable[[], None]) -> bool:
        """Whether to accept somebody now; if not, *told* is called once when there is room."""
        if len(self._parked) < MAX_PARKED:
            return True
        self._room_wanted.append(told)
        return False

    def begin(self, connection: Shaking) -> None:
        """Note a handshake; cut the one that was silent for longest if there are too many."""
        self._silent[connection] = None
        if len(self._silent) + len(self._parked) > MAX_HANDSHAKES:
            oldest = next(iter(self._silent))
            self.end(oldest)
            oldest.abortConnection()
            self._cut += 1
            self._tell()

    def end(self, connection: Shaking) -> None:
        """Note that a handshake is over, well or not; saying it again changes nothing."""
        self._silent.pop(connection, None)
        self._parked.pop(connection, None)

    def may_step(self, connection: Shaking) -> bool:
        """Whether *connection* may go on now; if not, it is parked, and unparked when it may."""
        self.has_stepped = True
        if not self._hears_turns and not self._is_turn_due:
            self._steps_began = self._clock.seconds()
            self._await_turn()
        if self._takes_step():
            return True
        self._silent.pop(connection, None)
        self._parked[connection] = None
        connection.park()
        self._await_turn()
        return False

    def _takes_step(self) -> bool:
        if not self._steps_left:
            return False
        now = self._clock.seconds()
        if self._steps_left == STEPS:
            self._steps_began = now
        elif now - self._steps_began >= STEPS_SECONDS:
            return False
        self._steps_left -= 1
        return True

    def new_turn(self) -> None:
        """Told at the beginning of each turn before which somebody ``has_stepped``."""
        if self._has_begun_turn:
            self._has_begun_turn = False
            self._steps_began = self._clock.seconds()
        else:
            self._steps_left = STEPS
            self.has_stepped = False

    def _await_turn(self) -> None:
        """Have a turn of our own, for those who are parked."""
        if not self._is_turn_due:
            self._is_turn_due = True
            self._clock.callLater(0, self._turn)

    def _turn(self) -> None:
        self._is_turn_due = False
        self._steps_left = STEPS
        self._has_begun_turn = self.has_stepped = True
        if self._parked:
            self._in_batch(self._unpark)
        if self._room_wanted and len(self._parked) < MAX_PARKED // 2:
            wanted, self._room_wanted = self._room_wanted, []
            for told in wanted:
                told()
        if self._parked:
            self._await_turn()

    def _unpark(self) -> None:
        while self._parked and self._takes_step():
            connection, _ = self._parked.popitem(last=False)
            self._silent[connection] = None
            try:
                connection.unpark()
            except Exception:
                # One connection's fault must not leave all others waiting.
                _log.failure("A handshake failed, which is a bug; it is the only one that ends")
                self.end(connection)
                connection.abortConnection()

    def _tell(self) -> None:
        now = self._clock.seconds()
        if self._told_at is None or now - self._told_at >= _TELL_SECONDS:
            _log.warn(
                "More than {most} TLS handshakes at once; {count} cut since this was last said",
                most=MAX_HANDSHAKES,
                count=number_of(self._cut, "was", "were"),
            )
            self._told_at = now
            self._cut = 0
