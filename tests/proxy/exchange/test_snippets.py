"""Snippets before a route, in HTTP/1.1 and HTTP/2."""

from __future__ import annotations

from ingress.annotations.contract.host_facts import HostFacts
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.nginx.reading import Place, parse_snippet
from ingress.annotations.snippets.family import SnippetSettings, snippet_filters
from ingress.filters import FilterSpec
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import BACKEND, ONE, OWNER, fields_of


def specs(configuration: str = "", server: str = "", path: str = "/") -> tuple[FilterSpec, ...]:
    """What snippets become, in order of phase."""
    host = HostFacts("shop.test", server_snippet=parse_snippet(server, Place.SERVER))
    settings = SnippetSettings(parse_snippet(configuration, Place.LOCATION))
    found = snippet_filters(settings, RouteFacts(host, OWNER, path, BACKEND))
    return tuple(sorted(found, key=lambda spec: spec.phase))


class SnippetTests(FilterCase):
    """What clients and endpoints see."""

    def play(self, configuration: str = "", server: str = "") -> None:
        """Have these snippets before the only route, and before its host."""
        self.stage.publish((ONE,), filters=specs(configuration, server), host_filters=specs("", server, ""))

    def test_fields(self) -> None:
        """Fields of answers and to the endpoint are what was asked for."""
        self.play(
            "more_set_headers 'X-Frame-Options: DENY'; more_clear_headers 'X-Inner-*'; add_header X-Host $host always;"
            "proxy_set_header X-Query $args; proxy_set_header Host inner.test; more_clear_input_headers Cookie;"
        )
        client = self.get(target=b"/a?b=1", fields=((b"cookie", b"c=1"),))
        came = fields_of(self.upstream().received)
        self.assertEqual((came[b"host"], came[b"x-query"]), (b"inner.test", b"b=1"))
        self.assertNotIn(b"cookie", came)
        self.upstream().say(
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nX-Inner-A: 1\r\nx-inner-b: 2\r\nX-Frame-Options: x\r\n\r\n"
        )
        heard = client.heard()
        self.assertEqual(heard.status, 404)
        self.assertEqual(
            [heard.all(name) for name in (b"x-frame-options", b"x-host")], [[b"DENY"], [b"shop.test"]]
        )
        self.assertEqual(heard.all(b"x-inner-a") + heard.all(b"x-inner-b"), [])

    def test_decisions(self) -> None:
        """A return answers, without any endpoint; a rewrite asks for something else."""
        self.play(
            "if ($http_x_bot) { return 403; } rewrite ^/old/(.*)$ /new/$1 break;",
            "location = /health { return 200 ok; }",
        )
        heard = self.get(target=b"/health").heard()
        self.assertEqual((heard.status, heard.body, heard.all(b"content-type")), (200, b"ok", [b"text/html"]))
        self.assertEqual(self.get(fields=((b"x-bot", b"1"),)).heard().status, 403)
        self.get(target=b"/old/a%20b?c=d")
        self.assertIn(b"GET /new/a%20b?c=d HTTP/1.1\r\n", self.upstream().received)

    def test_where_no_route_matches(self) -> None:
        """A server's snippet stands before its host, too."""
        server = "location = /health { return 200 ok; } more_set_headers 'S: s';"
        self.stage.publish(
            (ONE,), path="/app", filters=specs("", server, "/app"), host_filters=specs("", server, "")
        )
        heard = self.get(target=b"/health").heard()
        self.assertEqual((heard.status, heard.all(b"s")), (200, [b"s"]))
        heard = self.get(target=b"/none").heard()
        self.assertEqual((heard.status, heard.all(b"s")), (404, [b"s"]))

    def test_access(self) -> None:
        """Who is denied gets 403, also at what is no WebSocket."""
        self.play("deny all;")
        self.assertEqual(self.get().heard().status, 403)

    def test_nothing_ends_a_line(self) -> None:
        """No variable brings a field along, however it is escaped."""
        self.play(
            "add_header X-Path $uri always; proxy_set_header X-Path $uri; proxy_set_header X-Arg $arg_a;"
        )
        client = self.get(target=b"/a%0d%0aevil:%201?a=%0d%0aevil")
        came = fields_of(self.upstream().received)
        self.assertEqual((came[b"x-path"], came[b"x-arg"]), (b"/a%0D%0Aevil: 1", b"%0d%0aevil"))
        self.assertNotIn(b"evil", came)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        heard = client.heard()
        self.assertEqual((heard.all(b"x-path"), heard.all(b"evil")), ([b"/a%0D%0Aevil: 1"], []))


class SnippetHttp2Tests(SnippetTests):
    """The same over HTTP/2."""

    is_http2 = True
