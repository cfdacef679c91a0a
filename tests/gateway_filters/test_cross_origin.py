"""CORS of rules: the cases of the official suite, and pages that should not be allowed."""

from __future__ import annotations

from typing import ClassVar

from twisted.trial.unittest import SynchronousTestCase

from ingress.gateway_filters.cross_origin import MOST_BYTES, AllowedOrigins, read_list, read_origins
from ingress.translate.readers.gateway.objects.routes import CORS, HeaderEdits
from tests.gateway_filters.reading_case import OfAnswers, RuleCase
from tests.proxy.playing import OK

ORIGIN, METHODS, FIELDS = (
    b"access-control-allow-origin",
    b"access-control-allow-methods",
    b"access-control-allow-headers",
)
EXPOSED, AGE, CREDENTIALS = (
    b"access-control-expose-headers",
    b"access-control-max-age",
    b"access-control-allow-credentials",
)
ALL = (ORIGIN, METHODS, FIELDS, EXPOSED, AGE, CREDENTIALS)
LISTED = CORS(
    ("https://www.foo.com", "https://*.bar.com"),
    True,
    ("GET", "OPTIONS"),
    ("x-header-1", "x-header-2"),
    ("x-header-3", "x-header-4"),
    3600,
)
ANY_METHOD = CORS(("https://www.foo.com",), methods=("*",))
ANY_ORIGIN = CORS(("*",), methods=("PUT",))
ANYTHING = CORS(("*",), True, ("*",), ("*",))
ANYTHING_UNKNOWN = CORS(("*",), False, ("*",), ("*",))
TOLD = {
    METHODS: b"GET, OPTIONS",
    FIELDS: b"x-header-1, x-header-2",
    EXPOSED: b"x-header-3, x-header-4",
    AGE: b"3600",
    CREDENTIALS: b"true",
}
# HTTPRouteCORS: filter, origin, method and fields that are asked about, and what a preflight is told.
PREFLIGHTS: tuple[tuple[CORS, bytes, bytes, bytes, dict[bytes, bytes]], ...] = (
    (LISTED, b"https://www.foo.com", b"GET", b"x-header-1, x-header-2", {ORIGIN: b"https://www.foo.com", **TOLD}),
    (LISTED, b"https://www.bar.com", b"GET", b"x-header-1, x-header-2", {ORIGIN: b"https://www.bar.com", **TOLD}),
    (LISTED, b"https://xpto.www.bar.com", b"GET", b"", {ORIGIN: b"https://xpto.www.bar.com", **TOLD}),
    (LISTED, b"https://foobar.com", b"GET", b"", {}),
    (ANY_METHOD, b"https://www.foo.com", b"POST", b"", {ORIGIN: b"https://www.foo.com", METHODS: b"*", AGE: b"5"}),
    (ANY_ORIGIN, b"https://foobar.com", b"PUT", b"", {ORIGIN: b"*", METHODS: b"PUT", AGE: b"5"}),
    (ANY_ORIGIN, b"https://foobar.com:12345", b"PUT", b"", {ORIGIN: b"*", METHODS: b"PUT", AGE: b"5"}),
    (
        ANYTHING,
        b"https://other.foo.com",
        b"PUT",
        b"x-header-1, x-header-2",
        {
            ORIGIN: b"https://other.foo.com",
            METHODS: b"PUT",
            FIELDS: b"x-header-1, x-header-2",
            CREDENTIALS: b"true",
            AGE: b"5",
        },
    ),
    (ANYTHING, b"https://a.test", b"PUT", b"", {ORIGIN: b"https://a.test", METHODS: b"PUT", CREDENTIALS: b"true", AGE: b"5"}),
    (
        ANYTHING_UNKNOWN,
        b"https://other.foo.com",
        b"PUT",
        b"x-header-1",
        {ORIGIN: b"*", METHODS: b"*", FIELDS: b"*", AGE: b"5"},
    ),
    # What cannot be said again is not.
    (ANYTHING, b"https://a.test", b"PUT", b"a b", {ORIGIN: b"https://a.test", METHODS: b"PUT", CREDENTIALS: b"true", AGE: b"5"}),
    (CORS(), b"https://a.test", b"GET", b"", {}),
)  # fmt: skip
# Filter, origin, and what the answer to its request says.
ANSWERS: tuple[tuple[CORS, bytes, dict[bytes, bytes]], ...] = (
    (LISTED, b"https://www.foo.com", {ORIGIN: b"https://www.foo.com", EXPOSED: b"x-header-3, x-header-4", CREDENTIALS: b"true"}),
    (LISTED, b"https://www.bar.com", {ORIGIN: b"https://www.bar.com", EXPOSED: b"x-header-3, x-header-4", CREDENTIALS: b"true"}),
    (LISTED, b"https://foobar.com", {}),
    (LISTED, b"", {}),
    (ANY_ORIGIN, b"https://foobar.com:12345", {ORIGIN: b"*"}),
    (ANY_ORIGIN, b"https://foobar.com", {ORIGIN: b"*"}),
    (ANY_ORIGIN, b"", {ORIGIN: b"*"}),
    (ANYTHING, b"https://other.foo.com", {ORIGIN: b"https://other.foo.com", CREDENTIALS: b"true"}),
    (ANYTHING_UNKNOWN, b"https://other.foo.com", {ORIGIN: b"*"}),
    (CORS(("*",), exposed=("*",)), b"https://a.test", {ORIGIN: b"*", EXPOSED: b"*"}),
)  # fmt: skip


