"""A control channel in a reactor: frames and descriptors over one end of a Unix socketpair."""

import os
import socket
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.interfaces import IAddress, IFileDescriptorReceiver
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.workers.framing import Frame, FrameReader, frame_to_bytes

Came = Callable[[Frame, tuple[int, ...]], bool]
"""Acts on a frame with its descriptors, which are its own now; returns whether that took long, so that others have their turn."""


@implementer(IFileDescriptorReceiver)
class ControlChannel(Protocol):
    """One end.  *came* is called for each frame, *ended* once, when the other end is gone and all that it sent has come."""

    def __init__(self, reactor: Any, came: Came, ended: Callable[[], None]) -> None:
        self._reactor = reactor
        self._came = came
        self._ended = ended
        self._frames = FrameReader()
        self._waiting: deque[Frame] = deque()
        self._descriptors: deque[int] = deque()
        self._is_resting = False
        self._is_over = False
        # Twisted remembers numbers alone until it sends them: what they stand for has to stay open.
        self._lent: dict[int, list[int]] = {}

    def open(self, sock: socket.socket) -> None:
        """Begin on *sock*, which is this channel's own from now on."""
        sock.setblocking(False)
        self._reactor.adoptStreamConnection(sock.fileno(), socket.AF_UNIX, _Only(self))
        sock.close()

    @property
    def is_open(self) -> bool:
        """Whether there is somebody at the other end, as far as is known."""
        return self.transport is not None and not self._is_over

    @property
    def unsent(self) -> int:
        """Bytes that wait until the other end reads, as far as they are not the kernel's."""
        transport: Any = self.transport
        unsent: int = len(transport.dataBuffer) - transport.offset + transport._tempDataLen
        return unsent

    def send(self, frame: Frame, sockets: Sequence[socket.socket] = ()) -> None:
        """Send *frame*; copies of *sockets* go with it, and are kept until ``forget`` of its number."""
        if not self.is_open:
            return
        transport: Any = self.transport
        if sockets:
            lent = self._lent.setdefault(frame.number, [])
            for sock in sockets:
                # Not by ``dup`` of the socket, which may have all that share it wait for what they accept.
                lent.append(copy := os.dup(sock.fileno()))
                transport.sendFileDescriptor(copy)
        transport.write(frame_to_bytes(frame))

    def forget(self, number: int) -> None:
        """Keep the sockets no more that went with the frame of this *number*: it has come."""
        for copy in self._lent.pop(number, ()):
            os.close(copy)

    def feed_from(self, producer: Any) -> None:
        """Have *producer*, which pulls, told each time that all was sent."""
        transport: Any = self.transport
        transport.registerProducer(producer, False)

    def feed_no_more(self) -> None:
        """Tell the producer of nothing any more."""
        transport: Any = self.transport
        transport.unregisterProducer()

    def close(self) -> None:
        """End this channel once all is sent."""
        if self.is_open:
            transport: Any = self.transport
            transport.loseConnection()

    # Protocol

    def fileDescriptorReceived(self, descriptor: int) -> None:
        """A descriptor comes before, or with, the frame that it belongs to."""
        os.set_inheritable(descriptor, False)
        self._descriptors.append(descriptor)

    def dataReceived(self, data: bytes) -> None:
        """Take what came."""
        self._waiting.extend(self._frames.take(data))
        if not self._is_resting:
            self._deliver()

    def _deliver(self) -> None:
        transport: Any = self.transport
        self._is_resting = False
        while self._waiting:
            if self._next() and self._waiting:
                self._is_resting = True
                if not self._is_over:
                    transport.pauseProducing()
                self._reactor.callLater(0, self._deliver)
                return
        if self._is_over:
            self._ended()
        else:
            transport.resumeProducing()

    def _next(self) -> bool:
        frame = self._waiting.popleft()
        descriptors = tuple(self._descriptors.popleft() for _ in range(frame.descriptors))
        return self._came(frame, descriptors)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The other end is gone, or this one was closed."""
        self._is_over = True
        for number in tuple(self._lent):
            self.forget(number)
        if not self._is_resting:
            self._deliver()


class _Only(Factory):
    """Gives one protocol to one connection."""

    noisy = False

    def __init__(self, protocol: Protocol) -> None:
        self._only = protocol

    def buildProtocol(self, addr: IAddress | None) -> Protocol:
        return self._only
