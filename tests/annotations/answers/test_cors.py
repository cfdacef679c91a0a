"""CORS: values, specs, and answers as browsers see them."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.answers.cors import (
    EVERYBODY,
    MAX_CHARACTERS,
    MAX_ORIGIN,
    CorsFields,
    CorsPreflight,
    CorsSettings,
    Origins,
    cors_filters,
    parse_exposed,
    parse_methods,
    parse_names,
    parse_origins,
    parse_seconds,
)
from ingress.annotations.contract.route_facts import NO_FACTS
from ingress.annotations.contract.values import ValueRefused
from ingress.model.cluster.problems import Problem, Reason
from ingress.proxy.exchange.filtering.chain import live_filter
from tests.annotations.served_case import ServedCase
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices
from tests.proxy.playing import OK, ONE

LISTED = "https://a.test, https://*.b.test:8443,http://c.test:8080"
ALLOWED = b"access-control-allow-origin"
UPGRADE = (
    (b"Connection", b"Upgrade"),
    (b"Upgrade", b"websocket"),
    (b"Sec-WebSocket-Version", b"13"),
    (b"Sec-WebSocket-Key", b"dGhlIHNhbXBsZSBub25jZQ=="),
)
HOSTILE = (
    "",
    " ",
    ",",
    "a\r\nX-Evil: 1",
    "a\0b",
    "\u00e4",
    "$http_origin",
    "${ORIGIN}",
    "{{ .Values.origin }}",
    '"quoted"',
    "a;b",
    "x y\\",
)


class OriginTests(SynchronousTestCase):
    """Which origins are allowed."""

    def test_everybody(self) -> None:
        """An asterisk, alone or among others, allows everybody, and whoever says no origin."""
        for text in ("*", " * ", "https://a.test, *"):
            origins = parse_origins(text)
            self.assertIs(origins, EVERYBODY)
            for origin in (b"", b"null", b"https://any.test"):
                self.assertIn(origin, origins)

    def test_listed(self) -> None:
        """What is listed is allowed in any spelling of case, and a wildcard is one label."""
        origins = parse_origins(LISTED)
        for origin in (
            b"https://a.test",
            b"HTTPS://A.test",
            b"https://any.b.test:8443",
            b"https://x-1.b.test:8443",
            b"http://c.test:8080",
        ):
            self.assertIn(origin, origins)

    def test_not_listed(self) -> None:
        """Nothing else is: no other scheme, port, beginning, end, label, and no dot that is another sign."""
        origins = parse_origins(LISTED)
        for origin in (
            b"",
            b"null",
            b"*",
            b"http://a.test",
            b"https://a.test:443",
            b"https://a.test/",
            b"https://a.test.evil",
            b"https://evil.a.test",
            b"https://axtest",
            b"evilhttps://a.test",
            b"https://evil/https://a.test",
            b"https://a.test\t",
            b"https://b.test:8443",
            b"https://.b.test:8443",
            b"https://*.b.test:8443",
            b"https://x.y.b.test:8443",
            b"https://x.b.test",
            b"https://x.b.test:84433",
            b"https://evil.test/.b.test:8443",
            b"https://evil@x.b.test:8443",
            b"https://\xe4.b.test:8443",
            b"https://" + b"a" * 100_000 + b".b.test:8443",
            b"https://" + b"a" * (MAX_ORIGIN - 19) + b".b.test:8443",
        ):
            self.assertNotIn(origin, origins, origin[:60])

    def test_other_schemes(self) -> None:
        """Any scheme may be listed, an address, and what pages in a sandbox say."""
        for text in ("capacitor://localhost", "chrome-extension://abcdef", "http://[::1]:3000", "null"):
            self.assertIn(text.encode(), parse_origins(text))

    def test_left_out(self) -> None:
        """What is no origin is left out, and the others are allowed."""
        origins = parse_origins("https://a.test/, a.test, https://*, https://a.*.test, https://b.test,")
        self.assertEqual(origins, Origins(exact=frozenset({b"https://b.test"})))
        self.assertEqual(len(origins.left_out), 4)

    def test_refused(self) -> None:
        """What has no origin at all is refused."""
        for text in (
            *HOSTILE,
            "https://",
            "https://a.test?b",
            "https://user:pass@a.test",
        ):
            self.assertRaises(ValueRefused, parse_origins, text)

    def test_too_long(self) -> None:
        """A list of good origins is refused, too, where it is too long."""
        longest = "https://a.test".ljust(MAX_CHARACTERS, ",")
        self.assertEqual(parse_origins(longest), Origins(exact=frozenset({b"https://a.test"})))
        self.assertRaisesRegex(ValueRefused, "is longer than", parse_origins, longest + ",")


class ListTests(SynchronousTestCase):
    """Methods, names of fields, and seconds."""

    def test_as_written(self) -> None:
        """A list goes out as it is written, in one line."""
        for parse, text, found in (
            (parse_methods, " GET, PUT,POST ", "GET, PUT,POST"),
            (parse_methods, "GET,\n  POST", "GET, POST"),
            (parse_names, "X-A,x_b , DNT", "X-A,x_b , DNT"),
            (parse_names, "Content-Length, *", "*"),
            (parse_exposed, "*, X-Total", "*, X-Total"),
            (parse_exposed, " * ", "*"),
        ):
            self.assertEqual(parse(text), found)

    def test_refused(self) -> None:
        """What could end a field, or is none of what is listed, is refused."""
        for parse in (parse_methods, parse_names):
            for text in (*HOSTILE, "A" * 5000, "GET, P\u00d6ST", "a:b", "GET;"):
                self.assertRaises(ValueRefused, parse, text)

    def test_seconds(self) -> None:
        """Seconds are a whole number."""
        self.assertEqual([parse_seconds(text) for text in ("0", " 86400 ", "-1")], [0, 86400, -1])
        for text in (*HOSTILE, "1.5", "1h", "9" * 11, "9" * 100_000, "\u0663"):
            self.assertRaises(ValueRefused, parse_seconds, text)

    def test_bounded(self) -> None:
        """No value keeps anybody waiting, whatever its 256 KiB are: each length is looked at first, or read once."""
        parsers: tuple[Callable[[str], object], ...] = (
            parse_origins,
            parse_methods,
            parse_names,
            parse_seconds,
        )
        for sign in ("a", ",", "a,", "https://*.", "-", " "):
            text = (sign * 262144)[:262144]
            for parse in parsers:
                began = process_time()
                self.assertRaises(ValueRefused, parse, text)
                self.assertLess(process_time() - began, 1.0)


class FieldTests(SynchronousTestCase):
    """What answers say."""

    def said(self, settings: CorsSettings, origin: bytes = b"") -> dict[bytes, bytes]:
        """Return the fields of an answer to a request of *origin*, whose endpoint said something of its own."""
        _, spec = cors_filters(evolve(settings, enabled=True), NO_FACTS)
        own = [(b"access-control-allow-origin", b"own"), (b"access-control-allow-credentials", b"own")]
        edit = FakeEdit(fields=own)
        live = live_filter("cors", spec.make(FakeServices()))
        assert live.on_answer is not None
        live.on_answer(FakeFacts(fields={b"origin": origin}), edit)
        self.assertEqual(len(edit.fields), len(dict(edit.fields)))
        return dict(edit.fields)

    def test_defaults(self) -> None:
        """Without a word the fields are those of ingress-nginx, and nothing depends on who asks."""
        self.assertEqual(
            self.said(CorsSettings()),
            {
                b"Access-Control-Allow-Origin": b"*",
                b"Access-Control-Allow-Credentials": b"true",
                b"Access-Control-Allow-Methods": b"GET, PUT, POST, DELETE, PATCH, OPTIONS",
                b"Access-Control-Allow-Headers": b"DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization",
                b"Access-Control-Max-Age": b"1728000",
            },
        )

    def test_asked(self) -> None:
        """What is asked for is said, to the origin that asks, and caches are told that it depends on that."""
        settings = CorsSettings(
            origins=parse_origins(LISTED),
            methods="GET",
            headers="X-A",
            exposed="X-B",
            credentials=False,
            max_age_seconds=5,
        )
        self.assertEqual(
            self.said(settings, b"https://Any.b.test:8443"),
            {
                b"Access-Control-Allow-Origin": b"https://Any.b.test:8443",
                b"Access-Control-Allow-Methods": b"GET",
                b"Access-Control-Allow-Headers": b"X-A",
                b"Access-Control-Expose-Headers": b"X-B",
                b"Access-Control-Max-Age": b"5",
                b"Vary": b"Origin",
            },
        )

    def test_not_allowed(self) -> None:
        """Who is not allowed, or says no origin, is told nothing; what the endpoint says is its own affair."""
        settings = CorsSettings(origins=parse_origins(LISTED))
        for origin in (b"https://evil.test", b""):
            said = self.said(settings, origin)
            self.assertEqual(said.pop(b"Vary"), b"Origin")
            self.assertEqual(set(said.values()), {b"own"})

    def test_preflight(self) -> None:
        """OPTIONS of who is allowed is answered, with or without what browsers ask in it; nothing else is."""
        some, everybody = CorsPreflight(parse_origins(LISTED)), CorsPreflight(EVERYBODY)
        for spec, method, origin, answered in (
            (some, b"OPTIONS", b"https://a.test", True),
            (some, b"OPTIONS", b"https://evil.test", False),
            (some, b"OPTIONS", b"", False),
            (some, b"GET", b"https://a.test", False),
            (everybody, b"OPTIONS", b"", True),
            (everybody, b"options", b"", False),
            (everybody, b"HEAD", b"", False),
        ):
            reply = spec.judge(FakeFacts(method=method, fields={b"origin": origin}))
            self.assertEqual(reply is not None, answered, (method, origin))

    def test_shared(self) -> None:
        """Whoever asks for the same has the same filters, and what was left out of a list is none of them."""
        one = cors_filters(CorsSettings(enabled=True, origins=parse_origins("https://a.test, x")), NO_FACTS)
        two = cors_filters(CorsSettings(enabled=True, origins=parse_origins("y, https://a.test")), NO_FACTS)
        self.assertEqual(one, two)
        assert isinstance(one[1], CorsFields)
        self.assertEqual(one[1].origins.left_out, ())


class ProblemTests(ServedCase):
    """What authors are told."""

    def told(self, **annotations: str) -> list[Problem]:
        """Return what is told of annotations."""
        return [one for one in self.annotate(**annotations).problems if "annotations" in one.field]

    def test_silence(self) -> None:
        """Without ``enable-cors`` the others do nothing, and nobody is told; nor where all is well."""
        for asked in (
            {"cors_allow_origin": "https://a.test"},
            {"enable_cors": "false", "cors_allow_origin": "*", "cors_allow_credentials": "true"},
            {"enable_cors": "true"},
            {"enable_cors": "true", "cors_allow_origin": LISTED, "cors_allow_credentials": "true"},
            {"enable_cors": "true", "cors_allow_origin": "*", "cors_allow_methods": "GET, POST"},
        ):
            self.assertEqual(self.told(**asked), [], asked)

    def test_notes(self) -> None:
        """What browsers will not do, or do for more than is meant, is a note."""
        for asked, name in (
            ({"cors_allow_credentials": "true"}, "cors-allow-credentials"),
            ({"cors_allow_origin": "null"}, "cors-allow-origin"),
            ({"cors_allow_headers": "*"}, "cors-allow-headers"),
            ({"cors_allow_methods": "*"}, "cors-allow-methods"),
        ):
            (problem,) = self.told(enable_cors="true", **asked)
            self.assertTrue(problem.is_note)
            self.assertTrue(problem.message.startswith(f"{name}: "), problem.message)

    def test_invalid(self) -> None:
        """What cannot be read is told with its name, its value and what counts instead; other origins are allowed."""
        for asked, said in (
            ({"enable_cors": "yes"}, 'enable-cors: "yes"'),
            ({"cors_allow_origin": "a.test"}, "no origin is allowed"),
            ({"cors_allow_origin": "https://a.test/, https://b.test"}, "an origin has no path"),
            ({"cors_allow_methods": "GET;"}, "cors-allow-methods"),
            ({"cors_allow_headers": "a:"}, "cors-allow-headers"),
            ({"cors_expose_headers": "a:"}, "cors-expose-headers"),
            ({"cors_max_age": "1d"}, "cors-max-age"),
            (
                {"cors_allow_credentials": "?", "cors_allow_origin": "https://a.test"},
                "cors-allow-credentials",
            ),
        ):
            (problem,) = self.told(**{"enable_cors": "true", **asked})
            self.assertEqual(problem.reason, Reason.INVALID_ANNOTATION)
            self.assertIn(said, problem.message)


class ServedTests(ServedCase):
    """In the proxy, over HTTP/1.1."""

    def test_preflight(self) -> None:
        """A preflight is answered with 204 and all fields, has no body, and reaches no endpoint."""
        self.annotate(enable_cors="true", cors_allow_origin=LISTED)
        asked = ((b"origin", b"https://a.test"), (b"access-control-request-method", b"PUT"))
        heard = self.get(method=b"OPTIONS", fields=asked).heard()
        self.assertEqual((heard.status, heard.body, heard.all(ALLOWED)), (204, b"", [b"https://a.test"]))
        self.assertEqual(heard.all(b"content-length"), [])
        self.assertEqual(heard.all(b"vary"), [b"Origin"])
        self.assert_upstreams(0)

    def test_other_options(self) -> None:
        """OPTIONS of an origin that is not listed, or of none, is the endpoint's affair."""
        self.annotate(enable_cors="true", cors_allow_origin=LISTED)
        for fields in ((), ((b"origin", b"https://a.test.evil"),), ((b"origin", b"null"),)):
            client = self.get(method=b"OPTIONS", fields=fields)
            self.upstream().say(OK)
            heard = client.heard()
            self.assertEqual((heard.status, heard.all(ALLOWED)), (200, []))

    def test_answers(self) -> None:
        """An answer has the fields in place of the endpoint's, whatever its status, and a HEAD as well."""
        self.annotate(enable_cors="true", cors_allow_origin="https://a.test")
        own = b"HTTP/1.1 404 Not Found\r\naccess-control-ALLOW-origin: *\r\nVary: Accept, origin\r\nContent-Length: 0\r\n\r\n"
        for method in (b"GET", b"HEAD", b"POST"):
            client = self.get(method=method, fields=((b"origin", b"https://a.test"),))
            self.upstream().say(own)
            heard = client.heard()
            self.assertEqual((heard.status, heard.all(ALLOWED)), (404, [b"https://a.test"]))
            self.assertEqual(heard.all(b"access-control-max-age"), [b"1728000"])
            self.assertEqual(heard.all(b"vary"), [b"Accept, origin"])

    def test_one_head_for_two_origins(self) -> None:
        """The same answer of an endpoint is another one for each who asks."""
        self.annotate(enable_cors="true", cors_allow_origin="https://a.test, https://b.test")
        for origin, allowed in (
            (b"https://a.test", [b"https://a.test"]),
            (b"https://b.test", [b"https://b.test"]),
            (b"x", []),
        ):
            for _ in range(3):
                client = self.get(fields=((b"origin", origin),))
                self.upstream().say(OK)
                self.assertEqual(client.heard().all(ALLOWED), allowed)

    def test_our_own(self) -> None:
        """Errors of the proxy's own have the fields, so that pages can read them."""
        self.annotate(enable_cors="true")
        self.connector.unreachable[ONE] = "refused"
        heard = self.get().heard()
        self.assertEqual((heard.status, heard.all(ALLOWED)), (502, [b"*"]))

    def test_everybody_else(self) -> None:
        """Without ``enable-cors`` OPTIONS goes to the endpoint, and answers are as they came."""
        self.annotate(cors_allow_origin="*")
        client = self.get(method=b"OPTIONS", fields=((b"origin", b"https://a.test"),))
        self.upstream().say(OK)
        self.assertEqual(client.heard().all(ALLOWED), [])

    def test_grpc_web(self) -> None:
        """A call of gRPC-Web keeps its status and body, with the fields beside them."""
        self.annotate(
            enable_cors="true", cors_allow_origin="https://a.test", cors_expose_headers="grpc-status"
        )
        fields = ((b"origin", b"https://a.test"), (b"content-type", b"application/grpc-web+proto"))
        client = self.client()
        client.ask(method=b"POST", fields=fields, length=2)
        client.send(b"hi", True)
        self.upstream().say(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/grpc-web+proto\r\nContent-Length: 2\r\n\r\nyo"
        )
        heard = client.heard()
        self.assertEqual((heard.status, heard.body), (200, b"yo"))
        self.assertEqual(heard.all(b"access-control-expose-headers"), [b"grpc-status"])

    def test_hostile_origins(self) -> None:
        """What is no origin is told nothing, and nothing of it is repeated."""
        self.annotate(enable_cors="true", cors_allow_origin="https://*.b.test")
        for origin in (
            b"https://" + b"a" * 10_000 + b".b.test",
            b"https://evil.b.test.evil",
            b"https://\xff.b.test",
            b"null",
        ):
            client = self.get(fields=((b"origin", origin),))
            self.upstream().say(OK)
            heard = client.heard()
            self.assertEqual((heard.status, heard.all(ALLOWED)), (200, []))


class ServedOverHttp2Tests(ServedTests):
    """The same over HTTP/2."""

    is_http2 = True


class WebSocketTests(ServedCase):
    """Upgrades, which browsers send an origin with."""

    def test_upgrade(self) -> None:
        """An upgrade goes through, whoever asks: that is for the endpoint to judge."""
        for origin, allowed in ((b"https://a.test", 1), (b"https://evil.test", 0)):
            self.annotate(enable_cors="true", cors_allow_origin="https://a.test")
            client = self.stage.open()
            lines = [b"%b: %b" % field for field in (*UPGRADE, (b"Origin", origin))]
            client.say(b"\r\n".join([b"GET / HTTP/1.1", b"Host: shop.test", *lines, b"", b""]))
            self.upstream().say(
                b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello"
            )
            answer = client.take()
            self.assert_status(answer, 101)
            self.assertTrue(answer.endswith(b"\r\n\r\nhello"), answer)
            self.assertEqual(answer.lower().count(ALLOWED), allowed)
            client.close()
