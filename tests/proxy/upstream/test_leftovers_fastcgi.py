"""Nothing of a request to an endpoint of FastCGI outlives it, nor of one that waits for a ring: no cycle that only a collector would find."""

from __future__ import annotations

from attrs import evolve

from ingress.model.requests.templates import read_template
from ingress.model.upstream.backends import BackendState, Endpoint
from ingress.model.upstream.balancing import Balancing
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.routing.table import RouteTable
from tests.fakes.fastcgi.records import ABORT_REQUEST, OK, STDOUT, answered, end, record, stderr, stdout
from tests.proxy.fastcgi_case import spec
from tests.proxy.leftovers_case import GET, POST, LeftoversCase, Peer, on_all_networks
from tests.proxy.sockets.sockets_case import ANY_PATH, APP

PARAMS_END = b"\x01\x04\x00\x01\x00\x00"
"""How the record begins that ends PARAMS."""
UNSIZED = b"POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"


class FastCgiTests(LeftoversCase):
    """A client asks over HTTP/1.1, and the endpoint speaks FastCGI."""

    keeps = False

    async def setUp(self) -> None:  # type: ignore[override]
        """Say so."""
        await super().setUp()
        route = evolve(ANY_PATH, filters=(spec(self.keeps),))
        endpoint = self.endpoint._replace(link_settings=LinkSettings(is_fastcgi=True))
        self.resource.publish(RouteTable([route]), {APP: BackendState((endpoint,))})

    async def arrived(self) -> Peer:
        """Return the connection on which all params of a request came."""
        backend = await self.accepted()
        await self.until(lambda: backend.has(PARAMS_END))
        return backend

    async def over(self, client: Peer, backend: Peer) -> None:
        """Leave, and wait until the proxy has."""
        client.close()
        await self.until(backend.ended)
        backend.close()

    async def test_answers(self) -> None:
        """Answers that are good, bad, cut short, and beside complaints."""
        answers = (
            (OK, b" 200 "),
            (stderr(b"a notice\n") + OK, b" 200 "),
            (stdout(b"Status: 404 Not Found\r\n\r\n") + end(), b" 404 "),
            (stdout(b"A: b\r\n\r\nbegun"), b"begun"),
            (stdout(b"no head"), b" 502 "),
            (record(STDOUT, b"A: b\r\n\r\n", version=2), b" 502 "),
            (end(), b" 502 "),
        )

        async def play() -> None:
            for said, wanted in answers:
                client = await self.call()
                backend = await self.asked(client)
                backend.say(said)
                backend.finish()
                await self.until(lambda: client.has(wanted))  # noqa: B023 - it is awaited here
                await self.over(client, backend)

        await self.nothing_is_left(play)

    async def test_client_leaves(self) -> None:
        """A client that leaves while it is waited for: its body, the answer, and the rest of that."""

        async def play() -> None:
            for request, said in ((POST, b""), (GET, b""), (GET, stdout(b"A: b\r\n\r\nbegun"))):
                client = await self.call()
                backend = await self.asked(client, request)
                backend.say(said)
                if said:
                    await self.until(lambda: client.has(b"begun"))  # noqa: B023 - it is awaited here
                client.reset()
                await self.until(backend.ended)
                self.assertIn(bytes((1, ABORT_REQUEST)), backend.received)
                backend.close()

        await self.nothing_is_left(play)

    async def test_body_that_is_held(self) -> None:
        """A body without a length is held; its client leaves amid it, or sends the rest."""

        async def play() -> None:
            client = await self.call()
            client.say(UNSIZED)
            await self.turns(3)
            client.reset()
            client = await self.call()
            backend = await self.asked(client, UNSIZED + b"0\r\n\r\n")
            backend.say(answered())
            await self.until(lambda: client.has(b"ok"))
            await self.over(client, backend)

        await self.nothing_is_left(play)

    async def test_early_answer(self) -> None:
        """An answer amid a body."""

        async def play() -> None:
            client = await self.call()
            backend = await self.asked(client, POST)
            backend.say(answered(head=b"Status: 413 Too Large\r\n"))
            backend.finish()
            await self.until(lambda: client.has(b" 413 "))
            await self.over(client, backend)

        await self.nothing_is_left(play)


class KeptFastCgiTests(FastCgiTests):
    """The same where connections are kept."""

    keeps = True

    async def over(self, client: Peer, backend: Peer) -> None:
        """End the connection that may be kept."""
        client.close()
        backend.close()

    async def test_kept(self) -> None:
        """Several requests on one connection, which ends of itself, or is broken off."""

        async def play() -> None:
            for leave in (Peer.close, Peer.reset):
                client = await self.call()
                backend = await self.asked(client)
                for number in range(1, 4):
                    backend.say(OK)
                    await self.until_said(client, b"ok", number)
                    if number < 3:
                        client.say(GET)
                        await self.until_said(backend, PARAMS_END, number + 1)
                await self.until(lambda: "1 idle" in repr(self.pool))
                leave(backend)
                await self.until(lambda: "0 idle" in repr(self.pool))
                client.close()

        await self.nothing_is_left(play)

    async def until_said(self, peer: Peer, octets: bytes, times: int) -> None:
        """Wait until the proxy has said *octets* so many times."""

        def is_said() -> bool:
            peer.look()
            return peer.received.count(octets) >= times

        await self.until(is_said)


class RingTests(LeftoversCase):
    """Requests that wait until thousands of endpoints have their places on a ring."""

    async def test_waiting(self) -> None:
        """One client waits for it, and another one leaves meanwhile; each time the ring is a new one, and dropped afterwards."""
        # Nobody listens there.
        port = self.endpoint.port
        endpoints = tuple(Endpoint(f"127.1.{n >> 8}.{n & 255}", port) for n in range(2000))
        route = evolve(ANY_PATH, balancing=Balancing(hash_by=read_template("$request_uri")))

        async def play() -> None:
            self.resource.publish(RouteTable([route]), {APP: BackendState(endpoints)})
            leaving, client = await self.call(), await self.call()
            leaving.say(GET)
            client.say(GET)
            leaving.reset()
            await self.until(lambda: client.has(b" 502 "))
            client.close()
            self.publish(self.endpoint)

        await self.nothing_is_left(play)


on_all_networks(globals())
