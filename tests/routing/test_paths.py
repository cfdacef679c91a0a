"""Tests for ``ingress.routing.paths``."""

import re
from functools import partial
from urllib.parse import unquote_to_bytes

from hypothesis import example, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.routing.paths import PathError, check_rule_path, normal_path, other_reading, rule_path
from ingress.routing.route import Match
from tests.fakes.counting import calls
from tests.properties import examples

PIECES = [
    "/",
    "/",
    "admin",
    "x",
    ".",
    "..",
    "%2e",
    "%2E%2e",
    ";",
    "a=b",
    "%3b",
    "%3f",
    "#",
    "%61dmin",
    "%",
    "%25",
    "%2f",
    "\\",
    "%5c",
    "%00",
    "%20",
    "ADMIN",
]
RAW_PATHS = st.lists(st.sampled_from(PIECES), max_size=10).map(
    lambda pieces: ("/" + "".join(pieces)).encode()
)


def elements(path: bytes) -> list[bytes]:
    """The segments of a path that are not empty."""
    return [segment for segment in path.split(b"/") if segment]


def readings(raw: bytes) -> list[list[bytes]]:
    """The ways in which upstreams read *raw* with one decoding.

    They differ in whether parameters belong to a segment, and in whether an
    empty segment is one that ``..`` removes.
    """
    found = []
    for drops_parameters in (False, True):
        for merges in (False, True):
            kept: list[bytes] = []
            for segment in unquote_to_bytes(raw).split(b"/")[1:]:
                name = re.split(rb"[;?#]", segment)[0] if drops_parameters else segment
                if name == b"..":
                    del kept[-1:]
                elif name != b"." and not (merges and not name):
                    kept.append(name)
            found.append([name for name in kept if name])
    return found


