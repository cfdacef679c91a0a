"""Upstreams on real sockets that close, reset, cut, lie and refuse."""

from __future__ import annotations

import socket
from functools import partial
from operator import methodcaller

from twisted.internet.error import ConnectionDone

from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.limits import KEPT_SECONDS, MAX_UPSTREAM_IDLE
from ingress.proxy.upstream.connection import UpstreamConnection
from tests.fakes.peers.upstreams import OK, UpstreamWire
from tests.proxy.sockets.sockets_case import SocketsCase

ROUNDS = 400


def answer_and_close(wire: UpstreamWire) -> None:
    """Answer as if the connection stayed, and close it."""
    wire.write(OK)
    wire.close()


class IdleCloseTests(SocketsCase):
    """An upstream that closes its connections right after answering, and says nothing of it."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Close after each answer."""
        await super().setUp()
        self.upstream.on_request = answer_and_close

    async def test_get(self) -> None:
        """No GET in a row of many fails."""
        client = await self.connect()
        for _ in range(ROUNDS):
            client.get()
            await self.whole(client)
        self.assertEqual([answer.status for answer in client.answers], [200] * ROUNDS)

    async def test_post(self) -> None:
        """No POST fails either, and none is sent twice, though each close is a little late."""

        def answer_and_close_late(wire: UpstreamWire) -> None:
            wire.write(OK)
            self.reactor.callLater(0.0005, wire.close)

        self.upstream.on_request = answer_and_close_late
        client = await self.connect()
        for _ in range(ROUNDS):
            client.post(b"once")
            await self.whole(client)
        self.assertEqual([answer.status for answer in client.answers], [200] * ROUNDS)
        self.assertEqual(self.upstream.requests, ROUNDS)

    async def test_crowd(self) -> None:
        """GETs of many connections at once do not fail either."""
        clients = [await self.connect() for _ in range(20)]
        for count in range(1, 11):
            for client in clients:
                client.get()
            for client in clients:
                await self.whole(client, count)
        self.assertEqual({answer.status for client in clients for answer in client.answers}, {200})
        self.assertEqual(sum(len(client.answers) for client in clients), 200)


class FullPoolTests(SocketsCase):
    """More idle connections than are kept."""

    async def test_which_stay(self) -> None:
        """The oldest stays as a proof, the newest for the next request; one between them goes."""
        waiting: list[UpstreamWire] = []
        self.upstream.on_request = waiting.append
        for client in [await self.connect() for _ in range(MAX_UPSTREAM_IDLE + 1)]:
            client.get()
        await self.until(lambda: len(waiting) == MAX_UPSTREAM_IDLE + 1)
        for begin, end in ((0, 1), (1, 2), (2, 3), (3, MAX_UPSTREAM_IDLE), (MAX_UPSTREAM_IDLE, None)):
            for wire in waiting[begin:end]:
                wire.write(OK)
            await self.until(partial(self.has_answers, end or len(waiting)))
        await self.until(lambda: len(self.upstream.open_wires) == MAX_UPSTREAM_IDLE)
        self.assertEqual([wire.lost is None for wire in waiting[:3]], [True, False, True])
        self.clients[0].get()
        await self.until(lambda: len(waiting) == MAX_UPSTREAM_IDLE + 2)
        self.assertIs(waiting[-1], waiting[MAX_UPSTREAM_IDLE])

    def has_answers(self, count: int) -> bool:
        """Whether so many answers came, on all connections together."""
        return sum(len(client.answers) for client in self.clients) == count


