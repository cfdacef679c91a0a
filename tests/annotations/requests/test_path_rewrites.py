"""Paths that are regular expressions, from the annotation to what the endpoint is asked for."""

from collections.abc import Callable
from datetime import UTC, datetime

from ingress.annotations.requests.path_rewrites import PathRewrite
from ingress.annotations.requests.rewrite_targets import parse_rewrite_target
from ingress.filters import FilterSpec
from ingress.model.text import path_expressions
from ingress.model.upstream.backends import BackendState
from ingress.model.upstream.retries import RetryRule
from ingress.translate.options import TranslateOptions
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.annotations.served_case import ServedCase
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import OK, ONE, TWO, ProxyCase
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress


def rewriting(path: str, target: str) -> FilterSpec:
    """Return the spec of a target."""
    return PathRewrite(path, parse_rewrite_target(target))


def snapshot(*paths: str, **annotations: str) -> Snapshot:
    """Translate an Ingress with these annotations."""
    return translate(
        state_of([ingress("a", *paths, host="shop.test", **annotations)]),
        TranslateOptions(),
        datetime.now(UTC),
    )


class RewriteTests(FilterCase):
    """What endpoints are asked for."""

    def publish(self, found: Snapshot) -> None:
        """Serve a snapshot, with an endpoint for each backend."""
        backends = {one: BackendState((ONE,)) for route in found.table.routes for one in route.backends}
        self.stage.resource.publish(found.table, backends)

    def asked(self, target: bytes) -> bytes:
        """Return the request line that the endpoint gets, after the answer 200 was got and logged by what came."""
        client = self.get(target=target)
        upstream = self.upstream()
        heard = upstream.take()
        upstream.say(OK)
        self.assertEqual(client.heard().status, 200)
        self.assertIn(target, self.stage.log_lines()[-1])
        client.leave()
        return heard.partition(b"\r\n")[0]

    def test_from_object_to_endpoint(self) -> None:
        """The endpoint is asked for the target with what the path captured; log and facts keep what came."""
        self.publish(snapshot("/api(/|$)(.*)", rewrite_target="/$2"))
        for target, line in (
            (b"/api/users?a=b", b"GET /users?a=b HTTP/1.1"),
            (b"/API", b"GET / HTTP/1.1"),
            (b"//api/%61%20b", b"GET /a%20b HTTP/1.1"),
            (b"/api/..a/%0d%0aHost:x", b"GET /..a/%0D HTTP/1.1"),
        ):
            self.assertEqual(self.asked(target), line)

    def test_what_routes_are_not_found_by(self) -> None:
        """Parameters, and names that hold an escaped question mark or hash, are captured whole, as nginx does."""
        self.publish(snapshot("/api(/|$)(.*)", "/", rewrite_target="/$2"))
        for target, line in (
            (b"/api/tags/C%23?a=b", b"GET /tags/C%23?a=b HTTP/1.1"),
            (b"/api/what%3Fnow/x", b"GET /what%3Fnow/x HTTP/1.1"),
            (b"/api/cart;jsessionid=1", b"GET /cart;jsessionid=1 HTTP/1.1"),
            (b"/api/a;v=1/b", b"GET /a;v=1/b HTTP/1.1"),
            (b"/api;v=1/b", b"GET /b HTTP/1.1"),
        ):
            self.assertEqual(self.asked(target), line)
        self.publish(snapshot("/tags", rewrite_target="/v1$uri"))
        self.assertEqual(self.asked(b"/tags/C%23;v=1?a=b"), b"GET /v1/tags/C%23;v=1?a=b HTTP/1.1")
        self.publish(snapshot("/api(.*)", rewrite_target="/x/$1"))
        self.assertEqual(self.asked(b"/api..%3Fa/b"), b"GET /x%3Fa/b HTTP/1.1")

    def test_variables_of_the_route(self) -> None:
        """A target may say of what Service and path its route is."""
        self.publish(snapshot("/x(.*)", rewrite_target="/$namespace/$service_name$1"))
        self.assertEqual(self.asked(b"/x/y"), b"GET /demo/web/y HTTP/1.1")

    def test_redirect(self) -> None:
        """A target that is an URL is answered with a redirect, and nobody else is asked."""
        self.publish(snapshot("/old/(.*)", rewrite_target="https://b.test/$1"))
        heard = self.get(target=b"/old/x%20y?c=d").heard()
        self.assertEqual((heard.status, heard.all(b"location")), (302, [b"https://b.test/x%20y?c=d"]))
        self.assert_upstreams(0)

    def test_slash_at_the_end(self) -> None:
        """A request that lacks the slash of its path is redirected before an endpoint is asked."""
        self.publish(snapshot("/a/", proxy_body_size="1m"))
        heard = self.get(target=b"/a?b=c").heard()
        self.assertEqual((heard.status, heard.all(b"location")), (301, [b"http://shop.test/a/?b=c"]))
        self.assert_upstreams(0)

    def test_path_that_is_too_long(self) -> None:
        """A path that is too long for the expressions of its host is answered 414."""
        self.publish(snapshot(*(f"/[a-z]+{'(.*a)' * 30}{number}x" for number in range(99)), use_regex="true"))
        self.assertEqual(self.get(target=b"/" + b"a" * 4000).heard().status, 414)

    def test_programs_that_are_not_kept(self) -> None:
        """A request for which very many programs have to be made is answered once they are; unless they cannot be kept for so long."""
        paths = (f"/[a-z]+{'(.*a)' * 30}{number}x" for number in range(150))
        self.publish(snapshot(*paths, use_regex="true"))
        path_expressions._programs.clear()
        self.patch(path_expressions, "_KEPT", 20)
        self.assertEqual(self.get(target=b"/a").heard().status, 503)
        self.patch(path_expressions, "_KEPT", 200)
        self.assertEqual(self.get(target=b"/a").heard().status, 404)

    def test_who_left_waits_for_no_programs(self) -> None:
        """For a request whose client has left meanwhile no more of them are made."""
        paths = (f"/[a-z]+{'(.*a)' * 30}{number}x" for number in range(150))
        self.publish(snapshot(*paths, use_regex="true"))
        path_expressions._programs.clear()
        later: list[tuple[Callable[..., object], tuple[object, ...]]] = []
        self.patch(
            self.stage.resource.reactor,
            "callLater",
            lambda seconds, call, *arguments: later.append((call, arguments)),
        )
        asking = self.get(target=b"/a")
        made = len(path_expressions._programs)
        ((call, arguments),) = later
        asking.leave()
        call(*arguments)
        self.assertEqual(len(path_expressions._programs), made)


