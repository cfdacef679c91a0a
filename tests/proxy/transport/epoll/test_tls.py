"""What TLS connections of the epoll set read at once, and what they leave behind."""

from __future__ import annotations

import contextlib
import gc
import select
import socket
import weakref
from datetime import UTC, datetime

from OpenSSL import SSL
from OpenSSL._util import lib
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.contract.security import Security
from ingress.proxy.transport.epoll.epoll_set import BURST, EpollSet
from ingress.proxy.transport.epoll.tls import TLSTransport
from ingress.proxy.transport.handshake_queue import STEPS
from ingress.tls import binding
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated_certificate import generate_certificate
from ingress.tls.handshake_feed import RECORDS_AT_ONCE
from tests.fakes.peers.key_updates import KeyUpdates
from tests.proxy.sockets.downstream.test_tls import RawCase
from tests.proxy.transport.epoll.test_epoll_set import BatchReactor
from tests.proxy.transport.recorder import Recorder
from tests.tls.test_binding import TLSCase, drop, fill


def counted_reads(test: SynchronousTestCase) -> list[str]:
    """Count the reads that are asked of OpenSSL while *test* goes on: one member each."""
    reads: list[str] = []

    class Counting:
        """OpenSSL, whose reads are counted."""

        def __getattr__(self, name: str) -> object:
            if name == "SSL_read":
                reads.append(name)
            return getattr(lib, name)

    test.patch(binding, "lib", Counting())
    return reads


