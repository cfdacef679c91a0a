"""Tests for the epoll set as a whole: the order in a batch, and that one connection's trouble is nobody else's."""

from __future__ import annotations

import contextlib
import select
import socket
from typing import Any, cast

from OpenSSL import SSL
from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.contract.transport import KernelCopy, Receiver
from ingress.proxy.transport import handshake_queue
from ingress.proxy.transport.epoll.epoll_set import BATCH, BURST, EpollSet
from ingress.proxy.transport.epoll.stream import StreamTransport
from ingress.proxy.transport.epoll.tls import TLSTransport
from ingress.proxy.transport.handshake_queue import HandshakeQueue
from ingress.tls.profile import new_server_context
from tests.proxy.sockets.far_ends import PlainEnd
from tests.proxy.transport.recorder import Recorder, Taken

LOOPBACK = "127.0.0.1"
SMALL = 16 * 1024
"""What is read at once of a connection that has not shown yet that more is taken."""


class BatchReactor(Clock):
    """A clock that takes the epoll set for its only reader; a test lets it work."""

    def addReader(self, reader: object) -> None:
        """The epoll set joins."""

    def removeReader(self, reader: object) -> None:
        """The epoll set leaves."""


class BatchCase(SynchronousTestCase):
    """An epoll set on real sockets, whose batches the test calls for."""

    def setUp(self) -> None:
        self.reactor = BatchReactor()
        self.epoll_set = EpollSet(self.reactor)
        self.epoll_set.start()
        self.addCleanup(self.epoll_set.stop)

    def connect(self, protocol: Receiver) -> tuple[StreamTransport, socket.socket]:
        """Put *protocol* on one end of a connection, and return its transport and the other end."""
        with socket.create_server((LOOPBACK, 0)) as listener:
            far = socket.create_connection(listener.getsockname())
            near, name = listener.accept()
        near.setblocking(False)
        self.addCleanup(far.close)
        self.addCleanup(near.close)
        transport = StreamTransport(self.epoll_set, near, protocol, IPv4Address("TCP", *name))
        transport.start()
        return transport, far

    def wait(self) -> None:
        """Wait until the epoll set has events."""
        self.assertTrue(select.select([self.epoll_set], [], [], 60)[0])


