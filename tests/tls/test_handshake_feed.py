"""Tests of handshakes whose records OpenSSL is given a few at a time."""

import fcntl
import socket
import struct
import termios
from datetime import UTC, datetime

from OpenSSL import SSL
from twisted.trial.unittest import SynchronousTestCase

from ingress.tls.binding import WANT_READ, WANT_WRITE, receive, restrict_groups, suit_socket
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated_certificate import generate_certificate
from ingress.tls.handshake_feed import _RETRY as RETRY
from ingress.tls.handshake_feed import MOST_RECORDS, RECORDS_AT_ONCE, HandshakeFeed, end_of_record

RECORD = b"\x16\x03\x01"
LARGE_HELLO = b"\x01" + (100_000).to_bytes(3) + b"\x03\x03" + bytes(99_998)


def records(message: bytes, size: int) -> bytes:
    """Return *message* in records of so many bytes."""
    pieces = (message[at : at + size] for at in range(0, len(message), size))
    return b"".join(RECORD + len(piece).to_bytes(2) + piece for piece in pieces)


def resized(flight: bytes, size: int) -> bytes:
    """Return the record of a hello as records of so many bytes."""
    return records(flight[5:], size)


def has_socket(feed: HandshakeFeed) -> bool:
    """Whether OpenSSL reads the socket itself by now."""
    return feed._has_socket


class RecordTests(SynchronousTestCase):
    """Where records end."""

    def test_ends(self) -> None:
        """A record ends as its header says, also one that is not all here; of one that cannot be, and of what is none, the header is read."""
        self.assertEqual(end_of_record(RECORD + b"\x01\x02", 0), 5 + 0x102)
        self.assertEqual(end_of_record(b"..." + RECORD + b"\x00\x00", 3), 8)
        self.assertEqual(end_of_record(RECORD + b"\x01", 0), 5)
        self.assertEqual(end_of_record(RECORD + b"\x48\x00", 0), 5 + 0x4800)
        for odd in (
            RECORD + b"\x48\x01",
            b"GET / HTTP/1.1",
            b"\x16\x02\x01\x01\x01",
            b"\x80\x2e\x01\x03\x01",
        ):
            self.assertEqual(end_of_record(odd, 0), 5)


class FeedCase(SynchronousTestCase):
    """A server on a socket, and a client."""

    version = SSL.TLS1_3_VERSION

    def setUp(self) -> None:
        contexts = ServerContexts(generate_certificate(datetime.now(UTC)))
        self.near, self.far = socket.socketpair()
        for each in (self.near, self.far):
            each.setblocking(False)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            self.addCleanup(each.close)
        self.server = contexts.connection_on(self.near)
        suit_socket(self.server, accepts=True)
        self.feed = HandshakeFeed(self.server, self.near)
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_max_proto_version(self.version)
        self.client = SSL.Connection(context, None)
        self.client.set_connect_state()

    @property
    def unread(self) -> int:
        """How many bytes lie in our socket."""
        size: int = struct.unpack("i", fcntl.ioctl(self.near, termios.FIONREAD, bytes(4)))[0]
        return size

    def said(self) -> bytes:
        """Have the client go on, and return what it says."""
        try:
            self.client.do_handshake()
        except SSL.WantReadError:
            pass
        return self.client.bio_read(1 << 16)

    def hear(self) -> None:
        """Have the client read what it was sent."""
        self.client.bio_write(self.far.recv(1 << 16))


