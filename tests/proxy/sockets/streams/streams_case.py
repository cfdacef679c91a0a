"""What tests of streams through real sockets have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.error import ConnectError, ConnectionDone

from ingress.http.forwarding import TrustedProxies
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.proxy.listening.connection_factories import StreamFactory
from ingress.proxy.listening.connection_starts import ConnectionStartRules
from ingress.routing.streams import StreamRoute, StreamTable
from ingress.routing.table import RouteTable
from ingress.routing.variants import WeightedBackend
from tests.fakes.raw_wires import RawUpstream, RawWire
from tests.proxy.raw_case import RawCase
from tests.proxy.sockets.sockets_case import ANY_PATH, APP

OWNER = Owner(Kind("TCPRoute"), ObjectKey("demo", "db"))


def echo(wire: RawWire, received: bytes) -> None:
    """Answer with what was said."""
    wire.transport.write(received)


class StreamsCase(RawCase):
    """Backends of bytes, by name, and routes to them."""

    left = -1
    """Bytes that a wire had to send when it was last looked at."""
    header = False
    """Whether the TCP listener reads a PROXY header."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Listen on TCP, too."""
        await super().setUp()
        self.backends: dict[BackendReference, BackendState] = {APP: BackendState((self.upstream.endpoint,))}
        self.tcp: Any = await self.network.listen(
            "tcp:0:interface=127.0.0.1",
            self.site,
            None,
            ConnectionStartRules(TrustedProxies(["127.0.0.0/8"]) if self.header else None),
            lambda site, secure: StreamFactory(site, self.network.connect),
        )
        self.addCleanup(self.tcp.stopListening)

    def backend(self, name: str, *endpoints: Endpoint, weight: int = 1) -> WeightedBackend:
        """Return a share of the backend *name*, which has these endpoints."""
        reference = BackendReference("demo", name, 1)
        self.backends[reference] = BackendState(endpoints)
        return WeightedBackend(reference, weight)

    def raw_upstream(self, on_data: Callable[[RawWire, bytes], object] | None = echo) -> RawUpstream:
        """Listen for bytes."""
        upstream = RawUpstream(self.reactor, on_data)
        self.addCleanup(upstream.stop)
        return upstream

    def lead(self, *routes: StreamRoute) -> None:
        """Publish *routes* beside those of requests."""
        self.resource.publish(RouteTable([ANY_PATH]), dict(self.backends), StreamTable(routes))

    async def dial(self) -> RawWire:
        """Connect to the TCP listener."""
        return await self.open(self.tcp, RawWire())

    async def is_reset(self, said: bytes = b"") -> bool:
        """Connect to the TCP listener, say something, and return whether the connection was reset, rather than answered."""
        try:
            client = await self.dial()
        except ConnectError:
            return True
        client.transport.write(said)
        await self.until(lambda: client.received or client.lost)
        if client.lost is not None:
            self.assertNotIsInstance(client.lost, ConnectionDone)
        return not client.received

    async def say(self, wire: RawWire, octets: bytes) -> None:
        """Say something, and wait until it comes back."""
        wire.received.clear()
        wire.transport.write(octets)
        await self.until(lambda: len(wire.received) >= len(octets))
        self.assertEqual(wire.received, octets)
