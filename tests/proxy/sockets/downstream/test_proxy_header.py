"""PROXY headers on real sockets: who may send them, what they change, and what is closed."""

from __future__ import annotations

from ingress.http.forwarding import TrustedProxies
from ingress.proxy.listening.connection_starts import ConnectionStart, ConnectionStartRules
from tests.fakes.peers.downstreams import DownstreamWire
from tests.fakes.raw_wires import HandMadeTLS, RawWire
from tests.http.test_proxy_header import V4, V6, v2
from tests.proxy.raw_case import RawCase
from tests.proxy.sockets.sockets_case import PATIENCE

V1 = b"PROXY TCP4 192.0.2.7 198.51.100.1 50000 8443\r\n"
GET = b"GET / HTTP/1.1\r\nHost: app.test\r\n\r\n"


class ProxyHeaderCase(RawCase):
    """Both listeners expect a header, from loopback addresses alone."""

    rules = ConnectionStartRules(load_balancers=TrustedProxies(["127.0.0.0/8"]))

    async def ask(self, header: bytes, size: int = 1 << 16) -> DownstreamWire:
        """Send a header and a request, so many bytes at a time, and wait for the answer."""
        client = await self.connect()
        octets = header + GET
        for at in range(0, len(octets), size):
            client.send(octets[at : at + size])
            await self.turns(1)
        await self.until(lambda: client.answers or client.lost)
        return client

    def forwarded(self) -> dict[bytes, bytes]:
        """The fields of the last request that came upstream."""
        head = self.upstream.wires[-1].heads[-1]
        return dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])

    def peers(self) -> list[bytes]:
        """The addresses in the access log."""
        return [line[1] for line in self.log_lines()]

    def refused(self, cause: str, count: int) -> bool:
        """Whether so many connections were closed for this cause."""
        return self.shows(f'ingress_connection_starts_refused_total{{cause="{cause}"}} {float(count)}')


class ClientTests(ProxyHeaderCase):
    """Who the client is."""

    async def test_both_versions(self) -> None:
        """The address of the header is the client's: for upstream and in the log."""
        for header, address, port, scheme in (
            (V1, b"192.0.2.7", b"8443", b"http"),
            (v2(1, 0x11, V4), b"192.0.2.7", b"443", b"https"),
            (v2(1, 0x21, V6 + b"\x04\x00\x01x"), b"2001:db8::7", b"443", b"https"),
        ):
            client = await self.ask(header)
            self.assertEqual(client.answers[0].status, 200)
            fields = self.forwarded()
            self.assertEqual(fields[b"x-forwarded-for"], address)
            self.assertEqual(fields[b"x-real-ip"], address)
            self.assertEqual(fields[b"x-forwarded-port"], port)
            # As in ingress-nginx: who came to that port and has no TLS here had it as far as the load balancer.
            self.assertEqual(fields[b"x-forwarded-proto"], scheme)
        self.assertEqual(self.peers(), [b"192.0.2.7", b"192.0.2.7", b"2001:db8::7"])

    async def test_client_is_not_trusted(self) -> None:
        """The client behind the load balancer is no proxy of ours: what it says about itself is dropped."""
        client = await self.connect()
        client.send(V1 + GET.replace(b"\r\n\r\n", b"\r\nX-Forwarded-For: 203.0.113.1\r\n\r\n"))
        await self.until(lambda: client.answers)
        self.assertEqual(self.forwarded()[b"x-forwarded-for"], b"192.0.2.7")

    async def test_no_address(self) -> None:
        """Where the load balancer speaks for itself, the client is the load balancer."""
        for header in (b"PROXY UNKNOWN\r\n", v2(0, 0x00, b""), v2(1, 0x00, b""), v2(1, 0x31, bytes(216))):
            client = await self.ask(header)
            self.assertEqual(client.answers[0].status, 200)
            self.assertEqual(self.forwarded()[b"x-forwarded-for"], b"127.0.0.1")
            self.assertEqual(self.forwarded()[b"x-forwarded-port"], b"%d" % self._plain.getHost().port)

    async def test_amid_the_end(self) -> None:
        """Who comes to a process that is taken over has its answer, be it the last one: with its header it has not left."""
        client = await self.connect()
        connections = self.site.connections
        await self.until(lambda: connections.all)
        drained = connections.drain(closes_resting=False)
        client.send(V1)
        await self.until(lambda: not any(isinstance(each, ConnectionStart) for each in connections.all))
        self.assertFalse(drained.called)
        client.send(GET)
        await self.until(lambda: client.answers)
        self.assertEqual(client.answers[0].status, 200)
        await drained.addTimeout(PATIENCE, self.reactor)

    async def test_every_split(self) -> None:
        """However header and request are cut, nothing is lost."""
        for header in (V1, v2(1, 0x11, V4)):
            for size in (1, 2, 13, len(header), len(header) + 3):
                client = await self.ask(header, size)
                self.assertEqual(client.answers[0].status, 200)
                self.assertEqual(self.forwarded()[b"x-real-ip"], b"192.0.2.7")
                client.transport.abortConnection()

    async def test_several_requests(self) -> None:
        """The header holds for all requests of the connection, and is expected once."""
        client = await self.ask(V1)
        for _ in range(2):
            client.send(GET)
            await self.whole(client)
            self.assertEqual(self.forwarded()[b"x-real-ip"], b"192.0.2.7")

    async def test_tls(self) -> None:
        """TLS begins behind the header, whatever the pieces."""
        for header in (V1, v2(1, 0x11, V4)):
            for size in (30, 1 << 16):
                wire = HandMadeTLS(b"app.test", self.in_pieces(size, before=header))
                await self.answered(await self.open(self._secure, wire))
                self.assertEqual(self.forwarded()[b"x-real-ip"], b"192.0.2.7")
                self.assertEqual(self.forwarded()[b"x-forwarded-proto"], b"https")


