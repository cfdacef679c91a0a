"""Tests for the epoll set as a whole: one connection's trouble is nobody else's, and what it can listen on."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from OpenSSL import SSL
from twisted.internet import reactor as real_reactor  # noqa: TID251 - real sockets need the real reactor
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase, TestCase

from ingress.errors import StartError
from ingress.proxy.contract.transport import KernelCopy, Receiver
from ingress.proxy.listening.epoll_port import EpollPort
from ingress.proxy.listening.networks import TwistedNetwork, network_for
from ingress.proxy.transport import handshake_queue
from ingress.proxy.transport.epoll.epoll_set import BURST, READ, EpollSet
from ingress.proxy.transport.epoll.stream import StreamTransport
from ingress.proxy.transport.epoll.tls import TLSTransport
from ingress.proxy.transport.handshake_queue import HandshakeQueue
from ingress.tls.profile import new_server_context
from tests.proxy.sockets.far_ends import PlainEnd
from tests.proxy.transport.recorder import Recorder
from tests.proxy.transport.test_transport_contract import OneByOne
from tests.proxy.transport.transport_contract import Taken

PROJECT = Path(__file__).parents[3]
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
        self.assertTrue(select.select([self.epoll_set], [], [], 5)[0])


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
            far.settimeout(5)
            self.assertEqual([far.recv(100), far.recv(100)], [b"an answer", b""])

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


class ScarceSocket:
    """A listening socket that finds no descriptor left, as often as it is told."""

    def __init__(self, sock: socket.socket, problems: list[int]) -> None:
        self._sock = sock
        self._problems = problems
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept, or fail."""
        self.asked += 1
        if self._problems:
            raise OSError(problem := self._problems.pop(0), os.strerror(problem))
        return self._sock.accept()


class AcceptTests(BatchCase):
    """A port under adverse circumstances."""

    def listen(
        self, *problems: int, build: Callable[[], Receiver] = Recorder
    ) -> tuple[EpollPort, ScarceSocket]:
        """Listen on a socket that meets *problems* first."""
        sock = socket.socket()
        sock.bind((LOOPBACK, 0))
        self.addCleanup(sock.close)
        scarce = ScarceSocket(sock, list(problems))
        port = EpollPort(self.epoll_set, cast(socket.socket, scarce), build, None)
        port.startListening()
        return port, scarce

    def visit(self, port: EpollPort) -> socket.socket:
        """Connect to *port*."""
        host: Any = port.getHost()
        client = socket.create_connection((host.host, host.port))
        self.addCleanup(client.close)
        return client

    def test_no_descriptor_left(self) -> None:
        """Without a descriptor to spare it stops accepting for a second instead of spinning, and goes on then."""
        made: list[Recorder] = []

        def build() -> Recorder:
            made.append(Recorder())
            return made[-1]

        port, scarce = self.listen(errno.EMFILE, errno.ENFILE, build=build)
        self.visit(port)
        for expected in (1, 2):
            self.wait()
            self.epoll_set.doRead()
            self.assertEqual((scarce.asked, made), (expected, []))
            # Nothing to do in the meantime, although somebody waits.
            self.assertEqual(select.select([self.epoll_set], [], [], 0)[0], [])
            self.reactor.advance(1.1)
        self.wait()
        self.epoll_set.doRead()
        self.assertEqual(len(made), 1)
        port.stopListening()

    def test_gone_before_it_was_accepted(self) -> None:
        """Who gives up while it waits costs nothing; the next one is accepted in the same turn."""
        made: list[Recorder] = []

        def build() -> Recorder:
            made.append(Recorder())
            return made[-1]

        port, _ = self.listen(errno.ECONNABORTED, build=build)
        self.visit(port)
        self.wait()
        self.epoll_set.doRead()
        self.assertEqual(len(made), 1)

    def test_closed_while_paused(self) -> None:
        """A port that is closed while it rests stays closed."""
        port, scarce = self.listen(errno.EMFILE)
        self.visit(port)
        self.wait()
        self.epoll_set.doRead()
        port.stopListening()
        self.reactor.advance(2)
        self.assertEqual(scarce.asked, 1)
        self.assertEqual(select.select([self.epoll_set], [], [], 0)[0], [])

    def test_protocol_that_cannot_be_built(self) -> None:
        """A factory that raises costs the connection, not the port."""
        faults = [ZeroDivisionError()]

        def build() -> Recorder:
            if faults:
                raise faults.pop()
            return Recorder()

        port, _ = self.listen(build=build)
        first = self.visit(port)
        self.wait()
        self.epoll_set.doRead()
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        first.settimeout(5)
        self.assertEqual(first.recv(1), b"")
        self.visit(port)
        self.wait()
        self.epoll_set.doRead()
        self.assertEqual(len(self.flushLoggedErrors()), 0)

    def test_stranger(self) -> None:
        """A descriptor that nobody knows any more is no error."""
        left, right = socket.socketpair()
        self.addCleanup(left.close)
        self.addCleanup(right.close)
        transport, _ = self.connect(Recorder())
        self.epoll_set.add(transport, left.fileno(), READ)
        right.send(b"x")
        self.wait()
        self.epoll_set.remove(left.fileno())
        self.epoll_set.remove(left.fileno())
        self.epoll_set.change(left.fileno(), READ)
        self.epoll_set.doRead()


async def stopped(port: Any) -> None:
    """Stop listening; a port may need a while for that, or none."""
    stopping = port.stopListening()
    if stopping is not None:
        await stopping


