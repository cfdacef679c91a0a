"""What snippets decide about requests: return, rewrite, if, set, location, allow and deny."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.nginx.reading import Place, parse_snippet
from ingress.annotations.snippets.filters import ServerStatements, SnippetAnswers
from ingress.annotations.snippets.levels import Layers
from ingress.filters import Reply
from ingress.model.text.searches import MAX_COST
from tests.annotations.snippets.playing import Stage, on
from tests.fakes.counting import calls
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices

PLAIN = (b"Content-Type", b"text/plain; charset=utf-8")
HTML = (b"Content-Type", b"text/html")


def reply(text: str, facts: FakeFacts | None = None) -> Reply | None:
    """What ``configuration-snippet`` answers."""
    return Stage(text).play(facts).reply


class ReturnTests(SynchronousTestCase):
    """``return``."""

    def test_statuses_and_texts(self) -> None:
        """A status alone says itself; a text is the body; what has no body has none."""
        for text, expected in {
            "return 403;": Reply(403, (PLAIN,), b"403 Forbidden\n"),
            "return 204;": Reply(204),
            "return 204 x;": Reply(204),
            "return 200;": Reply(200),
            "return 200 'ok\n';": Reply(200, (HTML,), b"ok\n"),
            "return 503 'a $ b';": Reply(503, (HTML,), b"a $ b"),
            "default_type text/plain; return 200 ok;": Reply(200, ((b"Content-Type", b"text/plain"),), b"ok"),
            "return 444;": Reply(403, (PLAIN,), b"403 Forbidden\n"),
        }.items():
            self.assertEqual(reply(text), expected, text)

    def test_redirects(self) -> None:
        """A target is where to; a path is one of the same host, and nobody else's."""
        facts = on("/a?b=1", host=b"A.example.com:8080")
        for text, status, location in (
            ("return 301 https://b.test$request_uri;", 301, b"https://b.test/a?b=1"),
            ("return 302 $scheme://b.test/;", 302, b"http://b.test/"),
            ("return https://b.test/;", 302, b"https://b.test/"),
            ("return 308 /new$is_args$args;", 308, b"http://A.example.com:8080/new?b=1"),
            ("return 307 //b.test/;", 307, b"http://A.example.com:8080//b.test/"),
        ):
            played = Stage(text).play(facts)
            self.assertEqual((played.status, played.location), (status, location), text)

    def test_type_by_name(self) -> None:
        """As in nginx the end of a file's name says the type of a text, before ``default_type``; but of one that a visitor brings a part of."""
        for text in ("return 200 ok;", "default_type text/css; return 200 ok;"):
            usual = b"text/css" if "css" in text else b"text/html"
            for target, kind in {
                "/robots.txt": b"text/plain",
                "/a/B.TXT?x": b"text/plain",
                "/a.b.json": b"application/json",
                "/feed.xml": b"text/xml",
                "/a.exe": usual,
                "/.txt": usual,
                "/a.txt/b": usual,
                "/txt": usual,
                "/": usual,
            }.items():
                found = reply(text, on(target))
                self.assertEqual(found, Reply(200, ((b"Content-Type", kind),), b"ok"), target)
        found = reply("rewrite ^ /a.txt; return 200 ok;", on("/a"))
        self.assertEqual(found and found.fields, ((b"Content-Type", b"text/plain"),))
        found = reply("return 200 $arg_x;", on("/a.css?x=1"))
        self.assertEqual(found and found.fields[0], PLAIN)

    def test_what_visitors_bring_is_no_page(self) -> None:
        """A body with what a visitor brought along is plain text, unless its type is one that nothing runs in."""
        facts = on("/?x=<script>")
        found = reply("return 200 $arg_x;", facts)
        self.assertEqual(found, Reply(200, (PLAIN, (b"X-Content-Type-Options", b"nosniff")), b"<script>"))
        for kind in ("text/html", "application/xhtml+xml", "image/svg+xml", "text/javascript"):
            found = reply(f"default_type {kind}; return 200 $arg_x;", facts)
            self.assertEqual(found and found.fields[0], PLAIN)
        found = reply("default_type application/json; return 200 $arg_x;", facts)
        self.assertEqual(found and found.fields, ((b"Content-Type", b"application/json"),))

    def test_no_line_ends_in_locations(self) -> None:
        """Whatever the path decodes to, it ends no field, and what stands in no URL is escaped."""
        facts = FakeFacts(path=b'/a\r\nSet-Cookie: x"<\xff')
        self.assertEqual(
            Stage("return 301 https://b.test$uri;").play(facts).location,
            b"https://b.test/a%0D%0ASet-Cookie:%20x%22%3C%FF",
        )

    def test_before_what_follows(self) -> None:
        """What stands behind a return is not asked for."""
        self.assertEqual(Stage("return 401; return 402;").play().status, 401)


