"""Cookies and locations of endpoints in other words."""

from __future__ import annotations

from functools import partial
from time import process_time

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.answers.answer_rewrites import (
    MAX_ATTRIBUTES,
    MAX_SUBJECT,
    AnswerRewriteSettings,
    CookieRewrite,
    LocationRewrite,
    parse_from,
    parse_replacing,
    parse_to,
)
from ingress.annotations.contract.values import ValueRefused
from ingress.model.cluster.problems import Problem, Reason
from tests.annotations.served_case import ServedCase
from tests.fakes.counting import calls
from tests.fakes.filter_parts import FakeFacts

HOSTILE = (
    "",
    " ",
    "/a",
    "/a /b /c",
    '"/a /b',
    "/a; /b",
    "/a /b;",
    "/a {",
    "/a\r\nX-Evil:1 /b",
    "/a /b\0",
    "/a $unknown",
    "/a ${broken",
    "~( /b",
    "~(?=a) /b",
    r"~(a)\1 /b",
    '"" /b',
    "~" + "(a|b)*" * 200 + " /b",
    "a" * 10_000,
)


def replaced(text: str, cookie: bytes, *, is_path: bool = True) -> bytes:
    """Return what becomes of *cookie* by the value of an annotation."""
    replacing = parse_replacing(text)
    spec = CookieRewrite(None, replacing) if is_path else CookieRewrite(replacing)
    (found,) = spec.rewritten((cookie,), FakeFacts(host=b"a.test"))
    return found


class ParseTests(SynchronousTestCase):
    """What may stand there."""

    def test_off(self) -> None:
        """``off`` is for nothing."""
        self.assertIsNone(parse_replacing(" off "))

    def test_refused(self) -> None:
        """What are no two words, no template, or no expression that is run here, is refused."""
        for text in HOSTILE:
            self.assertRaises(ValueRefused, parse_replacing, text)

    def test_locations(self) -> None:
        """What of a location is replaced, and by what."""
        for text in ("off", "default", "http://$host/", "~*^http://([^/]+)/(.*)$", "/"):
            self.assertEqual(parse_from(text), text)
        for text in ("off", "https://$host/", "/$1", "https://$1/$name"):
            self.assertEqual(parse_to(text), text)
        for text in ("", "a b", "~(", "~(?=a)", "/\0", "a" * 10_000):
            self.assertRaises(ValueRefused, parse_from, text)
        for text in ("", "a b", "/\0", "${", "a" * 10_000):
            self.assertRaises(ValueRefused, parse_to, text)

    def test_bounded(self) -> None:
        """No value keeps anybody waiting."""
        for sign in ("a", " ", '"', "\\", "a ", "$"):
            for parse in (parse_replacing, parse_from, parse_to):
                began = process_time()
                self.assertRaises(ValueRefused, parse, (sign * 262144)[:262144])
                self.assertLess(process_time() - began, 1.0)