class RefusalTests(ProxyHeaderCase):
    """What is closed."""

    async def test_no_header(self) -> None:
        """A connection without a header is closed, on both listeners, and gets no answer."""
        for octets in (GET, b"\x16\x03\x01\x02\x00\x01", bytes(100)):
            for port in (self._plain, self._secure):
                client = await self.open(port, RawWire())
                client.transport.write(octets)
                await self.ended(client)
                self.assertEqual(client.received, b"")
        self.assertEqual(self.upstream.wires, [])
        self.assertTrue(self.refused("malformed", 6))

    async def test_wrong_length(self) -> None:
        """A header whose length does not fit its content is none."""
        for header in (v2(1, 0x11, V4, length=11), v2(1, 0x21, V4), v2(1, 0x11, V4 + b"xx"), V1[:-2] + b"\n"):
            client = await self.open(self._plain, RawWire())
            client.transport.write(header + GET)
            await self.ended(client)
            self.assertEqual(client.received, b"")

    async def test_second_header(self) -> None:
        """Another header behind the first one is no HTTP."""
        client = await self.ask(V1 + V1)
        self.assertEqual(client.answers[0].status, 400)

    async def test_slow(self) -> None:
        """A header that does not come in time is waited for no more."""
        client = await self.open(self._plain, RawWire())
        client.transport.write(V1[:20])
        await self.until(lambda: self.channels)
        self.channels[0].deadline = 0.0
        self.deadlines.tick()
        await self.ended(client)
        self.assertTrue(self.refused("late", 1))

    async def test_broken_off(self) -> None:
        """A peer that ends in the middle of its header is closed."""
        client = await self.open(self._plain, RawWire())
        client.transport.write(V1[:20])
        await self.until(lambda: self.channels)
        client.transport.loseWriteConnection()
        await self.ended(client)
        self.assertTrue(self.refused("unfinished", 1))


class StrangerTests(ProxyHeaderCase):
    """A peer that is no load balancer of ours."""

    rules = ConnectionStartRules(load_balancers=TrustedProxies(["192.0.2.0/24", "::1/128"]))

    async def test_closed(self) -> None:
        """It is closed before it has said anything, with a header or without."""
        for port in (self._plain, self._secure):
            client = await self.open(port, RawWire())
            await self.ended(client)
            self.assertEqual(client.received, b"")
        client = await self.open(self._plain, RawWire())
        client.transport.write(V1 + GET)
        await self.ended(client)
        self.assertEqual(client.received, b"")
        self.assertEqual(self.upstream.wires, [])
        self.assertTrue(self.refused("stranger", 3))