class LossTests(SocketsCase):
    """Connections that break before the answer."""

    async def test_reset_of_a_new_connection(self) -> None:
        """A reset instead of an answer is a 502; the next request is served."""
        self.upstream.on_request = lambda wire: wire.reset()
        client = await self.connect()
        client.get()
        await self.whole(client)
        self.upstream.on_request = lambda wire: wire.write(OK)
        client.get()
        await self.whole(client)
        self.assertEqual([answer.status for answer in client.answers], [502, 200])

    async def test_reset_of_a_used_connection(self) -> None:
        """A connection that breaks when it is used again costs a GET nothing."""

        def only_first(wire: UpstreamWire) -> None:
            if len(wire.heads) == 1:
                wire.write(OK)
            else:
                wire.reset()

        self.upstream.on_request = only_first
        client = await self.connect()
        for _ in range(2):
            client.get()
            await self.whole(client)
        self.assertEqual([answer.status for answer in client.answers], [200, 200])
        self.assertEqual([len(wire.heads) for wire in self.upstream.wires], [2, 1])

    async def test_post_on_a_kept_connection(self) -> None:
        """An upstream that keeps its connections gets its POSTs on them."""
        for count in (2, 1):
            clients = [await self.connect() for _ in range(count)]
            for client in clients:
                client.get()
            for client in clients:
                await self.whole(client, 1)
            for connection in self.pool.connections:
                assert isinstance(connection, UpstreamConnection)
                # As if the first ones had been idle for so long.
                connection.idle_since -= KEPT_SECONDS if count == 2 else 0
        client.post(b"again")
        await self.whole(client)
        self.assertEqual(client.answers[1].status, 200)
        self.assertEqual(len(self.upstream.wires), 2)

    async def test_refused(self) -> None:
        """An endpoint that refuses is passed over for one that does not; alone it is a 502."""
        with socket.socket() as taken:
            # Bound and not listening: nobody else can have the port, and it refuses.
            taken.bind(("127.0.0.1", 0))
            refusing = Endpoint(*taken.getsockname())
            serving = self.upstream.endpoint
            client = await self.connect()
            self.publish(refusing, serving)
            for _ in range(4):
                client.get()
                await self.whole(client)
            self.publish(refusing)
            client.get()
            await self.whole(client)
        self.assertEqual([answer.status for answer in client.answers], [200, 200, 200, 200, 502])

    async def test_unasked_answer(self) -> None:
        """What an idle connection sends is nobody's answer."""
        client = await self.connect()
        client.get()
        await self.whole(client)
        self.upstream.wires[0].write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")
        await self.until(lambda: self.upstream.wires[0].lost)
        client.get()
        await self.whole(client)
        self.assertEqual([answer.body for answer in client.answers], [b"ok", b"ok"])


class CutTests(SocketsCase):
    """Answers that are not whole, and downstream must see it."""

    async def cut(self, start: bytes, reset: bool, version: bytes = b"1.1") -> tuple[bytes, bool, bool]:
        """Fetch an answer that breaks off; return its framing, if it seems whole, if the end was regular."""

        def answer(wire: UpstreamWire) -> None:
            wire.write(b"HTTP/1.1 200 OK\r\n" + start)
            if not reset:
                wire.close()

        self.upstream.on_request = answer
        client = await self.connect()
        client.send(b"GET / HTTP/%b\r\nHost: app.test\r\n\r\n" % version)
        if reset:
            await self.until(lambda: client.answers and client.answers[0].size)
            self.upstream.wires[-1].reset()
        await self.until(lambda: client.lost)
        (seen,) = client.answers
        self.assertEqual((seen.status, seen.body), (200, b"begin"))
        return seen.framing, seen.whole, isinstance(client.lost, ConnectionDone)

    async def test_length(self) -> None:
        """A body shorter than its length stays shorter, and the connection ends."""
        for reset in (False, True):
            framing, whole, _ = await self.cut(b"Content-Length: 50\r\n\r\nbegin", reset)
            self.assertEqual((framing, whole), (b"length", False))

    async def test_chunked(self) -> None:
        """A chunked body without its last chunk gets none on its way."""
        for reset in (False, True):
            framing, whole, _ = await self.cut(b"Transfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\n", reset)
            self.assertEqual((framing, whole), (b"chunked", False))

    async def test_until_close(self) -> None:
        """A body that ends with its connection is chunked on its way: whole after a close, cut by a reset."""
        self.assertEqual(await self.whole_or_cut(reset=False), True)
        self.assertEqual((await self.cut(b"\r\nbegin", reset=True))[:2], (b"chunked", False))

    async def whole_or_cut(self, reset: bool) -> bool:
        """Fetch a body that ends with its connection."""

        def answer(wire: UpstreamWire) -> None:
            wire.write(b"HTTP/1.1 200 OK\r\n\r\nbegin")
            wire.close()

        self.upstream.on_request = answer
        client = await self.connect()
        client.get()
        await self.whole(client)
        return client.answers[0].whole and client.answers[0].body == b"begin"

    async def test_old_downstream(self) -> None:
        """HTTP/1.0 has no chunks, so that only a reset can say that a body is cut."""
        start = b"Transfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\n"
        framing, _, regular = await self.cut(start, reset=True, version=b"1.0")
        self.assertEqual((framing, regular), (b"until close", False))

    async def test_longer_than_its_length(self) -> None:
        """What goes beyond the length is dropped with the connection that it came on."""
        self.upstream.on_request = lambda wire: wire.write(
            OK + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
        )
        client = await self.connect()
        for _ in range(2):
            client.get()
            await self.whole(client)
        self.assertEqual([answer.body for answer in client.answers], [b"ok", b"ok"])
        self.assertEqual(len(self.upstream.wires), 2)

    async def test_nonsense(self) -> None:
        """What is no HTTP answer is a 502, and of it nothing goes downstream."""
        for nonsense in (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nhi"):
            self.upstream.on_request = methodcaller("write", nonsense)
            client = await self.connect()
            client.get()
            await self.whole(client)
            self.assertEqual(client.answers[0].status, 502)
            self.assertNotIn(b"SSH", client.answers[0].head + client.answers[0].body)
