"""Messages of the handshake that come behind it, on connections of the epoll set."""

import contextlib
import socket
from datetime import UTC, datetime

from OpenSSL import SSL
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.transport.epoll.epoll_set import EpollSet
from ingress.proxy.transport.epoll.tls import TLSTransport
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated_certificate import generate_certificate
from ingress.tls.message_feed import MOST_OCTETS, OCTETS_AT_ONCE
from tests.fakes.peers.cut_messages import HelloAgain, TicketServer
from tests.proxy.transport.epoll.test_epoll_set import BatchReactor
from tests.proxy.transport.recorder import Recorder

OCTETS = 2000


class MessageCase(SynchronousTestCase):
    """One connection, whose handshake is over."""

    transport: TLSTransport

    def setUp(self) -> None:
        self.epoll_set = EpollSet(BatchReactor())
        self.epoll_set.start()
        self.addCleanup(self.epoll_set.stop)
        self.near, self.far = socket.socketpair()
        for sock in (self.near, self.far):
            sock.setblocking(False)
        self.addCleanup(self.far.close)
        self.recorder = Recorder()

    @property
    def unread(self) -> int:
        """Octets that lie in the socket."""
        return len(self.near.recv(1 << 20, socket.MSG_PEEK))

    def turn(self, times: int = 1) -> None:
        """Let so many turns go by."""
        for _ in range(times):
            self.epoll_set.doRead()

    def check_few_at_once(self, message: bytes, behind: bytes) -> None:
        """Have *message* come, and *behind* it what is told: none of its turns reads more than it may."""
        flood = message + behind
        self.far.send(flood)
        left = len(flood)
        turns = 0
        while not self.recorder.pieces:
            self.turn()
            turns += 1
            now = self.unread if not self.recorder.pieces else 0
            # OpenSSL on the socket takes the header of the message, four octets in as many records.
            self.assertLessEqual(left - now, OCTETS_AT_ONCE + 200)
            left = now
        self.assertGreater(turns, len(message) // OCTETS_AT_ONCE)
        self.assertIsNone(self.transport._feed)


class TicketTests(MessageCase):
    """Tickets of an endpoint, which is a server of TLS 1.3."""

    def setUp(self) -> None:
        super().setUp()
        self.server = TicketServer(self.far)
        connection = SSL.Connection(SSL.Context(SSL.TLS_CLIENT_METHOD), self.near)
        connection.set_connect_state()
        self.server.shake(connection)
        self.transport = TLSTransport(self.epoll_set, self.near, self.recorder, None, connection)
        self.transport.start()
        # The tickets that it sends by itself.
        self.turn(2)
        self.assertEqual((self.recorder.pieces, self.recorder.lost), ([], []))

    def test_records_of_an_octet(self) -> None:
        """Of a ticket in records of an octet few are read in a turn, and what comes behind it is told."""
        self.check_few_at_once(self.server.ticket(OCTETS, 1), self.server.data(b"hello"))
        self.assertEqual(self.recorder.pieces, [b"hello"])
        self.transport.write(b"a request")
        self.turn()
        self.assertEqual(self.server.received(), b"a request")

    def test_usual(self) -> None:
        """A ticket in one record is read in one turn, and leaves OpenSSL on the socket."""
        self.far.send(self.server.ticket(200, 1 << 14))
        self.turn()
        self.assertIsNone(self.transport._feed)
        self.assertRaises(BlockingIOError, lambda: self.unread)

    def test_write_waits(self) -> None:
        """What is written amid a ticket is sent behind it, and reads no more of it than a turn may."""
        message = self.server.ticket(OCTETS, 1)
        self.far.send(message[: len(message) // 2])
        self.turn()
        left = self.unread
        self.transport.write(b"a request")
        self.turn()
        self.assertLessEqual(left - self.unread, OCTETS_AT_ONCE)
        self.assertEqual(self.server.received(), b"")
        self.far.send(message[len(message) // 2 :])
        self.turn(len(message) // OCTETS_AT_ONCE + 2)
        self.assertEqual(self.server.received(), b"a request")

    def test_too_many(self) -> None:
        """A message in more records than anybody needs ends the connection."""
        message = self.server.ticket(65_000, 1)
        sent = 0
        for _ in range(2 * MOST_OCTETS // OCTETS_AT_ONCE):
            if self.recorder.lost:
                break
            if sent < len(message):
                sent += self.far.send(message[sent : sent + OCTETS_AT_ONCE])
            self.turn()
        self.assertIn("too many records in a message", str(self.recorder.lost))
        self.assertLess(sent, len(message) // 2)

    def test_end_amid_it(self) -> None:
        """Who goes away amid a ticket is noticed."""
        self.far.send(self.server.ticket(OCTETS, 1)[:1000])
        self.turn(2)
        self.assertEqual(self.recorder.lost, [])
        self.far.close()
        self.turn(2)
        self.assertEqual(len(self.recorder.lost), 1)

    def test_no_record(self) -> None:
        """What is no record, though it should be one, ends the connection amid a ticket."""
        self.far.send(self.server.ticket(OCTETS, 1)[:230] + b"GET / HTTP/1.1\r\n\r\n")
        self.turn(3)
        self.assertEqual(len(self.recorder.lost), 1)
        self.assertNotIn("EOF", str(self.recorder.lost))


class HelloTests(MessageCase):
    """Another hello of a client of TLS 1.2."""

    def setUp(self) -> None:
        super().setUp()
        contexts = ServerContexts(generate_certificate(datetime.now(UTC)))
        connection = contexts.connection_on(self.near)
        self.transport = TLSTransport(
            self.epoll_set, self.near, self.recorder, ("127.0.0.1", 1), connection, 443
        )
        self.transport.start()
        self.client = HelloAgain(self.far)
        self.client.begin()
        self.turn()
        self.assertFalse(self.client.go_on())
        self.turn()
        self.assertTrue(self.client.go_on())
        self.assertEqual(self.recorder.shaken, 1)

    def test_records_of_an_octet(self) -> None:
        """Of a hello in records of an octet few are read in a turn; then it is refused, and what comes behind it is told."""
        self.check_few_at_once(self.client.hello(OCTETS, 1), self.client.data(b"GET / HTTP/1.1\r\n\r\n"))
        self.assertEqual(self.recorder.pieces, [b"GET / HTTP/1.1\r\n\r\n"])
        alert = self.far.recv(1 << 16)
        # A warning, sealed: that there is no other handshake.
        self.assertEqual((alert[0], len(alert)), (21, 5 + 8 + 2 + 16))

    def test_usual(self) -> None:
        """A hello in one record is refused in one turn."""
        self.far.send(self.client.hello(200, 1 << 14))
        self.turn()
        self.assertIsNone(self.transport._feed)
        self.assertEqual(self.far.recv(1 << 16)[0], 21)
        self.transport.write(b"an answer")
        self.turn()
        self.assertEqual((self.recorder.lost, self.far.recv(1 << 16)[0]), ([], 23))

    def test_refusal_waits(self) -> None:
        """Where the socket takes no refusal at first, it goes with the answer behind it, though nothing is read meanwhile."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self.near.send(bytes(100))
        self.far.send(self.client.hello(200, 1 << 14))
        self.turn()
        self.transport.pauseProducing()
        self.transport.write(b"an answer")
        self.turn()
        self.assertTrue(self.transport.queued)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.far.recv(1 << 16)
        self.turn()
        said = self.far.recv(1 << 16)
        self.assertEqual((said[0], said[31], self.transport.queued), (21, 23, 0))
        # Nothing is to be told of any more.
        self.assertEqual(self.transport._events, 0)
        self.transport.resumeProducing()
        self.far.send(self.client.data(b"more"))
        self.turn()
        self.assertEqual((self.recorder.pieces, self.recorder.lost), ([b"more"], []))
