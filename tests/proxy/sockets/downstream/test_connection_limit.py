"""The limit of connections, on real listeners."""

from __future__ import annotations

import socket
from typing import Any

from ingress.proxy.transport.accepting import join
from ingress.proxy.transport.connection_limit import ConnectionLimit
from ingress.proxy.transport.epoll.pipes import Pipes
from tests.fakes.bodies import MEGABYTE, digest_of
from tests.fakes.peers.upstreams import OK
from tests.proxy.sockets.sockets_case import SocketsCase


class ConnectionLimitTests(SocketsCase):
    """Four connections, on all listeners together."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Start, with a limit."""
        await super().setUp()
        self.upstream.on_request = lambda wire: wire.write(OK)
        self.site.connections.limit = ConnectionLimit(
            self.site.connections.all, 4, self.deadlines, self.metrics.connections
        )
        for port in (self._plain, self._secure):
            join(self.site.connections.limit, port)
        self.sockets: list[Any] = []

    def ask(self) -> socket.socket:
        """Open a connection that has asked for something before anybody can find it silent."""
        sock = socket.create_connection(("127.0.0.1", self._plain.getHost().port))
        self.addCleanup(sock.close)
        sock.sendall(b"GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n")
        return sock

    async def test_limit(self) -> None:
        """The fifth waits, unrefused, and is served when one of the others has left."""
        asked: list[Any] = []
        self.upstream.on_request = asked.append
        clients = [self.ask() for _ in range(6)]
        for count in (4, 5, 6):
            await self.until(lambda least=count: len(asked) >= least)  # type: ignore[misc]
            await self.turns(20)
            # What is under way is never cut, however long it takes.
            self.assertEqual((len(self.channels), len(asked)), (4, count))
            asked[count - 4].write(OK)
        for wire in asked[3:]:
            wire.write(OK)
        await self.until(lambda: not self.channels)
        self.assertEqual({client.recv(12) for client in clients}, {b"HTTP/1.1 200"})

    async def test_flood(self) -> None:
        """Many at once are no more than there may be, and none is lost."""
        host, port = "127.0.0.1", self._plain.getHost().port
        for _ in range(40):
            sock = socket.create_connection((host, port))
            self.addCleanup(sock.close)
            self.sockets.append(sock)
        await self.until(lambda: len(self.channels) == 4)
        await self.turns(20)
        self.assertLessEqual(len(self.channels), 4)
        for sock in self.sockets:
            sock.close()
        client = await self.connect()
        client.get()
        await self.whole(client)
        self.assertEqual(client.answers[0].status, 200)


class ConnectionLimitTestsOnEpoll(ConnectionLimitTests):
    """The same on the epoll set."""

    use_epoll = True


class LeftTests(SocketsCase):
    """Clients that left while their endpoint thinks, more of them than there may be connections."""

    async def test_they_make_room(self) -> None:
        """None of them keeps a newcomer out, nor its place at the endpoint; each has its 499."""
        self.upstream.on_request = lambda wire: None
        self.site.connections.limit = ConnectionLimit(
            self.site.connections.all, 200, self.deadlines, self.metrics.connections
        )
        for port in (self._plain, self._secure):
            join(self.site.connections.limit, port)
        host, port = "127.0.0.1", self._plain.getHost().port
        request = b"GET /slow HTTP/1.1\r\nHost: app.test\r\n\r\n"
        for count in range(1, 301):
            sock = socket.create_connection((host, port))
            self.addCleanup(sock.close)
            sock.sendall(request)
            await self.until(lambda least=count: self.upstream.requests >= least)  # type: ignore[misc]
            # It stays open: all that the proxy is told is that it says no more.
            sock.shutdown(socket.SHUT_WR)
        await self.until(lambda: not self.channels)
        await self.until(lambda: not any(wire.heads for wire in self.upstream.open_wires))
        self.upstream.on_request = lambda wire: wire.write(OK)
        client = await self.connect()
        client.get()
        await self.whole(client)
        self.assertEqual(client.answers[0].status, 200)
        self.access_log.flush()
        await self.until(lambda: b"".join(self.lines).count(b"\n") == 301)
        self.assertEqual(b"".join(self.lines).count(b' "/slow" 499 0 '), 300)


class LeftTestsOnEpoll(LeftTests):
    """The same on the epoll set."""

    use_epoll = True


class PipeTests(SocketsCase):
    """Bodies for which there is no pipe."""

    use_epoll = True
    can_splice = True

    async def test_copied(self) -> None:
        """They are copied, and arrive as well."""
        network: Any = self.network
        network.epoll_set.pipes = Pipes(0)
        self.upstream.on_request = lambda wire: wire.stream(8 * MEGABYTE, False)
        client = await self.connect()
        client.get()
        await self.whole(client)
        self.assertEqual(client.answers[0].digest, digest_of(8 * MEGABYTE))

    async def test_slow_reader(self) -> None:
        """Who takes nothing of a body that the kernel moves is cut when its time is over."""
        self.upstream.on_request = lambda wire: wire.stream(64 * MEGABYTE, False)
        client = await self.connect()
        client.transport.pauseProducing()
        client.get()
        await self.until(lambda: self.channels and self.channels[0].sending.is_copying)
        (channel,) = self.channels
        await self.turns(50)
        self.deadlines.tick()
        await self.turns(50)
        self.deadlines.tick()
        self.assertGreater(channel.sending.progress.unsent, 0)
        self.assertEqual(self.channels, [channel])
        await self.until_cut(channel.sending.progress)

    async def test_silent_upstream(self) -> None:
        """An upstream that stops in the middle of such a body is to blame, and not the reader."""
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (64 * MEGABYTE)
        self.upstream.on_request = lambda wire: wire.write(head + bytes(MEGABYTE))
        client = await self.connect()
        client.get()
        await self.until(lambda: self.channels and self.channels[0].sending.is_copying)
        await self.turns(50)
        (channel,) = self.channels
        for _ in range(3):
            self.deadlines.tick()
        self.assertEqual(channel.sending.progress.unsent, 0)
        (connection,) = self.pool.connections
        connection.deadline = 0.0
        self.deadlines.tick()
        await self.until(lambda: client.lost and not self.channels)
        self.assertFalse(client.answers and client.answers[0].whole)
