"""Tests for ingress.ctl.comparing.allowances: what is no difference, and what is one all the same."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.comparing.allowances import ALLOWANCES, normal_backend
from ingress.ctl.comparing.answers import Answer, Body
from ingress.ctl.comparing.differences import Comparing
from ingress.ctl.comparing.samples import Sample

SAMPLE = Sample("http", "GET", "shop.test", "/")
COMPARING = Comparing(frozenset(("8080", "8443")))


def answered(*lines: str, status: int = 200, is_own: bool = False) -> Answer:
    """An answer with the fields *lines*."""
    pairs = (line.partition(": ") for line in lines)
    return Answer(status, tuple((name, value) for name, _, value in pairs), is_own=is_own)


def aspects(theirs: Answer, ours: Answer, sample: Sample = SAMPLE) -> list[str]:
    """What of them differs."""
    return [one.aspect for one in COMPARING.differences(sample, theirs, ours)]


class AllowanceTests(SynchronousTestCase):
    """Each rule by pairs of answers."""

    def check(self, theirs: str, ours: str, differs: bool) -> None:
        """Compare answers with fields, written with ``/`` between them."""
        one, other = (answered(*(line for line in text.split(" / ") if line)) for text in (theirs, ours))
        self.assertEqual(bool(aspects(one, other)), differs, (theirs, ours))
        self.assertEqual(bool(aspects(other, one)), differs, (ours, theirs))

    def test_no_differences(self) -> None:
        """What the rules name is no difference."""
        uuid, other = "7d444840-9dc0-11d1-b245-5ffdce74fad2", "00000000-9dc0-11d1-b245-5ffdce74fad2"
        for theirs, ours in (
            ("X-A: 1 / X-B: 2", "x-b: 2 / X-a: 1"),
            ("Server: nginx / Date: Mon, 01 Jan 2026 00:00:00 GMT / Via: 1.1 x / Age: 7", ""),
            ("X-Request-ID: 1", "X-Request-ID: 2"),
            ("traceparent: 00-1", "traceparent: 00-2"),
            (f"X-Thing: a-{uuid}", f"X-Thing: a-{other}"),
            ("X-Thing: 0123456789abcdef01", "X-Thing: 1123456789ABCDEF01"),
            ("Expires: Mon, 01 Jan 2026 00:00:00 GMT", "Expires: Tue, 02 Jan 2026 00:00:01 GMT"),
            ("X-At: 2026-11-22T10:00:00Z", "X-At: 2026-11-22T10:00:01.5+01:00"),
            ("Set-Cookie: a=1; Path=/; HttpOnly", "Set-Cookie: a=2; httponly; path=/"),
            (
                "Set-Cookie: a=1; Expires=Mon, 01-Jan-2026 00:00:00 GMT",
                "Set-Cookie: a=2; Expires=Tue, 02 Jan 2026 00:00:00 GMT",
            ),
            ('ETag: "1"', 'ETag: "2"'),
            ("Last-Modified: x", "Last-Modified: y"),
            ("Location: http://shop.test:8080/a", "Location: http://shop.test/a"),
            ("Location: https://shop.test:8443/a", "Location: https://shop.test:443/a"),
            ("Location: https://login.test/?state=a1&rd=x", "Location: https://login.test/?state=b2&rd=x"),
            ("Vary: Accept-Encoding, Origin", "Vary: origin / Vary: accept-encoding"),
            ("Allow: GET,HEAD", "Allow: HEAD, GET"),
            ("Cache-Control: no-cache,private", "Cache-Control: no-cache, private"),
            ("Content-Type: text/html;charset=UTF-8", "Content-Type: text/html; charset=utf-8"),
            ("Content-Length: 5", "Content-Length: 6"),
        ):
            self.check(theirs, ours, False)

    def test_differences(self) -> None:
        """What lies close to a rule and is not in it is one."""
        for theirs, ours in (
            ("X-A: 1 / X-A: 2", "X-A: 2 / X-A: 1"),
            ("X-A: 1 / X-A: 1", "X-A: 1"),
            ("X-Request-ID: 1", ""),
            ("X-Thing: 123", "X-Thing: 124"),
            ("Set-Cookie: a=1", "Set-Cookie: b=1"),
            ("Set-Cookie: a=1; Secure", "Set-Cookie: a=1"),
            ("Set-Cookie: a=1; Path=/A", "Set-Cookie: a=1; Path=/a"),
            ("Set-Cookie: a=1 / Set-Cookie: a=1", "Set-Cookie: a=1"),
            ('ETag: W/"1"', 'ETag: "1"'),
            ("Location: http://other.test:8080/a", "Location: http://other.test/a"),
            ("Location: http://shop.test:9090/a", "Location: http://shop.test/a"),
            ("Location: http://shop.test/a", "Location: https://shop.test/a"),
            ("Location: http://shop.test/a", "Location: http://shop.test/a/"),
            ("Location: https://login.test/?rd=a", "Location: https://login.test/?rd=b"),
            ("Vary: Origin", "Vary: Origin, Accept"),
            ("Content-Type: text/html", "Content-Type: text/plain"),
            ("Strict-Transport-Security: max-age=1", "Strict-Transport-Security: max-age=2"),
            ("Access-Control-Allow-Origin: *", "Access-Control-Allow-Origin: https://a.test"),
        ):
            self.check(theirs, ours, True)

    def test_own_pages(self) -> None:
        """What a page is written in counts where a backend wrote it, and neither for redirects nor for pages of a controller's own."""
        html, text = "Content-Type: text/html", "Content-Type: text/plain"
        for status, is_own, differs in ((404, True, False), (404, False, True), (302, False, False)):
            one, other = (answered(line, status=status, is_own=is_own) for line in (html, text))
            self.assertEqual(bool(aspects(one, other)), differs, status)

    def test_other_status(self) -> None:
        """Where the status differs, fields other than Location do not count."""
        one = answered("Location: /a", "X-A: 1", status=301)
        self.assertEqual(aspects(one, answered("Location: /b", "X-A: 2", status=302)), ["status", "Location"])

    def test_pods(self) -> None:
        """A pod stands for what it belongs to; names that only look a little like one stay."""
        for name, whose in {
            "shop-7d4b9c6f5-x2x9k": "shop",
            "shop-5f6b8-x2x9k": "shop-5f6b8",
            "shop-0": "shop",
            "shop-web-12": "shop-web",
            "shop-x2x9k": "shop",
            "shop-admin": "shop-admin",
            "shop": "shop",
            "shop-users": "shop-users",
            "": "",
        }.items():
            self.assertEqual(normal_backend(name), whose, name)

    def test_bodies(self) -> None:
        """No body makes a difference."""
        self.assertEqual(aspects(Answer(200, body=Body(1, "a")), Answer(200, body=Body(2, "b"))), [])

    def test_each_has_a_sentence(self) -> None:
        """Each rule has a name of its own, and says what it means."""
        self.assertEqual(len({one.name for one in ALLOWANCES}), len(ALLOWANCES))
        self.assertTrue(all(one.means.endswith(".") for one in ALLOWANCES))