class ListenTests(TestCase):
    """What an epoll set listens on."""

    def setUp(self) -> None:
        self.reactor: Any = real_reactor
        self.network = network_for(self.reactor, use_epoll=True)
        self.network.start()
        self.addCleanup(lambda: Deferred.fromCoroutine(self.network.stop()))

    async def greet(self, description: str, family: int = socket.AF_INET) -> Any:
        """Listen, connect, and see that what is said arrives; return the port."""
        site: Any = OneByOne()
        protocol = Recorder()
        protocol.echoes = True
        site.next.append(protocol)
        port: Any = await self.network.listen(description, site, None, new_factory=OneByOne.factory)
        try:
            host = port.getHost()
            client = socket.socket(family)
            self.addCleanup(client.close)
            client.setblocking(False)
            code = client.connect_ex(host.name if family == socket.AF_UNIX else (host.host, host.port))
            self.assertIn(code, (0, errno.EINPROGRESS))
            for _ in range(1000):
                turn: Deferred[None] = Deferred()
                self.reactor.callLater(0.002, turn.callback, None)
                await turn
                if protocol.made and not protocol.received:
                    try:
                        client.send(b"hello")
                    except BlockingIOError:
                        continue
                if protocol.received:
                    break
            self.assertEqual(client.recv(100)[:5], b"hello")
            protocol.transport.abortConnection()
        finally:
            await stopped(port)
        return port

    async def test_tcp(self) -> None:
        """``tcp:`` is the epoll set's."""
        self.assertIsInstance(await self.greet(f"tcp:0:interface={LOOPBACK}"), EpollPort)

    async def test_tcp6(self) -> None:
        """``tcp6:`` is the epoll set's."""
        port = await self.greet("tcp6:0:interface=\\:\\:1", socket.AF_INET6)
        self.assertIsInstance(port, EpollPort)

    async def test_unix(self) -> None:
        """``unix:`` runs on Twisted's transports."""
        path = os.path.join("/tmp", f"epoll set-{os.getpid()}.sock")
        port = await self.greet(f"unix:{path}", socket.AF_UNIX)
        self.assertNotIsInstance(port, EpollPort)

    async def test_in_use(self) -> None:
        """A port that somebody has is an error that names it."""
        with socket.create_server((LOOPBACK, 0)) as taken:
            description = f"tcp:{taken.getsockname()[1]}:interface={LOOPBACK}"
            for use_epoll in (False, True):
                network = network_for(self.reactor, use_epoll)
                site: Any = OneByOne()
                with self.assertRaises(StartError) as caught:
                    await network.listen(description, site, None, new_factory=OneByOne.factory)
                self.assertIn(description, str(caught.exception))
                self.assertIn("in use", str(caught.exception))

    async def test_nonsense(self) -> None:
        """What cannot be listened on is an error that repeats it."""
        site: Any = OneByOne()
        for description in (
            "tcp:x",
            "tcp:0:interface=192.0.2.77",
            "systemd:domain=INET:index=7",
            "systemd:domain=NONE:index=0",
            "tcp:0:x=y",
            "bogus:1",
        ):
            with self.assertRaises(StartError) as caught:
                await self.network.listen(description, site, None, new_factory=OneByOne.factory)
            self.assertIn(description, str(caught.exception))

    def test_where_there_is_none(self) -> None:
        """A reactor that knows no readers has Twisted's network."""
        self.assertIs(type(network_for(object(), use_epoll=True)), TwistedNetwork)


ADOPT = """
import os, socket, sys
family = getattr(socket, "AF_" + sys.argv[1])
listener = socket.socket(family)
listener.bind(sys.argv[2] if family == socket.AF_UNIX else ("127.0.0.1", 0))
listener.listen()
name = listener.getsockname()
if listener.fileno() != 3:
    os.dup2(listener.fileno(), 3)
listener.detach()
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="web")
from ingress.process.systemd_sockets import HandedOver
handed_over = HandedOver.taken_from(os.environ, os.getpid())
description = f"systemd:domain={sys.argv[1]}:index=0"
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from ingress.proxy.listening.networks import network_for
from tests.proxy.transport.recorder import Recorder
from tests.proxy.transport.test_transport_contract import OneByOne
from tests.proxy.transport.transport_contract import Taken

async def main():
    network = network_for(reactor, True)
    network.start()
    site, protocol = OneByOne(), Recorder()
    site.next.append(protocol)
    sock = handed_over.take(description)
    port = await network.listen(description, site, None, new_factory=OneByOne.factory, sock=sock)
    client = socket.socket(family)
    client.connect(name)
    client.send(b"hello")
    while not protocol.received:
        turn = Deferred()
        reactor.callLater(0.002, turn.callback, None)
        await turn
    print(type(port).__name__, protocol.received.decode())

reactor.callLater(10, os._exit, 3)
running = Deferred.fromCoroutine(main())
running.addErrback(lambda reason: reason.printTraceback(sys.stderr))
running.addBoth(lambda _: reactor.callLater(0, reactor.stop))
reactor.run()
"""


class AdoptTests(SynchronousTestCase):
    """Sockets that systemd opened."""

    def adopt(self, *arguments: str) -> str:
        """Adopt a listening socket in a process of its own; return what it says of it."""
        ended = subprocess.run(
            [sys.executable, "-c", ADOPT, *arguments],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        self.assertEqual((ended.stderr, ended.returncode), ("", 0))
        return ended.stdout.strip()

    def test_tcp(self) -> None:
        """The epoll set adopts a TCP socket."""
        self.assertEqual(self.adopt("INET"), "EpollPort hello")

    def test_unix(self) -> None:
        """A UNIX socket runs on Twisted's transports."""
        path = os.path.join("/tmp", f"adopt-{os.getpid()}.sock")
        self.addCleanup(Path(path).unlink, missing_ok=True)
        self.assertEqual(self.adopt("UNIX", path), "_GivenUnixPort hello")
