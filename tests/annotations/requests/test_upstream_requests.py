"""What endpoints are told in other words: host, prefix, connection."""

from __future__ import annotations

from time import process_time

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.host_facts import HostFacts
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.requests.rewrite_targets import RewriteTarget
from ingress.annotations.requests.upstream_requests import (
    ForwardedPrefix,
    UpstreamHost,
    UpstreamRequestSettings,
    parse_connection,
    parse_prefix,
    parse_vhost,
    upstream_request_filters,
)
from ingress.http.forwarding import TrustedProxies
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.requests.templates import read_template
from ingress.model.upstream.backends import BackendReference
from tests.annotations.served_case import ServedCase
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices
from tests.proxy.playing import OK
from tests.translate.tls.test_client_authentication import ingress

IN_CLUSTER = "$service_name.$namespace.svc.cluster.local:80"
HOSTILE = (
    "",
    " ",
    "a b",
    "a.test\r\nX-Evil: 1",
    "a.test\0",
    "a.test/b",
    "https://a.test",
    "user@a.test",
    "a.test:123456",
    "a.test:x",
    "\u00e4.test",
    "$unknown",
    "${broken",
    "{{ .Values.host }}",
    "a;b",
    "a" * 10_000,
)


class ParseTests(SynchronousTestCase):
    """What may stand there."""

    def test_hosts(self) -> None:
        """A host, perhaps with a port, each of text and variables."""
        for text in (
            "a.test",
            "a_b.test:8080",
            "[::1]:80",
            "$host",
            IN_CLUSTER,
            "$service_name:$service_port",
            "x.${host}",
        ):
            self.assertTrue(parse_vhost(f" {text} ").parts)
        for text in HOSTILE:
            self.assertRaises(ValueRefused, parse_vhost, text)

    def test_prefixes(self) -> None:
        """A path of text, groups of an expression, and variables."""
        self.assertEqual(parse_prefix(" /app/v1 "), "/app/v1")
        target = parse_prefix("/$1/$host/${service_name}")
        assert isinstance(target, RewriteTarget)
        self.assertEqual((target.captures, target.keeps_query), (frozenset("1"), False))
        for text in (
            "/$name",
            "https://a.test/$1",
            "/$1?a",
            "/$1#",
            "/../$1",
            "/a b",
            "/a\r\nb",
            "/\u00e4",
            '"/a"',
            "/a;",
            "/" * 2000,
        ):
            self.assertRaises(ValueRefused, parse_prefix, text)

    def test_connections(self) -> None:
        """Only what is said of connections."""
        for text in (
            "keep-alive",
            "Keep-Alive",
            "upgrade",
            "close",
            "keep-alive, Upgrade",
            "$connection_upgrade",
        ):
            parse_connection(text)
        for text in ("", "x", "keep-alive, X-Secret", "close\r\nX: y", "keep-alive" * 1000):
            self.assertRaises(ValueRefused, parse_connection, text)

    def test_bounded(self) -> None:
        """No value keeps anybody waiting."""
        for sign in ("a", "$", "${", ",", ".", ":"):
            for parse in (parse_vhost, parse_prefix, parse_connection):
                began = process_time()
                self.assertRaises(ValueRefused, parse, sign * 262144)
                self.assertLess(process_time() - began, 1.0)


class SpecTests(SynchronousTestCase):
    """What filters do."""

    def told(self, text: str, facts: FakeFacts) -> bytes | None:
        """Return the host that an endpoint is told; None for that which came."""
        edit = FakeEdit()
        UpstreamHost(read_template(text)).make(FakeServices()).on_upstream(facts, edit)
        return edit.authority

    def test_constants(self) -> None:
        """What the route decides is text when the filter is made."""
        owner = Owner(Kind.INGRESS, ObjectKey("demo", "web"))
        facts = RouteFacts(HostFacts("a.test"), owner, "/", BackendReference("demo", "shop", 80))
        settings = UpstreamRequestSettings(vhost=parse_vhost(IN_CLUSTER), prefix="/app")
        host, prefix = upstream_request_filters(settings, facts)
        self.assertEqual(host, UpstreamHost(read_template("shop.demo.svc.cluster.local:80")))
        self.assertEqual(prefix, ForwardedPrefix(b"/app"))

    def test_no_host(self) -> None:
        """What a visitor sends that is no host leaves the one that came, and nobody gets an error for it."""
        facts = FakeFacts(host=b"a.test", fields={b"x-to": b"b.test:81"})
        self.assertEqual(self.told("$http_x_to", facts), b"b.test:81")
        self.assertEqual(self.told("x.$host", facts), b"x.a.test")
        for said in (b"", b"a b", b"a/b", b"a@b", b"a:99999999", b"a" * 1000):
            facts.fields[b"x-to"] = said
            self.assertIsNone(self.told("$http_x_to", facts), said)


