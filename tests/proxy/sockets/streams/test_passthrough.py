"""TLS that passes through real sockets: which connections do, the bytes, and their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from OpenSSL import crypto
from twisted.internet.ssl import CertificateOptions

from ingress.http.forwarding import TrustedProxies
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.proxy.listening.connection_starts import ConnectionStartRules
from ingress.proxy.listening.stream_tunnel import StreamTunnel
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from tests.fakes.bodies import MEGABYTE, piece_at
from tests.fakes.certificates import issue, make_authority
from tests.fakes.peers.upstreams import OK, Upstream
from tests.fakes.processes import free_port
from tests.fakes.raw_wires import HandMadeTLS, RawUpstream, RawWire
from tests.proxy.raw_case import RawCase
from tests.proxy.sockets.sockets_case import ANY_PATH, APP, PATIENCE
from tests.tls.hellos import hello, message, records, server_name

VAULT = BackendReference("demo", "vault", 443)


def passing(host: str) -> Route:
    """Return the route of a host whose TLS passes through."""
    return Route(
        host, "/", Match.PREFIX, Owner(Kind.INGRESS, ObjectKey("demo", "vault")), VAULT, passthrough=VAULT
    )


class PassthroughCase(RawCase):
    """``app.test`` is terminated here; ``vault.test`` and ``*.vaults.test`` go to a backend as they are."""

    rules = ConnectionStartRules(passes_tls=True)

    def pass_to(self, *endpoints: Endpoint) -> None:
        """Publish these as the endpoints behind the passthrough hosts."""
        hosts = [passing("vault.test"), passing("*.vaults.test")]
        mine = Route("mine.vaults.test", "/", Match.PREFIX, ANY_PATH.owner, APP)
        self.resource.publish(
            RouteTable([ANY_PATH, mine, *hosts]),
            {APP: BackendState((self.upstream.endpoint,)), VAULT: BackendState(endpoints)},
        )

    def raw_upstream(self, on_data: Callable[[RawWire, bytes], object] | None = None) -> RawUpstream:
        """Listen for bytes, and send what passes through there."""
        upstream = RawUpstream(self.reactor, on_data)
        self.addCleanup(upstream.stop)
        self.pass_to(upstream.endpoint)
        return upstream

    def secure_upstream(self, *names: str) -> tuple[Upstream, Any]:
        """Start a backend that terminates TLS itself; return it, and who issued its certificate."""
        authority = make_authority("Vault Authority")
        chain, key = issue(authority, names)
        options = CertificateOptions(
            privateKey=crypto.load_privatekey(crypto.FILETYPE_PEM, key),
            certificate=crypto.load_certificate(crypto.FILETYPE_PEM, chain),
        )
        upstream = Upstream(self.reactor, lambda wire: wire.write(OK.replace(b"ok", b"hi")))
        port = self.reactor.listenSSL(0, upstream, options, interface="127.0.0.1")
        self.addCleanup(port.stopListening)
        self.addCleanup(upstream.stop)
        self.pass_to(Endpoint("127.0.0.1", port.getHost().port))
        return upstream, authority

    async def raw(self) -> RawWire:
        """Connect to the TLS listener, without TLS."""
        return await self.open(self._secure, RawWire())

    async def shake(self, name: bytes | None, size: int = 1 << 16) -> HandMadeTLS:
        """Ask the TLS listener for a page, with a ClientHello of pieces, and wait for the answer."""
        wire = await self.open(self._secure, HandMadeTLS(name, self.in_pieces(size)))
        await self.answered(wire)
        return wire


class ChoiceTests(PassthroughCase):
    """Which connections pass through."""

    async def test_backend_certificate(self) -> None:
        """The client of a passthrough host sees the backend's own certificate, and talks to it alone."""
        upstream, authority = self.secure_upstream("vault.test")
        client = await self.connect_tls("vault.test", authority)
        client.get(host=b"vault.test")
        await self.whole(client)
        self.assertEqual(client.answers[0].body, b"hi")
        self.assertEqual(len(upstream.wires), 1)
        self.assertNotIn(b"x-forwarded-for", upstream.wires[0].heads[0].lower())
        client.transport.loseConnection()
        await self.end_of(client)
        (line,) = self.log_lines()
        self.assertEqual(line[1:6], [b"127.0.0.1", b"TLS", b"vault.test", b'"-"', b"200"])
        self.assertEqual(line[9], b"demo/vault")
        self.assertGreater(int(line[6]), 500)
        self.assertTrue(self.shows('ingress_passthrough_connections_ended_total{status="200"} 1.0'))
        self.assertTrue(self.shows("ingress_passthrough_connections 0.0"))

    async def test_wildcard(self) -> None:
        """A wildcard takes one label, but not from a host that an Ingress names."""
        _, authority = self.secure_upstream("*.vaults.test")
        client = await self.connect_tls("one.vaults.test", authority)
        client.get(host=b"one.vaults.test")
        await self.whole(client)
        self.assertEqual(client.answers[0].body, b"hi")
        for name in (b"mine.vaults.test", b"two.one.vaults.test", b"vaults.test", b"*.test"):
            await self.shake(name)

    async def test_everything_else_terminates(self) -> None:
        """Other names, and none, are terminated here, however the ClientHello is cut."""
        upstream = self.raw_upstream()
        for size in (40, 700, 1 << 16):
            named = await self.shake(b"app.test", size)
            self.assertEqual(named.names, ("app.test",))
            await self.shake(None, size)
        self.assertEqual(upstream.wires, [])

    async def test_plain_http(self) -> None:
        """The plain listener reads no ClientHello."""
        self.raw_upstream()
        client = await self.connect()
        client.get()
        await self.whole(client)
        self.assertEqual(client.answers[0].body, b"ok")


