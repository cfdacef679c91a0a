"""Redirects and rewrites: the cases of the official suite, and what visitors make of them."""

from __future__ import annotations

from typing import ClassVar

from twisted.trial.unittest import SynchronousTestCase

from ingress.filter_parts.redirecting import MAX_LOCATION
from ingress.gateway_filters.redirects import STATUSES, RouteRedirect
from ingress.translate.readers.gateway.objects.routes import (
    HeaderEdits,
    PathEdit,
    RequestRedirect,
    URLRewrite,
)
from tests.fakes.filter_parts import FakeFacts
from tests.gateway_filters.reading_case import RuleCase, specs
from tests.proxy.playing import OK, fields_of

HOST = "example.org"
# HTTPRouteRedirectPortAndScheme: scheme and port of the filter, and of the listener; scheme and port that clients are sent to.
PORTS = (
    ("", 0, "http", 80, "http://example.org/"),
    ("", 80, "http", 80, "http://example.org/"),
    ("", 8080, "http", 80, "http://example.org:8080/"),
    ("https", 0, "http", 80, "https://example.org/"),
    ("https", 443, "http", 80, "https://example.org/"),
    ("https", 8443, "http", 80, "https://example.org:8443/"),
    ("", 0, "http", 8080, "http://example.org:8080/"),
    ("", 80, "http", 8080, "http://example.org/"),
    ("https", 0, "http", 8080, "https://example.org/"),
    ("", 0, "https", 443, "https://example.org/"),
    ("", 443, "https", 443, "https://example.org/"),
    ("", 8443, "https", 443, "https://example.org:8443/"),
    ("http", 0, "https", 443, "http://example.org/"),
    ("http", 80, "https", 443, "http://example.org/"),
    ("http", 8080, "https", 443, "http://example.org:8080/"),
    # What the suite does not ask.
    ("", 0, "https", 8443, "https://example.org:8443/"),
    ("https", 0, "https", 8443, "https://example.org/"),
    ("", 443, "http", 80, "http://example.org:443/"),
)


def prefix(text: str) -> PathEdit:
    """Return what replaces the prefix."""
    return PathEdit("ReplacePrefixMatch", text)


def full(text: str) -> PathEdit:
    """Return what replaces the whole path."""
    return PathEdit("ReplaceFullPath", text)


# HTTPRouteRedirectPath, …HostAndStatus: prefix of the match, filter, target, status and Location.
REDIRECTS: tuple[tuple[str, RequestRedirect, bytes, int, bytes], ...] = (
    ("/original-prefix", RequestRedirect(path=prefix("/replacement-prefix")), b"/original-prefix/lemon", 302, b"http://shop.test/replacement-prefix/lemon"),
    ("/full", RequestRedirect(path=full("/full-path-replacement")), b"/full/path/original", 302, b"http://shop.test/full-path-replacement"),
    ("/path-and-host", RequestRedirect(hostname=HOST, path=prefix("/replacement-prefix")), b"/path-and-host", 302, b"http://example.org/replacement-prefix"),
    ("/path-and-status", RequestRedirect(path=prefix("/replacement-prefix"), status=301), b"/path-and-status", 301, b"http://shop.test/replacement-prefix"),
    ("/full-path-and-host", RequestRedirect(hostname=HOST, path=full("/replacement-full")), b"/full-path-and-host", 302, b"http://example.org/replacement-full"),
    ("/full-path-and-status", RequestRedirect(path=full("/replacement-full"), status=301), b"/full-path-and-status", 301, b"http://shop.test/replacement-full"),
    ("/hostname-redirect", RequestRedirect(hostname=HOST), b"/hostname-redirect", 302, b"http://example.org/hostname-redirect"),
    ("/host-and-status", RequestRedirect(hostname=HOST, status=301), b"/host-and-status", 301, b"http://example.org/host-and-status"),
    ("/", RequestRedirect(hostname=HOST), b"/a%20b?c=%2F&d", 302, b"http://example.org/a%20b?c=%2F&d"),
    ("/a", RequestRedirect(path=prefix("/")), b"/a//evil.test/?x", 302, b"http://shop.test/evil.test/?x"),
)  # fmt: skip