class BatchTests(BatchCase):
    """Events of one batch."""

    def test_number_used_again(self) -> None:
        """An event of a connection that died in its batch is not told to the one that gets its number."""
        opened: list[tuple[int, Recorder]] = []

        class Killer(Recorder):
            """Kills the others and opens new connections while its batch is worked off."""

            victims: tuple[StreamTransport, ...] = ()

            def dataReceived(inner, data: bytes) -> None:  # noqa: N805 - "self" is the test here
                super().dataReceived(data)
                for victim in inner.victims:
                    victim.abortConnection()
                for _ in range(6):
                    newcomer = Recorder()
                    transport, _ = self.connect(newcomer)
                    opened.append((transport.fileno(), newcomer))

        protocols = [Killer() for _ in range(3)]
        ends = [self.connect(protocol) for protocol in protocols]
        numbers = {transport.fileno() for transport, _ in ends}
        for protocol, (own, _) in zip(protocols, ends, strict=True):
            protocol.victims = tuple(transport for transport, _ in ends if transport is not own)
        for _, far in ends:
            far.send(b"for you alone")
        self.wait()
        self.epoll_set.doRead()
        self.assertEqual([protocol.received for protocol in protocols].count(b"for you alone"), 1)
        self.assertEqual([protocol.received for _, protocol in opened], [b""] * 6)
        self.assertFalse(numbers & {number for number, _ in opened})
        # Now the numbers are free again.
        newcomer, _ = self.connect(Recorder())
        self.assertIn(newcomer.fileno(), numbers)

    def test_small_before_large(self) -> None:
        """What a copy brings is moved once what others said in its batch is answered, wherever their events stand in it."""
        answers: list[bytes] = []
        ends = [self.connect(Recorder()) for _ in range(3)]

        class Looking(Taken):
            """Looks, when something comes, what others have been answered."""

            def came(inner, count: int) -> None:  # noqa: N805 - "self" is the test here
                super().came(count)
                answers.extend(far.recv(100, socket.MSG_DONTWAIT) for _, far in others)

        (source, large), *others = ends[1:2] + ends[:1] + ends[2:]
        taken = Looking()
        source.copy_into(KernelCopy(source, 1000, lambda count: None, lambda: None), taken)
        for transport, far in others:
            cast(Recorder, transport.receiver).echoes = True
            far.send(b"small")
        large.send(b"large")
        self.wait()
        self.epoll_set.doRead()
        self.assertEqual((bytes(taken.received), answers), (b"large", [b"small", b"small"]))

    def test_behind_a_burst(self) -> None:
        """What follows a burst comes once all that was written in its turn is sent; where events come alone there is none."""
        sent: list[bytes] = []
        bursts: list[bool] = []
        burst = self.epoll_set.burst

        class Answering(Recorder):
            """Answers, and has something follow that nobody waits for."""

            def dataReceived(inner, data: bytes) -> None:  # noqa: N805 - "self" is the test here
                inner.transport.write(b"an answer")
                bursts.append(burst.is_on)
                if burst.is_on and not burst.calls:
                    burst.calls.append(
                        lambda: sent.extend(far.recv(100, socket.MSG_DONTWAIT) for far in fars)
                    )

        class Gathering(Answering):
            """The same, by one write for all of a turn."""

            def makeConnection(inner, transport: Any) -> None:  # noqa: N805 - "self" is the test here
                super().makeConnection(transport)
                transport.gather_writes()

        kinds = (Answering, Gathering) * (BURST // 2)
        fars = [self.connect(kind())[1] for kind in kinds]
        for far in fars:
            far.send(b"a request")
        self.wait()
        self.epoll_set.doRead()
        self.assertEqual((bursts, sent), ([True] * BURST, [b"an answer"] * BURST))
        fars[0].send(b"a request")
        self.wait()
        self.epoll_set.doRead()
        self.assertEqual((bursts[BURST:], burst.calls), ([False], []))

    def test_gathered_behind_the_turn(self) -> None:
        """What is gathered when a turn has ended waits for the next one, and what is written before that goes behind it."""
        gathering, far = self.connect(Recorder())
        gathering.gather_writes()

        class Ending:
            """Is followed, at the end of its turn, by what somebody else writes."""

            def ready(inner, events: int) -> None:  # noqa: N805 - "self" is the test here
                """Nothing: it has no socket."""

            def failed(inner, failure: Failure) -> None:  # noqa: N805 - "self" is the test here
                """Nothing."""

            def send_fresh(inner) -> None:  # noqa: N805 - "self" is the test here
                """The turn ends."""
                self.epoll_set.later(lambda: gathering.write(b"first, "))

        self.epoll_set.mark_for_turn(Ending())
        self.epoll_set.call_in_batch(lambda: None)
        # As a timer does.
        gathering.write(b"second")
        self.reactor.advance(0)
        self.assertEqual(far.recv(100), b"first, second")

    def test_in_time_for_a_burst(self) -> None:
        """Who has said something by the end of a burst is answered before what follows it."""
        sent: list[bytes] = []
        burst = self.epoll_set.burst

        class Answering(Recorder):
            """Answers, and has the late one say something."""

            def dataReceived(inner, data: bytes) -> None:  # noqa: N805 - "self" is the test here
                inner.transport.write(b"an answer")
                if not burst.calls:
                    late.send(b"late")
                    burst.calls.append(lambda: sent.append(late.recv(100, socket.MSG_DONTWAIT)))

        *fars, late = [self.connect(Answering())[1] for _ in range(BURST + 1)]
        for far in fars:
            far.send(b"a request")
        self.wait()
        self.epoll_set.doRead()
        self.assertEqual(sent, [b"an answer"])

    def test_last_words_of_a_batch(self) -> None:
        """Answers that end their connections are sent when all of the batch were told, each before the end of its connection."""
        early: list[bytes] = []

        class Answering(Recorder):
            """Answers and ends, as for a request without keep-alive."""

            def dataReceived(inner, data: bytes) -> None:  # noqa: N805 - "self" is the test here
                for far in fars:
                    try:
                        early.append(far.recv(100, socket.MSG_DONTWAIT))
                    except BlockingIOError:
                        pass
                inner.transport.write(b"an answer")
                inner.transport.loseConnection()
                inner.transport.write(b"too late")

        fars = [self.connect(Answering())[1] for _ in range(3)]
        for far in fars:
            far.send(b"a question")
        self.wait()
        self.epoll_set.doRead()
        self.assertEqual(early, [])
        for far in fars:
            far.settimeout(60)
            self.assertEqual([far.recv(100), far.recv(100)], [b"an answer", b""])

    def test_gathered_for_a_turn(self) -> None:
        """What is gathered goes once in a turn, behind all of its batches and their calls; what that brings about follows at once."""
        order: list[str] = []
        epoll_set = self.epoll_set

        class Gathered:
            """Writes for many."""

            is_marked = False

            def send_fresh(self) -> None:
                order.append("sent" if epoll_set.in_batch else "sent outside")
                self.is_marked = False
                epoll_set.later(lambda: order.append("told"))

            def ready(self, events: int) -> None:
                """Never."""

            def failed(self, failure: Failure) -> None:
                """Never."""

        gathered = Gathered()

        class Asking(Recorder):
            """Has something gathered, and something called back."""

            def dataReceived(self, data: bytes) -> None:
                order.append("data")
                epoll_set.later(lambda: order.append("called"))
                if not gathered.is_marked:
                    gathered.is_marked = True
                    epoll_set.mark_for_turn(gathered)

        fars = [self.connect(Asking())[1] for _ in range(BATCH + 2)]
        for count in (1, 3, BATCH, BATCH + 2):
            order.clear()
            for far in fars[:count]:
                far.send(b"x")
            self.wait()
            epoll_set.doRead()
            batches = [min(count, BATCH), max(0, count - BATCH)]
            expected = [word for size in batches for word in ["data"] * size + ["called"] * size]
            self.assertEqual(order, [*expected, "sent", "told"], count)

    def test_waiting_for_a_turn(self) -> None:
        """A handshake that waits for its turn wakes nobody up, though what came for it is not read."""
        self.patch(handshake_queue, "STEPS", 0)
        self.epoll_set.handshakes = HandshakeQueue(self.reactor)
        with socket.create_server((LOOPBACK, 0)) as listener:
            far = socket.create_connection(listener.getsockname())
            near, name = listener.accept()
        near.setblocking(False)
        self.addCleanup(far.close)
        connection = SSL.Connection(new_server_context(), near)
        TLSTransport(self.epoll_set, near, Recorder(), name, connection).start()
        far.send(b"\x16\x03\x01")
        self.wait()
        self.epoll_set.doRead()
        self.assertEqual(
            repr(self.epoll_set.handshakes), "<Handshakes: 0 wait for their peers, 1 for their turn>"
        )
        self.assertEqual(select.select([self.epoll_set], [], [], 0)[0], [])

    def test_told_after_the_batch(self) -> None:
        """The end of a connection is told when everybody of the batch had his turn."""
        order: list[str] = []

        class Teller(Recorder):
            """Notes what it is told, and ends itself."""

            def dataReceived(self, data: bytes) -> None:
                order.append("data")
                self.transport.abortConnection()

            def connectionLost(self, reason: Failure = Failure(KeyError())) -> None:  # noqa: B008
                order.append("lost")

        for _, far in [self.connect(Teller()) for _ in range(4)]:
            far.send(b"x")
        self.wait()
        self.epoll_set.doRead()
        self.assertEqual(order, ["data"] * 4 + ["lost"] * 4)

    def test_fault_in_a_callback_of_the_epoll(self) -> None:
        """What raises when it is called back later ends its connection; other callbacks are called."""
        broken, sound = Recorder(), Recorder()
        transport, _ = self.connect(broken)
        self.connect(sound)
        called: list[str] = []

        def fail() -> None:
            raise ZeroDivisionError

        self.epoll_set.later(fail, transport)
        self.epoll_set.later(fail)
        self.epoll_set.later(lambda: called.append("next"))
        self.reactor.advance(0)
        self.reactor.advance(0)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 2)
        self.assertEqual((called, len(broken.lost), len(sound.lost)), (["next"], 1, 0))

    def test_fault_looks_like_none_of_ours(self) -> None:
        """A connection whose protocol raised is reset, so that nobody takes what it said for the whole."""
        protocol = Recorder()
        protocol.fault = "dataReceived"
        transport, far = self.connect(protocol)
        transport.write(b"HTTP/1.1 200 OK\r\n\r\nhalf an ans")
        far.send(b"x")
        self.wait()
        self.epoll_set.doRead()
        end = PlainEnd(far)
        end.read()
        self.assertEqual((end.saw_end, end.saw_reset), (False, True))
        self.flushLoggedErrors(ZeroDivisionError)


class ReadSizeTests(BatchCase):
    """How much is read at once."""

    def read(self) -> None:
        """Let the epoll set read what is there."""
        self.wait()
        self.epoll_set.doRead()

    def test_after_a_pause(self) -> None:
        """Reads grow to twice as much while all is taken; who could not take what was read gets a small piece next."""
        recorder = Recorder()
        transport, far = self.connect(recorder)
        far.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        far.setblocking(False)
        waiting = bytes(1 << 20)
        for _ in range(20):
            with contextlib.suppress(BlockingIOError):
                far.send(waiting)
            self.read()
        self.assertEqual(max(map(len, recorder.pieces)), 2 * SMALL)
        transport.pauseProducing()
        transport.resumeProducing()
        recorder.pieces.clear()
        self.read()
        self.assertLessEqual(len(recorder.pieces[0]), SMALL)
