"""Mirrors of rules: several, of shares, with edits; and that nobody notices."""

from __future__ import annotations

import tracemalloc
from typing import ClassVar

from ingress.filter_parts.mirroring import MOST_BYTES
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.proxy.contract.limits import MAX_MIRRORS_OF_ONE
from ingress.proxy.contract.transport import REFUSED
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from ingress.translate.readers.gateway.objects.routes import HeaderEdits, PathEdit, RequestMirror, URLRewrite
from tests.fakes.transports import Peer
from tests.gateway_filters.reading_case import RuleCase, Written, backend, specs
from tests.proxy.playing import BACKEND, OK, ONE, OWNER, body_of, fields_of

FIRST = Endpoint("10.0.1.1", 3000)
SECOND = Endpoint("10.0.2.1", 3000)
OTHER = Endpoint("10.0.2.2", 3000)
EDITS = HeaderEdits(
    put=(("X-Header-Set", "set-overwrites-values"),),
    add=(("X-Header-Add", "header-val-1"), ("X-Header-Add-Append", "header-val-2")),
    drop=("X-Header-Remove",),
)


class MirrorTests(RuleCase):
    """In the proxy."""

    is_http2: ClassVar[bool] = False

    def mirrored(self, *filters: Written, prefix: str = "/") -> None:
        """Serve a rule with these filters; the backends ``first`` and ``second`` get copies."""
        route = Route("shop.test", "/", Match.PREFIX, OWNER, BACKEND, filters=specs(*filters, prefix=prefix))
        states = {
            BACKEND: BackendState((ONE,)),
            BackendReference("demo", "first", 8080): BackendState((FIRST,)),
            BackendReference("demo", "second", 8080): BackendState((SECOND, OTHER)),
        }
        self.stage.resource.publish(RouteTable((route,)), states)

    def peers_of(self, *endpoints: Endpoint) -> list[Peer]:
        """Return the connections to *endpoints*."""
        asked = [one for one in self.connector.asked if one not in self.connector.unreachable]
        return [peer for one, peer in zip(asked, self.connector.peers, strict=True) if one in endpoints]

    def answered(self, **asked: object) -> bytes:
        """Send a request, have it answered, and return what the endpoint got."""
        client = self.get(**asked)
        peer = self.peers_of(ONE)[-1]
        said = peer.take()
        peer.say(OK)
        self.assertEqual((client.heard().status, client.heard().is_whole), (200, True))
        self.reactor.settle()
        return said

    def test_suite(self) -> None:
        """The mirror gets the request as the endpoint does, with the same edits (HTTPRouteRequestMirror)."""
        self.mirrored(EDITS, RequestMirror(backend("first")))
        came = ((b"x-header-remove", b"remove-val"), (b"x-header-add-append", b"append-val-1"))
        said = self.answered(target=b"/mirror-and-modify-headers?a", fields=came)
        (mirror,) = self.peers_of(FIRST)
        copy = mirror.take()
        for one in (said, copy):
            self.assertTrue(
                one.startswith(b"GET /mirror-and-modify-headers?a HTTP/1.1\r\nHost: shop.test\r\n"), one
            )
            lower = one.lower()
            self.assertNotIn(b"x-header-remove", lower)
            self.assertIn(b"x-header-set: set-overwrites-values\r\n", lower)
            self.assertIn(b"x-header-add: header-val-1\r\n", lower)
            self.assertEqual(lower.count(b"x-header-add-append: "), 2)
        mirror.say(b"HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\noops")
        self.assert_ended(200)

    def test_edits_behind(self) -> None:
        """What stands behind the mirror in the object is not in the copy; a rewrite before it is."""
        rewrite = URLRewrite("b.test", PathEdit("ReplacePrefixMatch", "/b"))
        self.mirrored(rewrite, RequestMirror(backend("first")), EDITS, prefix="/a")
        said = self.answered(target=b"/a/c")
        (mirror,) = self.peers_of(FIRST)
        copy = mirror.take()
        self.assertTrue(copy.startswith(b"GET /b/c HTTP/1.1\r\nHost: b.test\r\n"), copy)
        self.assertIn(b"X-Header-Set", said)
        self.assertNotIn(b"X-Header-Set", copy)

    def test_several(self) -> None:
        """Each of several mirrors gets one copy, at one endpoint of its backend (HTTPRouteRequestMultipleMirrors)."""
        self.mirrored(RequestMirror(backend("first")), RequestMirror(backend("second")))
        self.answered(target=b"/multiple-mirrors")
        self.assertEqual((len(self.peers_of(FIRST)), len(self.peers_of(SECOND, OTHER))), (1, 1))

    def test_shares(self) -> None:
        """A mirror of a share gets about that many of the requests (HTTPRouteRequestPercentageMirror)."""
        for numerator, denominator in ((20, 100), (1, 2), (35, 100)):
            self.mirrored(RequestMirror(backend("first"), numerator, denominator))
            count = 0
            for _ in range(200):
                self.answered()
                for peer in self.peers_of(FIRST):
                    if peer.take():
                        count += 1
                        peer.say(OK)
                        self.reactor.settle()
            self.assertLess(abs(count / 200 - numerator / denominator), 0.06)

    def test_bodies(self) -> None:
        """A copy has the body, once it is whole; of a longer one than is held there is no copy."""
        self.mirrored(RequestMirror(backend("first")))
        client = self.client()
        client.ask(b"POST", length=6)
        client.send(b"abc")
        self.reactor.settle()
        self.assertEqual(self.peers_of(FIRST), [])
        client.send(b"def", ended=True)
        self.reactor.settle()
        (mirror,) = self.peers_of(FIRST)
        said = mirror.take()
        self.assertEqual((fields_of(said)[b"content-length"], body_of(said)), (b"6", b"abcdef"))
        self.peers_of(ONE)[-1].say(OK)
        mirror.say(OK)
        self.reactor.settle()
        client = self.client()
        client.ask(b"POST", length=MOST_BYTES + 1024)
        for _ in range(MOST_BYTES // 1024):
            client.send(b"x" * 1024)
        client.send(b"x" * 1024, ended=True)
        self.reactor.settle()
        self.assertEqual(mirror.take(), b"")

    def test_small_pieces(self) -> None:
        """A body that comes in pieces of two octets takes little more memory than there are octets."""
        count = 20_000
        self.mirrored(RequestMirror(backend("first")))
        client = self.client()
        client.ask(b"POST", length=count)
        (peer,) = self.peers_of(ONE)
        peer.take()
        tracemalloc.start()
        try:
            for number in range(count // 2 - 1):
                client.send(b"%02d" % (number % 100))
                peer.take()
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        client.send(b"99", ended=True)
        self.reactor.settle()
        (mirror,) = self.peers_of(FIRST)
        whole = b"".join(b"%02d" % number for number in range(100)) * (count // 200)
        self.assertEqual(body_of(mirror.take()), whole)
        self.assertLess(kept, 6 * count)

    def test_not_meant(self) -> None:
        """Of a request that no copy is meant of, no body is collected either."""
        self.mirrored(RequestMirror(backend("first"), 1, 2**30))
        client = self.client()
        client.ask(b"POST", length=3)
        client.send(b"abc", ended=True)
        self.reactor.settle()
        self.assertEqual(self.peers_of(FIRST), [])

    def test_unreachable(self) -> None:
        """A mirror that refuses, or has no endpoint, changes nothing for anybody."""
        self.connector.unreachable[FIRST] = REFUSED
        self.mirrored(RequestMirror(backend("first")), RequestMirror(backend("nobody")))
        self.answered()
        self.assertEqual(self.metrics.value("ingress_sub_requests_total", outcome="failed"), 2)

    def test_hanging(self) -> None:
        """One that hangs has so many requests at a time, and takes no room from another backend's."""
        self.mirrored(RequestMirror(backend("first")), RequestMirror(backend("second")))
        for _ in range(MAX_MIRRORS_OF_ONE + 5):
            self.answered()
            for peer in self.peers_of(SECOND, OTHER):
                if peer.take():
                    peer.say(OK)
        self.assertEqual(len(self.peers_of(FIRST)), MAX_MIRRORS_OF_ONE)
        self.assertEqual(self.metrics.value("ingress_sub_requests_total", outcome="dropped"), 5)


class Http2MirrorTests(MirrorTests):
    """The same over HTTP/2."""

    is_http2: ClassVar[bool] = True
