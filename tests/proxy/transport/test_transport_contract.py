"""Every transport of the data path keeps the contract: Twisted's and the epoll set's, plain, over TLS and in memory."""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from twisted.internet import reactor as real_reactor  # noqa: TID251 - real sockets need the real reactor
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import ServerFactory
from twisted.internet.task import Clock
from twisted.trial.unittest import TestCase

from ingress.metrics.metrics import Metrics
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings, TlsSettings, UpstreamTls
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.listening.networks import network_for
from ingress.proxy.transport.open_connections import OpenConnections
from ingress.proxy.transport.twisted_protocol import TwistedProtocol
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated_certificate import generate_certificate
from tests.fakes.certificates import issue, make_authority
from tests.fakes.transports import MemoryReactor, Peer
from tests.proxy.sockets.far_ends import PlainEnd, TLSEnd
from tests.proxy.transport.recorder import FarEnd, Recorder
from tests.proxy.transport.transport_contract import TransportContract

LOOPBACK = "127.0.0.1"


class OneByOne(ServerFactory):
    """Stands for the site: gives each connection the protocol that the test expects next."""

    noisy = False

    def __init__(self) -> None:
        self.next: list[Recorder] = []
        self.connections = OpenConnections(Deadlines(Clock()), Metrics())
        self.resource = SimpleNamespace(reads_names=False)

    @staticmethod
    def factory(site: Any, secure: bool) -> Any:
        """The factory of a listener: the same for all."""
        return site

    def build(self) -> Recorder:
        """The protocol of one connection."""
        return self.next.pop(0)

    def buildProtocol(self, addr: IAddress | None) -> TwistedProtocol:
        return TwistedProtocol(self.build())


class SocketContract(TransportContract):
    """The contract on real sockets."""

    use_epoll = False
    is_secure = False

    def setUp(self) -> None:
        self.reactor: Any = real_reactor
        self.network = network_for(self.reactor, self.use_epoll)
        self.network.start()
        self.addCleanup(lambda: Deferred.fromCoroutine(self.network.stop()))
        self.ends: list[PlainEnd] = []
        self.protocols: list[Recorder] = []
        self.addCleanup(lambda: Deferred.fromCoroutine(self.close_all()))

    async def close_all(self) -> None:
        """Leave nothing open."""
        for end in self.ends:
            end.close()
        for protocol in self.protocols:
            if not protocol.lost:
                protocol.transport.abortConnection()
        await self.until(lambda: all(protocol.lost for protocol in self.protocols))

    def keep(self, protocol: Recorder, end: PlainEnd) -> PlainEnd:
        """Remember both sides."""
        self.protocols.append(protocol)
        self.ends.append(end)
        return end

    async def until(self, condition: Callable[[], object]) -> None:
        deadline = self.reactor.seconds() + 15
        while not condition():
            if self.reactor.seconds() > deadline:
                self.fail("waited in vain")
            for end in self.ends:
                end.push()
            await self.turn(0.0005)

    async def turn(self, seconds: float) -> None:
        """Give the reactor a turn."""
        waiter: Deferred[None] = Deferred()
        self.reactor.callLater(seconds, waiter.callback, None)
        await waiter

    async def turns(self) -> None:
        for _ in range(6):
            for end in self.ends:
                end.push()
            await self.turn(0.001)


class AcceptedContract(SocketContract):
    """Connections that were accepted."""

    async def open(self, protocol: Recorder) -> FarEnd:
        if not hasattr(self, "port"):
            self.site = OneByOne()
            contexts = ServerContexts(generate_certificate(datetime.now(UTC))) if self.is_secure else None
            site: Any = self.site
            self.port: Any = await self.network.listen(
                f"tcp:0:interface={LOOPBACK}", site, contexts, new_factory=OneByOne.factory
            )
            self.addCleanup(self.port.stopListening)
        self.site.next.append(protocol)
        sock = socket.create_connection((LOOPBACK, self.port.getHost().port))
        if not self.is_secure:
            end = self.keep(protocol, PlainEnd(sock))
        else:
            end = secure = TLSEnd(sock)
            self.keep(protocol, end)
            secure.shake()
            await self.read_until(end, lambda: secure.is_ready or secure.saw_end or secure.saw_reset)
        await self.until(lambda: protocol.made)
        return end


class ConnectedContract(SocketContract):
    """Connections that we made."""

    async def open(self, protocol: Recorder) -> FarEnd:
        if not hasattr(self, "listener"):
            self.listener = socket.create_server((LOOPBACK, 0))
            self.listener.setblocking(False)
            self.addCleanup(self.listener.close)
        failures: list[str] = []
        endpoint = Endpoint(LOOPBACK, self.listener.getsockname()[1])
        if self.is_secure:
            endpoint = endpoint._replace(link_settings=LinkSettings(UpstreamTls(TlsSettings())))
        self.network.connect(endpoint, protocol, failures.append)
        end: PlainEnd
        if self.is_secure:
            end = await self.accept_tls(protocol)
        else:
            await self.until(lambda: protocol.made and self.has_come())
            end = self.keep(protocol, PlainEnd(self.listener.accept()[0]))
        self.assertEqual(failures, [])
        return end

    def has_come(self) -> bool:
        """Whether the other side has the connection, too."""
        return bool(select.select([self.listener], [], [], 0)[0])

    async def accept_tls(self, protocol: Recorder) -> TLSEnd:
        """Accept a connection, and do the server's part of the handshake."""
        if not hasattr(self, "context"):
            chain, key = issue(make_authority(), [LOOPBACK])
            files = [Path(self.mktemp()) for _ in range(2)]
            for file, content in zip(files, (chain, key), strict=True):
                file.write_bytes(content)
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(files[0], files[1])
        await self.until(self.has_come)
        end = TLSEnd(self.listener.accept()[0], self.context)
        self.keep(protocol, end)
        await self.read_until(end, lambda: protocol.made)
        return end