class HostTests(SynchronousTestCase):
    """The host of a redirect is the filter's, or the one that the client asked for."""

    def test_public_host(self) -> None:
        """That is the host which a trusted proxy says, where that counts."""
        facts = FakeFacts(target=b"/x", forwarded_authority=b"www.test")
        for hostname, wanted in ((b"", b"http://www.test/x"), (b"b.test", b"http://b.test/x")):
            reply = RouteRedirect(hostname=hostname).judge(facts)
            self.assertEqual(dict(reply.fields)[b"Location"], wanted)


class PortTests(SynchronousTestCase):
    """The port of a redirect follows the API's rules."""

    def test_suite(self) -> None:
        """The filter's port, else that of its scheme, else that of the listener; usual ones are not written."""
        for scheme, port, own_scheme, own_port, wanted in PORTS:
            spec = RouteRedirect(scheme.encode(), HOST.encode(), port)
            facts = FakeFacts(scheme=own_scheme.encode(), is_secure=own_scheme == "https", port=own_port)
            reply = spec.judge(facts)
            self.assertEqual(dict(reply.fields)[b"Location"], wanted.encode(), (scheme, port, own_port))

    def test_behind_a_proxy(self) -> None:
        """A proxy that took the request over TLS and sent it on in the clear has its client sent to the usual port."""
        reply = RouteRedirect(hostname=b"a.test").judge(
            FakeFacts(scheme=b"https", is_secure=False, port=8080)
        )
        self.assertEqual(dict(reply.fields)[b"Location"], b"https://a.test/")

    def test_no_host(self) -> None:
        """Without any host there is nowhere to go; with one, no visitor decides it."""
        self.assertEqual(RouteRedirect().judge(FakeFacts(host=b"")).status, 400)
        self.assertEqual(RouteRedirect(hostname=b"a.test").judge(FakeFacts(host=b"")).status, 302)

    def test_long(self) -> None:
        """What a visitor says is not repeated without end."""
        target = b"/" + b"a" * MAX_LOCATION
        self.assertEqual(RouteRedirect().judge(FakeFacts(target=target, path=target)).status, 414)

    def test_no_path(self) -> None:
        """A request for no path (``OPTIONS *``) is sent to the root: nothing that is no path stands behind a host."""
        reply = RouteRedirect(hostname=b"a.test").judge(FakeFacts(target=b"*"))
        self.assertEqual(dict(reply.fields)[b"Location"], b"http://a.test/")

    def test_statuses(self) -> None:
        """All of the API's are sent as they are."""
        for status in STATUSES:
            (spec,) = specs(RequestRedirect(status=status))
            assert isinstance(spec, RouteRedirect)
            self.assertEqual(spec.judge(FakeFacts()).status, status)


class RedirectTests(RuleCase):
    """In the proxy."""

    is_http2: ClassVar[bool] = False

    def test_suite(self) -> None:
        """Requests are answered with status and location, and get to no endpoint."""
        for match, written, target, status, location in REDIRECTS:
            self.rule(written, prefix=match)
            heard = self.get(target=target).heard()
            # The listener of these tests has port 8080, and no filter names another one.
            host, slash, rest = location.removeprefix(b"http://").partition(b"/")
            location = b"http://" + host + b":8080" + slash + rest
            self.assertEqual((heard.status, heard.all(b"location")), (status, [location]))
        self.assert_upstreams(0)

    def test_methods(self) -> None:
        """So are those with bodies, whatever the method."""
        self.rule(RequestRedirect(hostname=HOST, status=308), HeaderEdits(put=(("X-A", "a"),)))
        client = self.client()
        client.ask(b"POST", length=3)
        client.send(b"abc", ended=True)
        self.assertEqual(client.heard().status, 308)


class Http2RedirectTests(RedirectTests):
    """The same over HTTP/2."""

    is_http2: ClassVar[bool] = True