class OriginTests(SynchronousTestCase):
    """Which origins are allowed."""

    def origins(self, *texts: str) -> AllowedOrigins:
        """Return the origins that are named."""
        found = read_origins(texts)
        assert isinstance(found, AllowedOrigins), found
        return found

    def test_ports(self) -> None:
        """Without a port the usual one of the scheme is meant, on both sides."""
        for text in ("https://a.test", "https://a.test:443", "HTTPS://A.test"):
            origins = self.origins(text)
            self.assertIn(b"https://a.test", origins)
            self.assertIn(b"https://a.test:443", origins)
            for other in (b"https://a.test:80", b"http://a.test", b"https://a.test.evil", b"https://xa.test"):
                self.assertNotIn(other, origins)
        self.assertIn(b"http://a.test:80", self.origins("http://a.test"))

    def test_wide(self) -> None:
        """A wildcard is one label or more, and all hosts by itself."""
        origins = self.origins("https://*.bar.com:8443")
        for origin in (b"https://a.bar.com:8443", b"https://a.b.bar.com:8443"):
            self.assertIn(origin, origins)
        for origin in (
            b"https://bar.com:8443",
            b"https://.bar.com:8443",
            b"https://a.bar.com",
            b"http://a.bar.com:8443",
            b"https://abar.com:8443",
            b"https://evil.test/.bar.com:8443",
            b"https://evil.test#.bar.com:8443",
            b"https://user@a.bar.com:8443",
            b"https://a.bar.com:8443\x00",
            b"null",
            b"",
            b"https://" + b"a." * MOST_BYTES + b"bar.com:8443",
        ):
            self.assertNotIn(origin, origins)
        everywhere = self.origins("http://*")
        self.assertIn(b"http://any.test", everywhere)
        self.assertIn(b"http://[::1]", everywhere)
        self.assertNotIn(b"https://any.test", everywhere)

    def test_refused(self) -> None:
        """What the API has no word for is none."""
        for text in (
            "",
            "null",
            "a.test",
            "ftp://a.test",
            "https://",
            "https://a.test/",
            "https://a.test:",
            "https://a.test:123456",
            "https://*a.test",
            "https://a.*.test",
            "https://**",
            "https://a.test,https://b.test",
            "https://\u00e4.test",
            "https://a.test\n",
            "https://" + "a" * 300_000,
        ):
            self.assertIsInstance(read_origins([text]), str, text[:40])

    def test_lists(self) -> None:
        """Methods and fields are names."""
        for text in ("", "a b", "a\r\nb", "a,b", "\u00e4", "a" * 300_000):
            self.assertIsInstance(read_list([text]), str)


