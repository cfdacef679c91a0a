"""Messages of the handshake that come behind it, on connections of the epoll set."""

import contextlib
import socket
from datetime import UTC, datetime

from OpenSSL import SSL
from twisted.internet.error import ConnectionDone
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.transport.epoll.epoll_set import EpollSet
from ingress.proxy.transport.epoll.tls import TLSTransport
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated_certificate import generate_certificate
from ingress.tls.message_feed import MOST_IN_A_ROW, MOST_OCTETS, OCTETS_AT_ONCE
from tests.fakes.peers.cut_messages import HelloAgain, TicketServer
from tests.fakes.peers.key_updates import KeyUpdates
from tests.proxy.transport.epoll.test_epoll_set import BatchReactor
from tests.proxy.transport.recorder import Recorder

OCTETS = 2000
HEADER = 4
"""Octets before the body of a message (RFC 8446 section 4)."""


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

    def serve(self) -> None:
        """Be a server."""
        contexts = ServerContexts(generate_certificate(datetime.now(UTC)))
        connection = contexts.connection_on(self.near)
        self.transport = TLSTransport(
            self.epoll_set, self.near, self.recorder, ("127.0.0.1", 1), connection, 443
        )
        self.transport.start()

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

    def test_too_many_in_a_row(self) -> None:
        """Tickets in a row that nobody needs end the connection, also where each turn ends amid one; those between answers do not."""
        for _ in range(2):
            # The first ones are behind those that it sends by itself.
            self.far.send(self.server.data(b"an answer"))
            self.turn()
            for _ in range(MOST_IN_A_ROW):
                self.far.send(self.server.ticket(10, 1 << 14))
                self.turn()
        self.far.send(self.server.data(b"an answer"))
        self.turn()
        self.assertEqual((self.recorder.pieces, self.recorder.lost), ([b"an answer"] * 3, []))
        rest = b""
        for _ in range(MOST_IN_A_ROW):
            message = self.server.ticket(10, 10)
            self.far.send(rest + message[:100])
            rest = message[100:]
            self.turn()
        self.far.send(rest)
        self.turn()
        self.assertEqual(self.recorder.lost, [])
        self.far.send(self.server.ticket(10, 1 << 14))
        self.turn()
        self.assertIn("too many messages", str(self.recorder.lost))


