"""A control channel in a reactor: frames and descriptors over one end of a Unix socketpair."""

import os
import socket
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from twisted.internet.interfaces import IAddress, IFileDescriptorReceiver
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.model.frozen import frozen
from ingress.process.framing import Frame, FrameReader, NonsenseError, frame_to_bytes

Came = Callable[[Frame, tuple[int, ...]], bool]
"""Acts on a frame with its descriptors, which are its own now; returns whether that took long, so that others have their turn.

It raises ``NonsenseError`` where the frame cannot be, which ends the channel."""

FRAMES_OF_A_TURN: Final = 100
"""However little there is to do for each."""


@frozen
class Bounds:
    """What the other end may send; whoever exceeds that talks nonsense."""

    bytes_of_frame: int
    descriptors: int
    """How many may wait for their frames."""


_TRUSTED: Final = Bounds((1 << 32) - 1, 1 << 16)


@implementer(IFileDescriptorReceiver)
class ControlChannel(Protocol):
    """One end.  *came* is called for each frame, *ended* once, when the other end is gone and all that it sent has come.

    *name* is what the log calls the other end.  If that talks nonsense, the channel ends, and what it sent before has come.
    """

    log = Logger()

    def __init__(
        self,
        reactor: Any,
        came: Came,
        ended: Callable[[], None],
        name: str = "a process of our own",
        bounds: Bounds = _TRUSTED,
    ) -> None:
        self._reactor = reactor
        self._came = came
        self._ended = ended
        self._name = name
        self._bounds = bounds
        self._frames = FrameReader(bounds.bytes_of_frame)
        self._talks_nonsense = False
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

    def send(self, frame: Frame, sockets: Sequence[socket.socket] = (), rest: bytes = b"") -> None:
        """Send *frame*, with *rest*, which may be large and is not copied here, as the end of its payload.

        Copies of *sockets* go with it, and are kept until ``forget`` of its number.
        """
        if not self.is_open:
            return
        transport: Any = self.transport
        if sockets:
            lent = self._lent.setdefault(frame.number, [])
            for sock in sockets:
                # Not by ``dup`` of the socket, which may have all that share it wait for what they accept.
                lent.append(copy := os.dup(sock.fileno()))
                transport.sendFileDescriptor(copy)
        if rest:
            transport.writeSequence((frame_to_bytes(frame, len(rest)), rest))
        else:
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
        if self._talks_nonsense or len(self._descriptors) >= self._bounds.descriptors:
            os.close(descriptor)
            self._end(NonsenseError("descriptors that nobody asked for"))
            return
        os.set_inheritable(descriptor, False)
        self._descriptors.append(descriptor)

    def dataReceived(self, data: bytes) -> None:
        """Take what came."""
        if self._talks_nonsense:
            return
        try:
            self._waiting.extend(self._frames.take(data))
        except NonsenseError as error:
            self._end(error)
        if not self._is_resting:
            self._deliver()

    def _deliver(self) -> None:
        transport: Any = self.transport
        self._is_resting = False
        frames = 0
        while self._waiting:
            frames += 1
            if (self._next() or frames >= FRAMES_OF_A_TURN) and self._waiting:
                self._is_resting = True
                if not self._is_over:
                    transport.pauseProducing()
                self._reactor.callLater(0, self._deliver)
                return
        if self._is_over:
            # Their frames do not come any more.
            while self._descriptors:
                os.close(self._descriptors.popleft())
            self._ended()
        elif not self._talks_nonsense:
            transport.resumeProducing()

    def _next(self) -> bool:
        frame = self._waiting.popleft()
        if frame.descriptors > len(self._descriptors):
            self._end(NonsenseError("descriptors that did not come"))
            return False
        descriptors = tuple(self._descriptors.popleft() for _ in range(frame.descriptors))
        try:
            return self._came(frame, descriptors)
        except NonsenseError as error:
            self._end(error)
            return False

    def _end(self, error: NonsenseError) -> None:
        """Hear no more from an end that talks nonsense."""
        if self._talks_nonsense:
            return
        self._talks_nonsense = True
        self._waiting.clear()
        self.log.error(
            "{name} talks nonsense, and is heard no more: {error}", name=self._name, error=str(error)
        )
        transport: Any = self.transport
        transport.abortConnection()

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