class PlacesTests(ServedCase):
    """Where paths stand that another Ingress made expressions of."""

    def test_plain_path_among_expressions(self) -> None:
        """It stands by its text as it is written, so a longer expression comes before it, and a shorter one does not."""
        for path, wanted in (("/(.*)", b"/x/api/1"), ("/.*", b"/api/1")):
            self.serve(
                ingress("plain", "/api", host="shop.test"),
                ingress("regex", path, host="shop.test", rewrite_target="/x/$1" if "(" in path else "/x"),
            )
            self.get(target=b"/api/1")
            self.assertEqual(self.upstream().take().split(b" ")[1], wanted)


class RewriteHttp2Tests(RewriteTests):
    """The same over HTTP/2."""

    is_http2 = True


class WayToEndpointTests(ProxyCase):
    """Requests that come to endpoints in other ways."""

    def test_each_attempt_is_rewritten(self) -> None:
        """Whichever endpoint is asked in the end, it is asked for the target, once replaced."""
        retries = RetryRule(statuses=frozenset((503,)))
        spec = rewriting("/a/(.*)", "/a/a/$1")
        self.stage.publish((ONE, TWO), filters=(spec,), retries=retries)
        client = self.stage.open()
        client.say(b"GET /a/x HTTP/1.1\r\nHost: shop.test\r\n\r\n")
        for answer in (b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n", OK):
            upstream = self.upstream()
            self.assertEqual(upstream.take().partition(b"\r\n")[0], b"GET /a/a/x HTTP/1.1")
            upstream.say(answer)
        self.assert_status(client.take(), 200)

    def test_web_socket(self) -> None:
        """The request that opens a tunnel is rewritten like any other."""
        self.stage.publish((ONE,), filters=(rewriting("/ws(.*)", "/socket$1"),))
        client = self.stage.open()
        client.say(
            b"GET /ws/x?t=1 HTTP/1.1\r\nHost: shop.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        self.assertTrue(self.upstream().take().startswith(b"GET /socket/x?t=1 HTTP/1.1\r\n"))
