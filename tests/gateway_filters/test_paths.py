"""Paths that come in place of others: the table of the API, and what visitors make of it."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from ingress.gateway_filters.paths import MAX_CHARACTERS, NewPathError, full_path, new_prefix
from ingress.routing.paths import normal_path

# Request path, prefix of the match, what replaces it, modified path: ``HTTPPathModifier.replacePrefixMatch``.
OF_THE_API = (
    (b"/foo/bar", b"/foo", "/xyz", b"/xyz/bar"),
    (b"/foo/bar", b"/foo", "/xyz/", b"/xyz/bar"),
    (b"/foo/bar", b"/foo/", "/xyz", b"/xyz/bar"),
    (b"/foo/bar", b"/foo/", "/xyz/", b"/xyz/bar"),
    (b"/foo", b"/foo", "/xyz", b"/xyz"),
    (b"/foo/", b"/foo", "/xyz", b"/xyz/"),
    (b"/foo/bar", b"/foo", "", b"/bar"),
    (b"/foo/", b"/foo", "", b"/"),
    (b"/foo", b"/foo", "", b"/"),
    (b"/foo/", b"/foo", "/", b"/"),
    (b"/foo", b"/foo", "/", b"/"),
)
OF_THE_SUITE = (
    (b"/prefix/one/two", b"/prefix/one", "/one", b"/one/two"),
    (b"/strip-prefix/three", b"/strip-prefix", "/", b"/three"),
    (b"/strip-prefix", b"/strip-prefix", "/", b"/"),
    (b"/original-prefix/lemon", b"/original-prefix", "/replacement-prefix", b"/replacement-prefix/lemon"),
)
OTHERS = (
    (b"/bar", b"/", "/xyz", b"/xyz/bar"),
    (b"/", b"/", "/xyz", b"/xyz/"),
    (b"/foo?a=/foo", b"/foo", "/xyz", b"/xyz?a=/foo"),
    (b"/foo/?", b"/foo", "/xyz", b"/xyz/?"),
    (b"/a.+(b/c", b"/a.+(b", "/$1(x)", b"/$1(x)/c"),
)
HOSTILE = (
    # Escapes stay as the client wrote them.
    (b"/foo/a%20b", b"/foo", "/xyz", b"/xyz/a%20b"),
    (b"/%66oo/a%2Bb;v=1", b"/foo", "/xyz", b"/xyz/a%2Bb;v=1"),
    # What could leave the prefix is sent in its normal form.
    (b"/foo/x/../bar", b"/foo", "/xyz", b"/xyz/bar"),
    (b"/foo/x/%2e%2E/bar", b"/foo", "/xyz", b"/xyz/bar"),
    (b"/a/../foo/bar", b"/foo", "/xyz", b"/xyz/bar"),
    (b"/foo/x/../../foo/%C3%A4?q", b"/foo", "/xyz", b"/xyz/%C3%A4?q"),
    # No host comes of two slashes.
    (b"/foo//evil.example.com", b"/foo", "/", b"/evil.example.com"),
    (b"//foo/bar", b"/foo", "/xyz", b"/xyz/bar"),
    (b"/./foo", b"/foo", "/xyz", b"/xyz"),
)


class PrefixTests(SynchronousTestCase):
    """A prefix is replaced element by element."""

    def replaced(self, target: bytes, prefix: bytes, text: str) -> bytes:
        """Return the target in place of *target*."""
        return new_prefix(text, prefix).target(normal_path(target.partition(b"?")[0]), target)

    def test_tables(self) -> None:
        """All rows of the API, of the official suite, and others come to what they have to."""
        for target, prefix, text, wanted in OF_THE_API + OF_THE_SUITE + OTHERS:
            self.assertEqual(self.replaced(target, prefix, text), wanted, (target, prefix, text))

    def test_hostile(self) -> None:
        """What visitors write behind a prefix stays behind what replaces it."""
        for target, prefix, text, wanted in HOSTILE:
            self.assertEqual(self.replaced(target, prefix, text), wanted, target)

    def test_all(self) -> None:
        """All of a path is replaced, and the query stays."""
        path = full_path("/one")
        self.assertEqual(path.target(b"/full/two", b"/full/two?a=b?c"), b"/one?a=b?c")
        self.assertEqual(path.target(b"/", b"/"), b"/one")


class ValueTests(SynchronousTestCase):
    """What a path may be."""

    def test_fine(self) -> None:
        """Whatever a URL may have in its path may stand in one."""
        for text in ("/", "/a", "/a/", "/a%20b", "/a.b/..c/...", "/~a-b_c!$&'()*+,;=:@", "/" + "a" * 1023):
            full_path(text)
            new_prefix(text, b"/")
        new_prefix("", b"/")

    def test_refused(self) -> None:
        """What is no path, holds more than one, or leads elsewhere is refused."""
        for text in (
            "a",
            "http://a.test/",
            "/a?b",
            "/a#b",
            "/a b",
            "/a\r\nX: y",
            "/\0",
            "/\u00e4",
            "/\ud800",
            "/a%",
            "/a%zz",
            "/a\\b",
            "/..",
            "/a/../b",
            "/a/.",
            "/%2e%2e/b",
            "/a/..;x/b",
            '/"',
            "/" + "a" * MAX_CHARACTERS,
            "/" + "%2e" * 300_000,
        ):
            self.assertRaises(NewPathError, full_path, text)
            self.assertRaises(NewPathError, new_prefix, text, b"/")
        self.assertRaises(NewPathError, full_path, "")