class BytesTests(PassthroughCase):
    """What goes through."""

    async def test_every_split(self) -> None:
        """The backend gets the very bytes of the ClientHello, and what follows it, however they were cut."""
        upstream = self.raw_upstream()
        whole = message([server_name(b"vault.test")])
        cases = [records(whole, size) for size in (4, 60, len(whole))]
        for octets in cases:
            sent = octets + b"\x14\x03\x03\x00\x01\x01"
            for size in (1, 7, len(octets) - 1, len(sent)):
                client = await self.raw()
                self.in_pieces(size)(client, sent)
                await self.arrives(upstream, sent)
                client.transport.abortConnection()
                await self.ended(client)
                upstream.wires.clear()

    async def arrives(self, upstream: RawUpstream, octets: bytes) -> None:
        """Wait until a backend has got exactly these bytes."""
        await self.until(lambda: upstream.wires and upstream.wires[-1].received == octets)

    async def test_both_ways(self) -> None:
        """Much goes both ways at once, and nothing is lost, doubled or held whole."""
        upstream = self.raw_upstream(lambda wire, received: wire.transport.write(received))
        client = await self.raw()
        sent = hello(b"vault.test") + b"".join(
            piece_at(at, 1 << 16) for at in range(0, 4 * MEGABYTE, 1 << 16)
        )
        client.transport.write(sent)
        await self.until(lambda: len(client.received) >= len(sent))
        self.assertEqual(client.received, sent)
        self.assertEqual(len(upstream.wires), 1)

    async def test_back_pressure(self) -> None:
        """A client that reads nothing stops the backend, and the proxy holds little."""
        held = piece_at(0, 1 << 16) * 16

        def flood(wire: RawWire, received: bytes) -> None:
            for _ in range(32):
                wire.transport.write(held)

        upstream = self.raw_upstream(flood)
        client = await self.raw()
        client.transport.write(hello(b"vault.test"))
        client.transport.pauseProducing()
        await self.until(lambda: upstream.wires and self.tunnel().downstream.received > 0)
        before = -1
        while before != (before := self.tunnel().upstream.received):
            await self.turns(20)
        self.assertLess(before, 32 * len(held))
        client.transport.resumeProducing()
        await self.until(lambda: len(client.received) >= 32 * len(held))
        self.assertEqual(client.received, held * 32)

    def tunnel(self) -> StreamTunnel:
        """The one tunnel that is open."""
        (tunnel,) = self.channels
        assert isinstance(tunnel, StreamTunnel)
        return tunnel

    async def test_half_close(self) -> None:
        """A side that has said all may still listen: its end is passed on, and the other side goes on."""
        upstream = self.raw_upstream()
        client = await self.raw()
        client.transport.write(hello(b"vault.test"))
        await self.until(lambda: upstream.wires and upstream.wires[0].received)
        client.stays = upstream.wires[0].stays = True
        client.transport.loseWriteConnection()
        await self.until(lambda: upstream.wires[0].saw_end)
        upstream.wires[0].transport.write(b"late answer")
        await self.until(lambda: client.received == b"late answer")
        self.assertIsNone(client.lost)
        upstream.wires[0].transport.loseWriteConnection()
        await self.until(lambda: client.saw_end)
        client.transport.loseConnection()
        await self.ended(client)
        self.assertEqual(self.log_lines()[0][5:7], [b"200", b"11"])

    async def test_end_of_the_backend(self) -> None:
        """The last words of a backend that closes arrive before the end."""
        upstream = self.raw_upstream(lambda wire, received: wire.transport.write(b"bye" * 100000))
        client = await self.raw()
        client.transport.write(hello(b"vault.test"))
        await self.until(lambda: upstream.wires and upstream.wires[0].received)
        upstream.wires[0].transport.loseConnection()
        await self.until(lambda: client.saw_end)
        self.assertEqual(client.received, b"bye" * 100000)
        client.transport.loseConnection()
        await self.ended(client)

    async def test_reset(self) -> None:
        """A reset of either side is a reset for the other."""
        upstream = self.raw_upstream()
        for resets_client in (True, False):
            upstream.wires.clear()
            client = await self.raw()
            client.transport.write(hello(b"vault.test"))
            await self.until(lambda: upstream.wires and upstream.wires[0].received)
            reset, other = (client, upstream.wires[0]) if resets_client else (upstream.wires[0], client)
            reset.transport.abortConnection()
            await self.lost(other)
            self.assertIn("lost", str(other.lost).lower())
            await self.ended(client)

    async def lost(self, wire: RawWire) -> None:
        """Wait for the end of a connection."""
        await self.until(lambda: wire.lost)

    async def test_rest_of_a_half_closed_tunnel(self) -> None:
        """A tunnel that is open one way only, and moves nothing, is closed; one open both ways may rest."""
        upstream = self.raw_upstream()
        client = await self.raw()
        client.transport.write(hello(b"vault.test"))
        await self.until(lambda: upstream.wires and upstream.wires[0].received)
        tunnel = self.tunnel()
        self.assertEqual(tunnel.deadline, float("inf"))
        client.stays = upstream.wires[0].stays = True
        client.transport.loseWriteConnection()
        await self.until(lambda: upstream.wires[0].saw_end)
        first = tunnel.deadline
        self.deadlines.now += 1
        upstream.wires[0].transport.write(b"more")
        await self.until(lambda: client.received == b"more")
        self.assertGreater(tunnel.deadline, first)
        await self.until(lambda: not tunnel.downstream.transport.untaken + tunnel.upstream.transport.untaken)
        tunnel.deadline = 0.0
        self.deadlines.tick()
        await self.until(lambda: client.saw_end)
        client.transport.loseConnection()
        await self.ended(client)
        await self.until(lambda: self.shows("ingress_upstream_connections 0.0"))


