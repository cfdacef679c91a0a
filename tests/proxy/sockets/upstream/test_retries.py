"""Endpoints on real sockets that drop requests, die under load and come back."""

from __future__ import annotations

from collections import Counter

from tests.fakes.peers.downstreams import DownstreamWire
from tests.fakes.peers.upstreams import OK, Upstream, UpstreamWire
from tests.fakes.processes import free_port
from tests.proxy.sockets.sockets_case import SocketsCase

CLIENTS = 8


class TwoEndpointsCase(SocketsCase):
    """Two endpoints behind every path."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Listen a second time."""
        await super().setUp()
        self.other = Upstream(self.reactor)
        self.publish(self.upstream.endpoint, self.other.listen(free_port()))
        self.addCleanup(lambda: self.other.stop())


class DroppedRequestTests(TwoEndpointsCase):
    """One of two endpoints reads each request and ends the connection."""

    async def drop(self, method: bytes, end: str) -> tuple[Counter[int], int]:
        """Send forty requests; the statuses, and how many requests the endpoints have seen."""
        self.upstream.on_request = lambda wire: getattr(wire, end)()
        client = await self.connect()
        for _ in range(40):
            client.transport.write(b"%b / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi" % method)
            await self.whole(client)
        return Counter(each.status for each in client.answers), self.upstream.requests + self.other.requests

    async def test_idempotent(self) -> None:
        """Requests that may be repeated all succeed, by at most one further attempt on the other endpoint."""
        for method in (b"GET", b"OPTIONS", b"PUT", b"DELETE"):
            for end in ("close", "reset"):
                before = self.upstream.requests + self.other.requests
                statuses, seen = await self.drop(method, end)
                self.assertEqual(statuses, {200: 40})
                self.assertEqual(seen - before, 60)

    async def test_others(self) -> None:
        """Of all others those that were dropped get 502, and each is seen exactly once."""
        for method in (b"POST", b"PATCH"):
            for end in ("close", "reset"):
                before = self.upstream.requests + self.other.requests
                statuses, seen = await self.drop(method, end)
                self.assertEqual(statuses, {200: 20, 502: 20})
                self.assertEqual(seen - before, 40)


class DeathTests(TwoEndpointsCase):
    """An endpoint that dies under load, and comes back."""

    first_ejection = 0.5

    def keep_asking(self, client: DownstreamWire) -> None:
        """Have *client* send a GET whenever it has its answer."""
        self.reactor.callLater(0, self._ask, client, 0)

    def _ask(self, client: DownstreamWire, answered: int) -> None:
        if len(client.answers) == answered and (not answered or client.answers[-1].whole):
            if self.is_over:
                self.at_rest += 1
                return
            client.get()
            answered += 1
        self.reactor.callLater(0.004, self._ask, client, answered)

    async def test_no_request_is_lost(self) -> None:
        """Under load no GET fails when an endpoint is killed, stays away, and is started again."""
        self.is_over = False
        self.at_rest = 0
        clients = [await self.connect() for _ in range(CLIENTS)]
        for client in clients:
            self.keep_asking(client)
        await self.until(lambda: self.other.requests > 50)
        where = self.other.endpoint
        stopped = self.other.stop()
        if stopped is not None:
            await stopped
        answered = sum(len(client.answers) for client in clients)
        await self.until(lambda: sum(len(client.answers) for client in clients) > answered + 200)
        self.assertIn(b"ingress_endpoints_ejected 1.0", self.metrics.render())
        again = Upstream(self.reactor)
        again.listen(where.port)
        self.addCleanup(lambda: again.stop())
        await self.until(lambda: again.requests > 20)
        self.is_over = True
        await self.until(lambda: self.at_rest == CLIENTS)
        statuses = Counter(answer.status for client in clients for answer in client.answers)
        self.assertEqual(set(statuses), {200})
        self.assertIn(b"ingress_endpoints_ejected 0.0", self.metrics.render())

    async def test_all_down(self) -> None:
        """With all endpoints down each request has its 502 at once, and the first one after a return succeeds."""
        where = self.other.endpoint
        for each in (self.upstream, self.other):
            stopped = each.stop()
            if stopped is not None:
                await stopped
        client = await self.connect()
        # Nothing that waits for a time would come to an end.
        self.deadlines.stop()
        for _ in range(20):
            client.get()
            await self.whole(client)
        self.deadlines.start()
        self.assertEqual({answer.status for answer in client.answers}, {502})
        again = Upstream(self.reactor)
        again.listen(where.port)
        self.addCleanup(lambda: again.stop())
        for _ in range(5):
            client.get()
            await self.whole(client)
        self.assertEqual([answer.status for answer in client.answers[20:]], [200] * 5)

    async def test_rollout(self) -> None:
        """No request fails when all endpoints are replaced, each being drained before it goes."""
        self.is_over = False
        self.at_rest = 0
        clients = [await self.connect() for _ in range(CLIENTS)]
        for client in clients:
            self.keep_asking(client)
        old = [self.upstream, self.other]
        new: list[Upstream] = []
        for _ in range(2):
            fresh = Upstream(self.reactor, self.answer_late)
            new.append(fresh)
            fresh.listen()
            gone = old.pop()
            self.publish(*(each.endpoint for each in [*old, *new]))
            asked = gone.requests
            await self.until(lambda fresh=fresh: fresh.requests > 30)  # type: ignore[misc]
            # What was under way may still have arrived; nothing new did.
            self.assertLessEqual(gone.requests - asked, CLIENTS)
            stopped = gone.stop()
            if stopped is not None:
                await stopped
            self.addCleanup(lambda fresh=fresh: fresh.stop())  # type: ignore[misc]
        self.is_over = True
        await self.until(lambda: self.at_rest == CLIENTS)
        statuses = Counter(answer.status for client in clients for answer in client.answers)
        self.assertEqual(set(statuses), {200})

    def answer_late(self, wire: UpstreamWire) -> None:
        """Answer a moment later, so that something is always under way."""
        self.reactor.callLater(0.002, lambda: wire.write(OK) if wire.lost is None else None)


class RefusalTests(TwoEndpointsCase):
    """Endpoints that nobody listens at."""

    async def test_post_goes_elsewhere(self) -> None:
        """A POST is sent to the other endpoint when one refuses connections: nothing was sent."""
        stopped = self.other.stop()
        if stopped is not None:
            await stopped
        client = await self.connect()
        for _ in range(10):
            client.post(b"once")
            await self.whole(client)
        self.assertEqual({answer.status for answer in client.answers}, {200})
        self.assertEqual(self.upstream.requests, 10)