class TwistedAcceptedTests(AcceptedContract, TestCase):
    """Twisted's transport of an accepted connection, sending at once."""

    drops_unmade = False
    notices_while_paused = False


class TwistedConnectedTests(ConnectedContract, TestCase):
    """Twisted's transport of a connection to upstream, sending at once."""

    notices_while_paused = False


class TwistedTLSTests(AcceptedContract, TestCase):
    """Twisted's TLS."""

    is_secure = True
    tells_handshake = True
    has_half_close = False
    drops_unmade = False
    notices_while_paused = False
    pauses_at_a_mark = False
    keeps_last_words = False


class TwistedConnectedTLSTests(ConnectedContract, TestCase):
    """Twisted's TLS to upstream."""

    is_secure = True
    has_half_close = False
    drops_unmade = False
    notices_while_paused = False
    pauses_at_a_mark = False
    keeps_last_words = False


class LastPacketContract(AcceptedContract):
    """Connections that were accepted, whose end is sent with what was written last."""

    use_epoll = True

    async def test_one_packet(self) -> None:
        """What is written last, the goodbye of TLS and the end are one packet, which wakes the peer up once; also if that was not heard out."""
        for unheard in (b"", b"more" * 1000):
            protocol = Recorder()
            far = await self.open(protocol)
            assert isinstance(far, PlainEnd)
            if self.is_secure:
                # Behind the answer to this, the tickets of the handshake have come and been counted.
                far.say(b"hello")
                await self.until(lambda: protocol.received)  # noqa: B023 - it is over before the next one
                protocol.transport.write(b"hello")
                await self.read_until(far, lambda: far.received)  # noqa: B023
            # Mere acknowledgments come when they like, but there are none of who said nothing.
            is_with_content = self.is_secure or bool(unheard)
            before = far.packets(is_with_content)

            def end() -> None:
                far.say(unheard)  # noqa: B023
                protocol.transport.write(b"bye")  # noqa: B023
                protocol.transport.loseConnection()  # noqa: B023

            protocol.transport.call_in_batch(end)
            await self.read_until(far, lambda: far.saw_end or far.saw_reset)  # noqa: B023
            self.assertEqual(far.packets(is_with_content) - before, 1)
            self.assertEqual(far.received.removeprefix(b"hello"), b"bye")


class EpollAcceptedTests(LastPacketContract, TestCase):
    """The epoll set's transport of an accepted connection."""

    splices = True
    copies = True


class EpollConnectedTests(ConnectedContract, TestCase):
    """The epoll set's transport of a connection to upstream."""

    use_epoll = True
    splices = True
    copies = True


class EpollTLSTests(LastPacketContract, TestCase):
    """The epoll set's TLS."""

    lends = True
    is_secure = True
    tells_handshake = True
    has_half_close = False
    keeps_last_words = False


class EpollConnectedTLSTests(ConnectedContract, TestCase):
    """The epoll set's TLS to upstream."""

    lends = True
    use_epoll = True
    is_secure = True
    has_half_close = False
    keeps_last_words = False


class MemoryEnd:
    """A peer in memory as a far end: what it has not read yet fills its window."""

    def __init__(self, peer: Peer, address: tuple[str, int]) -> None:
        self._peer = peer
        self.address = address
        self._received = b""

    @property
    def received(self) -> bytes:
        """What was read so far."""
        return self._received

    @property
    def saw_end(self) -> bool:
        """Whether the connection ended in order, as far as was read."""
        return self._peer.saw_end

    @property
    def saw_reset(self) -> bool:
        """Whether the connection was reset."""
        return self._peer.saw_reset

    def say(self, octets: bytes) -> None:
        """Send *octets*."""
        self._peer.say(octets)

    def read(self) -> None:
        """Take what is there, and all that comes of it."""
        self._peer.widen(MEMORY_WINDOW)
        self._received += self._peer.take()

    def finish(self) -> None:
        """End this side."""
        self._peer.finish()

    def reset(self) -> None:
        """Break the connection off."""
        self._peer.reset()


MEMORY_WINDOW = 1 << 20


class MemoryContract(TransportContract):
    """The contract in memory, without time."""

    on_epoll = False
    drops_unmade = False
    keeps_last_words = False

    def setUp(self) -> None:
        self.reactor = MemoryReactor(self.on_epoll)
        self._port = 40000

    async def open(self, protocol: Recorder) -> FarEnd:
        self._port += 1
        peer = self.reactor.connect(protocol, "198.51.100.7", self._port, window=MEMORY_WINDOW)
        return MemoryEnd(peer, ("198.51.100.7", self._port))

    async def until(self, condition: Callable[[], object]) -> None:
        for _ in range(200):
            if condition():
                return
            self.reactor.settle()
        self.fail("will never be")

    async def turns(self) -> None:
        self.reactor.settle()


class MemoryTwistedTests(MemoryContract, TestCase):
    """Twisted's transport on a socket in memory."""


class MemoryEpollTests(MemoryContract, TestCase):
    """The epoll set's transport on a socket in memory."""

    on_epoll = True
    copies = True
