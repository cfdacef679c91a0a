"""Nothing of a connection start, or of a tunnel that follows it, outlives it, whatever becomes of it: no cycle that only a collector would find.

Each test is played on both networks, as all such.
"""

from __future__ import annotations

import socket

from ingress.http.forwarding import TrustedProxies
from ingress.model.backends import BackendReference, BackendState, Endpoint
from ingress.proxy.listening.connection_starts import ConnectionStartRules
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
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
        with socket.create_server(("127.0.0.1", 0)) as closed:
            gone = Endpoint("127.0.0.1", closed.getsockname()[1])
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