class NormalPathTests(SynchronousTestCase):
    """The path of a request, brought to the form that routes are found by."""

    def test_normal(self) -> None:
        """A path that is normal already comes back as it is."""
        for path in (
            b"/",
            b"/a",
            b"/a/",
            b"/a/b.c/..d/e../.f/...",
            b"/a:b@c!$&'()*+,=~_-",
            b"/\xc3\xa9",
            b"/a b",
        ):
            self.assertEqual(normal_path(path), path)

    def test_escapes(self) -> None:
        """Percent escapes are decoded once, whatever their case."""
        for raw, expected in (
            (b"/%61", b"/a"),
            (b"/%C3%a9/%20", b"/\xc3\xa9/ "),
            (b"/%2561", b"/%61"),
            (b"/x/%252e%252e/admin", b"/x/%2e%2e/admin"),
            (b"/%252f", b"/%2f"),
        ):
            self.assertEqual(normal_path(raw), expected, raw)

    def test_parameters(self) -> None:
        """What follows ``;``, ``?`` or ``#`` in a decoded segment is dropped."""
        for raw, expected in (
            (b"/a;b=c/d", b"/a/d"),
            (b"/a%3Bb", b"/a"),
            (b"/a%3fb/c", b"/a/c"),
            (b"/a%23b", b"/a"),
            (b"/a#b", b"/a"),
            (b"/;b/a", b"/a"),
            (b"/a/;b", b"/a/"),
            (b"/a/.;b", b"/a/"),
            (b"/;", b"/"),
        ):
            self.assertEqual(normal_path(raw), expected, raw)

    def test_slashes(self) -> None:
        """Empty segments are merged; a slash at the end stays, and is one."""
        for raw, expected in (
            (b"//", b"/"),
            (b"//a", b"/a"),
            (b"/a///b", b"/a/b"),
            (b"/a//", b"/a/"),
        ):
            self.assertEqual(normal_path(raw), expected, raw)

    def test_dot_segments(self) -> None:
        """Dot segments are resolved as RFC 3986 section 5.2.4 does."""
        for raw, expected in (
            (b"/.", b"/"),
            (b"/./a", b"/a"),
            (b"/a/.", b"/a/"),
            (b"/a/..", b"/"),
            (b"/a/../b", b"/b"),
            (b"/a/b/..", b"/a/"),
            (b"/a/b/%2e%2E/c", b"/a/c"),
            (b"/a/.%2e/b/%2e/c/", b"/b/c/"),
        ):
            self.assertEqual(normal_path(raw), expected, raw)

    def test_refusals(self) -> None:
        """What cannot be read in exactly one way is refused, and not repeated in the message."""
        for raw in (
            b"",
            b"*",
            b"a",
            b"/a%2f..%2fb",
            b"/a/..%2Fb",
            b"/a%2f.",
            b"/a/./b%2fc",
            b"/a;b%2fc",
            b"/a%2fb%3Bc",
            b"/a%2fb%5c",
            b"/a%5cb",
            b"/a%5Cb",
            b"/a\\b",
            b"/a%00",
            b"/a\x00",
            b"/a/..;/b",
            b"/a/..;x=y/b",
            b"/a/%2e.%3b/b",
            b"/a/..%3f",
            b"/..",
            b"/../a",
            b"/a/../..",
            b"/a/../../b",
            b"/./..",
            b"/..//admin",
            b"/%",
            b"/%4",
            b"/%zz",
            b"/%%41",
            b"/%u0041",
            b"/admin//../x",
            b"/admin/;/../x",
            b"/admin%3f/../x",
            b"/admin/.;/../x",
        ):
            with self.assertRaises(PathError, msg=repr(raw)) as caught:
                normal_path(raw)
            if len(raw) > 1:
                self.assertNotIn(raw.decode("latin-1"), str(caught.exception))

    def test_malformed_escape_beside_good_ones(self) -> None:
        """An encoded slash is told from a malformed escape."""
        self.assertEqual(normal_path(b"/%41%2F"), b"/A/")
        for raw, reason in ((b"/%41%2F%2", "malformed"), (b"/%5C", "backslash")):
            with self.assertRaisesRegex(PathError, reason):
                normal_path(raw)

    def test_encoded_slashes(self) -> None:
        """They are slashes in the one reading, and characters of a segment in the other; nothing else has another one."""
        for raw, expected, other in (
            (b"/a%2fb", b"/a/b", b"/a%2Fb"),
            (b"/api/queues/%2F/jobs", b"/api/queues/jobs", b"/api/queues/%2F/jobs"),
            (b"/%40scope%2fpackage", b"/@scope/package", b"/@scope%2Fpackage"),
            (b"/%2f", b"/", b"/%2F"),
            (b"//a%2F%2fb/", b"/a/b/", b"/a%2F%2Fb/"),
            (b"/a%252fb", b"/a%2fb", None),
            (b"/a%20b", b"/a b", None),
        ):
            self.assertEqual(normal_path(raw), expected, raw)
            self.assertEqual(other_reading(raw), other, raw)

    @settings(derandomize=True, deadline=None, max_examples=examples(300))
    @given(RAW_PATHS)
    @example(b"/admin%2fx")
    @example(b"/%2fadmin")
    def test_both_readings(self, raw: bytes) -> None:
        """Whether an upstream has an encoded slash for one or not, what it reads is one of the two."""
        try:
            normal = normal_path(raw)
        except PathError:
            return
        other = other_reading(raw)
        if other is None:
            return
        self.assertEqual(elements(normal), elements(unquote_to_bytes(raw)))
        kept = [unquote_to_bytes(segment.upper().replace(b"%2F", b"%252F")) for segment in raw.split(b"/")]
        self.assertEqual([one.upper() for one in elements(other)], [one.upper() for one in kept if one])

    @settings(derandomize=True, deadline=None, max_examples=examples(200))
    @given(RAW_PATHS)
    def test_shape(self, raw: bytes) -> None:
        """A normal form has no empty and no dot segment, and is its own normal form."""
        try:
            normal = normal_path(raw)
        except PathError:
            return
        self.assertEqual(normal[:1], b"/")
        segments = normal.removesuffix(b"/").split(b"/")[1:]
        self.assertFalse({b"", b".", b".."} & set(segments), normal)
        if b"%" not in normal:
            self.assertEqual(normal_path(normal), normal)

    @settings(derandomize=True, deadline=None, max_examples=examples(600))
    @given(RAW_PATHS)
    @example(b"/admin//../x")
    @example(b"/admin/;/../x")
    @example(b"/x/..;/admin")
    def test_no_other_reading(self, raw: bytes) -> None:
        """What some upstream reads as a path below ``/admin`` is below it here too, or refused."""
        try:
            normal = normal_path(raw)
        except PathError:
            return
        if any(reading[:1] == [b"admin"] for reading in readings(raw)):
            self.assertEqual(elements(normal)[0], b"admin")

    def test_long_path_is_quick(self) -> None:
        """A hostile path costs time in proportion to its length, so a megabyte of it ends."""
        self.assertEqual(normal_path(b"/a/.." * 200_000), b"/")
        self.assertEqual(normal_path(b"/" * 1_000_000), b"/")

    def test_calls(self) -> None:
        """What is empty or a dot between slashes costs no call by itself, however many there are."""
        for raw in (b"/" * 8000, b"/./" * 2000, b"/" + b"%2F" * 2600):
            self.assertLess(calls(partial(normal_path, raw)), 50)


class CheckRulePathTests(SynchronousTestCase):
    """The path that a rule names."""

    def test_good(self) -> None:
        """A path that some request can have is fine, escaped or not."""
        for path in ("/", "/a", "/a/", "/a.b/..c", "/a b", "/a%20b", "/é", "/foo(.*)$"):
            for match in Match:
                self.assertIsNone(check_rule_path(path, match), path)

    def test_bad(self) -> None:
        """A path that no request can have gets the reason."""
        for path, reason in (
            ("", "slash"),
            ("a", "slash"),
            ("//", "empty"),
            ("/a//b", "empty"),
            ("/a/./b", "'.'"),
            ("/a/../b", "'..'"),
            ("/a/%2e%2e/b", "'..'"),
            ("/a/..", "'..'"),
            ("/..", "above the root"),
            ("/a;b", "';'"),
            ("/a?b=c", "'?'"),
            ("/a%23", "'#'"),
            ("/a%2fb", "encoded slash"),
            ("/a\\b", "backslash"),
            ("/a\x00", "NUL"),
            ("/100%", "malformed"),
            ("/\ud800", "Unicode"),
        ):
            for match in Match:
                self.assertIn(reason, check_rule_path(path, match) or "", path)

    @settings(derandomize=True, deadline=None, max_examples=examples(200))
    @given(RAW_PATHS)
    def test_reachable(self, raw: bytes) -> None:
        """A path without complaint is matched by the request that is written alike."""
        path = raw.decode()
        if check_rule_path(path, Match.EXACT) is None:
            self.assertEqual(normal_path(raw), rule_path(path))
