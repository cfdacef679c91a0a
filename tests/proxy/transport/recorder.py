"""Both ends of a connection in tests of transports: what the transport tells, and the far end that a test plays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure

from ingress.proxy.contract.transport import Transport

MEGABYTE = 1 << 20


class FarEnd(Protocol):
    """The other side of a connection, which reads only while it is told to."""

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of this end."""

    @property
    def received(self) -> bytes:
        """What was read so far."""

    @property
    def saw_end(self) -> bool:
        """Whether the connection ended in order, as far as was read."""

    @property
    def saw_reset(self) -> bool:
        """Whether the connection was reset."""

    def say(self, octets: bytes) -> None:
        """Send *octets*, all of them in the end."""

    def read(self) -> None:
        """Take what is there."""

    def finish(self) -> None:
        """End this side."""

    def reset(self) -> None:
        """Break the connection off."""


class Recorder:
    """Keeps what its transport tells it, and raises where it is told to."""

    transport: Transport
    half_closes = False
    fault = ""
    """The callback that raises."""
    echoes = False

    def __init__(self) -> None:
        self.made = 0
        self.shaken = 0
        self.pieces: list[bytes] = []
        self.borrowed = 0
        """Bytes that came without a copy."""
        self.lost: list[BaseException | None] = []
        self.read_lost = 0
        self.flow: list[str] = []
        self.on_data: Callable[[], None] = lambda: None
        self._inside = 0
        self.lost_inside = False

    @property
    def received(self) -> bytes:
        """Everything that came."""
        return b"".join(self.pieces)

    def call(self, method: str, *arguments: object) -> None:
        """Call a method of the transport; nothing may be told of the end before it returns."""
        self._inside += 1
        try:
            getattr(self.transport, method)(*arguments)
        finally:
            self._inside -= 1

    def _may_raise(self, callback: str) -> None:
        if self.fault == callback:
            raise ZeroDivisionError(callback)

    def makeConnection(self, transport: Transport) -> None:
        """The connection is there."""
        self.transport = transport
        self.made += 1
        self._may_raise("makeConnection")

    def handshakeCompleted(self) -> None:
        """The handshake is over."""
        self.shaken += 1
        self._may_raise("handshakeCompleted")

    def dataReceived(self, data: bytes) -> None:
        """Something came."""
        self.pieces.append(data)
        self._may_raise("dataReceived")
        self.on_data()
        if self.echoes:
            self.transport.write(data)

    def memoryReceived(self, octets: memoryview) -> None:
        """Something came, and lies in memory that is used again."""
        self.borrowed += len(octets)
        self.dataReceived(bytes(octets))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The connection is gone."""
        self.lost.append(reason.value)
        self.lost_inside = self.lost_inside or self._inside > 0
        self._may_raise("connectionLost")

    def pauseProducing(self) -> None:
        """Too much waits."""
        self.flow.append("pause")
        self._may_raise("pauseProducing")

    def resumeProducing(self) -> None:
        """Not too much waits any more."""
        self.flow.append("resume")
        self._may_raise("resumeProducing")

    def readConnectionLost(self) -> None:
        """The peer ended its side."""
        self.read_lost += 1
        self._may_raise("readConnectionLost")


class HalfRecorder(Recorder):
    """One that can go on when the peer has ended its side."""

    half_closes = True


class Taken:
    """Takes what comes in odd pieces."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.ends: list[int] = []
        self._memory = bytearray(50_001)

    def spaces(self, most: int) -> list[memoryview]:
        """Return where the next bytes go: in two pieces."""
        view = memoryview(self._memory)[:most]
        return [view[:333], view[333:]]

    def came(self, count: int) -> None:
        """Take what came."""
        self.received += self._memory[:count]
