"""Sessions of UDP through real sockets, with peers that mean no good."""

from __future__ import annotations

import errno
import gc
import os
import socket
from typing import Any

from twisted.internet.defer import Deferred

from ingress.model.network.streams import StreamSort
from ingress.model.serving.limits import Limits
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.model.upstream.upstream_tls import DATAGRAMS
from ingress.proxy.transport.datagrams import connect_datagrams, take_datagrams
from ingress.proxy.udp.port import UdpPort
from ingress.proxy.udp.session import UdpSession
from ingress.proxy.udp.sessions import UdpSessions
from ingress.routing.streams import StreamRoute, StreamTable
from ingress.routing.table import RouteTable
from ingress.routing.variants import WeightedBackend
from tests.fakes.peers.datagram_peers import DatagramClient, DatagramEndpoint, Script, repeat
from tests.fakes.processes import free_port
from tests.proxy.raw_case import RawCase
from tests.proxy.sockets.streams.streams_case import OWNER

DNS = BackendReference("demo", "dns", 53, protocol=DATAGRAMS)
LARGEST = 65_507


def sessions() -> list[UdpSession]:
    """Return those that there are in this process."""
    return [one for one in gc.get_objects() if type(one) is UdpSession]


class UdpCase(RawCase):
    """A port of UDP, with endpoints and clients."""

    limits = Limits(stream_responses=1)
    description = "udp:0:interface=127.0.0.1"

    async def setUp(self) -> None:  # type: ignore[override]
        """Open the port."""
        await super().setUp()
        network = self.network
        self.udp = UdpSessions(self.site, network.sockets, network.find_address, 200)
        self.port = self.open_port(self.description)
        self.peers: list[Any] = []
        self.endpoints: list[DatagramEndpoint] = []
        self.addCleanup(self.leave)

    def open_port(self, description: str) -> UdpPort:
        """Open a port, to be closed at the end."""
        port = UdpPort(take_datagrams(description), self.site, self.udp)
        port.start()
        self.addCleanup(lambda: Deferred.fromCoroutine(port.close()))
        return port

    async def leave(self) -> None:
        """End all that a test left open."""
        self.udp.abort()
        for one in self.peers:
            one.close()
        for endpoint in self.endpoints:
            stopped = endpoint.stop()
            if stopped is not None:
                await stopped

    def endpoint(
        self, script: Script = repeat, interface: str = "127.0.0.1", port: int = 0
    ) -> DatagramEndpoint:
        """Start an endpoint."""
        endpoint = DatagramEndpoint(self.reactor, script, interface, port)
        self.endpoints.append(endpoint)
        return endpoint

    def lead(self, *endpoints: Endpoint) -> None:
        """Have the port lead to *endpoints*."""
        route = StreamRoute("", StreamSort.UDP, OWNER, (WeightedBackend(DNS),))
        self.resource.publish(RouteTable(), {DNS: BackendState(endpoints)}, StreamTable((route,)))

    def client(
        self, address: str = "127.0.0.1", port: UdpPort | None = None, source: str = ""
    ) -> DatagramClient:
        """Return a client of the port."""
        while True:
            client = DatagramClient((port or self.port).number, address, source)
            self.peers.append(client)
            # A socket of IPv4 may be given the number of a port of IPv6: what comes from there is taken for our own.
            if client.name[1] not in self.udp.ports:
                return client

    async def ask(self, client: DatagramClient, datagram: bytes) -> bytes:
        """Say *datagram*; return the next answer."""
        before = len(client.poll())
        client.say(datagram)
        await self.until(lambda: len(client.poll()) > before)
        return client.answers[before]