class ServedTests(RuleCase):
    """In the proxy."""

    is_http2: ClassVar[bool] = False

    def told(self, fields: tuple[tuple[bytes, bytes], ...]) -> dict[bytes, bytes]:
        """Return the fields of CORS, each of which may be there once."""
        found = [(name, value) for name, value in fields if name in ALL]
        self.assertEqual(len(found), len(dict(found)))
        return dict(found)

    def test_preflights(self) -> None:
        """Preflights are answered with 204 and get to no endpoint; who is not allowed is told nothing."""
        for written, origin, method, names, wanted in PREFLIGHTS:
            self.rule(written)
            asked = [(b"origin", origin), (b"access-control-request-method", method)]
            asked += [(b"access-control-request-headers", names)] if names else []
            heard = self.get(method=b"OPTIONS", fields=tuple(asked)).heard()
            self.assertEqual((heard.status, heard.body), (204, b""))
            self.assertEqual(self.told(heard.fields), wanted, (written, origin))
        self.assert_upstreams(0)

    def test_answers(self) -> None:
        """Answers say who may read them, in place of what the endpoint says."""
        own = b"Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Credentials: true\r\n"
        for written, origin, wanted in ANSWERS:
            self.rule(written)
            client = self.get(fields=((b"origin", origin),) if origin else ())
            self.upstream().say(OK.replace(b"\r\n\r\n", b"\r\n%b\r\n" % own))
            heard = client.heard()
            self.assertEqual(heard.status, 200)
            self.assertEqual(self.told(heard.fields), wanted, (written, origin))
            repeats = written.credentials or written.origins != ("*",)
            self.assertEqual(heard.all(b"vary"), [b"Origin"] if repeats else [])

    def test_other_options(self) -> None:
        """OPTIONS that is no preflight is the endpoint's affair."""
        self.rule(LISTED)
        for fields in (
            (),
            ((b"origin", b"https://www.foo.com"),),
            ((b"access-control-request-method", b"GET"),),
        ):
            client = self.get(method=b"OPTIONS", fields=fields)
            self.upstream().say(OK)
            self.assertEqual(client.heard().status, 200)

    def test_exposing_all_with_credentials(self) -> None:
        """All fields of an answer are named that pages with credentials may read, since they take an asterisk by its letter."""
        self.rule(CORS(("*",), True, exposed=("*",)), OfAnswers(HeaderEdits(put=(("X-Of-Rule", "a"),))))
        client = self.get(fields=((b"origin", b"https://a.test"),))
        self.upstream().say(OK.replace(b"\r\n\r\n", b"\r\nX-A: 1\r\nx-a: 2\r\n\r\n"))
        named = self.told(client.heard().fields)[EXPOSED].split(b", ")
        self.assertEqual(len(named), len(set(named)))
        self.assertIn(b"x-a", named)
        self.assertIn(b"x-of-rule", named)
        client = self.get()
        self.upstream().say(OK)
        self.assertEqual(self.told(client.heard().fields), {})

    def test_errors(self) -> None:
        """Pages can read our own errors, too."""
        self.rule(LISTED)
        client = self.get(fields=((b"origin", b"https://www.foo.com"),))
        self.upstream().finish()
        heard = client.heard()
        self.assertEqual((heard.status, heard.all(ORIGIN)), (502, [b"https://www.foo.com"]))


class Http2ServedTests(ServedTests):
    """The same over HTTP/2."""

    is_http2: ClassVar[bool] = True
