"""What the load generator for HTTP/2 makes of what it receives."""

import ssl
from typing import cast

from attrs import define, field
from twisted.trial.unittest import SynchronousTestCase

from bench.loads.unique_client import Connection, Refused
from bench.loads.unique_requests import (
    ACK,
    DATA,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PING,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    frame,
    opening,
)

OK = b"\x88"
BAD_GATEWAY = b"\x08\x03502"


@define
class Socket:
    """A TLS socket that has *incoming* to read, and remembers what was sent."""

    incoming: list[bytes] = field(factory=list)
    sent: bytes = b""

    def recv(self, most: int) -> bytes:
        """Return the next portion."""
        if not self.incoming:
            raise ssl.SSLWantReadError
        return self.incoming.pop(0)

    def pending(self) -> int:
        """How much OpenSSL holds back: nothing."""
        return 0

    def send(self, octets: bytes) -> int:
        """Take all."""
        self.sent += octets
        return len(octets)


class ConnectionTests(SynchronousTestCase):
    """One connection with four requests, two at a time."""

    def setUp(self) -> None:
        """Begin; requests are letters here."""
        self.socket = Socket()
        self.connection = Connection(cast(ssl.SSLSocket, self.socket), [b"a", b"b", b"c", b"d"])
        self.connection.start(2)

    def receive(self, *portions: bytes) -> bytes:
        """Let *portions* be read one by one; return what was sent meanwhile."""
        self.socket.sent = b""
        for portion in portions:
            self.socket.incoming.append(portion)
            self.connection.read()
        return self.socket.sent

    def test_start(self) -> None:
        """As many requests as streams follow the opening."""
        self.assertEqual(self.socket.sent, opening() + b"ab")

    def test_answers(self) -> None:
        """Each stream that ends, with its body or without one, lets the next request go; then all is done."""
        self.assertEqual(self.receive(frame(HEADERS, 0, 1, OK) + frame(DATA, 0, 1, b"x")), b"")
        self.assertEqual(self.receive(frame(DATA, END_STREAM, 1)), b"c")
        self.assertEqual(self.receive(frame(HEADERS, END_STREAM, 3, OK)), b"d")
        self.assertFalse(self.connection.is_done)
        self.assertEqual(
            self.receive(*[frame(HEADERS, END_STREAM, 5, OK), frame(HEADERS, END_STREAM, 7, OK)]), b""
        )
        self.assertTrue(self.connection.is_done)
        self.assertEqual(self.connection.good, 4)

    def test_any_cut(self) -> None:
        """Frames are found however they are cut."""
        octets = frame(HEADERS, 0, 1, OK) + frame(DATA, END_STREAM, 1, b"12") + frame(HEADERS, 1, 3, OK)
        sent = self.receive(*(octets[place : place + 1] for place in range(len(octets))))
        self.assertEqual((sent, self.connection.good, self.connection.ended), (b"cd", 2, 2))

    def test_failed(self) -> None:
        """Another status and a reset end their streams, and are not good."""
        self.receive(frame(HEADERS, END_STREAM, 1, BAD_GATEWAY), frame(RST_STREAM, 0, 3, bytes(4)))
        self.assertEqual((self.connection.good, self.connection.ended), (0, 2))

    def test_settings_and_ping(self) -> None:
        """Both are acknowledged, and an acknowledgment is not."""
        self.assertEqual(self.receive(frame(SETTINGS, 0, 0)), frame(SETTINGS, ACK, 0))
        self.assertEqual(self.receive(frame(PING, 0, 0, b"12345678")), frame(PING, ACK, 0, b"12345678"))
        quiet = (frame(SETTINGS, ACK, 0), frame(PING, ACK, 0, bytes(8)), frame(WINDOW_UPDATE, 0, 0, bytes(4)))
        self.assertEqual(self.receive(*quiet), b"")

    def test_small_table(self) -> None:
        """Whoever allows no table of the usual size cannot get these requests."""
        small = frame(SETTINGS, 0, 0, b"\x00\x01" + (100).to_bytes(4, "big"))
        self.assertRaises(Refused, self.receive, small)

    def test_goaway(self) -> None:
        """A connection that the peer ends is told with its code."""
        error = self.assertRaises(Refused, self.receive, frame(GOAWAY, 0, 0, bytes(4) + b"\x00\x00\x00\x0b"))
        self.assertIn("code 11", str(error))

    def test_closed(self) -> None:
        """A connection that is closed serves no more."""
        self.assertRaises(Refused, self.receive, b"")