class UdpTests(UdpCase):
    """On Twisted's reactor."""

    async def test_both_ways(self) -> None:
        """Datagrams go both ways, be they empty or as large as can be; the log and the metrics know of it."""
        self.lead(self.endpoint().endpoint)
        client = self.client()
        for datagram in (b"who?", b"", os.urandom(LARGEST)):
            self.assertEqual(await self.ask(client, datagram), datagram)
        await self.until(lambda: not len(self.udp))
        lines = self.log_lines()
        port = b'":%d"' % self.port.number
        endpoint = str(self.endpoints[0].endpoint).encode()
        self.assertEqual(
            [line[1:7] for line in lines],
            [[b"127.0.0.1", b"UDP", b"-", port, b"200", b"%d" % size] for size in (4, 0, LARGEST)],
        )
        self.assertEqual({(line[8], line[9]) for line in lines}, {(endpoint, b"demo/db")})
        for shown in (
            'ingress_stream_connections{sort="udp"} 0.0',
            'ingress_stream_connections_ended_total{sort="udp",status="200"} 3.0',
            'ingress_udp_datagrams_total{direction="sent"} 3.0',
        ):
            self.assertTrue(self.shows(shown), shown)

    async def test_stays(self) -> None:
        """All datagrams of a client come to one endpoint from one port, those of another client from another one."""
        self.site.context.limits = Limits(stream_responses=10)
        self.lead(self.endpoint().endpoint, self.endpoint().endpoint)
        clients = [self.client(), self.client()]
        for number in range(5):
            for client in clients:
                self.assertEqual(await self.ask(client, b"%d" % number), b"%d" % number)
        came = [peer for endpoint in self.endpoints for _, peer in endpoint.received]
        self.assertEqual((len(came), len(set(came))), (10, 2))
        self.assertEqual([len(one.received) for one in self.endpoints], [5, 5])

    async def test_refused(self) -> None:
        """What an endpoint that is not there refuses comes to one that is; without such a one the session is over with 502."""
        alive = self.endpoint()
        self.lead(*(Endpoint("127.0.0.1", free_port()) for _ in range(2)), alive.endpoint)
        client = self.client()
        for number in range(4):
            self.assertEqual(await self.ask(client, b"%d" % number), b"%d" % number)
        self.lead(Endpoint("127.0.0.1", free_port()))
        client.say(b"?")
        await self.until(
            lambda: self.shows('ingress_stream_connections_ended_total{sort="udp",status="502"} 1.0')
        )
        self.assertEqual((client.poll()[4:], len(self.udp)), ([], 0))
        lines = [line for line in self.log_lines() if line[5] == b"502"]
        self.assertEqual(len(lines), 1)

    async def test_strangers(self) -> None:
        """What comes to the socket of a session from anybody but its endpoint is dropped, be it from the same host or the same port."""

        def whisper(endpoint: DatagramEndpoint, datagram: bytes, peer: Any) -> None:
            for source in (("127.0.0.1", 0), ("127.0.0.2", endpoint.endpoint.port)):
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                    stranger.bind(source)
                    stranger.sendto(b"poison", peer)
            endpoint.say(b"truth", peer)

        self.lead(self.endpoint(whisper).endpoint)
        client = self.client()
        for _ in range(3):
            self.assertEqual(await self.ask(client, b"?"), b"truth")
        self.assertEqual(set(client.poll()), {b"truth"})

    async def test_answers_unasked(self) -> None:
        """An endpoint that answers more than was asked for reaches nobody with it, once the session is over."""

        def talk(endpoint: DatagramEndpoint, datagram: bytes, peer: Any) -> None:
            for number in range(50):
                endpoint.say(b"%d" % number, peer)

        self.lead(self.endpoint(talk).endpoint)
        client = self.client()
        self.assertEqual(await self.ask(client, b"?"), b"0")
        self.assertEqual(await self.ask(self.client(), b"?"), b"0")
        self.assertEqual(client.poll(), [b"0"])

    async def test_flood(self) -> None:
        """Datagrams of very many ports that nobody listens at take no more sessions than there may be; others are answered meanwhile."""
        self.site.context.limits = Limits(stream_responses=100)

        def answer(endpoint: DatagramEndpoint, datagram: bytes, peer: Any) -> None:
            if datagram != b"x":
                endpoint.say(datagram, peer)

        self.lead(self.endpoint(answer).endpoint)
        known = self.client()
        for _ in range(2):
            self.assertEqual(await self.ask(known, b"known"), b"known")
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(50):
            for _ in range(40):
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as spoofed:
                    spoofed.sendto(b"x", ("127.0.0.1", self.port.number))
            self.assertEqual(await self.ask(known, b"known"), b"known")
            self.assertLessEqual(len(self.udp), 200)
            self.assertLessEqual(len(os.listdir("/proc/self/fd")), before + 200)
        self.assertEqual(await self.ask(self.client(), b"new"), b"new")
        self.assertEqual(len({peer for _, peer in self.endpoints[0].received if _ == b"known"}), 1)
        self.assertGreater(self.metrics.udp.displaced, 1000)
        self.udp.abort()
        self.assertEqual((len(self.udp), self.udp.kept_bytes), (0, 0))
        await self.until(lambda: len(os.listdir("/proc/self/fd")) <= before + 1)

    async def test_no_descriptor(self) -> None:
        """Where no descriptor is left another session gives its own, and the newcomer is served with it, in the same turn."""
        self.site.context.limits = Limits(stream_responses=10)
        opened: list[socket.socket] = []

        def open_socket(address: str, port: int) -> socket.socket:
            if sum(sock.fileno() != -1 for sock in opened) >= 2:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            opened.append(connect_datagrams(address, port))
            return opened[-1]

        network = self.network
        self.udp = UdpSessions(self.site, network.sockets, network.find_address, 200, open_socket)
        self.port = self.open_port(self.description)
        self.lead(self.endpoint().endpoint, self.endpoint().endpoint)
        for number in range(5):
            self.assertEqual(await self.ask(self.client(), b"%d" % number), b"%d" % number)
        self.assertEqual((len(self.udp), len(opened), self.metrics.udp.displaced), (2, 5, 3))

    async def test_nothing_for_the_collector(self) -> None:
        """A session that is over leaves nothing behind that only the collector would find."""
        self.lead(self.endpoint().endpoint)
        client = self.client()
        self.assertEqual(await self.ask(client, b"?"), b"?")
        await self.until(lambda: not len(self.udp))
        gc.collect()
        before = sessions()
        gc.disable()
        self.addCleanup(gc.enable)
        try:
            for _ in range(20):
                self.assertEqual(await self.ask(client, b"?"), b"?")
            await self.until(lambda: not len(self.udp))
            left = sessions()
        finally:
            gc.enable()
        # Other tests of the process may have some.
        self.assertEqual([one for one in left if one not in before], [])

    async def test_address_asked(self) -> None:
        """Answers of a port of all addresses come from the one that was asked."""
        port = self.open_port("udp:0")
        self.lead(self.endpoint().endpoint)
        for address in ("127.0.0.1", "127.0.0.9", "127.1.2.3"):
            client = self.client(address, port)
            self.assertEqual(await self.ask(client, b"?"), b"?")
            self.assertEqual(client.senders, {address})
        # The same client, by another address, has another session.
        self.site.context.limits = Limits(stream_responses=10)
        client = self.client("127.0.0.1", port)
        other = DatagramClient(port.number, "127.0.0.2")
        other.sock.close()
        other.sock = client.sock
        await self.ask(client, b"1")
        await self.ask(other, b"2")
        self.assertEqual(len(self.udp), 2)

    async def test_loop(self) -> None:
        """A datagram that seems to come from a port of ours is dropped, and so is one that an endpoint of ours would send there."""
        port = self.open_port("udp:0")
        self.lead(self.endpoint().endpoint)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as spoofed:
            spoofed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.port._sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            spoofed.bind(("127.0.0.1", self.port.number))
            spoofed.sendto(b"x", ("127.0.0.1", port.number))
            await self.until(lambda: self.shows('ingress_udp_datagrams_dropped_total{cause="loop"} 1.0'))
        self.assertEqual((len(self.udp), self.endpoints[0].received), (0, []))

    async def test_ports_come_and_go(self) -> None:
        """A port that was closed can be opened again at once, and nobody is answered meanwhile."""
        self.site.context.limits = Limits(stream_responses=10)
        self.lead(self.endpoint().endpoint)
        for _ in range(3):
            port = self.open_port("udp:0:interface=127.0.0.1")
            number, client = port.number, self.client(port=port)
            self.assertEqual(await self.ask(client, b"?"), b"?")
            await port.close()
            self.assertEqual(len(self.udp), 0)
            again = self.open_port(f"udp:{number}:interface=127.0.0.1")
            self.assertEqual(await self.ask(self.client(port=again), b"!"), b"!")
            await again.close()


