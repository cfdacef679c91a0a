"""Nothing of a sub-request outlives it, however it ends: no cycle that only a collector would find."""

from __future__ import annotations

from random import Random

from attrs import evolve
from twisted.internet.defer import CancelledError

from ingress.model.exchanges.sub_requests import SubAnswer, SubRequest, SubRequestFailed
from ingress.proxy.exchange.sub_requests.sub_requests import SubRequests
from ingress.proxy.upstream.rotation import Rotations
from tests.proxy.leftovers_case import LAST_OK, LeftoversCase, Peer, on_all_networks
from tests.proxy.sockets.sockets_case import PATIENCE


class SubRequestTests(LeftoversCase):
    """Sub-requests to the test's own endpoint."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Start."""
        await super().setUp()
        rotations = Rotations(self.reactor, self.deadlines, self.metrics, Random(1))
        self.sub_requests = SubRequests(
            self.pool, self.deadlines, self.metrics.sub_requests, rotations, self.resource.rotation_of
        )
        self.request = SubRequest(
            f"http://127.0.0.1:{self.endpoint.port}/",
            method=b"POST",
            body=b"a",
            seconds=PATIENCE,
            is_trusted=True,
        )
        self.short = evolve(self.request, seconds=0.05)
        """One that is over soon, where nobody answers: on a busy machine even before it has come."""

    def request_for(self, said: bytes) -> SubRequest:
        """Return the request that is answered with *said*."""
        return self.request if said else self.short

    async def arrived(self) -> Peer:
        """Return the connection on which a request came, or was to come."""
        backend = await self.accepted()
        await self.until(lambda: backend.has(b"\r\n\r\n") or backend.is_over)
        return backend

    async def over(self, backend: Peer) -> None:
        """Wait until the proxy has left."""
        await self.until(backend.ended)
        backend.close()

    async def test_answers(self) -> None:
        """Answers that are good, too large, cut short, or too late."""

        async def play() -> None:
            for said in (
                LAST_OK,
                b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
                b"",
            ):
                asked = self.sub_requests.ask(self.request_for(said))
                backend = await self.arrived()
                backend.say(said)
                if b"Length: 9" in said:
                    backend.finish()
                try:
                    await asked
                except SubRequestFailed:
                    self.assertNotEqual(said, LAST_OK)
                del asked
                await self.over(backend)

        await self.nothing_is_left(play)

    async def test_then(self) -> None:
        """What is made of answers, of failures, and by who raises; listened to, awaited, and not wanted any more."""

        def made(heard: SubAnswer | SubRequestFailed) -> int:
            return heard.status if isinstance(heard, SubAnswer) else 0

        def failing(heard: object) -> int:
            raise ValueError("a test")

        async def play() -> None:
            for then, said in ((made, LAST_OK), (made, b""), (failing, LAST_OK)):
                heard: list[object] = []
                pending = self.sub_requests.ask_then(self.request_for(said), then)
                pending.listen(heard.append, lambda error, heard=heard: heard.append(str(error)))  # type: ignore[misc]
                backend = await self.arrived()
                backend.say(said)
                await self.until(lambda heard=heard: bool(heard))  # type: ignore[misc]
                del pending, heard
                await self.over(backend)
            pending = self.sub_requests.ask_then(self.request, made)
            backend = await self.arrived()
            backend.say(LAST_OK)
            self.assertEqual(await pending, 200)
            del pending
            await self.over(backend)
            pending = self.sub_requests.ask_then(self.request, made)
            backend = await self.arrived()
            pending.cancel()
            del pending
            await self.over(backend)

        await self.nothing_is_left(play)

    async def test_cancelled(self) -> None:
        """Sub-requests that nobody waits for any more, and mirrors, for which nobody ever did."""

        async def play() -> None:
            asked = self.sub_requests.ask(self.request)
            backend = await self.arrived()
            asked.addErrback(lambda failure: failure.trap(CancelledError))
            asked.cancel()
            del asked
            await self.over(backend)
            for said in (LAST_OK, b""):
                self.sub_requests.tell(self.request_for(said))
                backend = await self.arrived()
                backend.say(said)
                await self.over(backend)

        await self.nothing_is_left(play)


on_all_networks(globals())