class RewriteTests(SynchronousTestCase):
    """``rewrite``."""

    def target(self, text: str, facts: FakeFacts) -> bytes | None:
        """What the endpoint is asked for."""
        return Stage(text).play(facts).request.target or None

    def test_targets(self) -> None:
        """The path is replaced, captures are put in, and the query stays unless a question mark ends the target."""
        for text, expected in {
            "rewrite ^/a/(.*)$ /new/$1 break;": b"/new/b?q=1",
            "rewrite ^/a/(.*)$ /new/$1? last;": b"/new/b",
            "rewrite /a/(?P<x>.*) /$x?n=$x;": b"/b?n=b&q=1",
            "rewrite B /x;": None,
            "rewrite ^ 'x y' break;": b"/x%20y?q=1",
            "rewrite ^/a /b; rewrite ^/b /c;": b"/c?q=1",
            "rewrite ^/a /b last; rewrite ^/b /c;": b"/b?q=1",
            "break; rewrite ^/a /b;": None,
            "rewrite ^/(.*) /$1/$2$host;": b"/a/b/a.example.com?q=1",
        }.items():
            self.assertEqual(self.target(text, on("/a/b?q=1")), expected, text)

    def test_redirects(self) -> None:
        """redirect, permanent and whole URLs send the visitor there."""
        for text, status, location in (
            ("rewrite ^/a/(.*) /$1 redirect;", 302, b"http://a.example.com/b?q=1"),
            ("rewrite ^/a/(.*) https://b.test/$1 permanent;", 301, b"https://b.test/b?q=1"),
            ("rewrite ^/a/(.*) $scheme://b.test/$1? last;", 302, b"http://b.test/b"),
        ):
            played = Stage(text).play(on("/a/b?q=1"))
            self.assertEqual((played.status, played.location), (status, location), text)

    def test_decoded_paths_are_escaped_again(self) -> None:
        """What a path decodes to is no part of a line, a query or a fragment of the new one."""
        path = b"/a/x?y#z %\r\n\xff"
        for text, expected in {
            "rewrite ^/a(/.*)z /n$1;": b"/n/x%3Fy%23",
            "rewrite ^/a/(x).*z(.) /$1$2;": b"/x%20",
            "rewrite ^/a((?s:.*)) $1;": b"/x%3Fy%23z%20%25%0D%0A%FF",
        }.items():
            self.assertEqual(self.target(text, FakeFacts(path=path, target=b"/a")), expected, text)

    def test_what_routes_are_not_found_by(self) -> None:
        """Parameters, and what follows an escaped question mark or hash, stay; who keeps somebody out does so with them, too."""
        for raw, expected in {
            "/a/C%23?q=1": b"/n/C%23?q=1",
            "/a/what%3Fnow": b"/n/what%3Fnow",
            "/a/b;v=1/c": b"/n/b;v=1/c",
            "/a;v=1/b": b"/n/b",
        }.items():
            self.assertEqual(self.target("rewrite ^/a/(.*)$ /n/$1;", on(raw)), expected, raw)
        self.assertEqual(self.target("rewrite ^/a$ /denied;", on("/a;v=1")), b"/denied")

    def test_many(self) -> None:
        """The path is made out once for all that look for something in it."""
        facts = [on("/x;" * 2000) for _ in range(2)]
        one, many = "rewrite ^/y /z;", "rewrite ^/y /z;" * 10
        usual = calls(lambda: self.target(one, facts[0]))
        self.assertLess(calls(lambda: self.target(many, facts[1])), 2 * usual)

    def test_redirects_escape_what_was_captured(self) -> None:
        """A percent sign, a question mark or a hash of a path begins nothing in the location."""
        for raw, location in {
            "/a/100%25": b"http://a.example.com/n/100%25",
            "/a/%2523": b"http://a.example.com/n/%2523",
            "/a/C%23%3F": b"http://a.example.com/n/C%23%3F",
            "/a/b%20c;v=1": b"http://a.example.com/n/b%20c;v=1",
        }.items():
            played = Stage("rewrite ^/a/(.*)$ /n/$1 permanent;").play(on(raw))
            self.assertEqual(played.location, location, raw)

    def test_too_long(self) -> None:
        """What becomes longer than any target is refused."""
        facts = on("/" + "a" * 6000)
        self.assertEqual(Stage("rewrite ^/(.*) /$1$1$1$1;").play(facts).status, 414)


