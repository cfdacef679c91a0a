"""What snippets do to answers."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.snippet_blocks import LISTED_STATUSES
from ingress.annotations.nginx.reading import Place, parse_snippet
from ingress.annotations.snippets.filters import SnippetAnswers
from ingress.annotations.snippets.levels import Layers
from ingress.filters import FieldChanges
from tests.annotations.snippets.playing import Stage, answered, on
from tests.fakes.filter_parts import FakeFacts, FakeServices


class MoreHeadersTests(SynchronousTestCase):
    """``more_set_headers`` and ``more_clear_headers``."""

    def test_set(self) -> None:
        """A field is there once, with the value that was set last, whatever the endpoint and the status say."""
        text = 'more_set_headers "X: a" "Y:b c"; more_set_headers \'X: z\';'
        for status in (200, 404, 503):
            found = answered(text, (b"x", b"endpoint"), (b"Other", b"o"), status=status)
            self.assertEqual(sorted(found), [(b"Other", b"o"), (b"X", b"z"), (b"Y", b"b c")])

    def test_clear(self) -> None:
        """An empty value clears as more_clear_headers does, and so does a star whatever follows it."""
        fields = ((b"X-A", b"1"), (b"X-B", b"2"), (b"Server", b"s"), (b"Keep", b"k"))
        for text in ('more_set_headers "Server:" "X-A" "X-B: ";', "more_clear_headers Server 'X-*';"):
            self.assertEqual(answered(text, *fields), [(b"Keep", b"k")], text)

    def test_conditions(self) -> None:
        """-s is for statuses, -t for content types, -a has a field stand beside others."""
        text = 'more_set_headers -s "404 500" -s 403 -t "text/html text/css" -a "X: $status";'
        html = (b"Content-Type", b"Text/HTML; charset=utf-8")
        self.assertEqual(answered(text, html, (b"X", b"e"), status=404)[1:], [(b"X", b"e"), (b"X", b"404")])
        self.assertEqual(answered(text, html, status=403)[1:], [(b"X", b"403")])
        self.assertEqual(answered(text, html), [html])
        self.assertEqual(len(answered(text, (b"Content-Type", b"text/plain"), status=404)), 1)

    def test_variables(self) -> None:
        """Values are made of requests, answers and the route; one that comes to nothing clears."""
        text = (
            'more_set_headers "X: $host-$sent_http_etag-$namespace/$ingress_name/$service_name:$service_port" '
            '"Y: $http_none" "Z: $arg_a";'
        )
        stage = Stage(text)
        found = stage.play(on("/?a=1"), fields=((b"ETag", b"e"), (b"Y", b"y"))).answer.fields
        self.assertEqual(found[1:], [(b"X", b"a.example.com-e-demo/shop/web:80"), (b"Z", b"1")])

    def test_always_the_same(self) -> None:
        """What does not depend on the request is worked out beforehand."""
        snippet = parse_snippet('more_set_headers "X: a" Y; add_header Z z always;', Place.LOCATION)
        made = SnippetAnswers(Layers(here=snippet.block.level), True).make(FakeServices())
        self.assertEqual(made.answer_changes, FieldChanges((b"y",), ((b"X", b"a"),), ((b"Z", b"z"),)))


class AddHeaderTests(SynchronousTestCase):
    """``add_header``."""

    def test_statuses(self) -> None:
        """It adds on the statuses that nginx lists, and with always on all."""
        for status in (200, 201, 202, 204, 206, 301, 302, 303, 304, 307, 308, 400, 404, 500, 503):
            found = answered("add_header X a; add_header Y b always;", (b"X", b"e"), status=status)
            listed = [(b"X", b"a")] if status in LISTED_STATUSES else []
            self.assertEqual(found, [(b"X", b"e"), *listed, (b"Y", b"b")], status)

    def test_values(self) -> None:
        """Variables are put in, what comes to nothing is not added, and lines that go on are joined."""
        self.assertEqual(answered("add_header X $status-$host;"), [(b"X", b"200-a.example.com")])
        self.assertEqual(answered('add_header X $http_none; add_header Y "";'), [])
        self.assertEqual(answered("add_header X 'a;\n   b' always;"), [(b"X", b"a; b")])
        self.assertEqual(answered("add_header X 'é' always;"), [(b"X", "é".encode())])

    def test_together(self) -> None:
        """What does not fit into 64 KiB with those before is left out, apart from what always is the same; so it is on the way in."""
        facts = FakeFacts(target=b"/?" + b"a" * 8000)
        for directive in ("more_set_headers 'X-%d: $request_uri';", "add_header X-%d $request_uri always;"):
            text = "".join(directive % number for number in range(20)) + "more_set_headers 'X-Last: 1';"
            answer = Stage(text).play(facts).answer
            self.assertEqual(
                [answer.field(b"x-%d" % number) != b"" for number in (0, 7, 8, 19)],
                [True, True, False, False],
            )
            self.assertEqual(answer.field(b"x-last"), b"1")
        text = (
            "".join(f"proxy_set_header X-{number} $request_uri;" for number in range(20))
            + "proxy_set_header X-Last 1;"
        )
        request = Stage(text).play(facts).request
        self.assertEqual(
            [request.field(b"x-%d" % number) != b"" for number in (0, 7, 8, 19)], [True, True, False, False]
        )
        self.assertEqual(request.field(b"x-last"), b"1")

    def test_transport_security_once(self) -> None:
        """Strict-Transport-Security must not come twice, so it takes the place of what is there."""
        sts = (b"Strict-Transport-Security", b"max-age=1")
        for text in (
            'add_header Strict-Transport-Security "max-age=2" always;',
            'add_header Strict-Transport-Security "max-age=2" always; add_header X $host;',
        ):
            self.assertEqual(answered(text, sts)[0], (b"Strict-Transport-Security", b"max-age=2"))
            self.assertNotIn(sts, answered(text, sts))

    def test_fields_that_come_once(self) -> None:
        """Last-Modified and ETag are set, and cleared by nothing at all, as in nginx."""
        for text in (
            "add_header Last-Modified ''; add_header ETag 'x';",
            "add_header Last-Modified $http_none; add_header ETag x$http_none;",
        ):
            found = answered(text, (b"Last-Modified", b"then"), (b"etag", b"y"))
            self.assertEqual(found, [(b"ETag", b"x")])

    def test_inheritance(self) -> None:
        """A level with add_header of its own has none of those around it; more_set_headers come together."""
        stage = Stage(
            "more_set_headers 'M: here'; if ($arg_a) { add_header X if; } if ($arg_b) { more_set_headers 'I: if'; }"
            "add_header X here; add_header Y here;",
            server="add_header S server; more_set_headers 'M: server' 'N: server';",
            http="add_header H http; proxy_hide_header Hidden;",
        )
        around = {b"M": b"here", b"N": b"server"}
        for target, expected in {
            "/": {b"X": b"here", b"Y": b"here"},
            "/?a=1": {b"X": b"if"},
            "/?b=1": {b"X": b"here", b"Y": b"here", b"I": b"if"},
            "/?a=1&b=1": {b"X": b"here", b"Y": b"here", b"I": b"if"},
        }.items():
            found = stage.play(on(target), fields=((b"hidden", b"h"),)).answer.fields
            self.assertEqual(dict(found), around | expected, target)
        above = Stage("more_set_headers 'M: here';", server="add_header S server;", http="add_header H http;")
        self.assertEqual(dict(above.play().answer.fields), {b"M": b"here", b"S": b"server"})


class ExpiresTests(SynchronousTestCase):
    """``expires``; the clock of the test begins with 2026."""

    def expiry(self, text: str, *fields: tuple[bytes, bytes], status: int = 200) -> tuple[bytes, bytes]:
        """What ``Expires`` and ``Cache-Control`` say."""
        found = dict(answered(f"expires {text};", *fields, status=status))
        return found.get(b"Expires", b""), found.get(b"Cache-Control", b"")

    def test_times(self) -> None:
        """A time sets both fields, in place of what the endpoint said."""
        old = ((b"Expires", b"0"), (b"Cache-Control", b"private"))
        for text, expected in {
            "1h": (b"Thu, 01 Jan 2026 01:00:00 GMT", b"max-age=3600"),
            "30": (b"Thu, 01 Jan 2026 00:00:30 GMT", b"max-age=30"),
            "+1h": (b"Thu, 01 Jan 2026 01:00:00 GMT", b"max-age=3600"),
            "1d12h": (b"Fri, 02 Jan 2026 12:00:00 GMT", b"max-age=129600"),
            "1y": (b"Fri, 01 Jan 2027 00:00:00 GMT", b"max-age=31536000"),
            "1M": (b"Sat, 31 Jan 2026 00:00:00 GMT", b"max-age=2592000"),
            "0": (b"Thu, 01 Jan 2026 00:00:00 GMT", b"max-age=0"),
            "-1": (b"Wed, 31 Dec 2025 23:59:59 GMT", b"no-cache"),
            "epoch": (b"Thu, 01 Jan 1970 00:00:01 GMT", b"no-cache"),
            "max": (b"Thu, 31 Dec 2037 23:55:55 GMT", b"max-age=315360000"),
            "off": (b"0", b"private"),
            "@15h30m": (b"Thu, 01 Jan 2026 15:30:00 GMT", b"max-age=55800"),
        }.items():
            self.assertEqual(self.expiry(text, *old), expected, text)
            self.assertEqual(self.expiry(text, *old, status=404), (b"0", b"private"), text)

    def test_modified(self) -> None:
        """A time may count from Last-Modified; where that says nothing, from now."""
        old = b"Wed, 31 Dec 2025 23:00:00 GMT"
        self.assertEqual(
            self.expiry("modified 2h", (b"Last-Modified", old)),
            (b"Thu, 01 Jan 2026 01:00:00 GMT", b"max-age=3600"),
        )
        self.assertEqual(self.expiry("modified 10m", (b"Last-Modified", old))[1], b"no-cache")
        self.assertEqual(self.expiry("modified +2h", (b"Last-Modified", old))[1], b"max-age=3600")
        self.assertEqual(
            self.expiry("modified 2h", (b"Last-Modified", b"Thu, 01 Jan 2026 00:00:00 +0100")),
            (b"Thu, 01 Jan 2026 01:00:00 GMT", b"max-age=3600"),
        )
        for bad in (
            b"yesterday",
            b"Thu, 01 Jan 2026 00:00:00",
            b"Fri, 31 Dec 9999 23:30:00 GMT",
            b"Thu, 01 Jan 2026 00:00:00 +99999999999999999999",
            b"Thu, 01 Jan 2026 99:00:00 GMT",
            b"\xff",
            b"0",
        ):
            self.assertEqual(self.expiry("modified 2h", (b"Last-Modified", bad))[1], b"max-age=7200", bad)

    def test_variables(self) -> None:
        """What variables come to says when, for each answer anew; what is no time changes nothing, as in nginx."""
        for value, expected in {
            b"1h": b"max-age=3600",
            b"+30": b"max-age=30",
            b"-1": b"no-cache",
            b"max": b"max-age=315360000",
            b"@15h30m": b"max-age=55800",
            b"off": b"private",
            b"": b"private",
            b"soon": b"private",
            b"\xff": b"private",
            b"0s" * 62 + b"1h": b"max-age=3600",
            # It is read for each answer, and a visitor may have said it.
            b"0s" * 64 + b"1h": b"private",
        }.items():
            old = ((b"Cache-Control", b"private"), (b"X-For", value))
            self.assertEqual(self.expiry("$sent_http_x_for", *old)[1], expected, value)
            self.assertEqual(self.expiry("$sent_http_x_for", *old, status=404)[1], b"private", value)
        old = ((b"Last-Modified", b"Wed, 31 Dec 2025 23:00:00 GMT"), (b"X-For", b"2"))
        self.assertEqual(self.expiry("modified ${sent_http_x_for}h", *old)[1], b"max-age=3600")
        self.assertEqual(self.expiry("modified $sent_http_x_for$status", (b"X-For", b"max"))[1], b"")

    def test_with_add_header(self) -> None:
        """What add_header says of caches stands beside it, as in nginx."""
        found = answered('expires 1y; add_header Cache-Control "public, immutable";')
        self.assertEqual(
            [value for name, value in found if name == b"Cache-Control"],
            [b"max-age=31536000", b"public, immutable"],
        )


class HiddenTests(SynchronousTestCase):
    """``proxy_hide_header``."""

    def test_of_endpoints_alone(self) -> None:
        """A field of an endpoint is hidden, and one that is set besides stays."""
        text = "proxy_hide_header X-Powered-By; proxy_hide_header Server; more_set_headers 'Server: mine';"
        self.assertEqual(answered(text, (b"x-powered-by", b"p"), (b"Server", b"s")), [(b"Server", b"mine")])
        text = "proxy_hide_header Location; return 302 /x;"
        self.assertEqual(Stage(text).play(on("/")).location, b"http://a.example.com/x")
