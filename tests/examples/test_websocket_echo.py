"""Tests for ``examples.whoami.websocket_echo``."""

from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from examples.whoami.websocket_echo import WebSocketEcho
from examples.whoami.websocket_frames import Frame, Opcode
from tests.examples.test_websocket_frames import masked


class WebSocketEchoTests(SynchronousTestCase):
    """The echo on a transport in memory."""

    def setUp(self) -> None:
        self.transport = StringTransport()
        self.echo = WebSocketEcho()
        self.echo.makeConnection(self.transport)

    def test_echo(self) -> None:
        """Text, binary and fragments come back frame by frame."""
        self.echo.dataReceived(masked(1, b"hello") + masked(2, b"\x00", final=False) + masked(0, b"\x01"))
        self.assertEqual(
            self.transport.value(),
            Frame(Opcode.TEXT, b"hello").as_bytes()
            + Frame(Opcode.BINARY, b"\x00", False).as_bytes()
            + Frame(Opcode.CONTINUATION, b"\x01").as_bytes(),
        )

    def test_ping(self) -> None:
        """A ping is answered by a pong with its content, and a pong by nothing."""
        self.echo.dataReceived(masked(9, b"abc") + masked(10, b"def"))
        self.assertEqual(self.transport.value(), Frame(Opcode.PONG, b"abc").as_bytes())

    def test_close(self) -> None:
        """A close frame is answered with its code, the connection ends, and later frames are dropped."""
        self.echo.dataReceived(masked(8, b"\x03\xe8bye") + masked(1, b"late"))
        self.echo.dataReceived(masked(1, b"later"))
        self.assertEqual(self.transport.value(), b"\x88\x02\x03\xe8")
        self.assertTrue(self.transport.disconnecting)

    def test_broken_protocol(self) -> None:
        """A peer that breaks the protocol is told the close code and let go."""
        self.echo.dataReceived(b"\x81\x01x")
        self.assertTrue(self.transport.value().startswith(b"\x88"))
        self.assertEqual(self.transport.value()[2:4], (1002).to_bytes(2, "big"))
        self.assertTrue(self.transport.disconnecting)

    def test_reading_pauses(self) -> None:
        """While the downstream takes no echo, nothing more is read from it."""
        producer = self.transport.producer
        assert producer is not None
        producer.pauseProducing()
        self.assertEqual(self.transport.producerState, "paused")

    def test_close_while_paused(self) -> None:
        """Closing lets go of the producer, without which a transport never ends."""
        self.echo.dataReceived(masked(8, b""))
        self.assertIsNone(self.transport.producer)