class IfTests(SynchronousTestCase):
    """``if``."""

    def test_conditions(self) -> None:
        """Each operator asks what it asks in nginx."""
        facts = on("/Path?a=1&z=0", user_agent=b"Some Bot/1", cookie=b"s=x")
        for condition, holds in {
            "$host = a.example.com": True,
            '$host = "A.example.com"': False,
            "$host != a.example.com": False,
            "$host != b": True,
            "$http_user_agent ~ bot": False,
            "$http_user_agent ~* bot": True,
            "$http_user_agent !~* bot": False,
            "$http_user_agent !~ bot": True,
            '$http_user_agent ~* "(bot|crawl)"': True,
            "$request_uri ~ ^/Path\\?a": True,
            "$request_method = GET": True,
            "$arg_a": True,
            "$arg_z": False,
            "$arg_none": False,
            "!$arg_none": None,
            "$arg_none = ''": True,
            "$cookie_s = x": True,
            "$scheme = http": True,
            "$remote_addr ~ ^192\\.": True,
            "$uri = $location_path": False,
            "$uri = /Path": True,
            "$server_name = $host": True,
        }.items():
            played = Stage(f"if ({condition}) {{ return 418; }}").play(facts)
            self.assertEqual(played.status == 418, bool(holds), condition)
        self.assertEqual(Stage("if ( $arg_a = 1 ) { return 418; }").play(facts).status, 418)

    def test_captures_and_variables(self) -> None:
        """What an expression captures, and what set has set, is there for what follows."""
        text = r"""
            set $origin "";
            if ($http_origin ~* "^https?://(?P<name>[a-z]+)\.test$") { set $origin $http_origin; set $also "$1/$name"; }
            if ($origin) { add_header Access-Control-Allow-Origin $origin; add_header X $also; }
            set $both "${origin}${request_method}";
            if ($both = "https://a.testOPTIONS") { return 204; }
        """
        stage = Stage(text)
        fields = stage.play(on("/", origin=b"https://a.test")).answer.fields
        self.assertEqual(dict(fields), {b"Access-Control-Allow-Origin": b"https://a.test", b"X": b"a/a"})
        self.assertEqual(stage.play(on("/", method=b"OPTIONS", origin=b"https://a.test")).status, 204)
        self.assertEqual(stage.play(on("/", origin=b"https://evil.example")).answer.fields, [])

    def test_last_one_has_the_level(self) -> None:
        """As in nginx, what the last if that takes a request says of fields holds for it."""
        stage = Stage(
            "if ($arg_a) { add_header X a; more_set_input_headers 'I: a'; } if ($arg_b) { add_header X b; proxy_set_header S b; }"
        )
        both = stage.play(on("/?a=1&b=1"))
        self.assertEqual((both.answer.fields, both.request.fields), ([(b"X", b"b")], [(b"S", b"b")]))
        one = stage.play(on("/?a=1"))
        self.assertEqual((one.answer.fields, one.request.fields), ([(b"X", b"a")], [(b"I", b"a")]))

    def test_variables_do_not_grow(self) -> None:
        """A variable that is made of others is bounded, and so is what is made of all of them."""
        text = 'set $a "$request_uri"; ' + 'set $a "$a$a$a$a"; ' * 20
        self.assertEqual(Stage(text).play(on("/" + "a" * 100)).status, 414)
        self.assertEqual(Stage('set $a "$request_uri$request_uri";').play(on("/a")).status, 200)

    def test_variables_together(self) -> None:
        """Nor are there many of them that are long."""
        facts = FakeFacts(target=b"/?" + b"a" * 8000)
        for count, status in ((8, 200), (9, 414)):
            text = "".join(f"set $v{number} $request_uri;" for number in range(count))
            self.assertEqual(Stage(text).play(facts).status, status)

    def test_levels_of_later_snippets(self) -> None:
        """A filter that outlives the snippet of its server knows the levels of the next one, and no more of them than it needs."""
        made = SnippetAnswers(Layers()).make(FakeServices())
        for number in range(600):
            snippet = parse_snippet(f"if ($host) {{ add_header X {number}; }}", Place.SERVER)
            facts, answer = on("/"), FakeEdit()
            ServerStatements(snippet.block).judge(facts)
            made.on_answer(facts, answer)
            self.assertEqual(answer.fields, [(b"X", b"%d" % number)])

    def test_long_texts_pass_no_guard(self) -> None:
        """A text that would take long to judge is refused rather than let through."""
        text = 'if ($http_a ~ "(x?){100}x{100}") { return 403; }'
        self.assertEqual(Stage(text).play(on("/", a=b"y" * 10)).status, 200)
        self.assertEqual(Stage(text).play(on("/", a=b"y" * 30_000)).status, 414)

    def test_many_expressions_pass_no_guard(self) -> None:
        """Nor are dozens of expressions looked for, each of which a text is short enough for, of server, location and path together."""

        def guards(count: int) -> str:
            return "".join(
                f'if ($http_a ~ "(x?){{100}}x{{100}}{number}") {{ return 403; }}' for number in range(count)
            )

        facts = {"a": b"y" * (MAX_COST // 1100)}
        self.assertEqual(Stage(guards(8)).play(on("/", **facts)).status, 200)
        self.assertEqual(Stage(guards(12)).play(on("/", **facts)).status, 414)
        self.assertEqual(Stage(guards(6), server=guards(6)).play(on("/", **facts)).status, 414)
        rewrites = "".join(f'rewrite "^/(x?){{100}}x{{100}}{number}" /b;' for number in range(12))
        self.assertEqual(Stage(rewrites).play(on("/" + "y" * (MAX_COST // 1100))).status, 414)
        places = "".join(
            f'location ~ "(x?){{100}}x{{100}}{number}" {{ return 403; }}' for number in range(12)
        )
        self.assertEqual(Stage(server=places).play(on("/" + "y" * (MAX_COST // 1100))).status, 414)

    def test_usual_expressions(self) -> None:
        """As many guards as there may be, of a usual sort, look at the longest names of browsers."""
        text = "".join(
            f"if ($http_user_agent ~* (one{number}bot|other{number}crawler|third-spider)) {{ return 403; }}"
            for number in range(32)
        )
        self.assertEqual(Stage(text).play(on("/", user_agent=b"Mozilla/5.0 " * 60)).status, 200)


class LocationTests(SynchronousTestCase):
    """``location`` in a server."""

    def found(self, target: str, server: str, **stage: object) -> int:
        """The status that *target* gets, of a route that has its own."""
        return (
            Stage(server=server, path=str(stage.get("path", "/")), is_exact=bool(stage.get("exact")))
            .play(on(target))
            .status
        )

    def test_which_one(self) -> None:
        """The exact one, the longest prefix unless an expression matches, and with ^~ no expression."""
        server = r"""
            location = /a { return 401; } location /a { return 402; } location /a/b { return 403; }
            location ^~ /a/c { return 405; } location ~ \.js$ { return 406; } location ~* ^/A/B/x { return 407; }
        """
        for target, status in {
            "/a": 401,
            "/ab": 402,
            "/a/": 402,
            "/a/b": 403,
            "/a/b/x": 407,
            "/a/b/y.js": 406,
            "/a/c/y.js": 405,
            "/A": 200,
            "/": 200,
            "/x.js": 406,
        }.items():
            self.assertEqual(self.found(target, server), status, target)

    def test_beside_paths_of_ingresses(self) -> None:
        """A longer path of an Ingress is found before a prefix; an exact one before all but the same."""
        server = (
            r"location /a { return 402; } location = /a/x { return 401; } location ~ \.js$ { return 406; }"
        )
        self.assertEqual(self.found("/a/b/c", server, path="/a/b"), 200)
        self.assertEqual(self.found("/a/b/c.js", server, path="/a/b"), 406)
        self.assertEqual(self.found("/a/c", server, path="/a"), 402)
        self.assertEqual(self.found("/a/c.js", server, path="/a/c.js", exact=True), 200)
        self.assertEqual(self.found("/a/x", server, path="/a/x", exact=True), 401)
        self.assertEqual(self.found("/a/b", server, path=""), 402)

    def test_fields(self) -> None:
        """A location without return goes on to the backend, and what it says of fields stands beside the path's."""
        stage = Stage(
            "add_header X-Frame-Options DENY always;",
            server=r"location ~* \.(js|css)$ { expires 1y; add_header Cache-Control public; } add_header S s;",
        )
        found = stage.play(on("/x.js"))
        self.assertIsNone(found.reply)
        names = [name for name, _ in found.answer.fields]
        self.assertEqual(names, [b"Expires", b"Cache-Control", b"X-Frame-Options", b"Cache-Control"])
        self.assertEqual([name for name, _ in stage.play().answer.fields], [b"X-Frame-Options"])

    def test_answers_of_its_own(self) -> None:
        """What answers in a location has the fields of the server and of itself, and not those of the path."""
        stage = Stage(
            "more_set_headers 'P: path';",
            server="location = /health { add_header H h always; return 200 ok; } more_set_headers 'S: s';",
        )
        found = stage.play(on("/health"))
        self.assertEqual(dict(found.answer.fields), {b"Content-Type": b"text/html", b"S": b"s", b"H": b"h"})
        self.assertEqual(dict(stage.play().answer.fields), {b"S": b"s", b"P": b"path"})

    def test_server_decides_first(self) -> None:
        """Statements of the server run before its locations and the path; a rewrite there chooses the location."""
        stage = Stage(
            "return 402;", server="if ($arg_a) { return 401; } location /b { return 403; } rewrite ^/a /b;"
        )
        for target, status in {"/?a=1": 401, "/a": 403, "/b": 403, "/c": 402}.items():
            self.assertEqual(stage.play(on(target)).status, status, target)

    def test_operators_come_first(self) -> None:
        """The operator's snippets stand before those of Ingresses, and both hold."""
        stage = Stage(
            "more_set_headers 'A: path';",
            operators_server="if ($arg_a) { return 403; }",
            operators_location="more_set_headers 'A: all' 'B: all';",
            http="more_set_headers 'B: http' 'C: http';",
        )
        self.assertEqual(dict(stage.play().answer.fields), {b"A": b"path", b"B": b"all", b"C": b"http"})
        self.assertEqual(stage.play(on("/?a=1")).status, 403)


class AccessTests(SynchronousTestCase):
    """``allow``, ``deny``, ``limit_except``."""

    def status(self, stage: Stage, client: bytes, method: bytes = b"GET", target: bytes = b"/") -> int:
        """What *client* gets."""
        return stage.play(
            FakeFacts(client=client, method=method, target=target, path=target.partition(b"?")[0])
        ).status

    def test_first_rule_decides(self) -> None:
        """Rules are asked in order; who is in none of them is let in."""
        stage = Stage("allow 10.1.0.0/16; deny 10.0.0.0/8; allow 2001:db8::/32; deny fe80::1;")
        for client, status in {
            b"10.1.2.3": 200,
            b"10.2.0.1": 403,
            b"::ffff:10.2.0.1": 403,
            b"192.0.2.1": 200,
            b"2001:db8::1": 200,
            b"fe80::1": 403,
        }.items():
            self.assertEqual(self.status(stage, client), status, client)

    def test_all(self) -> None:
        """deny all lets in nobody but whom a rule before it does, and what is no address is nobody."""
        stage = Stage("allow 192.0.2.7; allow unix:; deny all;")
        self.assertEqual(
            [self.status(stage, one) for one in (b"192.0.2.7", b"192.0.2.8", b"?")], [200, 403, 403]
        )

    def test_levels(self) -> None:
        """Rules within take the place of rules around; those of a location and of a path both hold."""
        stage = Stage("allow all;", server="deny all;")
        self.assertEqual(self.status(stage, b"192.0.2.1"), 200)
        stage = Stage("more_set_headers 'X: y';", server="deny all;")
        self.assertEqual(self.status(stage, b"192.0.2.1"), 403)
        stage = Stage(server="location /admin { allow 10.0.0.1; deny all; }")
        for target, client, status in (
            (b"/", b"192.0.2.1", 200),
            (b"/admin/x", b"192.0.2.1", 403),
            (b"/admin/x", b"10.0.0.1", 200),
        ):
            self.assertEqual(self.status(stage, client, target=target), status)
        stage = Stage("if ($arg_a) { deny all; }")
        self.assertEqual(
            [self.status(stage, b"192.0.2.1", target=one) for one in (b"/", b"/?a=1")], [200, 403]
        )

    def test_methods(self) -> None:
        """limit_except has its rules for all other methods; HEAD comes with GET."""
        stage = Stage("limit_except GET POST { allow 10.0.0.1; deny all; }")
        for method, status in {b"GET": 200, b"HEAD": 200, b"POST": 200, b"DELETE": 403}.items():
            self.assertEqual(self.status(stage, b"192.0.2.1", method), status)
            self.assertEqual(self.status(stage, b"10.0.0.1", method), 200)