class EndpointTests(PassthroughCase):
    """Who gets a connection."""

    async def ask(self, wanted: int) -> None:
        """Send a ClientHello and wait for the end, and for a line with this status."""
        client = await self.raw()
        client.transport.write(hello(b"vault.test"))
        await self.ended(client)
        self.assertEqual(client.received, b"")
        self.assertEqual(self.log_lines()[0][5], b"%d" % wanted)

    async def reached(self, upstream: RawUpstream, count: int) -> None:
        """Wait until so many connections came, and the last one has its ClientHello."""
        await self.until(lambda: len(upstream.wires) == count and upstream.wires[-1].received)
        self.assertEqual(upstream.wires[-1].received, hello(b"vault.test"))

    async def test_balanced(self) -> None:
        """Connections take turns."""
        upstreams = [self.raw_upstream(), self.raw_upstream()]
        self.pass_to(*(upstream.endpoint for upstream in upstreams))
        for _ in range(4):
            client = await self.raw()
            client.transport.write(hello(b"vault.test"))
        await self.until(lambda: [len(upstream.wires) for upstream in upstreams] == [2, 2])

    async def test_another_endpoint(self) -> None:
        """Where no connection can be made nothing was sent, and another endpoint is tried."""
        upstream = self.raw_upstream()
        self.pass_to(Endpoint("127.0.0.1", free_port()), upstream.endpoint)
        for count in (1, 2):
            client = await self.raw()
            client.transport.write(hello(b"vault.test"))
            await self.reached(upstream, count)
        self.assertFalse(self.shows('ingress_attempts_repeated_total{reason="unreachable"} 0.0'))

    async def test_unreachable(self) -> None:
        """Where nobody can be reached, the connection ends, and the log has 502."""
        self.pass_to(Endpoint("127.0.0.1", free_port()))
        await self.ask(502)

    async def test_no_endpoint(self) -> None:
        """Where there is no endpoint, the connection ends, and the log has 503."""
        self.pass_to()
        await self.ask(503)


