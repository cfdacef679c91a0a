"""An endpoint on a real socket whose system makes connections for it, and which never reads: a process that is stopped."""

from __future__ import annotations

import socket

from attrs import evolve

from ingress.model.serving.limits import AskedTimeouts
from ingress.model.upstream.backends import BackendState, Endpoint
from ingress.routing.table import RouteTable
from tests.fakes.peers.downstreams import DownstreamWire
from tests.proxy.sockets.sockets_case import ANY_PATH, APP, SocketsCase


class FrozenTests(SocketsCase):
    """One that is frozen beside one that answers."""

    async def test_ejected(self) -> None:
        """Requests that it got are answered by the other, and no more are sent to it after three of them."""
        with socket.create_server(("127.0.0.1", 0)) as frozen:
            route = evolve(ANY_PATH, timeouts=AskedTimeouts(read_seconds=1.0))
            endpoints = (Endpoint(*frozen.getsockname()), self.upstream.endpoint)
            self.resource.publish(RouteTable([route]), {APP: BackendState(endpoints)})
            await self.all_answered(6)
            self.assertIn("ingress_endpoint_ejections_total 1", self.metrics.render().decode())
            # From here on nobody waits for it, whatever the clock does.
            asked = self.upstream.requests
            clients = [await self.asking() for _ in range(6)]
            await self.until(lambda: self.upstream.requests == asked + 6)
            for client in clients:
                await self.until(lambda one=client: one.answers)  # type: ignore[misc]

    async def all_answered(self, count: int) -> None:
        """Ask as often at once, and wait for the answers."""
        for client in [await self.asking() for _ in range(count)]:
            await self.until(lambda one=client: one.answers)  # type: ignore[misc]
            self.assertEqual(client.answers[0].status, 200)

    async def asking(self) -> DownstreamWire:
        """Send a request on a connection of its own."""
        client = await self.connect()
        client.get()
        return client


class FrozenTestsOnEpoll(FrozenTests):
    """The same on the epoll set."""

    use_epoll = True
