"""Tests for the ports of the epoll set: what it can listen on and adopt, and what happens to a port under adverse circumstances."""

from __future__ import annotations

import errno
import gc
import os
import select
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from weakref import ref

from twisted.internet import reactor as real_reactor  # noqa: TID251 - real sockets need the real reactor
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase, TestCase

from ingress.errors import StartError
from ingress.proxy.contract.transport import Receiver
from ingress.proxy.listening.epoll_port import EpollPort
from ingress.proxy.listening.networks import TwistedNetwork, network_for
from ingress.proxy.transport.accepting import leave
from ingress.proxy.transport.epoll.epoll_set import READ
from tests.proxy.transport.epoll.test_epoll_set import BatchCase
from tests.proxy.transport.recorder import Recorder
from tests.proxy.transport.test_transport_contract import OneByOne

PROJECT = Path(__file__).parents[3]
LOOPBACK = "127.0.0.1"


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

    def test_alone(self) -> None:
        """Where each comes alone nobody is asked for another one, but now and then; who comes with others waits for a few looks at most."""
        made: list[Recorder] = []

        def build() -> Recorder:
            made.append(Recorder())
            return made[-1]

        port, scarce = self.listen(build=build)

        def look() -> tuple[int, int]:
            made.clear()
            scarce.asked = 0
            self.wait()
            self.epoll_set.doRead()
            return len(made), scarce.asked

        asked = []
        for _ in range(32):
            self.visit(port)
            count, times = look()
            self.assertEqual(count, 1)
            asked.append(times)
        self.assertEqual(asked[:16], [2] * 16)
        self.assertEqual(sorted(asked[16:]), [1] * 14 + [2] * 2)
        for _ in range(40):
            self.visit(port)
        found: list[int] = []
        while sum(found) < 40:
            found.append(look()[0])
        self.assertLess(len(found), 12, found)
        self.assertEqual(max(found), 16)
        self.visit(port)
        self.assertEqual(look(), (1, 2), "whoever came with others is followed by asking")

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
        first.settimeout(60)
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
            heard = b""
            for _ in range(1000):
                turn: Deferred[None] = Deferred()
                self.reactor.callLater(0.002, turn.callback, None)
                await turn
                try:
                    if not protocol.received:
                        if protocol.made:
                            client.send(b"hello")
                        continue
                    # The reactor sends what was said in a later turn than the one that hears it.
                    heard = client.recv(100)
                    break
                except BlockingIOError:
                    continue
            self.assertEqual(heard[:5], b"hello")
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

    async def test_closed(self) -> None:
        """A port that was closed is gone, with all that it serves, as soon as nobody refers to it: no collector is needed."""
        self.addCleanup(gc.enable)
        gc.disable()
        for use_epoll in (False, True):
            site: Any = OneByOne()
            network = network_for(self.reactor, use_epoll)
            port: Any = await network.listen(
                f"tcp:0:interface={LOOPBACK}", site, None, new_factory=OneByOne.factory
            )
            lives = ref(port)
            await stopped(port)
            leave(site.connections.limit, port)
            port = None
            turn: Deferred[None] = Deferred()
            self.reactor.callLater(0.01, turn.callback, None)
            await turn
            self.assertIsNone(lives(), f"epoll: {use_epoll}")
            await network.stop()

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
            "tcp:-1",
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
from ingress.process.systemd.sockets import HandedOver
handed_over = HandedOver.taken_from(os.environ, os.getpid())
description = f"systemd:domain={sys.argv[1]}:index=0"
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from ingress.proxy.listening.networks import network_for
from tests.proxy.transport.recorder import Recorder, Taken
from tests.proxy.transport.test_transport_contract import OneByOne

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

reactor.callLater(60, os._exit, 3)
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
            timeout=120,
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
