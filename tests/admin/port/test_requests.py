"""Requests for the admin port that bring content: it is thrown away, and much of it is refused."""

from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from ingress.admin.port.requests import MOST_CONTENT
from tests.admin.site_case import SiteCase


class ContentTests(SiteCase):
    """What becomes of content."""

    def sent(self, *parts: bytes) -> tuple[Any, StringTransport]:
        """Send *parts* one after the other; return the connection and its transport."""
        transport = StringTransport(peerAddress=IPv4Address("TCP", "10.0.0.9", 40000))
        connection: Any = self.site.buildProtocol(IPv4Address("TCP", "10.0.0.9", 40000))
        connection.makeConnection(transport)
        self.addCleanup(connection.connectionLost, Failure(ConnectionDone()))
        for part in parts:
            connection.dataReceived(part)
            self.clock.advance(0)
        return connection, transport

    def test_thrown_away(self) -> None:
        """A form is neither kept nor read: its fields are no query, and the connection goes on."""
        _, transport = self.sent(
            b"POST /api/v1/routes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            b"Content-Length: 7\r\n\r\nlimit=x",
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % MOST_CONTENT,
            b"a" * MOST_CONTENT,
        )
        answers = transport.value()
        self.assertTrue(answers.startswith(b"HTTP/1.1 405 "), answers)
        self.assertIn(b"HTTP/1.1 200 OK", answers)
        self.assertFalse(transport.disconnecting)

    def test_too_much(self) -> None:
        """Who says that he sends more is refused before he does, and the connection is closed."""
        connection, transport = self.sent(
            b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (MOST_CONTENT + 1)
        )
        self.assertTrue(transport.value().startswith(b"HTTP/1.1 413 "))
        self.assertTrue(transport.disconnecting)
        connection.dataReceived(b"a" * (MOST_CONTENT + 1))
        self.clock.advance(0)
        self.assertEqual(transport.value().count(b"HTTP/1.1"), 1)

    def test_chunks(self) -> None:
        """Chunks are counted, and refused once: what comes behind them is no request."""
        chunk = b"4000\r\n%b\r\n" % (b"a" * 0x4000)
        _, transport = self.sent(
            b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
            *[chunk] * (MOST_CONTENT // 0x4000),
        )
        self.assertEqual(transport.value(), b"")
        _, transport = self.sent(
            b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
            *[chunk] * (MOST_CONTENT // 0x4000 + 2),
            b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        )
        self.assertEqual(transport.value().count(b"HTTP/1.1"), 1)
        self.assertIn(b" 413 ", transport.value())
