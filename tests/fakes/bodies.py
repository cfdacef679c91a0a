"""Large bodies for tests on real sockets: made piece by piece, checked by digest, never held whole."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

MEGABYTE = 1 << 20
PIECE = 1 << 16

# Not a multiple of the piece size, so that a piece lost, doubled or moved changes the digest.
_NOISE = random.Random(0).randbytes(MEGABYTE + 17) * 2
_PERIOD = len(_NOISE) // 2


def piece_at(offset: int, size: int) -> bytes:
    """Return *size* bytes (one piece at most) of the endless test body."""
    at = offset % _PERIOD
    return _NOISE[at : at + size]


def digest_of(size: int) -> str:
    """Return the SHA-256 of the first *size* bytes of the endless test body."""
    digest = hashlib.sha256()
    for offset in range(0, size, PIECE):
        digest.update(piece_at(offset, min(PIECE, size - offset)))
    return digest.hexdigest()


@implementer(IPushProducer)
class BodyProducer:
    """Writes a test body to a transport as fast as that takes it; *chunked* frames the pieces.

    *sent* counts payload.  *done* is called after the last byte was handed over.
    """

    def __init__(self, transport: Any, size: int, chunked: bool, done: Callable[[], None]) -> None:
        self.sent = 0
        self._transport = transport
        self._size = size
        self._chunked = chunked
        self._done = done
        self.is_paused = False
        self._running = False

    def start(self) -> None:
        """Begin."""
        self._transport.registerProducer(self, True)
        self.resumeProducing()

    def resumeProducing(self) -> None:
        """Write until the transport is full or the body ends."""
        self.is_paused = False
        if self._running:
            return
        self._running = True
        while not self.is_paused and self.sent < self._size:
            piece = piece_at(self.sent, min(PIECE, self._size - self.sent))
            self.sent += len(piece)
            self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece) if self._chunked else piece)
        self._running = False
        if self.sent == self._size and not self.is_paused:
            if self._chunked:
                self._transport.write(b"0\r\n\r\n")
            self.is_paused = True
            self._transport.unregisterProducer()
            self._done()

    def pauseProducing(self) -> None:
        """Write no more for now."""
        self.is_paused = True

    def stopProducing(self) -> None:
        """The transport is gone."""
        self.is_paused = True
