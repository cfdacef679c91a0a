"""Nothing of a connection start, or of a tunnel that follows it, outlives it, whatever becomes of it: no cycle that only a collector would find.

Each test is played on both networks, as all such.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingress.http.forwarding import TrustedProxies
from ingress.model.network.streams import StreamSort
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.proxy.listening.connection_factories import StreamFactory
from ingress.proxy.listening.connection_starts import ConnectionStartRules
from ingress.routing.route import Match, Route
from ingress.routing.streams import StreamRoute, StreamTable
from ingress.routing.table import RouteTable
from ingress.routing.variants import WeightedBackend
from tests.fakes.processes import free_port
from tests.proxy.leftovers_case import (
    GET,
    LAST_OK,
    LeftoversCase,
    Peer,
    on_all_networks,
)
from tests.proxy.sockets.sockets_case import ANY_PATH
from tests.tls.hellos import openssl_hello

VAULT = BackendReference("demo", "vault", 443)


class PassthroughTests(LeftoversCase):
    """TLS that passes through."""

    rules = ConnectionStartRules(passes_tls=True)

    async def setUp(self) -> None:  # type: ignore[override]
        """Have ``vault.test`` lead to the test."""
        await super().setUp()
        self.lead_to(self.endpoint)

    def lead_to(self, *endpoints: Endpoint) -> None:
        """Make these the endpoints of ``vault.test``."""
        route = Route("vault.test", "/", Match.PREFIX, ANY_PATH.owner, VAULT, passthrough=VAULT)
        self.resource.publish(RouteTable([ANY_PATH, route]), {VAULT: BackendState(endpoints)})

    async def test_tunnel(self) -> None:
        """A tunnel, ended by either side in either way."""
        hello = openssl_hello(b"vault.test")

        async def play() -> None:
            for by_client in (True, False):
                for end in (Peer.close, Peer.reset, Peer.finish):
                    client = self.dial(self._secure)
                    client.say(hello)
                    backend = await self.accepted()
                    await self.until(lambda: backend.has(hello))  # noqa: B023 - it is awaited here
                    backend.say(b"and back")
                    await self.until(lambda: client.has(b"back"))  # noqa: B023
                    first, second = (client, backend) if by_client else (backend, client)
                    end(first)
                    await self.until(second.ended)
                    client.close()
                    backend.close()
                    await self.until(lambda: not self.channels)

        await self.nothing_is_left(play)

    async def test_no_endpoint(self) -> None:
        """Nobody is there to pass it to."""
        gone = Endpoint("127.0.0.1", free_port())
        hello = openssl_hello(b"vault.test")

        async def play() -> None:
            for endpoints in ((), (gone,)):
                self.lead_to(*endpoints)
                client = self.dial(self._secure)
                client.say(hello)
                await self.until(client.ended)
                client.close()

        await self.nothing_is_left(play)

    async def test_undecided(self) -> None:
        """A ClientHello that never comes to its end, one that is none, and one for another name."""
        hello = openssl_hello(b"vault.test")

        async def play() -> None:
            for first in (b"", hello[:50], bytes(100), openssl_hello(b"app.test")):
                for end in (Peer.close, Peer.reset):
                    client = self.dial(self._secure)
                    client.say(first)
                    await self.turns(3)
                    end(client)
                    await self.until(lambda: not self.channels)
            client = self.dial(self._secure)
            await self.until(lambda: self.channels)
            for connection_start in self.channels:
                connection_start.expire()
            await self.until(client.ended)
            client.close()

        await self.nothing_is_left(play)


class StreamTests(LeftoversCase):
    """Streams of TCP, and of TLS that is terminated here."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Listen for TCP, too; everything leads to the test."""
        await super().setUp()
        self.tcp: Any = await self.network.listen(
            "tcp:0:interface=127.0.0.1",
            self.site,
            None,
            new_factory=lambda site, secure: StreamFactory(site, self.network.connect),
        )
        self.addCleanup(self.tcp.stopListening)
        self.lead_to(self.endpoint)

    def lead_to(self, *endpoints: Endpoint) -> None:
        """Make these the endpoints of all streams."""
        weighted = (WeightedBackend(VAULT),)
        routes = [
            StreamRoute("", StreamSort.TCP, ANY_PATH.owner, weighted, sends_header=True),
            StreamRoute("app.test", StreamSort.TERMINATED, ANY_PATH.owner, weighted),
        ]
        self.resource.publish(RouteTable(), {VAULT: BackendState(endpoints)}, StreamTable(routes))

    async def talk(self, client: Peer, by_client: bool, end: Callable[[Peer], None]) -> None:
        """Say something both ways, and have one side end it."""
        client.say(b"hello")
        backend = await self.accepted()
        await self.until(lambda: backend.has(b"hello"))
        backend.say(b"and back")
        await self.until(lambda: client.has(b"back"))
        first, second = (client, backend) if by_client else (backend, client)
        end(first)
        await self.until(second.ended)
        client.close()
        backend.close()
        await self.until(lambda: not self.channels)

    async def test_tcp(self) -> None:
        """A stream of TCP, ended by either side in either way, and one that never said anything."""

        async def play() -> None:
            for by_client in (True, False):
                for end in (Peer.close, Peer.reset, Peer.finish):
                    await self.talk(self.dial(self.tcp), by_client, end)
            silent = self.dial(self.tcp)
            backend = await self.accepted()
            silent.reset()
            await self.until(backend.ended)
            backend.close()
            await self.until(lambda: not self.channels)

        await self.nothing_is_left(play)

    async def test_terminated(self) -> None:
        """What TLS carried, ended by either side; a handshake that breaks off, and one that takes too long."""
        hello = openssl_hello(b"app.test")

        async def play() -> None:
            for by_client in (True, False):
                for end in (Peer.close, Peer.reset):
                    await self.talk(await self.dial_tls(), by_client, end)
            for end in (Peer.close, Peer.reset):
                client = self.dial(self._secure)
                client.say(hello)
                await self.until(lambda: self.channels)
                await self.turns(3)
                end(client)
                await self.until(lambda: not self.channels)
            client = self.dial(self._secure)
            client.say(hello)
            await self.turns(5)
            for tunnel in self.channels:
                tunnel.expire()
            await self.until(client.ended)
            client.close()

        await self.nothing_is_left(play)

    async def test_nowhere(self) -> None:
        """Streams that lead nowhere, or to nobody."""
        gone = Endpoint("127.0.0.1", free_port())

        async def play() -> None:
            for endpoints in ((), (gone,)):
                self.lead_to(*endpoints)
                for client in (self.dial(self.tcp), await self.dial_tls()):
                    await self.until(client.ended)
                    client.close()
            self.resource.publish(RouteTable(), {})
            client = self.dial(self.tcp)
            await self.until(client.ended)
            client.close()

        await self.nothing_is_left(play)


class ProxyHeaderTests(LeftoversCase):
    """Connections that begin with a PROXY header."""

    rules = ConnectionStartRules(load_balancers=TrustedProxies(["127.0.0.0/8"]))

    async def test_header(self) -> None:
        """A header, and then a request; half a header; none at all."""
        header = b"PROXY TCP4 192.0.2.7 198.51.100.1 50000 8443\r\n"

        async def play() -> None:
            client = self.dial()
            client.say(header + GET)
            backend = await self.accepted()
            await self.until(lambda: backend.has(b"\r\n\r\n"))
            backend.say(LAST_OK)
            await self.until(lambda: client.has(b"ok"))
            client.close()
            backend.close()
            for first in (b"", header[:20], GET):
                client = self.dial()
                client.say(first)
                await self.turns(3)
                client.close()
                await self.until(lambda: not self.channels)

        await self.nothing_is_left(play)


on_all_networks(globals())
