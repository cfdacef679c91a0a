"""Nothing of a body that passes stages outlives its exchange, however it ends: no cycle that only a collector would find."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from ingress.annotations.answers.answer_rates import AnswerRate
from ingress.annotations.answers.compression import Coding, Compression
from ingress.model.upstream.backends import BackendState
from ingress.routing.table import RouteTable
from tests.proxy.leftovers_case import GET, LeftoversCase, Peer, on_all_networks
from tests.proxy.sockets.sockets_case import ANY_PATH, APP

PAGE = bytes(number * 7919 % 251 for number in range(40_000))
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(
    PAGE
)
ASK = GET.replace(b"\r\n\r\n", b"\r\nAccept-Encoding: gzip\r\n\r\n")
FILTERS = (AnswerRate(36 * 1024), Compression((Coding("gzip", 1, ("*",)),)))


class StageTests(LeftoversCase):
    """Answers that are compressed, and held to a pace."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Put the filters before the route."""
        await super().setUp()
        route = evolve(ANY_PATH, filters=FILTERS)
        self.resource.publish(RouteTable([route]), {APP: BackendState((self.endpoint,))})

    async def test_whole(self) -> None:
        """An answer that comes at once, and goes in its time."""

        async def play() -> None:
            client = await self.call()
            backend = await self.asked(client, ASK)
            backend.say(HEAD + PAGE)
            await self.until(lambda: client.has(b"\r\n0\r\n\r\n"))
            client.close()
            backend.close()

        await self.nothing_is_left(play)

    async def test_broken_off(self) -> None:
        """A client, or an endpoint, that leaves amid the body."""
        for leaves in (Peer.close, Peer.reset):
            for is_client in (True, False):

                async def play(leaves: Callable[[Peer], None] = leaves, is_client: bool = is_client) -> None:
                    client = await self.call()
                    backend = await self.asked(client, ASK)
                    backend.say(HEAD + PAGE[:-1])
                    await self.until(lambda: client.has(b"\r\n\r\n"))
                    leaves(client if is_client else backend)
                    await self.until((backend if is_client else client).ended)
                    (backend if is_client else client).close()
                    # The pace has its next look then.
                    await self.turns(3)

                await self.nothing_is_left(play)


on_all_networks(globals())