class CookieTests(SynchronousTestCase):
    """``Set-Cookie``."""

    def test_domains(self) -> None:
        """A domain is replaced if it is the given one, in any case, with or without a dot before it, which stays."""
        for cookie, found in (
            (b"a=b; Domain=localhost; Path=/", b"a=b; Domain=example.org; Path=/"),
            (b"a=b; domain=.LOCALHOST", b"a=b; domain=.example.org"),
            (b"a=b; Domain=x.localhost", b"a=b; Domain=x.localhost"),
            (b"domain=localhost; Path=/", b"domain=localhost; Path=/"),
            (b"a=b", b"a=b"),
        ):
            self.assertEqual(replaced("localhost .example.org", cookie, is_path=False), found)

    def test_paths(self) -> None:
        """The beginning of a path is replaced, as it is written."""
        for cookie, found in (
            (b"a=b; Path=/two/some/uri/; Secure", b"a=b; Path=/some/uri/; Secure"),
            (b"a=b; path=/two/", b"a=b; path=/"),
            (b"a=b; Path=/TWO/", b"a=b; Path=/TWO/"),
            (b"a=b; Path=/three/two/", b"a=b; Path=/three/two/"),
            (b"a=b; Path", b"a=b; Path"),
        ):
            self.assertEqual(replaced("/two/ /", cookie), found)

    def test_attributes_beside(self) -> None:
        """What stands in quotes is one word, so that cookies get attributes besides."""
        found = replaced('/ "/; Secure; SameSite=None"', b"a=b; Path=/x")
        self.assertEqual(found, b"a=b; Path=/; Secure; SameSite=Nonex")
        found = replaced('~^/.* "/; Secure; SameSite=None"', b"a=b; Path=/x")
        self.assertEqual(found, b"a=b; Path=/; Secure; SameSite=None")

    def test_expressions(self) -> None:
        """An expression replaces all, by its groups and by variables."""
        for text, cookie, found, is_path in (
            ("~^/user/(.+)$ /u/$1", b"a=b; Path=/user/x", b"a=b; Path=/u/x", True),
            ("~^/USER/(.+)$ /u/$1", b"a=b; Path=/user/x", b"a=b; Path=/user/x", True),
            ("~*^/USER/(?<who>.+)$ /$host/$who", b"a=b; Path=/user/x", b"a=b; Path=/a.test/x", True),
            (r"~\.(?P<sl>[-0-9a-z]+\.[a-z]+)$ $sl", b"a=b; Domain=x.b.test", b"a=b; Domain=b.test", False),
            ("~a(b)? $1c", b"a=b; Path=a", b"a=b; Path=c", True),
        ):
            self.assertEqual(replaced(text, cookie, is_path=is_path), found)

    def test_too_large_with_captures(self) -> None:
        """An expression whose groups would not fit is refused when it is read: no answer depends on it."""
        large = "((a{1,30}){1,30})" * 3
        for parse, text in ((parse_replacing, f"~*{large} /x"), (parse_from, f"~{large}")):
            with self.assertRaises(ValueRefused) as caught:
                parse(text)
            self.assertIn("too large", str(caught.exception))

    def test_long(self) -> None:
        """What is longer than any path goes on as it came."""
        cookie = b"a=b; Path=/" + b"a" * MAX_SUBJECT
        self.assertEqual(replaced("~.* /b", cookie), cookie)

    def test_many(self) -> None:
        """Expressions are run on so many bytes of one answer, however many cookies it sets; texts are compared in all."""
        cookies = [b"a=b; Path=/" + b"a" * 99] * 200
        by_expression = CookieRewrite(None, parse_replacing("~.* /b")).rewritten(cookies, FakeFacts())
        self.assertEqual(by_expression.count(b"a=b; Path=/b"), MAX_SUBJECT // 100)
        by_text = CookieRewrite(None, parse_replacing("/a /b")).rewritten(cookies, FakeFacts())
        self.assertEqual(by_text.count(b"a=b; Path=/b" + b"a" * 98), 200)

    def test_many_attributes(self) -> None:
        """Of an endpoint that writes sixty thousand attributes some are read, and all go on; of two hundred cookies as they are, each."""
        rewrite = CookieRewrite(None, parse_replacing("/a /b"))
        for attribute, kept in ((b"", b""), (b" Path=/a", b" Path=/b")):
            cookies = [b"a=b;" + b";".join([attribute] * 60_000), b"c=d; Path=/a"]
            first, second = rewrite.rewritten(cookies, FakeFacts())
            read = b";".join([kept] * MAX_ATTRIBUTES + [attribute] * (60_000 - MAX_ATTRIBUTES))
            self.assertEqual((first, second), (b"a=b;" + read, cookies[1]))
            self.assertLess(calls(partial(rewrite.rewritten, cookies, FakeFacts())), 30 * MAX_ATTRIBUTES)
        usual = b"a=b; Path=/a; Domain=x; Secure; HttpOnly; Max-Age=1; Expires=x; SameSite=None; Partitioned"
        self.assertEqual(rewrite.rewritten([usual] * 200, FakeFacts()), [usual.replace(b"/a", b"/b")] * 200)

    def test_no_text(self) -> None:
        """Bytes that are no text are compared as any others."""
        self.assertEqual(replaced("~^/(.*)$ /x$1", b"a=b; Path=/y"), b"a=b; Path=/xy")
        self.assertEqual(replaced("~^/a /x", b"a=b; Path=/a\xff\xfe"), b"a=b; Path=/x")


class LocationTests(SynchronousTestCase):
    """``Location`` and ``Refresh``."""

    def sent(self, original: str, replacement: str, url: bytes, *, is_relative: bool = False) -> bytes | None:
        """Return where a client is sent."""
        settings = AnswerRewriteSettings(
            redirect_from=parse_from(original), redirect_to=parse_to(replacement)
        )
        location = settings.location()
        assert location is not None
        facts = FakeFacts(host=b"a.test", scheme=b"https", fields={b"host": b"a.test:444"})
        return LocationRewrite(location, is_relative).rewritten(url, facts)

    def test_beginnings(self) -> None:
        """The beginning of an URL is replaced; a path is completed by the host that was asked for."""
        for original, replacement, url, found in (
            ("http://app:8080/", "https://$host/", b"http://app:8080/x?y", b"https://a.test/x?y"),
            ("http://app:8080/", "/", b"http://app:8080/x", b"https://a.test:444/x"),
            ("/old", "https://b.test/new", b"/old/x", b"https://b.test/new/x"),
            ("http://$host/", "https://b.test/", b"http://a.test/x", b"https://b.test/x"),
            ("http://app/", "/", b"http://apps/x", None),
            ("~^http://([^/]+)/(.*)$", "https://$1.test/$2", b"http://app/x", b"https://app.test/x"),
            ("~^http://(?<who>[^/]+)", "https://$who.test", b"ftp://app/x", None),
        ):
            self.assertEqual(self.sent(original, replacement, url), found)

    def test_no_other_host(self) -> None:
        """What a visitor has an endpoint repeat behind the beginning makes no other host, relative or not; whoever asks for one has it."""
        beginning = b"https://a.test:444"
        for original, replacement, url, found in (
            ("http://app:8080/", "/", b"http://app:8080//evil.test/", beginning + b"//evil.test/"),
            ("/old", "/", b"/old/evil.test/", beginning + b"//evil.test/"),
            ("/old/", "/", b"/old/\\evil.test/", beginning + b"/\\evil.test/"),
            ("/old/", "/", b"/old/\t/evil.test/", beginning + b"/\t/evil.test/"),
            ("~^/old(.*)", "$1", b"/old //evil.test/", beginning + b"//evil.test/"),
            ("~^/old(.*)", "$1", b"/old\\/evil.test/", beginning + b"\\/evil.test/"),
            ("/old/", "//b.test/", b"/old/x", b"//b.test/x"),
        ):
            for is_relative in (False, True):
                self.assertEqual(self.sent(original, replacement, url, is_relative=is_relative), found)
        self.assertEqual(self.sent("/old/", "/", b"/old/x", is_relative=True), b"/x")

    def test_nothing(self) -> None:
        """``off`` and ``default`` replace nothing."""
        for settings in (
            AnswerRewriteSettings(),
            AnswerRewriteSettings(redirect_from="default", redirect_to="/"),
            AnswerRewriteSettings(redirect_from="off", redirect_to="/"),
            AnswerRewriteSettings(redirect_from="/a"),
        ):
            self.assertIsNone(settings.location())


class ServedTests(ServedCase):
    """In the proxy, over HTTP/1.1."""

    def told(self, **asked: str) -> list[Problem]:
        """Return what is told of annotations."""
        return [one for one in self.annotate(**asked).problems if "annotations" in one.field]

    def test_cookies(self) -> None:
        """Each cookie is looked at by itself, and all of them go on in their order."""
        self.annotate(proxy_cookie_path="/app/ /", proxy_cookie_domain="app $host")
        client = self.get()
        self.upstream().say(
            b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/app/x\r\nset-cookie: b=2\r\n"
            b"Set-Cookie: c=3; Domain=app\r\nContent-Length: 0\r\n\r\n"
        )
        cookies = client.heard().all(b"set-cookie")
        self.assertEqual(cookies, [b"a=1; Path=/x", b"b=2", b"c=3; Domain=shop.test"])

    def test_locations(self) -> None:
        """Where endpoints send clients to is said in other words, in both fields."""
        self.annotate(proxy_redirect_from="http://app:8080/", proxy_redirect_to="https://$host/")
        client = self.get()
        self.upstream().say(
            b"HTTP/1.1 302 Found\r\nLocation: http://app:8080/x\r\nRefresh: 5; url=http://app:8080/y\r\nContent-Length: 0\r\n\r\n"
        )
        heard = client.heard()
        self.assertEqual(heard.all(b"location"), [b"https://shop.test/x"])
        self.assertEqual(heard.all(b"refresh"), [b"5; url=https://shop.test/y"])

    def test_paths(self) -> None:
        """A path is completed by the host in Location alone, as in nginx; what would name another host is so in both."""
        self.annotate(proxy_redirect_from="http://app:8080/", proxy_redirect_to="/")
        for place, location, refresh in (
            (b"x", b"http://shop.test/x", b"5; url=/x"),
            (b"/evil.test/", b"http://shop.test//evil.test/", b"5; url=http://shop.test//evil.test/"),
        ):
            client = self.get()
            self.upstream().say(
                b"HTTP/1.1 302 Found\r\nLocation: http://app:8080/%b\r\nRefresh: 5; url=http://app:8080/%b\r\nContent-Length: 0\r\n\r\n"
                % (place, place)
            )
            heard = client.heard()
            self.assertEqual((heard.all(b"location"), heard.all(b"refresh")), ([location], [refresh]))

    def test_long_locations(self) -> None:
        """However long a location is, its beginning is replaced by a text; expressions are not run on it."""
        state = b"?state=" + b"a" * 4000
        for original, found in (("http://app/", b"https://b.test/x"), ("~^http://app/", b"http://app/x")):
            self.annotate(proxy_redirect_from=original, proxy_redirect_to="https://b.test/")
            client = self.get()
            self.upstream().say(
                b"HTTP/1.1 302 Found\r\nLocation: http://app/x%b\r\nContent-Length: 0\r\n\r\n" % state
            )
            self.assertEqual(client.heard().all(b"location"), [found + state])

    def test_others_stay(self) -> None:
        """Other answers stay as they come, and our own as they are."""
        self.annotate(
            proxy_redirect_from="~.*", proxy_redirect_to="https://b.test/", proxy_cookie_path="~.* /b"
        )
        client = self.get()
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        self.assertEqual(client.heard().all(b"location"), [])
        self.annotate(
            proxy_redirect_from="~.*",
            proxy_redirect_to="https://b.test/",
            temporal_redirect="https://z.test/",
        )
        self.assertEqual(self.get().heard().all(b"location"), [b"https://z.test/"])

    def test_problems(self) -> None:
        """What is refused changes nothing, and is told by its name; halves are noted."""
        for asked in (
            {"proxy_cookie_path": "off"},
            {"proxy_cookie_domain": "off"},
            {"proxy_redirect_from": "default", "proxy_redirect_to": "off"},
            {"proxy_redirect_from": "off"},
        ):
            self.assertEqual(self.told(**asked), [], asked)
        (problem,) = self.told(proxy_redirect_to="/")
        self.assertTrue(problem.is_note)
        (problem,) = self.told(proxy_redirect_from="/a", proxy_redirect_to="/$1")
        self.assertEqual(problem.reason, Reason.INVALID_ANNOTATION)
        for name in ("proxy_cookie_path", "proxy_cookie_domain"):
            for text in filter(str.strip, HOSTILE):
                (problem,) = self.told(**{name: text})
                self.assertEqual(problem.reason, Reason.INVALID_ANNOTATION)
                self.assertIn("cookies stay as they come", problem.message)


class ServedOverHttp2Tests(ServedTests):
    """The same over HTTP/2."""

    is_http2 = True
