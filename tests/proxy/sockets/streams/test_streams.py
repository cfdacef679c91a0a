"""Streams through real sockets: TCP, TLS by its name, and TLS that is terminated here beside HTTPS."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any

from twisted.internet.error import ConnectionDone

from ingress.identity.certificates import CertificateTable
from ingress.identity.server_names import HandshakeSettings, HandshakeSettingsTable
from ingress.model.network.streams import StreamSort
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.model.serving.limits import Limits, StreamTries
from ingress.model.upstream.backends import Endpoint
from ingress.proxy.dispatch.site import SessionRules
from ingress.proxy.downstream.h2_session import DownstreamSession
from ingress.routing.streams import StreamRoute, StreamTable
from ingress.routing.table import RouteTable
from ingress.routing.variants import WeightedBackend
from tests.fakes.bodies import MEGABYTE, piece_at
from tests.fakes.certificates import make_authority
from tests.fakes.peers.upstreams import OK
from tests.fakes.processes import free_port
from tests.fakes.raw_wires import HandMadeTLS, RawWire
from tests.proxy.sockets.sockets_case import ANY_PATH, APP, certificate_of, socket_of
from tests.proxy.sockets.streams.streams_case import OWNER, StreamsCase, echo
from tests.tls.hellos import hello, openssl_hello


class TCPTests(StreamsCase):
    """Streams of TCP."""

    def tcp_route(self, *weighted: WeightedBackend, **fields: Any) -> StreamRoute:
        """Return the route of the TCP listener."""
        return StreamRoute("", StreamSort.TCP, OWNER, weighted, **fields)

    async def test_both_ways(self) -> None:
        """Bytes go both ways; the log and the metrics know of it when it is over."""
        upstream = self.raw_upstream()
        self.lead(self.tcp_route(self.backend("db", upstream.endpoint)))
        client = await self.dial()
        await self.say(client, b"PING\n")
        self.assertTrue(self.shows('ingress_stream_connections{sort="tcp"} 1.0'))
        client.transport.loseConnection()
        await self.ended(client)
        (line,) = self.log_lines()
        port = b'":%d"' % self.tcp.getHost().port
        self.assertEqual(line[1:7], [b"127.0.0.1", b"TCP", b"-", port, b"200", b"5"])
        self.assertEqual(line[8:11], [str(upstream.endpoint).encode(), b"demo/db", b"-"])
        for shown in (
            'ingress_stream_connections{sort="tcp"} 0.0',
            'ingress_stream_connections_ended_total{sort="tcp",status="200"} 1.0',
            'ingress_stream_bytes_total{direction="received",sort="tcp"} 5.0',
        ):
            self.assertTrue(self.shows(shown), shown)

    async def test_the_server_speaks_first(self) -> None:
        """An endpoint may say something before its client does."""
        upstream = self.raw_upstream()
        self.lead(self.tcp_route(self.backend("db", upstream.endpoint)))
        client = await self.dial()
        await self.until(lambda: upstream.wires)
        upstream.wires[0].transport.write(b"220 ready\r\n")
        await self.until(lambda: client.received == b"220 ready\r\n")

    async def test_half_close(self) -> None:
        """The end of one side is passed on, and the other one may go on."""
        upstream = self.raw_upstream(None)
        self.lead(self.tcp_route(self.backend("db", upstream.endpoint)))
        client = await self.dial()
        client.stays = True
        client.transport.write(b"all of it")
        await self.until(lambda: upstream.wires and upstream.wires[0].received == b"all of it")
        upstream.wires[0].stays = True
        client.transport.loseWriteConnection()
        await self.until(lambda: upstream.wires[0].saw_end)
        upstream.wires[0].transport.write(b"late")
        await self.until(lambda: client.received == b"late")
        upstream.wires[0].transport.loseConnection()
        await self.until(lambda: client.saw_end)
        client.transport.loseConnection()
        await self.ended(client)

    async def test_slow_after_the_end(self) -> None:
        """What only the kernel still has for a slow client of an endpoint that has left is not thrown away while it is taken."""
        said = piece_at(0, MEGABYTE)
        upstream = self.raw_upstream(
            lambda wire, received: (wire.transport.write(said), wire.transport.loseConnection())
        )
        self.lead(self.tcp_route(self.backend("db", upstream.endpoint)))
        client = await self.dial()
        client.stays = True
        client.transport.pauseProducing()
        sock = socket_of(client.transport)
        self.addCleanup(sock.close)
        # Or else the system might give it room for all.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        client.transport.write(b"x")
        await self.until(lambda: self.channels and self.channels[0].upstream.has_ended)
        (tunnel,) = self.channels
        below = tunnel.downstream.transport
        looks, seen = 0, below.untaken

        def take_and_look() -> bool:
            """Take a little; once that shows, and nothing but the kernel has the rest, have a deadline come."""
            nonlocal looks, seen
            with contextlib.suppress(BlockingIOError):
                client.received.extend(sock.recv(16384))
            if below.untaken < seen and not below.queued:
                looks, seen = looks + 1, below.untaken
                tunnel.deadline = 0.0
                self.deadlines.tick()
            return looks == 3

        await self.until(take_and_look)
        self.assertGreater(below.untaken, 0)
        self.assertTrue(tunnel.downstream.is_open)
        client.transport.resumeProducing()
        await self.until(lambda: client.saw_end)
        self.assertEqual(client.received, said)
        client.transport.loseConnection()
        await self.ended(client)

    async def test_reset(self) -> None:
        """A reset of either side is one for the other."""
        upstream = self.raw_upstream()
        self.lead(self.tcp_route(self.backend("db", upstream.endpoint)))
        for by_client in (True, False):
            upstream.wires.clear()
            client = await self.dial()
            await self.say(client, b"x")
            one, other = (client, upstream.wires[0]) if by_client else (upstream.wires[0], client)
            one.transport.abortConnection()
            await self.until(partial(getattr, other, "lost"))
            self.assertNotIsInstance(other.lost, ConnectionDone)

    async def test_nowhere(self) -> None:
        """Without route, backend, endpoint or anybody who listens, a connection is reset, and says why in the log where there is a route."""
        gone = Endpoint("127.0.0.1", free_port())
        for routes in (
            (),
            (self.tcp_route(),),
            (self.tcp_route(self.backend("none")),),
            (self.tcp_route(self.backend("gone", gone)),),
        ):
            self.lead(*routes)
            self.assertTrue(await self.is_reset())
        await self.until(lambda: not self.channels)
        self.assertTrue(self.shows('ingress_connection_starts_refused_total{cause="unserved"} 1.0'))
        self.assertEqual([line[5] for line in self.log_lines()], [b"503", b"503", b"502"])

    async def test_another_endpoint(self) -> None:
        """Where nobody listens another endpoint is tried, since nothing was sent."""
        upstream = self.raw_upstream()
        gone = Endpoint("127.0.0.1", free_port())
        self.lead(self.tcp_route(self.backend("db", gone, upstream.endpoint)))
        for _ in range(3):
            await self.say(await self.dial(), b"hello")

    async def test_no_other_endpoint(self) -> None:
        """None is tried where the operator has it so, or has as many tried as were."""
        upstream = self.raw_upstream()
        gone = Endpoint("127.0.0.1", free_port())
        self.lead(self.tcp_route(self.backend("db", gone, upstream.endpoint)))
        for tries in (StreamTries(is_on=False), StreamTries(most=1)):
            self.site.context.limits = Limits(stream_tries=tries)
            # Endpoints take turns, so one of two connections begins with the one that is gone.
            resets = [await self.is_reset(b"hello") for _ in range(2)]
            self.assertEqual(sorted(resets), [False, True], tries)

    async def test_weights(self) -> None:
        """Backends get connections by their weights, and the share of one without endpoints is reset."""
        upstreams = [self.raw_upstream(), self.raw_upstream()]
        one, two = (
            self.backend(f"db{at}", each.endpoint, weight=4 - at) for at, each in enumerate(upstreams)
        )
        self.lead(self.tcp_route(one, two, self.backend("none", weight=3)))
        lost = 0
        for _ in range(60):
            lost += await self.is_reset(b"x")
        counts = [len(each.wires) for each in upstreams]
        self.assertEqual(sum(counts) + lost, 60)
        for count, share in ((counts[0], 24), (counts[1], 18), (lost, 18)):
            self.assertLess(abs(count - share), 12)

    async def test_back_pressure(self) -> None:
        """A peer that takes nothing holds up the other one, whichever it is, and little waits here."""
        for by_client in (True, False):
            upstream = self.raw_upstream(None)
            self.lead(self.tcp_route(self.backend(f"db{by_client}", upstream.endpoint)))
            client = await self.dial()
            await self.until(lambda: upstream.wires)  # noqa: B023 - it is awaited here
            fast, slow = (client, upstream.wires[0]) if by_client else (upstream.wires[0], client)
            fast.transport.write(b"both ends are there")
            await self.until(lambda: slow.received)  # noqa: B023
            slow.transport.pauseProducing()
            slow.received.clear()
            sent = 0
            while sent < 32 * MEGABYTE:
                fast.transport.write(piece_at(sent, MEGABYTE))
                sent += MEGABYTE
            (tunnel,) = self.channels
            await self.until(lambda: self.is_steady(fast))  # noqa: B023
            self.assertLess(tunnel.downstream.transport.queued + tunnel.upstream.transport.queued, 256 * 1024)
            slow.transport.resumeProducing()
            await self.until(lambda: len(slow.received) == sent)  # noqa: B023
            self.assertEqual(slow.received[-MEGABYTE:], piece_at(sent - MEGABYTE, MEGABYTE))
            client.transport.abortConnection()
            await self.ended(client)

    def is_steady(self, wire: RawWire) -> bool:
        """Whether what *wire* has to send is not taken any more."""
        before, self.left = self.left, len(wire.transport.dataBuffer) + wire.transport._tempDataLen
        return self.left == before

    async def test_rest(self) -> None:
        """A stream that says nothing for too long is cut, each byte gives it time anew, and one of an Ingress may rest for ever."""
        upstream = self.raw_upstream()
        self.lead(self.tcp_route(self.backend("db", upstream.endpoint)))
        client = await self.dial()
        await self.say(client, b"x")
        (tunnel,) = self.channels
        first = tunnel.deadline
        self.assertEqual(first, self.deadlines.now + 600)
        self.deadlines.now += 300
        await self.say(client, b"y")
        self.assertEqual(tunnel.deadline, first + 300)
        await self.until(lambda: not tunnel.downstream.transport.untaken + tunnel.upstream.transport.untaken)
        tunnel.deadline = 0.0
        self.deadlines.tick()
        await self.ended(client)
        self.assertTrue(self.shows("ingress_upstream_connections 0.0"))

    async def test_header_to_the_endpoint(self) -> None:
        """An endpoint that wants it is told by a PROXY header who connected to which address, and then gets the bytes."""
        upstream = self.raw_upstream(None)
        self.lead(self.tcp_route(self.backend("db", upstream.endpoint), sends_header=True))
        client = await self.dial()
        client.transport.write(b"hello")
        here, there = client.transport.getHost().port, self.tcp.getHost().port
        wanted = b"PROXY TCP4 127.0.0.1 127.0.0.1 %d %d\r\nhello" % (here, there)
        await self.until(lambda: upstream.wires and len(upstream.wires[0].received) >= len(wanted))
        self.assertEqual(upstream.wires[0].received, wanted)

    async def test_no_alpn_and_no_requests(self) -> None:
        """Nothing is read of what is said: a request of HTTP goes on as it is."""
        upstream = self.raw_upstream(None)
        self.lead(self.tcp_route(self.backend("db", upstream.endpoint)))
        client = await self.dial()
        client.transport.write(b"GET / HTTP/1.1\r\n\r\n")
        await self.until(lambda: upstream.wires and upstream.wires[0].received == b"GET / HTTP/1.1\r\n\r\n")
        self.assertEqual(self.upstream.wires, [])

    async def test_drain(self) -> None:
        """An open stream goes on while there is time, and is cut in the end."""
        upstream = self.raw_upstream()
        self.lead(self.tcp_route(self.backend("db", upstream.endpoint)))
        client = await self.dial()
        await self.say(client, b"x")
        drained = self.site.connections.drain()
        await self.say(client, b"y")
        self.assertFalse(drained.called)
        self.site.abort()
        await self.ended(client)
        await self.until(lambda: upstream.wires[0].lost)


class ProxiedTCPTests(StreamsCase):
    """A TCP listener behind a load balancer that sends PROXY headers."""

    header = True

    async def test_header(self) -> None:
        """The header is taken off, the log has the client, and an endpoint that wants one is told of the client, too."""
        upstream = self.raw_upstream(None)
        weighted = (self.backend("db", upstream.endpoint),)
        self.lead(StreamRoute("", StreamSort.TCP, OWNER, weighted, sends_header=True))
        header = b"PROXY TCP4 192.0.2.7 198.51.100.1 50000 9000\r\n"
        client = await self.dial()
        self.in_pieces(10)(client, header + b"hello")
        await self.until(lambda: upstream.wires and upstream.wires[0].received == header + b"hello")
        client.transport.abortConnection()
        await self.ended(client)
        (line,) = self.log_lines()
        self.assertEqual((line[1], line[4]), (b"192.0.2.7", b'":9000"'))

    async def test_no_header(self) -> None:
        """Who begins with something else is not served."""
        upstream = self.raw_upstream()
        self.lead(StreamRoute("", StreamSort.TCP, OWNER, (self.backend("db", upstream.endpoint),)))
        client = await self.dial()
        client.transport.write(b"hello\r\n")
        await self.ended(client)
        self.assertEqual(upstream.wires, [])
        self.assertTrue(self.shows('ingress_connection_starts_refused_total{cause="malformed"} 1.0'))


class NameTests(StreamsCase):
    """Streams and requests on one port, by the server name."""

    sessions = SessionRules(DownstreamSession)

    async def setUp(self) -> None:  # type: ignore[override]
        """``pass.test`` passes through, ``*.mqtt.test`` is terminated here, ``app.test`` is HTTPS."""
        await super().setUp()
        authority = make_authority()
        shown = {name: (certificate_of(authority, name),) for name in ("app.test", "*.mqtt.test")}
        self.certificates = CertificateTable(
            {"app.test": shown["app.test"]}, {".mqtt.test": shown["*.mqtt.test"]}, None
        )
        self.contexts.publish(self.certificates)
        self.passing, self.broker = self.raw_upstream(None), self.raw_upstream()
        self.routes = (
            StreamRoute(
                "pass.test", StreamSort.PASSTHROUGH, OWNER, (self.backend("pass", self.passing.endpoint),)
            ),
            StreamRoute(
                "*.mqtt.test", StreamSort.TERMINATED, OWNER, (self.backend("mqtt", self.broker.endpoint),)
            ),
            StreamRoute("app.test", StreamSort.REQUESTS, OWNER),
            StreamRoute("lost.test", StreamSort.TERMINATED, OWNER),
            StreamRoute("empty.mqtt.test", StreamSort.TERMINATED, OWNER, (self.backend("none"),)),
            StreamRoute("refused.test", StreamSort.PASSTHROUGH, None),
        )
        self.lead_by_name(*self.routes)

    def lead_by_name(self, *routes: StreamRoute) -> None:
        """Publish *routes* of streams, and none of all hosts."""
        table = RouteTable([ANY_PATH.__class__("app.test", "/", ANY_PATH.match, ANY_PATH.owner, APP)])
        self.resource.publish(table, dict(self.backends), StreamTable(routes))

    async def shake(self, name: bytes | None, first: bytes = b"", **more: Any) -> HandMadeTLS:
        """Begin TLS for *name*, and say *first* in it."""
        return await self.open(
            self._secure,
            HandMadeTLS(name, lambda wire, octets: wire.transport.write(octets), first=first, **more),
        )

    async def rejected(self, name: bytes) -> RawWire:
        """Wait until a connection for *name* is over, which got nothing."""
        client = await self.open(self._secure, RawWire())
        client.transport.write(hello(name))
        await self.ended(client)
        self.assertEqual(client.received, b"")
        return client

    async def test_each(self) -> None:
        """The ClientHello of one name goes on as it is, what TLS of another carried goes on in the clear, a third one is HTTPS."""
        client = await self.open(self._secure, RawWire())
        client.transport.write(hello(b"pass.test"))
        await self.until(lambda: self.passing.wires and self.passing.wires[0].received == hello(b"pass.test"))
        broker = await self.shake(b"eu.one.mqtt.test", b"CONNECT")
        await self.until(lambda: broker.answer == b"CONNECT")
        broker.say(b"PUBLISH")
        await self.until(lambda: broker.answer == b"CONNECTPUBLISH")
        self.upstream.on_request = lambda wire: wire.write(OK)
        asking = await self.shake(
            b"app.test", b"GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n"
        )
        await self.answered(asking)
        self.assertEqual(asking.names, ("app.test",))
        self.assertTrue(self.shows('ingress_stream_connections{sort="terminated"} 1.0'))
        self.assertTrue(self.shows("ingress_passthrough_connections 1.0"))

    async def test_certificate_and_protocol(self) -> None:
        """TLS that is terminated for a stream shows the certificate of its name, and agrees on no protocol of ours."""
        broker = await self.shake(b"a.mqtt.test", b"x", protocols=[b"h2", b"http/1.1"])
        await self.until(lambda: broker.answer == b"x")
        self.assertEqual((broker.names, broker.agreed), (("*.mqtt.test",), b""))
        other = await self.shake(b"b.mqtt.test", b"y", protocols=[b"mqtt"])
        await self.until(lambda: other.answer == b"y")
        asking = await self.shake(b"app.test", b"", protocols=[b"h2"])
        await self.until(lambda: asking.agreed)
        self.assertEqual(asking.agreed, b"h2")

    async def test_end(self) -> None:
        """The end of an endpoint's side ends TLS with it, after all that was said; the end of TLS ends the other side."""
        self.broker.on_data = lambda wire, received: (
            wire.transport.write(b"bye" * 99999),
            wire.transport.loseConnection(),
        )
        broker = await self.shake(b"a.mqtt.test", b"x")
        await self.until(lambda: broker.answer == b"bye" * 99999)
        if broker.lost is None:
            # Twisted's layer waits for this, and is cut after a while.
            broker.leave()
        await self.ended(broker)
        self.broker.on_data = echo
        broker = await self.shake(b"a.mqtt.test", b"x")
        await self.until(lambda: broker.answer == b"x")
        self.broker.wires[-1].stays = True
        broker.leave()
        await self.until(lambda: self.broker.wires[-1].saw_end)
        # Whether the endpoint ends its side, too, or not.
        await self.ended(broker)

    async def test_speaks_on_after_the_end(self) -> None:
        """A client that takes slowly what an endpoint said last, and speaks on, gets all of it."""
        said = piece_at(0, MEGABYTE)
        self.broker.on_data = lambda wire, received: (
            wire.transport.write(said),
            wire.transport.loseConnection(),
        )
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        sock = socket.create_connection(("127.0.0.1", self._secure.getHost().port))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        sock.setblocking(False)
        client = context.wrap_socket(sock, server_hostname="a.mqtt.test", do_handshake_on_connect=False)
        self.addCleanup(client.close)
        got = bytearray()

        def tried(call: Callable[[], object]) -> bool:
            try:
                call()
            except ssl.SSLWantReadError:
                return False
            return True

        await self.until(lambda: tried(client.do_handshake))
        client.send(b"x")
        # Before its end has come, the endpoint would reset the connection for what it is told.
        await self.until(lambda: self.broker.wires and self.broker.wires[0].lost)
        await self.until(lambda: not self.channels or self.channels[0].upstream.has_ended)
        seen = 2 * MEGABYTE

        def take_and_look() -> bool:
            nonlocal seen
            if tried(lambda: got.extend(client.recv(16384))):
                client.send(b"x")
            if self.channels:
                (tunnel,) = self.channels
                below = tunnel.downstream.transport
                if not below.queued and below.untaken < seen:
                    seen, tunnel.deadline = below.untaken, 0.0
                    self.deadlines.tick()
            return len(got) == len(said)

        await self.until(take_and_look)
        self.assertEqual(got, said)
        client.close()
        await self.until(lambda: not self.channels)
        (line,) = self.log_lines()
        self.assertEqual(line[5], b"200")

    async def test_nowhere(self) -> None:
        """A name without route or endpoint is rejected, and so is one that no listener has where no requests are served."""
        for name in (b"lost.test", b"refused.test", b"empty.mqtt.test"):
            if name == b"refused.test":
                await self.rejected(name)
            else:
                client = await self.shake(name)
                await self.ended(client)
        self.lead_by_name(self.routes[0])
        await self.rejected(b"other.test")
        self.assertTrue(self.shows('ingress_connection_starts_refused_total{cause="unserved"} 2.0'))

    async def test_unknown_beside_requests(self) -> None:
        """A name that no listener has is terminated where requests are served: 404 says more."""
        asking = await self.shake(
            b"unknown.test", b"GET / HTTP/1.1\r\nHost: unknown.test\r\nConnection: close\r\n\r\n"
        )
        await self.until(lambda: b"404" in asking.answer)

    async def test_comes_and_goes(self) -> None:
        """Routes take effect with the next connection, on the listener that is open; those under way go on."""
        broker = await self.shake(b"a.mqtt.test", b"x")
        await self.until(lambda: broker.answer == b"x")
        self.lead_by_name(StreamRoute("app.test", StreamSort.REQUESTS, OWNER))
        broker.say(b"y")
        await self.until(lambda: broker.answer == b"xy")
        asking = await self.shake(
            b"a.mqtt.test", b"GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n"
        )
        await self.until(lambda: b" 421 " in asking.answer or b" 200 " in asking.answer)
        self.lead_by_name(*self.routes)
        again = await self.shake(b"a.mqtt.test", b"z")
        await self.until(lambda: again.answer == b"z")

    async def test_client_certificate(self) -> None:
        """Where a certificate is demanded of clients, who shows none gets nothing through."""
        asked = ClientAuthentication("Secret demo/ca", make_authority().pem)
        settings = HandshakeSettingsTable({"a.mqtt.test": HandshakeSettings(client_authentication=asked)})
        self.contexts.publish(self.certificates, settings)
        broker = await self.shake(b"a.mqtt.test", b"x")
        await self.ended(broker)
        self.assertEqual((broker.answer, self.broker.wires), (b"", []))
        self.assertTrue(
            self.shows('ingress_stream_connections_ended_total{sort="terminated",status="400"} 1.0')
        )

    async def test_slow_handshake(self) -> None:
        """A client that says hello and nothing more is not waited for, and reaches nobody."""
        client = await self.open(self._secure, RawWire())
        client.transport.write(openssl_hello(b"a.mqtt.test"))
        await self.until(lambda: self.channels and type(self.channels[0]).__name__ == "StreamTunnel")
        (tunnel,) = self.channels
        self.assertLessEqual(tunnel.deadline, self.deadlines.now + 10)
        tunnel.deadline = 0.0
        self.deadlines.tick()
        await self.ended(client)
        self.assertEqual(self.broker.wires, [])

    async def test_upload(self) -> None:
        """Megabytes arrive as they were sent."""
        self.broker.on_data = None
        broker = await self.shake(b"a.mqtt.test", b"!")
        await self.until(lambda: broker.names)
        for at in range(0, 4 * MEGABYTE, 1 << 14):
            broker.say(piece_at(at, 1 << 14))
        await self.until(lambda: self.broker.wires and len(self.broker.wires[0].received) == 4 * MEGABYTE + 1)
        pieces = [piece_at(at, 1 << 14) for at in range(0, 4 * MEGABYTE, 1 << 14)]
        self.assertEqual(self.broker.wires[0].received[1:], b"".join(pieces))


class FloodTests(StreamsCase):
    """Many connections to a TCP listener."""

    limits = Limits(max_connections=20)

    async def test_silent(self) -> None:
        """Who says nothing makes way where places are short, and who talks stays."""
        self.site.connections.limit.allow(20)
        upstream = self.raw_upstream()
        self.lead(StreamRoute("", StreamSort.TCP, OWNER, (self.backend("db", upstream.endpoint),)))
        talking = await self.dial()
        await self.say(talking, b"x")
        flood = [await self.dial() for _ in range(60)]
        await self.until(lambda: sum(one.lost is not None for one in flood) >= 40)
        await self.say(talking, b"y")
        late = await self.dial()
        await self.say(late, b"z")
        self.assertLessEqual(len(self.channels), 20)