EDITS = HeaderEdits(
    put=(("X-Header-Set", "set-overwrites-values"),),
    add=(("X-Header-Add", "header-val-1"), ("X-Header-Add-Append", "header-val-2")),
    drop=("X-Header-Remove",),
)
# HTTPRouteRewritePath, …RewriteHost, HTTPRouteBackendURLRewrite: prefix of the match, filter, target; target and host that go on.
REWRITES: tuple[tuple[str, URLRewrite, bytes, bytes, bytes], ...] = (
    ("/prefix/one", URLRewrite(path=prefix("/one")), b"/prefix/one/two", b"/one/two", b"shop.test"),
    ("/strip-prefix", URLRewrite(path=prefix("/")), b"/strip-prefix/three", b"/three", b"shop.test"),
    ("/strip-prefix", URLRewrite(path=prefix("/")), b"/strip-prefix", b"/", b"shop.test"),
    ("/full/one", URLRewrite(path=full("/one")), b"/full/one/two", b"/one", b"shop.test"),
    ("/full", URLRewrite(path=full("/rewritten-full")), b"/full/original", b"/rewritten-full", b"shop.test"),
    ("/prefix", URLRewrite(path=prefix("/rewritten-prefix")), b"/prefix/original", b"/rewritten-prefix/original", b"shop.test"),
    ("/one", URLRewrite("one.example.org"), b"/one", b"/one", b"one.example.org"),
    ("/", URLRewrite("example.org"), b"/two?a", b"/two?a", b"example.org"),
    ("/a", URLRewrite("b.test", prefix("/b")), b"/a/c?d=/a", b"/b/c?d=/a", b"b.test"),
    ("/a", URLRewrite(path=prefix("/b")), b"/a/x/../../a/c", b"/b/c", b"shop.test"),
    ("/", URLRewrite(), b"/a", b"/a", b"shop.test"),
)  # fmt: skip


class RewriteTests(RuleCase):
    """What endpoints are asked for."""

    is_http2: ClassVar[bool] = False

    def asked(self, target: bytes, **more: object) -> bytes:
        """Return what the endpoint got of a request for *target*, and answer it."""
        client = self.get(target=target, **more)
        peer = self.upstream()
        said = peer.take()
        peer.say(OK)
        self.assertEqual(client.heard().status, 200)
        return said

    def test_suite(self) -> None:
        """Path and host are as the filter says, and X-Forwarded-Host is what was asked for."""
        for match, written, target, wanted, host in REWRITES:
            self.rule(written, prefix=match)
            said = self.asked(target)
            self.assertTrue(said.startswith(b"GET %b HTTP/1.1\r\nHost: %b\r\n" % (wanted, host)), said)
            self.assertEqual(fields_of(said)[b"x-forwarded-host"], b"shop.test")

    def test_with_edits(self) -> None:
        """Fields are edited beside."""
        came = (
            (b"x-header-remove", b"remove-val"),
            (b"x-header-add-append", b"append-val-1"),
            (b"x-header-set", b"v"),
        )
        self.rule(
            URLRewrite("test.example.org", prefix("/prefix")),
            EDITS,
            prefix="/prefix/rewrite-path-and-modify-headers",
        )
        said = self.asked(b"/prefix/rewrite-path-and-modify-headers/one", fields=came)
        self.assertTrue(said.startswith(b"GET /prefix/one HTTP/1.1\r\nHost: test.example.org\r\n"), said)
        lower = said.lower()
        self.assertEqual(lower.count(b"x-header-set: "), 1)
        self.assertIn(b"x-header-set: set-overwrites-values\r\n", lower)
        self.assertIn(b"x-header-add: header-val-1\r\n", lower)
        self.assertLess(
            lower.index(b"x-header-add-append: append-val-1"),
            lower.index(b"x-header-add-append: header-val-2"),
        )
        self.assertNotIn(b"x-header-remove", lower)


class Http2RewriteTests(RewriteTests):
    """The same over HTTP/2."""

    is_http2: ClassVar[bool] = True