class EpollUdpTests(UdpTests):
    """The same in the epoll set."""

    use_epoll = True


class Ipv6Tests(UdpCase):
    """Clients of IPv6."""

    description = "udp6:0:interface=\\:\\:1"
    use_epoll = True

    async def test_both_ways(self) -> None:
        """They are answered, by endpoints of either version, and have their addresses in the log."""
        for interface in ("127.0.0.1", "::1"):
            endpoint = self.endpoint(interface=interface)
            self.lead(endpoint.endpoint)
            client = self.client("::1")
            for datagram in (b"who?", b"", os.urandom(LARGEST)):
                self.assertEqual(await self.ask(client, datagram), datagram)
            self.assertEqual(len(endpoint.received), 3)
        await self.until(lambda: not len(self.udp))
        self.assertEqual({tuple(line[1:3]) for line in self.log_lines()}, {(b"::1", b"UDP")})

    async def test_all_addresses(self) -> None:
        """A port of all addresses of IPv6 has those alone: another one has the same number over IPv4."""
        self.lead(self.endpoint().endpoint)
        # One that the system gives away may be another socket's in the other version.
        number = free_port()
        port, four = self.open_port(f"udp6:{number}"), self.open_port(f"udp:{number}")
        for address, at in (("::1", port), ("127.0.0.5", four)):
            client = self.client(address, at)
            self.assertEqual(await self.ask(client, b"?"), b"?")
            self.assertEqual(client.senders, {address})

    async def test_too_large(self) -> None:
        """A datagram that is larger than any of IPv4 can be is dropped where its endpoint is one of IPv4."""
        self.lead(self.endpoint().endpoint)
        client = self.client("::1")
        client.say(b"x" * 65_520)
        await self.until(lambda: self.shows('ingress_udp_datagrams_dropped_total{cause="unsendable"} 1.0'))
        self.assertEqual(await self.ask(client, b"?"), b"?")
