"""What a firewall process does: it takes frames, has the library judge, and says verdicts.

It has one thing to do at a time.  What takes longer than it may is ended by the alarm of the process: the library cannot be
interrupted, and nothing that it began is of use to anybody then.
"""

import signal
import socket
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from ingress.firewall.messages import (
    Kind,
    Said,
    answer_of,
    loaded_to_bytes,
    parts_of,
    request_of,
    said_to_bytes,
)
from ingress.model.exchanges.firewall import InspectedAnswer, InspectedRequest
from ingress.process.framing import Frame, FrameReader, NonsenseError, frame_to_bytes

_READ_BYTES: Final = 1 << 18
MOST_ERROR_CHARACTERS: Final = 1000
MOST_RULES_BYTES: Final = 32 * 1024 * 1024
"""Of memory, for one rule set: as much as sixty of 250 expressions take."""
LOAD_SECONDS: Final = 5.0
"""To compile rules of an Ingress or of the operator's; the core rules are there already."""
_GRACE_SECONDS: Final = 1.0
"""How much longer than whoever serves, which ends the process first as long as it can."""


class RulesRefused(Exception):  # noqa: N818 - it is a verdict on a text, no failure
    """The library does not take these rules; the message says why."""


class Transaction(Protocol):
    """One request, and its answer, as the library knows them."""

    def request(self, request: InspectedRequest) -> Said:
        """Judge a request."""

    def answer(self, answer: InspectedAnswer) -> Said:
        """Judge its answer."""

    def close(self) -> Said:
        """Be done with it; what is told at its end is all that counts of what is returned."""


class Rules(Protocol):
    """Rules that are compiled."""

    def begin(self, name: bytes) -> Transaction:
        """Begin a transaction called *name*."""

    def close(self) -> None:
        """Forget them."""


class Library(Protocol):
    """The library that judges requests: ModSecurity's, or that of a test."""

    def load(self, parts: Sequence[str | None]) -> Rules:
        """Compile rules; raises ``RulesRefused``."""

    def taken(self) -> int:
        """Return how much memory is taken now, in bytes."""


class Inspection:
    """What there is between the frames that come and the library: rule sets, and transactions that wait for an answer."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._rules: dict[int, Rules] = {}
        self._waiting: dict[int, Transaction] = {}

    def take(self, frame: Frame) -> Frame | None:
        """Act on *frame*; return what is to be said.  Raises ``NonsenseError``."""
        if frame.kind == Kind.REQUEST:
            return self._request(frame)
        if frame.kind == Kind.ANSWER:
            return self._answer(frame)
        if frame.kind == Kind.LEAVE:
            waiting = self._waiting.pop(frame.number, None)
            if waiting is not None:
                waiting.close()
            return None
        if frame.kind == Kind.LOAD:
            return Frame(Kind.LOADED, frame.number, loaded_to_bytes(*self._load(frame.number, frame.payload)))
        if frame.kind == Kind.UNLOAD:
            rules = self._rules.pop(frame.number, None)
            if rules is not None:
                rules.close()
            return None
        raise NonsenseError(f"a frame of kind {frame.kind}")

    def _load(self, number: int, payload: bytes) -> tuple[int, str]:
        before = self._library.taken()
        try:
            rules = self._library.load(parts_of(payload))
        except RulesRefused as refusal:
            return 0, (str(refusal) or "no reason is known")[:MOST_ERROR_CHARACTERS]
        taken = max(0, self._library.taken() - before)
        if taken > MOST_RULES_BYTES:
            rules.close()
            return 0, f"they take {taken >> 20} MiB of memory, and may take {MOST_RULES_BYTES >> 20}"
        self._rules[number] = rules
        return taken, ""

    def _request(self, frame: Frame) -> Frame:
        number, request = request_of(frame.payload)
        rules = self._rules.get(number)
        if rules is None:
            raise NonsenseError("a request for rules that are not there")
        transaction = rules.begin(request.id)
        said = transaction.request(request)
        if request.stays and not said.status:
            self._waiting[frame.number] = transaction
        else:
            said = _together(said, transaction.close())
        return Frame(Kind.VERDICT, frame.number, said_to_bytes(said))

    def _answer(self, frame: Frame) -> Frame:
        transaction = self._waiting.pop(frame.number, None)
        if transaction is None:
            raise NonsenseError("an answer to a request that is not there")
        said = transaction.answer(answer_of(frame.number, frame.payload))
        return Frame(Kind.VERDICT, frame.number, said_to_bytes(_together(said, transaction.close())))


def _together(said: Said, at_end: Said) -> Said:
    if not at_end.lines:
        return said
    return Said(said.status, said.location, said.lines + at_end.lines, said.matched + at_end.matched)


def serve(
    sock: socket.socket,
    library: Library,
    seconds: float,
    alarm: Callable[[float], object] = lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds),
) -> None:
    """Serve whoever is at the other end of *sock* until that is gone; each request may take *seconds*."""
    inspection = Inspection(library)
    frames = FrameReader()
    sock.sendall(frame_to_bytes(Frame(Kind.READY)))
    while octets := sock.recv(_READ_BYTES):
        for frame in frames.take(octets):
            alarm((LOAD_SECONDS if frame.kind == Kind.LOAD else seconds) + _GRACE_SECONDS)
            said = inspection.take(frame)
            alarm(0.0)
            if said is not None:
                sock.sendall(frame_to_bytes(said))
