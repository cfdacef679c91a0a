"""Targets of ``rewrite-target``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.requests.rewrite_targets import NO_TARGET, Rewriting, parse_rewrite_target
from ingress.http.edited_heads import RequestChange
from ingress.http.request_head import RequestHead
from ingress.model.text.path_expressions import Capturing, read_path_expression
from ingress.routing.paths import PathError, normal_path
from tests.fakes.filter_parts import FakeFacts
from tests.properties import examples


def rewritten(path: str, target: str, asked: str, **facts: object) -> str:
    """Return what a request for *asked* becomes where *path* is replaced by *target*; a location for an URL."""
    raw = asked.encode("latin-1")
    normal = normal_path(raw.partition(b"?")[0])
    read = parse_rewrite_target(target)
    captured = Capturing(read_path_expression(path), read.captures).captured(normal)
    assert captured is not None
    make = Rewriting(read).location if read.origin.parts else Rewriting(read).target
    return make(FakeFacts(path=normal, target=raw, **facts), captured).decode("ascii")  # type: ignore[arg-type]


def refusal(target: str) -> str:
    """Return why *target* is refused."""
    try:
        parse_rewrite_target(target)
    except ValueRefused as refused:
        return str(refused)
    raise AssertionError(f"{target!r} was read")


class TargetTests(SynchronousTestCase):
    """What paths become."""

    def test_as_nginx_does(self) -> None:
        """The whole path is replaced, with its captures, and the query stays: each row is what nginx 1.22 made of it."""
        for path, target, asked, wanted in (
            ("/api", "/", "/api/users?a=b", "/?a=b"),
            ("/api(/|$)(.*)", "/$2", "/api", "/"),
            ("/api(/|$)(.*)", "/$2", "/API/x/y?a=b", "/x/y?a=b"),
            ("/api(/|$)(.*)", "/base$1$2", "/api/x", "/base/x"),
            ("/(.*)", "/new/$1", "/a%20b%25c", "/new/a%20b%25c"),
            ("/(.*)", "/new/$1", "/a%22b%3Cc", "/new/a%22b%3Cc"),
            ("/(.*)", "/new/$1", "/%E9%C3%A9", "/new/%E9%C3%A9"),
            ("/(.*)", "/new/$1", "/~[x]:@!$&'()*+,=", "/new/~[x]:@!$&'()*+,="),
            ("/foo(/.*)", "$1", "/foo/x/", "/x/"),
            ("/(?<rest>.*)", "/n/${rest}", "/x", "/n/x"),
            ("/a/(.*)/b/(.*)", "/$2/$1", "/a/1/b/2", "/2/1"),
            ("/a/(.*)", "/$1/$10", "/a/x", "/x/x0"),
            ("/api", "/$1", "/api/x", "/"),
            ("/(.*)", r"/\1", "/x", "/%5C1"),
            ("/x(.*)", "/y?p=$1", "/x/1", "/y?p=/1"),
            ("/x(.*)", "/y?p=$1", "/x/1?c=d", "/y?p=/1&c=d"),
            ("/x(.*)", "/y?p=$1?", "/x/1?c=d", "/y?p=/1"),
            ("/q(.*)", "/z$1?", "/q/1?c=d", "/z/1"),
            ("/t/(.*)", "/t2/$1?$args", "/t/x?y=1", "/t2/x?y=1&y=1"),
            ("/u/(.*)", "/h/$host/$1", "/u/1", "/h/a.example.com/1"),
            ("/a|/b(.*)", "/c$1", "/zz/b/x", "/c/x"),
            ("/x", "/y", "/x?", "/y"),
        ):
            self.assertEqual(rewritten(path, target, asked), wanted, (path, target, asked))

    def test_urls(self) -> None:
        """An URL is a location, with captures and query behind its host."""
        for target, asked, wanted in (
            ("https://b.test/$1", "/s/x%20y?c=d", "https://b.test/x%20y?c=d"),
            ("http://b.test:8080/$1?a=b", "/s/x?c=d", "http://b.test:8080/x?a=b&c=d"),
            ("https://b.test$1", "/s/evil.test", "https://b.test/evil.test"),
            ("https://b.test", "/s/x", "https://b.test/"),
            ("https://[2001:db8::1]/$1?", "/s/x?c=d", "https://[2001:db8::1]/x"),
            ("$scheme://$host/n/$1", "/s/x", "http://a.example.com/n/x"),
            ("https://b.test/$1", "/s//evil.test/", "https://b.test/evil.test/"),
        ):
            self.assertEqual(rewritten("/s/(.*)", target, asked), wanted, target)

    def test_captures_climb_nowhere(self) -> None:
        """No segment that comes of a capture is a dot segment or empty, however the dots come together."""
        for path, target, asked, wanted in (
            ("/api(.*)", "/public/$1", "/api../secret", "/public/secret"),
            ("/api(.*)", "/$1", "/api./x", "/x"),
            ("/api(.*)", "/$1", "/api/x", "/x"),
            ("/(.*)", "/a/x$1/b", "/.x", "/a/x.x/b"),
            ("/x(.*)y", "/a/.$1/b", "/x.y", "/a/b"),
            ("/x(.*)y", "/a/$1./b", "/x.y", "/a/b"),
            ("/x(.*)y", "/a/%2e$1/b", "/x.y", "/a/b"),
            ("/x(.*)y", "/$1;v=1", "/x..y", "/;v=1"),
            ("/x(.*)y(.*)", "/$1$2", "/x.y.", "/"),
            ("/x(.*)", "$1/evil", "/x", "/evil"),
            ("/x(.*)", "/$1//evil", "/x", "/evil"),
        ):
            self.assertEqual(rewritten(path, target, asked), wanted, (path, target, asked))

    def test_captures_end_no_line_and_begin_no_query(self) -> None:
        """Line ends, question marks and hashes of a path are escaped; in a query, all that parts it, too."""
        self.assertEqual(rewritten("/x([^z]*)", "/y/$1", "/x%0D%0AHost:evil"), "/y/%0D%0AHost:evil")
        self.assertEqual(
            rewritten("/x([^z]*)", "/y?p=$1", "/x%26a=b%0Ac%20%2B%25"), "/y?p=%26a%3Db%0Ac%20%2B%25"
        )
        self.assertEqual(rewritten("/x(.*)", "https://b.test$1", "/x%0D%0Ab"), "https://b.test/%0D")

    def test_nothing(self) -> None:
        """An empty target asks for nothing."""
        self.assertEqual(parse_rewrite_target("  "), NO_TARGET)


class RefusedTests(SynchronousTestCase):
    """What is no target."""

    def test_values(self) -> None:
        """Each is refused with a reason."""
        for target, why in (
            ("/a b", "space"),
            ("/a\r\nHost: x", "space"),
            ("/a\x00", "space"),
            ("/a#b", "#"),
            ("/" + "a" * 2048, "longer"),
            ("/$0", "variable $0"),
            ("/${", "holds a ${"),
            ("/${1", "holds a ${"),
            ("/${a b}", "space"),
            ("/a/../b", "segment"),
            ("/a/%2e%2E", "segment"),
            ("/./$1", "segment"),
            ("/\ud800", "Unicode"),
            ("/" + "$1" * 17, "variables"),
            ("https://", "host is none"),
            ("https:///x", "host is none"),
            ("https://$1/x", "host is none"),
            ("https://a.test$1.b.test/", "goes on"),
            ("https://user:secret@a.test/", "host is none"),
            ("https://$http_host/", "client could choose"),
            ("https://$arg_x/", "client could choose"),
            ("https://a.test:port/", "host is none"),
            ("https://a.test\\@b.test/", "host is none"),
        ):
            self.assertIn(why, refusal(target), target)

    @settings(derandomize=True, deadline=None, max_examples=examples(400))
    @given(
        st.text('/ab$12{}?%2eE.;&=:hostps\\é"<>^`|[]~', max_size=30),
        st.text('/ab.;%20\n\r?#&=é"<>\\^`{|}', max_size=20),
    )
    def test_any_target_makes_what_can_be_sent(self, target: str, captured: str) -> None:
        """Whatever the target and the path are, the result is a target of requests, and climbs nowhere."""
        try:
            read = parse_rewrite_target("/" + target)
        except ValueRefused:
            return
        head = RequestHead()
        head.forward = b""
        head.authority = b"a.test"
        head.target = b"/came?q=1"
        values = {"1": captured.encode(), "2": b"..", "e": b"/../"}
        made = Rewriting(read).target(FakeFacts(target=head.target), values)
        change = RequestChange(head, b"")
        change.rewrite(target=made)
        self.assertNotRegex(made.partition(b"?")[0], rb"/(\.|%2[eE]){1,2}(/|;|\Z)")
        try:
            normal_path(made.partition(b"?")[0])
        except PathError as error:
            self.assertNotIn("climbs", str(error))
