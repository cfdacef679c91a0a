"""A WebSocket that sends back what it is sent; it takes a connection over after the 101.

States: *open* until a close frame was sent, because the downstream closed or
broke the protocol; then *closed*, in which everything received is dropped.
Memory is bounded: one frame of ``MAX_FRAME_BYTES`` is held, and reading pauses
while the downstream does not take its echo.
"""

from twisted.internet.interfaces import IPushProducer, ITransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from examples.whoami.websocket_frames import Frame, FrameReader, Opcode, WebSocketError, close_frame


class WebSocketEcho(Protocol):
    """Echo text and binary frames, answer pings, and close as asked."""

    def __init__(self) -> None:
        self.closed = False
        self._reader = FrameReader()

    def connectionMade(self) -> None:
        """Let the transport be its own producer: unsent echoes stop the reading."""
        transport = self._transport()
        if IPushProducer.providedBy(transport):
            transport.registerProducer(transport, True)  # type: ignore[attr-defined]

    def dataReceived(self, data: bytes) -> None:
        """Answer every frame that is complete."""
        if self.closed:
            return
        try:
            for frame in self._reader.feed(data):
                self._answer(frame)
                if self.closed:
                    return
        except WebSocketError as error:
            self._close(close_frame(error.code, str(error)))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Drop what is left."""
        self.closed = True

    def _answer(self, frame: Frame) -> None:
        match frame.opcode:
            case Opcode.CLOSE:
                # RFC 6455 section 5.5.1: "the endpoint typically echos the status code it received".
                self._close(Frame(Opcode.CLOSE, frame.payload[:2]))
            case Opcode.PING:
                self._transport().write(Frame(Opcode.PONG, frame.payload).as_bytes())
            case Opcode.PONG:
                pass
            case _:
                self._transport().write(frame.as_bytes())

    def _close(self, frame: Frame) -> None:
        self.closed = True
        transport = self._transport()
        transport.write(frame.as_bytes())
        if IPushProducer.providedBy(transport):
            # A transport with a paused producer does not finish closing.
            transport.unregisterProducer()  # type: ignore[attr-defined]
        transport.loseConnection()

    def _transport(self) -> ITransport:
        transport = self.transport
        assert transport is not None, "a protocol speaks only while it is connected"
        return transport