class DrainTests(PassthroughCase):
    """The end of the service."""

    async def test_drain(self) -> None:
        """An open tunnel goes on while there is time; a connection that has said nothing is closed."""
        upstream = self.raw_upstream(lambda wire, received: wire.transport.write(received))
        client, silent = await self.raw(), await self.raw()
        client.transport.write(hello(b"vault.test"))
        await self.until(lambda: client.received and len(self.channels) == 2)
        drained = self.site.connections.drain()
        await self.until(lambda: silent.lost)
        client.received.clear()
        client.transport.write(b"still there")
        await self.until(lambda: client.received == b"still there")
        self.assertFalse(drained.called)
        upstream.wires[0].transport.loseConnection()
        await drained.addTimeout(PATIENCE, self.reactor)

    async def test_abort(self) -> None:
        """What is left in the end is cut."""
        upstream = self.raw_upstream()
        client = await self.raw()
        client.transport.write(hello(b"vault.test"))
        await self.until(lambda: upstream.wires and upstream.wires[0].received)
        self.site.abort()
        await self.ended(client)
        await self.until(lambda: upstream.wires[0].lost)


class HostileTests(PassthroughCase):
    """Connections that mean no good."""

    async def test_garbage(self) -> None:
        """What is no TLS is refused as without passthrough, by OpenSSL, and reaches nobody."""
        upstream = self.raw_upstream()
        for octets in (b"GET / HTTP/1.1\r\n\r\n", bytes(300), records(b"\x02\x00\x00\x00"), b"\x80" * 300):
            client = await self.raw()
            client.transport.write(octets)
            await self.ended(client)
        self.assertEqual(upstream.wires, [])

    async def test_many_records(self) -> None:
        """A ClientHello of 64 KiB is not waited for, whoever it names."""
        upstream = self.raw_upstream()
        client = await self.raw()
        octets = records(b"\x01\x00\xff\xfc" + message([server_name(b"vault.test")])[4:] + bytes(65536), 16)
        client.transport.write(octets[: 64 * 1024])
        await self.until(lambda: self.channels and not isinstance(self.channels[0], StreamTunnel))
        await self.until(lambda: "ConnectionStart" not in type(self.channels[0]).__name__)
        self.assertEqual(upstream.wires, [])

    async def test_slow(self) -> None:
        """A ClientHello that does not come in time is waited for no more."""
        upstream = self.raw_upstream()
        client = await self.raw()
        client.transport.write(hello(b"vault.test")[:-1])
        await self.until(lambda: self.channels)
        (connection_start,) = self.channels
        self.assertLessEqual(connection_start.deadline, self.deadlines.now + 10)
        connection_start.deadline -= 11
        self.deadlines.tick()
        await self.ended(client)
        self.assertEqual(upstream.wires, [])
        self.assertTrue(self.shows('ingress_connection_starts_refused_total{cause="late"} 1.0'))

    async def test_broken_off(self) -> None:
        """A client that leaves in the middle of its ClientHello leaves nothing behind."""
        self.raw_upstream()
        for leave in ("loseConnection", "abortConnection", "loseWriteConnection"):
            client = await self.raw()
            client.transport.write(hello(b"vault.test")[:40])
            await self.until(lambda: self.channels)
            getattr(client.transport, leave)()
            await self.ended(client)

    async def test_gone_before_connected(self) -> None:
        """A client that leaves while its endpoint is looked for has one line, and no connection is left."""
        waiting: list[Any] = []
        upstream = self.raw_upstream()
        connect = self.network.connect
        self.patch(StreamTunnel, "_attempt", lambda tunnel, attempts: waiting.append((tunnel, attempts)))
        client = await self.raw()
        client.transport.write(hello(b"vault.test"))
        await self.until(lambda: waiting)
        tunnel, attempts = waiting[0]
        end = tunnel.upstream
        tunnel.downstream.transport.abortConnection()
        await self.ended(client)
        connect(attempts.endpoint, end, self.fail)
        await self.until(lambda: upstream.wires and upstream.wires[0].lost)
        (line,) = self.log_lines()
        self.assertEqual(line[5], b"499")


class BehindLoadBalancerTests(PassthroughCase):
    """A PROXY header before the ClientHello."""

    rules = ConnectionStartRules(load_balancers=TrustedProxies(["127.0.0.0/8"]), passes_tls=True)

    async def test_header(self) -> None:
        """The header is taken off, and the log names the client; cut at any byte, it is the same."""
        upstream = self.raw_upstream()
        header = b"PROXY TCP4 192.0.2.7 198.51.100.1 50000 443\r\n"
        for size in (1, 20, len(header), len(header) + 5, 1 << 16):
            client = await self.raw()
            self.in_pieces(size)(client, header + hello(b"vault.test"))
            await self.until(lambda: upstream.wires and upstream.wires[-1].received == hello(b"vault.test"))
            client.transport.abortConnection()
            await self.ended(client)
            upstream.wires.clear()
        self.assertEqual({line[1] for line in self.log_lines()}, {b"192.0.2.7"})
