"""Whatever is written as a snippet, and whatever a visitor sends, nothing raises and nothing ends a line."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.host_facts import HostFacts
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.snippet_blocks import Snippet
from ingress.annotations.nginx.reading import HONORED, Place, parse_snippet
from ingress.annotations.snippets.family import SnippetSettings, snippet_filters
from ingress.filters import Reply
from ingress.http.edited_heads import AnswerChange, RequestChange
from ingress.http.request_head import parse_request_head
from ingress.http.response_head import parse_response_head
from ingress.proxy.exchange.filtering.chain import live_filter
from tests.annotations.snippets.playing import BACKEND, OWNER
from tests.fakes.filter_parts import FakeFacts, FakeServices
from tests.properties import examples

WORDS = (
    *sorted(HONORED),
    *(
        "auth_basic",
        "proxy_pass",
        "gzip",
        "rewrite_by_lua_block",
        "always",
        "-s",
        "-t",
        "-r",
        "-a",
        "404",
        "200 404",
    ),
    *(
        "X-A",
        "Host",
        "Content-Length",
        "Connection",
        "X: $uri",
        "X-B: $arg_a",
        "Y:",
        "'Z: a\n  b'",
        "*",
        "X-*",
        "é",
    ),
    *(
        "$uri",
        "$host",
        "$arg_a",
        "$http_x",
        "$1",
        "${x",
        "$x",
        "$status",
        '"$args"',
        "''",
        '"',
        "\\",
        "\0",
        "\r\n",
    ),
    *(
        "($uri",
        "=",
        "~",
        "~*",
        "!=",
        "/a)",
        "(.*))",
        "^/a(.*)$",
        "/b$1",
        "(?!a)",
        "last",
        "break",
        "permanent",
    ),
    *("301", "302", "403", "444", "204", "https://b.test$uri", "1h", "-1", "max", "10.0.0.0/8", "all", "GET"),
    *("{", "}", ";", ";", ";", ";", "{", "}", " ", "\n", "#", "^~", "/a"),
)
LINES = (
    "more_set_headers 'X: $uri' 'Y: $arg_a$http_x';",
    "add_header X $uri always;",
    "add_header Y $1;",
    "add_header Z $sent_http_x_up;",
    "proxy_set_header Host $arg_a;",
    "proxy_set_header X $http_x$uri;",
    "more_set_input_headers 'Host: $http_x' 'Z: $uri' -r 'X-A: $uri';",
    "more_clear_input_headers 'X*';",
    "more_clear_headers 'X*';",
    "rewrite ^/a(.*)$ /b$1;",
    "rewrite ^((?s:.*)) $1$http_x;",
    "rewrite ^(.*) $1?x=$http_x redirect;",
    "return 301 https://b$uri;",
    "return 302 $uri;",
    "return 307 $http_x;",
    "return 200 $http_x;",
    "if ($uri ~ (.*)) { set $v $1; add_header V $v; more_set_input_headers 'V: $v'; }",
    "if ($arg_a) { return 302 /$arg_a; }",
    "set $v $uri$http_x;",
    "expires modified 1h;",
    "deny 10.0.0.1;",
)
texts = (
    st.lists(st.sampled_from(LINES), max_size=6).map("\n".join)
    | st.lists(st.sampled_from(WORDS), max_size=24).map(" ".join)
    | st.text(max_size=60)
)
values = st.binary(max_size=12).map(lambda raw: re.sub(rb"[\x00-\x1f\x7f]", b"", raw).strip())


class AnyTextTests(SynchronousTestCase):
    """Of snippets, and of requests."""

    @settings(deadline=None, max_examples=examples(400))
    @given(texts, texts, st.binary(max_size=12), values)
    def test_nothing_raises(self, configuration: str, server: str, path: bytes, value: bytes) -> None:
        """Any text becomes a snippet, and what it does to a request is what the proxy may do."""
        read = [parse_snippet(text, place) for text in (configuration, server) for place in Place]
        self.assertTrue(all(isinstance(one, Snippet) for one in read))
        host = HostFacts("a.test", server_snippet=parse_snippet(server, Place.SERVER))
        asked = SnippetSettings(parse_snippet(configuration, Place.LOCATION))
        route = RouteFacts(host, OWNER, "/a", BACKEND)
        specs = sorted(snippet_filters(asked, route), key=lambda spec: spec.phase)
        for spec in specs:
            self.assertTrue(spec.describe().isprintable())
        filters = [spec.make(FakeServices()) for spec in specs]
        fields = {b"host": b"a.test", b"x": value}
        facts = FakeFacts(path=b"/a" + path, target=b"/a?a=" + re.sub(rb"[^!-~]", b"", value), fields=fields)
        head = parse_request_head(b"GET /a HTTP/1.1\r\nHost: a.test\r\nX-A: 1")
        request = RequestChange(head, head.forward)
        came = parse_response_head(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Up: 1")
        answer = AnswerChange(came, False)
        for one in filters:
            reply = one.on_request(facts)
            if reply is not None:
                assert isinstance(reply, Reply)
                for name, text in reply.fields:
                    answer.add(name, text)
                break
        else:
            for one in filters:
                one.on_upstream(facts, request)
        for one in reversed(filters):
            on_answer = live_filter("test", one).on_answer
            if on_answer is not None:
                on_answer(facts, answer)
        lines = answer.head.start.split(b"\r\n")[:-1]
        self.assertTrue(all(re.fullmatch(rb"[^\r\n\0]*", line) for line in lines))
        self.assertNotIn(b"\r\n\r\n", request.fields)
        self.assertTrue(request.head.target.startswith(b"/"))