class FeedTests(FeedCase):
    """Handshakes on sockets."""

    def test_whole(self) -> None:
        """A handshake takes two steps, and what came behind it is read from the socket."""
        self.far.send(self.said())
        self.assertEqual(self.feed.step(), WANT_READ)
        self.assertFalse(self.feed.is_amid or self.unread)
        self.hear()
        last = self.said()
        self.client.send(b"request")
        self.far.send(last + self.client.bio_read(1 << 16))
        self.assertEqual(self.feed.step(), 0)
        self.assertEqual(receive(self.server, 16), (b"request", 1, None))

    def test_socket_behind_the_hello(self) -> None:
        """Once a hello is answered OpenSSL has the socket."""
        self.far.send(self.said())
        self.feed.step()
        self.assertTrue(has_socket(self.feed))

    def test_certificate_to_come(self) -> None:
        """Where the client is to show a certificate, which may be large, all of the handshake goes through memory."""
        self.server.set_verify(SSL.VERIFY_PEER, lambda *_: True)
        self.far.send(self.said())
        self.assertEqual((self.feed.step(), has_socket(self.feed)), (WANT_READ, False))
        self.hear()
        self.far.send(self.said())
        self.assertEqual((self.feed.step(), has_socket(self.feed)), (0, True))

    def test_in_pieces(self) -> None:
        """What is no whole record stays in the socket until it is one, wherever it is cut."""
        for expected in (WANT_READ, 0):
            awaited = -1
            for octet in self.said():
                self.far.send(bytes((octet,)))
                awaited = self.feed.step()
            self.assertEqual((awaited, self.feed.is_amid, self.unread), (expected, False, 0))
            if awaited:
                self.hear()

    def test_amid(self) -> None:
        """It is known that a part of a record lies there, for as long as it does."""
        hello = self.said()
        self.far.send(hello[:100])
        for _ in range(2):
            self.assertEqual((self.feed.step(), self.feed.is_amid, self.unread), (WANT_READ, True, 100))
        self.far.send(hello[100:])
        self.assertEqual((self.feed.step(), self.feed.is_amid, self.unread), (WANT_READ, False, 0))

    def test_small_records(self) -> None:
        """A hello in records as small as clients agree on goes through."""
        self.far.send(resized(self.said(), 256))
        self.assertEqual((self.feed.step(), self.unread), (WANT_READ, 0))
        self.hear()
        self.far.send(self.said())
        self.assertEqual(self.feed.step(), 0)

    def test_records_of_an_octet(self) -> None:
        """Of records without end a step takes a few, and a handshake not too many; the others stay in the socket."""
        flood = records(LARGE_HELLO, 1)[: 2 * 6 * MOST_RECORDS]
        self.far.send(flood)
        for number in range(1, MOST_RECORDS // RECORDS_AT_ONCE):
            self.assertEqual(self.feed.step(), WANT_READ)
            self.assertEqual(self.unread, len(flood) - 6 * RECORDS_AT_ONCE * number)
        with self.assertRaisesRegex(SSL.Error, "too many records in a handshake"):
            self.feed.step()
        self.assertEqual(self.unread, len(flood) // 2)

    def test_refused(self) -> None:
        """A client whose handshake fails gets the alert that says so."""
        self.far.send(RECORD + b"\x00\x04\x02\x00\x00\x00")
        self.assertRaises(SSL.Error, self.feed.step)
        self.assertEqual(self.far.recv(100)[:1], b"\x15")

    def test_no_tls(self) -> None:
        """Of what is no TLS no more is taken than the header of a record would have."""
        self.far.send(b"GET / HTTP/1.1\r\n\r\n")
        self.assertRaises(SSL.Error, self.feed.step)
        self.assertEqual(self.near.recv(100), b" HTTP/1.1\r\n\r\n")

    def test_leaves(self) -> None:
        """Who leaves amid a handshake ends it, wherever that is."""
        self.far.send(self.said()[:50])
        self.assertEqual(self.feed.step(), WANT_READ)
        self.near.recv(50)
        self.far.close()
        self.assertRaises(SSL.Error, self.feed.step)

    def test_takes_nothing(self) -> None:
        """What the client does not take waits, and the handshake goes on once it does."""
        self.near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        fill = 0
        try:
            while True:
                fill += self.near.send(bytes(100))
        except BlockingIOError:
            pass
        self.far.send(self.said())
        for _ in range(2):
            self.assertEqual(self.feed.step(), WANT_WRITE)
        while fill:
            fill -= len(self.far.recv(fill))
        self.assertEqual(self.feed.step(), WANT_READ)
        self.hear()
        self.far.send(self.said())
        self.assertEqual(self.feed.step(), 0)


class FeedTestsOfTLS12(FeedTests):
    """The same with TLS 1.2, where the last flight is ours."""

    version = SSL.TLS1_2_VERSION

    def test_whole(self) -> None:
        """A handshake takes two steps."""
        self.far.send(self.said())
        self.assertEqual(self.feed.step(), WANT_READ)
        self.hear()
        self.far.send(self.said())
        self.assertEqual(self.feed.step(), 0)
        self.hear()
        self.client.do_handshake()
        self.client.send(b"request")
        self.far.send(self.client.bio_read(1 << 16))
        self.assertEqual(receive(self.server, 16), (b"request", 1, None))


class AnotherHelloTests(FeedCase):
    """A client whose hello has no key of a group that is spoken here."""

    def test_memory_until_it_is_answered(self) -> None:
        """OpenSSL has the socket once the second hello is answered."""
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        restrict_groups(context, b"*secp521r1:X25519")
        self.client = SSL.Connection(context, None)
        self.client.set_connect_state()
        self.far.send(self.said())
        self.assertEqual((self.feed.step(), has_socket(self.feed)), (WANT_READ, False))
        self.assertIn(RETRY, self.far.recv(1 << 16, socket.MSG_PEEK))
        self.hear()
        self.far.send(self.said())
        self.assertEqual((self.feed.step(), has_socket(self.feed)), (WANT_READ, True))
        self.hear()
        self.far.send(self.said())
        self.assertEqual(self.feed.step(), 0)


class ClientFeedTests(SynchronousTestCase):
    """The side that says hello first."""

    def test_both_sides(self) -> None:
        """It takes the same steps, and both sides have their sockets when they are over."""
        for version in (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION):
            near, far = socket.socketpair()
            for each in (near, far):
                each.setblocking(False)
                self.addCleanup(each.close)
            server = ServerContexts(generate_certificate(datetime.now(UTC))).connection_on(near)
            suit_socket(server, accepts=True)
            context = SSL.Context(SSL.TLS_CLIENT_METHOD)
            context.set_max_proto_version(version)
            client = SSL.Connection(context, far)
            client.set_connect_state()
            sides = [HandshakeFeed(client, far, begins=True), HandshakeFeed(server, near)]
            steps = [side.step() for side in (*sides, *sides, *sides)]
            self.assertEqual(steps[:2], [WANT_READ, WANT_READ])
            self.assertEqual(steps[-2:], [0, 0])
            client.send(b"request")
            self.assertEqual(receive(server, 16), (b"request", 1, None))
            server.send(b"answer")
            self.assertEqual(client.recv(100), b"answer")