class NewKeysTests(MessageCase):
    """New keys of a client of TLS 1.3."""

    def setUp(self) -> None:
        super().setUp()
        self.serve()
        self.client = KeyUpdates(b"app.test")
        received, is_done = b"", False
        while not is_done:
            told, is_done = self.client.shake(received)
            self.far.send(told)
            self.turn()
            received = self.far.recv(1 << 16)
        # Tickets.
        self.client.received(received)
        self.assertEqual(self.recorder.shaken, 1)

    def said(self) -> bytes:
        """Return what the client is told, which is something."""
        return self.client.received(self.far.recv(1 << 16))

    def test_many_between_requests(self) -> None:
        """As many as may come in a row do, with content between them."""
        for _ in range(3):
            for _ in range(MOST_IN_A_ROW):
                self.far.send(self.client.update(False))
            self.far.send(self.client.send(b"more"))
            self.turn(MOST_IN_A_ROW + 1)
        self.assertEqual((self.recorder.pieces, self.recorder.lost), ([b"more"] * 3, []))

    def test_request_just_before(self) -> None:
        """Content that comes together with new keys is between them and earlier ones."""
        for _ in range(MOST_IN_A_ROW):
            self.far.send(self.client.update(False))
        self.turn(MOST_IN_A_ROW)
        self.far.send(self.client.send(b"more") + self.client.update(False))
        self.turn()
        self.assertEqual((self.recorder.pieces, self.recorder.lost), ([b"more"], []))

    def test_answered_behind_requests(self) -> None:
        """New keys of ours that go with an answer count for nobody."""
        for _ in range(MOST_IN_A_ROW + 1):
            self.far.send(self.client.update(True))
            self.turn()
            self.transport.write(b"an answer")
            self.turn()
            self.far.send(self.client.send(b"more"))
            self.turn()
        self.far.send(self.client.update(False))
        self.turn()
        self.assertEqual(self.recorder.lost, [])

    def test_while_it_only_receives(self) -> None:
        """Who has keys renewed again and again for what it is sent, and says nothing else, receives all of it."""
        for number in range(MOST_IN_A_ROW + 1):
            answer = b"answer %d" % number
            self.far.send(self.client.update(True))
            self.turn()
            self.transport.write(answer)
            self.assertEqual(self.said(), answer)
        self.assertEqual(self.recorder.lost, [])

    def test_nothing_new_amid_them(self) -> None:
        """Where nothing more of new keys has come, they count for none, whatever others have said."""
        self.far.send(self.client.update_in_two(False, HEADER)[0])
        self.turn()
        other = NewKeysTests("said")
        other.setUp()
        self.addCleanup(other.doCleanups)
        other.far.send(other.client.update(True))
        other.turn()
        for _ in range(2 * MOST_IN_A_ROW):
            self.transport.pauseProducing()
            self.transport.resumeProducing()
            self.turn()
        self.assertEqual((self.recorder.lost, other.recorder.lost), ([], []))

    def test_too_many_in_a_row(self) -> None:
        """Who says nothing else for longer is ended."""
        for _ in range(MOST_IN_A_ROW):
            self.far.send(self.client.update(False))
            self.turn()
        self.assertEqual(self.recorder.lost, [])
        self.far.send(self.client.update(False))
        self.turn()
        self.assertEqual(self.recorder.pieces, [])
        self.assertIn("too many messages", str(self.recorder.lost))

    def test_too_many_that_are_answered(self) -> None:
        """Our answers count, too, and those that nobody has read."""
        self.far.send(b"".join(self.client.update(True) for _ in range(MOST_IN_A_ROW)))
        self.turn(2 * MOST_IN_A_ROW)
        self.assertIn("too many messages", str(self.recorder.lost))

    def test_last_answer_amid_them(self) -> None:
        """What is written last amid new keys is sent behind them, and nothing behind them is told."""
        begun, rest = self.client.update_in_two(False, HEADER)
        self.far.send(begun)
        self.turn()
        self.transport.write(b"an answer")
        self.transport.loseConnection()
        self.turn()
        self.assertRaises(BlockingIOError, self.said)
        self.far.send(rest + self.client.send(b"more"))
        self.turn(2)
        self.assertEqual(self.said(), b"an answer")
        self.assertEqual((self.recorder.pieces, len(self.recorder.lost)), ([], 1))

    def test_last_answer_before_a_goodbye(self) -> None:
        """What is written last amid new keys is sent also to who says goodbye behind them."""
        begun, rest = self.client.update_in_two(False, HEADER)
        self.far.send(begun)
        self.turn()
        self.transport.write(b"an answer")
        self.transport.loseConnection()
        self.far.send(rest + self.client.say_goodbye())
        self.turn(2)
        self.assertEqual(self.said(), b"an answer")

    def test_answer_amid_their_header(self) -> None:
        """What is written before there is a whole header waits for nothing."""
        begun, rest = self.client.update_in_two(False, HEADER - 1)
        self.far.send(begun)
        self.turn()
        self.transport.write(b"an answer")
        self.turn()
        self.assertEqual(self.said(), b"an answer")
        self.far.send(rest + self.client.send(b"more"))
        self.turn(2)
        self.assertEqual((self.recorder.pieces, self.recorder.lost), ([b"more"], []))

    def test_nobody_reads(self) -> None:
        """What is written amid new keys while nobody reads is sent behind them, and what is behind them is told when somebody does."""
        begun, rest = self.client.update_in_two(True, HEADER)
        self.far.send(begun)
        self.turn()
        self.transport.pauseProducing()
        self.transport.write(b"an answer")
        self.far.send(rest + self.client.send(b"more"))
        self.turn()
        self.assertEqual((self.said(), self.recorder.pieces), (b"an answer", []))
        # Nothing is to be told of any more.
        self.assertEqual(self.transport._events, 0)
        self.transport.resumeProducing()
        self.turn()
        self.assertEqual((self.recorder.pieces, self.recorder.lost), ([b"more"], []))

    def test_goes_away_amid_them(self) -> None:
        """Who goes away amid new keys, with an answer that waits for them, is noticed."""
        self.far.send(self.client.update_in_two(False, HEADER)[0])
        self.turn()
        self.transport.write(b"an answer")
        self.transport.loseConnection()
        self.far.close()
        self.turn(2)
        self.assertEqual(len(self.recorder.lost), 1)

    def test_goodbye_behind_them(self) -> None:
        """A goodbye in the same turn is told as any."""
        begun, rest = self.client.update_in_two(False, HEADER)
        self.far.send(begun)
        self.turn()
        self.far.send(rest + self.client.say_goodbye())
        self.turn(2)
        self.assertEqual([type(reason) for reason in self.recorder.lost], [ConnectionDone])


class HelloTests(MessageCase):
    """Another hello of a client of TLS 1.2."""

    def setUp(self) -> None:
        super().setUp()
        self.serve()
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
