"""Sub-requests over sockets: TLS, address rules, and endpoints that answer badly."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from attrs import evolve
from twisted.internet.defer import CancelledError, Deferred, maybeDeferred

from ingress.model.exchanges.sub_requests import SubAnswer, SubRequest, SubRequestFailed
from ingress.proxy.exchange.sub_requests.sub_requests import SubRequests
from ingress.proxy.upstream.rotation import Rotations
from tests.fakes.certificates import issue, make_authority
from tests.fakes.peers.tls_upstreams import TlsUpstream
from tests.fakes.peers.upstreams import OK, Upstream, UpstreamWire
from tests.proxy.sockets.sockets_case import APP, SocketsCase

MEBIBYTE = 1024 * 1024


class SubRequestCase(SocketsCase):
    """What sends sub-requests, by the network of the case."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Start."""
        await super().setUp()
        rotations = Rotations(self.reactor, self.deadlines, self.metrics, Random(1))
        self.sub_requests = SubRequests(
            self.pool, self.deadlines, self.metrics.sub_requests, rotations, self.resource.rotation_of
        )
        self.addCleanup(self.sub_requests.close)

    def url_of(self, upstream: Upstream, scheme: str = "http") -> SubRequest:
        """A request for an upstream of the test, which is on an address of this host."""
        return SubRequest(f"{scheme}://127.0.0.1:{upstream.endpoint.port}/verify", is_trusted=True)

    def ask(self, request: SubRequest) -> Deferred[SubAnswer]:
        """Send a request."""
        return self.sub_requests.ask(request)

    async def why_not(self, request: SubRequest) -> str:
        """Return why there is no answer."""
        try:
            answer = await self.ask(request)
        except SubRequestFailed as why:
            return str(why)
        raise AssertionError(f"there is one: {answer}")


class AnswerTests(SubRequestCase):
    """Whom is asked, and what is heard."""

    async def test_url(self) -> None:
        """An answer comes whole, from a URL and from a backend of the snapshot, on one connection each."""
        self.upstream.on_request = lambda wire: wire.write(OK)
        request = self.url_of(self.upstream)
        for asked in (request, request, evolve(request, backend=APP), evolve(request, backend=APP)):
            answer = await self.ask(asked)
            self.assertEqual((answer.status, answer.body), (200, b"ok"))
        self.assertLessEqual(len(self.upstream.wires), 2)
        self.access_log.stop()
        self.assertEqual(self.lines, [])

    async def test_address_rules(self) -> None:
        """A tenant's URL leads to no address of this host, by number or by name."""
        request = evolve(self.url_of(self.upstream), is_trusted=False)
        self.assertIn("which is an address of this host", await self.why_not(request))
        named = evolve(request, url=request.url.replace("127.0.0.1", "localhost"))
        self.assertIn("which is an address of this host", await self.why_not(named))
        self.assertEqual(self.upstream.wires, [])

    async def test_unknown(self) -> None:
        """A name that nobody knows is no host to ask."""
        self.assertIn("not found", await self.why_not(SubRequest("http://no-such-name.invalid/")))

    def secured(self, name: str) -> TlsUpstream:
        """An upstream with a certificate for *name*, of an authority that nobody knows."""
        upstream = TlsUpstream(self.reactor, issue(self.authority, [name]))
        upstream.listen()
        self.addCleanup(upstream.stop)
        return upstream

    async def test_not_trusted(self) -> None:
        """A certificate must be of an authority of this system, unless it need not be verified."""
        self.authority = make_authority()
        request = self.url_of(self.secured("127.0.0.1"), "https")
        self.assertIn("cannot be trusted", await self.why_not(request))
        self.assertEqual((await self.ask(evolve(request, verifies=False))).body, b"ok")

    async def test_trusted(self) -> None:
        """Where this system trusts the authority, the certificate must be for the host of the URL, too."""
        self.authority = make_authority()
        bundle = Path(self.mktemp())
        bundle.write_bytes(self.authority.pem)
        before = os.environ.get("SSL_CERT_FILE")
        os.environ["SSL_CERT_FILE"] = str(bundle)
        if before is None:
            self.addCleanup(os.environ.pop, "SSL_CERT_FILE")
        else:
            self.addCleanup(os.environ.__setitem__, "SSL_CERT_FILE", before)
        request = self.url_of(self.secured("127.0.0.1"), "https")
        self.assertEqual((await self.ask(request)).body, b"ok")
        self.assertEqual((await self.ask(request)).body, b"ok")
        other = self.url_of(self.secured("other.test"), "https")
        self.assertIn('the certificate is for "other.test"', await self.why_not(other))

    async def test_cancelled(self) -> None:
        """Who waits no more leaves the endpoint alone at once."""
        self.upstream.on_request = lambda wire: None
        asked = self.ask(self.url_of(self.upstream))
        await self.until(lambda: self.upstream.wires and self.upstream.wires[0].heads)
        asked.cancel()
        with self.assertRaises(CancelledError):
            await asked
        await self.until(lambda: self.upstream.wires[0].lost)

    async def test_told(self) -> None:
        """A mirror arrives whole, and what it is answered is nobody's business."""
        bodies: list[int] = []

        def answer(wire: UpstreamWire) -> None:
            bodies.append(wire.body_size)
            wire.write(b"HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nabcde")

        self.upstream.on_request = answer
        mirror = evolve(self.url_of(self.upstream), method=b"PUT", body=bytes(MEBIBYTE))
        for number in (1, 2):
            self.sub_requests.tell(mirror)
            await self.until(lambda count=number: len(bodies) == count)  # type: ignore[misc]
            await self.until(lambda: "0 of them mirrors" in repr(self.sub_requests))
        self.assertEqual(bodies, [MEBIBYTE, MEBIBYTE])
        self.assertEqual(len(self.upstream.wires), 1)


class HostileTests(SubRequestCase):
    """Endpoints that answer as they should not."""

    async def hears(self, why: str, *said: bytes, closes: bool = False, **more: float) -> None:
        """Check what who asks hears when the endpoint says this."""

        def answer(wire: UpstreamWire) -> None:
            for piece in said:
                wire.write(piece)
            if closes:
                wire.close()

        self.upstream.on_request = answer
        request = evolve(self.url_of(self.upstream), **more)  # type: ignore[arg-type]
        self.assertIn(why, await self.why_not(request))
        await self.until(lambda: all(wire.lost for wire in self.upstream.wires))

    async def test_too_large(self) -> None:
        """An answer that is too large is read no further than it may be, by far."""
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
        await self.hears("has more than 65536 bytes", head % (64 * MEBIBYTE), bytes(8 * MEBIBYTE))
        await self.hears("has more than 65536 bytes", b"HTTP/1.1 200 OK\r\n\r\n", bytes(8 * MEBIBYTE))

    async def test_cut(self) -> None:
        """A part of an answer is none."""
        await self.hears("was cut short", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", closes=True)

    async def test_closed(self) -> None:
        """An endpoint that closes without a word is not asked for ever."""
        await self.hears("connection ", closes=True)
        self.assertLessEqual(len(self.upstream.wires), 3)

    async def test_slow(self) -> None:
        """An answer that does not come, or not to its end, is over in time."""
        await self.hears("took longer than 0.3 s", seconds=0.3)
        await self.hears(
            "took longer than 0.3 s", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", seconds=0.3
        )

    async def test_refused(self) -> None:
        """Where nobody listens, it is said so."""
        request = self.url_of(self.upstream)
        await maybeDeferred(self.upstream.stop)
        self.assertIn("refused", await self.why_not(request))