class ServedTests(ServedCase):
    """In the proxy, over HTTP/1.1."""

    def told(self, **asked: str) -> list[Problem]:
        """Return what is told of annotations."""
        return [one for one in self.annotate(**asked).problems if "annotations" in one.field]

    def test_host(self) -> None:
        """The endpoint gets the host that was asked for it, and the other one as forwarded."""
        self.annotate(upstream_vhost=IN_CLUSTER)
        client = self.get()
        got = self.upstream().received
        self.assertIn(b"\r\nHost: web.demo.svc.cluster.local:80\r\n", got)
        self.assertIn(b"\r\nX-Forwarded-Host: shop.test\r\n", got)
        self.assertEqual(got.lower().count(b"\r\nhost:"), 1)
        self.upstream().say(OK)
        self.assertEqual(client.heard().status, 200)

    def test_host_beside_a_forwarded_one(self) -> None:
        """What the annotation says counts more than what a trusted proxy does; of both kinds of Host, templates tell them apart."""
        self.stage.site.trust(TrustedProxies(["0.0.0.0/0", "::/0"], takes_host=True))
        for asked, host in (
            ({"upstream_vhost": IN_CLUSTER}, b"web.demo.svc.cluster.local:80"),
            ({"upstream_vhost": "$http_host"}, b"shop.test"),
            ({"upstream_vhost": "in.$best_http_host"}, b"in.www.test:8443"),
            ({"configuration_snippet": "proxy_set_header Host $http_host;"}, b"shop.test"),
            ({"configuration_snippet": "proxy_set_header Host $best_http_host;"}, b"www.test:8443"),
            ({}, b"www.test:8443"),
        ):
            self.annotate(**asked)
            client = self.get(fields=((b"x-forwarded-host", b"www.test:8443"),))
            self.assertIn(b"\r\nHost: %b\r\n" % host, self.upstream().received)
            self.upstream().say(OK)
            self.assertEqual(client.heard().status, 200)

    def test_prefix(self) -> None:
        """The endpoint gets the prefix once, and not the client's."""
        self.annotate(x_forwarded_prefix="/app")
        self.get(fields=((b"x-forwarded-prefix", b"/evil"),))
        got = self.upstream().received
        self.assertIn(b"\r\nX-Forwarded-Prefix: /app\r\n", got)
        self.assertEqual(got.lower().count(b"x-forwarded-prefix"), 1)

    def test_captured_prefix(self) -> None:
        """What a path captures may stand in the prefix, as in a rewrite-target; it stays a path."""
        self.serve(
            ingress(
                "web",
                "/(app|x y)(/|$)(.*)",
                host="shop.test",
                rewrite_target="/$3",
                x_forwarded_prefix="/$namespace/$1",
            )
        )
        for target, prefix in (
            (b"/app/1?a=b", b"/demo/app"),
            (b"/APP", b"/demo/APP"),
            (b"/x%20y/1", b"/demo/x%20y"),
        ):
            client = self.get(target=target, fields=((b"x-forwarded-prefix", b"/evil"),))
            got = self.upstream().take()
            self.assertIn(b"\r\nX-Forwarded-Prefix: %b\r\n" % prefix, got)
            self.assertEqual(got.lower().count(b"x-forwarded-prefix"), 1)
            self.upstream().say(OK)
            self.assertEqual(client.heard().status, 200)

    def test_captured_prefix_of_plain_paths(self) -> None:
        """Where no path is an expression nothing is captured, and nothing is said; what the route says is."""
        for written, sent in (("/$1", False), ("/$service_name", True)):
            self.annotate(x_forwarded_prefix=written)
            client = self.get()
            got = self.upstream().take()
            self.assertEqual(b"\r\nX-Forwarded-Prefix: /web\r\n" in got, sent)
            self.assertEqual(b"x-forwarded-prefix" in got.lower(), sent)
            self.upstream().say(OK)
            self.assertEqual(client.heard().status, 200)

    def test_nothing_asked(self) -> None:
        """Without annotation the client's prefix is dropped, and its host goes on."""
        self.annotate()
        self.get(fields=((b"x-forwarded-prefix", b"/evil"),))
        got = self.upstream().received
        self.assertIn(b"\r\nHost: shop.test\r\n", got)
        self.assertNotIn(b"x-forwarded-prefix", got.lower())

    def test_problems(self) -> None:
        """What is done anyway is no problem; ``close`` is a note; the rest is refused by its name."""
        for asked in (
            {"connection_proxy_header": "keep-alive"},
            {"connection_proxy_header": "Upgrade"},
            {"upstream_vhost": IN_CLUSTER},
        ):
            self.assertEqual(self.told(**asked), [])
        (problem,) = self.told(connection_proxy_header="close")
        self.assertTrue(problem.is_note)
        for name in ("upstream_vhost", "connection_proxy_header"):
            for text in filter(str.strip, HOSTILE):
                (problem,) = self.told(**{name: text})
                self.assertEqual(problem.reason, Reason.INVALID_ANNOTATION)
                self.assertTrue(problem.message.startswith(name.replace("_", "-")))


class ServedOverHttp2Tests(ServedTests):
    """The same over HTTP/2."""

    is_http2 = True


class WebSocketTests(ServedCase):
    """What ``keep-alive`` would break in ingress-nginx."""

    def test_keep_alive(self) -> None:
        """An upgrade is passed on although connections are asked to be kept."""
        self.annotate(connection_proxy_header="keep-alive", upstream_vhost="a.test")
        client = self.stage.open()
        client.say(
            b"GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        got = self.upstream().received
        self.assertIn(b"\r\nHost: a.test\r\n", got)
        self.assertIn(b"\r\nUpgrade: websocket\r\n", got)
        self.upstream().say(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        )
        self.assert_status(client.take(), 101)
        client.close()