class ReleaseTests(RawCase):
    """The memory of OpenSSL, which the garbage collector does not see."""

    use_epoll = True

    async def test_without_the_collector(self) -> None:
        """A connection that ends, even before it said anything, gives OpenSSL's memory back at once."""
        made: list[weakref.ref[SSL.Connection]] = []
        begin = self.contexts.connection_on

        def note(sock: object, speaks: bool) -> SSL.Connection:
            connection = begin(sock, speaks)  # type: ignore[arg-type]
            made.append(weakref.ref(connection))
            return connection

        # The listener has the method itself, from before this test.
        self.patch(self._secure, "_secure", note)
        gc.disable()
        self.addCleanup(gc.enable)
        for beginning in (b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
            client = await self.connect_raw()
            client.send(beginning)
            await self.until(lambda: self.channels)
            client.transport.loseConnection()
            await self.until(lambda: not self.channels)
            await self.turns(2)
        self.assertEqual([reference() for reference in made], [None, None])


class ReadTests(TLSCase):
    """How much is read at once of a peer that sends a record for each of its messages."""

    def setUp(self) -> None:
        super().setUp()
        self.epoll_set = EpollSet(BatchReactor())
        self.epoll_set.start()
        self.addCleanup(self.epoll_set.stop)
        self.recorder, self.far, self.sock = self.open()

    def open(self) -> tuple[Recorder, SSL.Connection, socket.socket]:
        """Return who is told of a new connection, and its other side with the socket of that."""
        near, sock = self.near, _ = socket.socketpair()
        connection, far = self.connect(near, sock)
        recorder = Recorder()
        # Its handshake is done.
        TLSTransport(self.epoll_set, near, recorder, None, connection).start()
        return recorder, far, sock

    def read(self) -> list[bytes]:
        """Return what the receiver is told in one turn, call by call."""
        self.recorder.pieces.clear()
        self.epoll_set.doRead()
        return self.recorder.pieces

    def test_together(self) -> None:
        """What has come is told at once, whatever records it is in."""
        for message in (b"one", b"two", b"three"):
            self.far.send(message)
        self.assertEqual(self.read(), [b"onetwothree"])
        self.assertEqual(self.read(), [])

    def test_others_have_their_turn(self) -> None:
        """After sixteen records others are told before more is read, so that a thousand of an octet each hold nobody up."""
        for number in range(40):
            self.far.send(b"%c" % number)
        self.assertEqual(self.read(), [bytes(range(16))])
        self.assertEqual(self.read(), [bytes(range(16, 32))])
        self.assertEqual(self.read(), [bytes(range(32, 40))])

    def test_usually_alone(self) -> None:
        """Of who has sent one record each time nothing is read behind it, until there is more to read at the next look, too."""
        reads = counted_reads(self)
        for count in (2, 2, 2, 2, 1, 1):
            self.far.send(b"alone")
            self.assertEqual((self.read(), len(reads)), ([b"alone"], count))
            self.assertEqual(self.read(), [])
            reads.clear()
        for message in (b"one", b"two", b"three"):
            self.far.send(message)
        self.assertEqual([list(self.read()) for _ in range(3)], [[b"one"], [b"twothree"], []])

    def test_end_behind_it(self) -> None:
        """The peer's end, if it has come as well, is told after what came before."""
        self.far.send(b"goodbye")
        self.far.shutdown()
        self.assertEqual((self.read(), len(self.recorder.lost)), ([b"goodbye"], 0))
        self.epoll_set.doRead()
        self.assertEqual(len(self.recorder.lost), 1)

    def test_end_that_has_to_wait(self) -> None:
        """Where the socket takes no more, the peer is told of our end once it does, and heard until then and after."""
        transport = self.recorder.transport
        self.assertRaises(SSL.WantReadError, self.far.recv, 1)
        in_the_way = fill(self.near)
        transport.loseWriteConnection()
        self.far.send(b"one")
        self.assertEqual(self.read(), [b"one"])
        drop(self.sock, in_the_way)
        self.assertRaises(SSL.WantReadError, self.far.recv, 1)
        self.epoll_set.doRead()
        self.assertRaises(SSL.ZeroReturnError, self.far.recv, 1)
        self.assertEqual(self.sock.recv(1), b"")
        self.far.send(b"two")
        self.assertEqual((self.read(), self.recorder.lost), ([b"two"], []))
        self.far.shutdown()
        self.epoll_set.doRead()
        self.assertEqual(len(self.recorder.lost), 1)

    def test_fault_behind_it(self) -> None:
        """What is no record is why the connection ends, also where it came with something that is one."""
        alone, _, sock = self.open()
        self.far.send(b"so far")
        for each in (self.sock, sock):
            each.send(b"GET / HTTP/1.1")
        self.assertEqual((self.read(), len(self.recorder.lost)), ([b"so far"], 0))
        self.epoll_set.doRead()
        self.assertEqual(str(self.recorder.lost[0]), str(alone.lost[0]))
        self.assertNotIn("EOF", str(alone.lost[0]))


class AskedForKeysTests(TLSCase):
    """A peer that asks for new keys and does not read the answers (RFC 8446 section 4.6.3)."""

    def setUp(self) -> None:
        super().setUp()
        self.epoll_set = EpollSet(BatchReactor())
        self.epoll_set.start()
        self.addCleanup(self.epoll_set.stop)
        self.near, self.far = socket.socketpair()
        for sock in (self.near, self.far):
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
            self.addCleanup(sock.close)
        self.client = KeyUpdates(b"app.test")
        connection = SSL.Connection(self.context, self.near)
        connection.set_accept_state()
        self.shake(connection)
        self.recorder = Recorder()
        TLSTransport(self.epoll_set, self.near, self.recorder, None, connection).start()

    def shake(self, connection: SSL.Connection) -> None:
        """Complete the handshake of both sides."""
        received, done = b"", False
        while not done:
            told, done = self.client.shake(received)
            self.far.send(told)
            with contextlib.suppress(SSL.WantReadError):
                connection.do_handshake()
            received = b"" if done else self.far.recv(1 << 16)

    def ask(self) -> None:
        """Ask for new keys until our side waits for room to answer in."""
        for _ in range(2000):
            self.far.send(self.client.update(True))
            if not self.is_busy():
                return
            self.epoll_set.doRead()
        self.fail("our side never rests")

    def is_busy(self) -> bool:
        """Whether there is anything to do."""
        return bool(select.select([self.epoll_set], [], [], 0)[0])

    def test_rests_until_answers_are_read(self) -> None:
        """Nothing of ours is busy while what it owes finds no room, and it goes on when there is some."""
        self.ask()
        self.far.send(self.client.send(b"hello"))
        self.assertFalse(self.is_busy())
        with contextlib.suppress(BlockingIOError):
            while self.far.recv(1 << 16):
                pass
        # Each of those that wait takes two turns, as it is answered.
        for _ in range(40):
            self.epoll_set.doRead()
        self.assertEqual(self.recorder.pieces, [b"hello"])
        self.assertFalse(self.is_busy())

    def test_goes_away(self) -> None:
        """One that goes away meanwhile is noticed."""
        self.ask()
        self.far.close()
        self.epoll_set.doRead()
        self.assertTrue(self.recorder.lost)


class ServerTests(SynchronousTestCase):
    """Handshakes of clients, and their first requests."""

    def setUp(self) -> None:
        self.epoll_set = EpollSet(BatchReactor())
        self.epoll_set.start()
        self.addCleanup(self.epoll_set.stop)
        self.contexts = ServerContexts(generate_certificate(datetime.now(UTC)))

    def open(
        self, version: int = SSL.TLS1_3_VERSION, recorder: Recorder | None = None
    ) -> tuple[Recorder, SSL.Connection]:
        """Return who is told of a connection whose client has said hello, and its client, which speaks this *version*."""
        near, far = socket.socketpair()
        for each in (near, far):
            each.setblocking(False)
        # Nobody closes it before: what its end is told by would be counted with the reads of others.
        self.addCleanup(far.close)
        recorder = recorder or Recorder()
        begun = self.contexts.connection_on(near)
        TLSTransport(self.epoll_set, near, recorder, ("127.0.0.1", 1), begun, 443).start()
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_max_proto_version(version)
        client = SSL.Connection(context, far)
        client.set_connect_state()
        self.assertRaises(SSL.WantReadError, client.do_handshake)
        return recorder, client

    def test_parked(self) -> None:
        """Who waits for a turn is not told of over and over, and goes on in order when it is there."""
        opened = [self.open() for _ in range(STEPS + 2)]
        self.epoll_set.doRead()
        self.epoll_set.doRead()
        self.assertEqual(
            repr(self.epoll_set.handshakes), f"<Handshakes: {STEPS} wait for their peers, 2 for their turn>"
        )
        self.assertEqual(select.select([self.epoll_set], [], [], 0)[0], [])
        reactor = self.epoll_set._reactor
        reactor.advance(0)
        for _, client in opened:
            client.do_handshake()
        while select.select([self.epoll_set], [], [], 0)[0]:
            self.epoll_set.doRead()
            reactor.advance(0)
        self.assertEqual({recorder.shaken for recorder, _ in opened}, {1})

    def test_records_of_an_octet(self) -> None:
        """Of a hello in records of an octet each few are read in a turn, and none of it is told of over and over while a part of one is here."""
        near, far = socket.socketpair()
        for each in (near, far):
            each.setblocking(False)
        self.addCleanup(far.close)
        recorder = Recorder()
        begun = self.contexts.connection_on(near)
        TLSTransport(self.epoll_set, near, recorder, ("127.0.0.1", 1), begun, 443).start()
        hello = b"\x01\x01\x00\x00\x03\x03" + bytes(1000)
        far.send(b"".join(b"\x16\x03\x01\x00\x01%c" % octet for octet in hello) + b"\x16\x03")
        self.epoll_set.doRead()
        self.assertEqual(len(near.recv(1 << 16, socket.MSG_PEEK)), 6 * (len(hello) - RECORDS_AT_ONCE) + 2)
        for _ in range(2 * len(hello) // RECORDS_AT_ONCE):
            self.epoll_set.doRead()
        self.assertEqual(near.recv(1 << 16, socket.MSG_PEEK), b"\x16\x03")
        self.assertEqual(select.select([self.epoll_set], [], [], 0)[0], [])
        far.send(b"\x01\x00\x01\x00")
        self.epoll_set.doRead()
        self.assertEqual(select.select([near], [], [], 0)[0], [])
        far.close()
        self.epoll_set.doRead()
        self.assertTrue(recorder.lost)

    def test_part_of_a_hello(self) -> None:
        """Who has said a part of a hello has said nothing yet; with the rest of it that is over."""
        recorder, client = self.open()
        near = recorder.transport
        assert isinstance(near, TLSTransport)
        hello, far = near._sock.recv(1 << 16), client._socket
        assert far is not None
        for piece, is_silent in ((hello[:100], True), (hello[100:], False)):
            far.send(piece)
            self.epoll_set.doRead()
            self.assertEqual(near.has_said_nothing, is_silent)

    def test_asked_behind_a_burst(self) -> None:
        """What follows a burst finds the TLS of connections that ended in it; then it is given back."""
        burst = self.epoll_set.burst
        versions: list[str] = []

        class Ending(Recorder):
            """Ends its connection when a request comes, and asks later what that was encrypted by."""

            def dataReceived(inner, data: bytes) -> None:  # noqa: N805 - "self" is the test here
                transport = inner.transport
                tls = Security(transport)
                burst.calls.append(lambda: versions.append(tls.tls_version()))
                transport.write(b"an answer")
                transport.loseConnection()

        fars = []
        for _ in range(BURST):
            recorder, client = self.open(SSL.TLS1_2_VERSION, Ending())
            fars.append((recorder.transport, client))
        for _ in range(2):
            self.epoll_set.doRead()
            for _, client in fars:
                with contextlib.suppress(SSL.WantReadError):
                    client.do_handshake()
        self.epoll_set.doRead()
        for _, client in fars:
            client.send(b"request")
        self.epoll_set.doRead()
        self.assertEqual(versions, ["TLSv1.2"] * BURST)
        self.assertEqual(len({transport.tls for transport, _ in fars}), 1)

    def test_first_request(self) -> None:
        """A request that came with the last words of the handshake is read with them, and nothing is looked for behind it; what is there is found."""
        reads = counted_reads(self)
        for behind in ([], [b"more"], [b"more", b"and more"]):
            recorder, client = self.open()
            self.epoll_set.doRead()
            client.do_handshake()
            for message in (b"request", *behind):
                client.send(message)
            reads.clear()
            self.epoll_set.doRead()
            self.assertEqual((recorder.pieces, len(reads)), ([b"request"], 1))
            self.epoll_set.doRead()
            self.assertEqual(recorder.pieces[1:], [b"".join(behind)] if behind else [])
