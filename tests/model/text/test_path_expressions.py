"""Expressions that are paths."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.text import path_expressions
from ingress.model.text.expressions import ExpressionRefused
from ingress.model.text.path_expressions import (
    MAX_CHARACTERS,
    MAX_GROUPS,
    Capturing,
    read_path_expression,
)
from tests.properties import examples


def refusal(text: str) -> str:
    """Return why *text* is refused."""
    try:
        read_path_expression(text)
    except ExpressionRefused as refused:
        return str(refused)
    raise AssertionError(f"{text!r} was read")


class TakesTests(SynchronousTestCase):
    """Which paths an expression takes."""

    def test_fixed_to_the_beginning_and_in_any_case(self) -> None:
        """A path is taken by its beginning, in upper and lower case, whatever follows."""
        for text, taken, others in (
            ("/foo", ["/foo", "/FOO", "/foobar", "/Foo/x"], ["/", "/x/foo", "/fo"]),
            ("/api(/|$)(.*)", ["/api", "/API/", "/api/x", "/api\n"], ["/apix", "/ap", "/api\nx"]),
            ("/foo$", ["/foo", "/Foo", "/foo\n"], ["/foo/", "/foobar", "/foo\n\n", "/foo\n/"]),
            ("/a.b", ["/a.b", "/axb", "/AXBc"], ["/ab", "/a\nb"]),
            ("/[a-c]+/x", ["/abc/x", "/ABC/X"], ["/d/x"]),
            ("/é(.*)", ["/é", "/éx"], ["/É", "/e"]),
            ("(?i)/x(y)", ["/xy", "/XY"], ["/x"]),
            ("/(?-i)x(y)", ["/xy"], ["/XY"]),
        ):
            one = read_path_expression(text)
            for path in taken:
                self.assertTrue(one.takes(path.encode()), (text, path))
            for path in others:
                self.assertFalse(one.takes(path.encode()), (text, path))

    def test_read_once(self) -> None:
        """What was read is not read again, also of more expressions than programs are kept of."""
        made = []
        real = path_expressions._compiled_within

        def compiled(octets: bytes, memory: int, captures: bool) -> tuple[Any, str]:
            made.append(octets)
            return real(octets, memory, captures)

        self.patch(path_expressions, "_compiled_within", compiled)
        texts = [f"/read-once/{number}(.*)" for number in range(path_expressions._KEPT // 2 + 100)]
        for _ in range(2):
            self.assertTrue(all(read_path_expression(text).size for text in texts))
        self.assertEqual(len(made), 2 * len(texts))

    def test_second_alternative_is_not_fixed(self) -> None:
        """Of alternatives outside of groups only the first is fixed to the beginning, as in nginx."""
        one = read_path_expression("/a|/b")
        self.assertEqual(
            [one.takes(path) for path in (b"/a", b"/b", b"/x/b", b"/x/a")], [True, True, True, False]
        )

    @settings(derandomize=True, deadline=None, max_examples=examples(200))
    @given(st.text("aB/_~-.", max_size=12), st.text("abB/_~-.", max_size=16))
    def test_plain_text_without_a_program(self, text: str, path: str) -> None:
        """A text without signs, which no program is made for, takes what its program would take."""
        by_program = path_expressions._fixed(text).search(path.encode()) is not None
        self.assertEqual(read_path_expression(text).takes(path.encode()), by_program)


class CapturesTests(SynchronousTestCase):
    """What an expression captures."""

    def captured(self, text: str, path: bytes, *names: str) -> dict[str, bytes] | None:
        """Return what the groups of these names hold."""
        return Capturing(read_path_expression(text), names).captured(path)

    def test_long_paths_without_a_lookup(self) -> None:
        """Of a path by which no route was looked for, with its parameters, no more is captured than a lookup may count."""
        path = b"/api/" + b"a" * 8000
        for text, takes in (("/api(/|$)(.*)", True), ("/api/" + "(.*)" * 31, False)):
            capturing = Capturing(read_path_expression(text), ("1",))
            self.assertIs(capturing.takes(path), takes)
            self.assertTrue(capturing.takes(path[:1000]))

    def test_numbers_and_names(self) -> None:
        """Groups are known by number and by name; one that took no part is empty, and one that there is not is missing."""
        text = "/(?<first>a)(b)?/(?P<rest>.*)"
        captured = {"1": b"a", "2": b"", "3": b"x/y", "first": b"a", "rest": b"x/y"}
        self.assertEqual(self.captured(text, b"/a/x/y", *captured, "4", "more"), captured)
        self.assertEqual(read_path_expression(text).names, {"first", "rest"})

    def test_bytes(self) -> None:
        """What is no UTF-8 is captured as it is."""
        self.assertEqual(self.captured("/(.*)", b"/\xe9\xff", "1"), {"1": b"\xe9\xff"})

    def test_line_feed_at_the_end(self) -> None:
        """What is taken by its end before a line feed has captures as well, without that."""
        self.assertEqual(self.captured("/admin(/|$)(.*)", b"/admin\n", "1", "2"), {"1": b"", "2": b""})
        self.assertEqual(self.captured("/(.+)$", b"/x\n", "1"), {"1": b"x"})

    def test_nothing(self) -> None:
        """A plain path captures nothing, and what does not match has no captures."""
        self.assertEqual(self.captured("/api", b"/api/x", "1"), {})
        self.assertIsNone(self.captured("/(a)", b"/b", "1"))


class RefusedTests(SynchronousTestCase):
    """What is no expression here."""

    def test_what_goes_back_and_forth(self) -> None:
        """Looking around, referring back, atomic groups and possessive repetition are refused with the reason."""
        for text in ("/(?!x)", "/(?=x)", "/(?<=a)b", r"/(a)\1", "/(?>a)", "/a++", "/(?|a|b)", r"/a\Kb"):
            self.assertIn("is no regular expression that is run here: ", refusal(text))

    def test_bounds(self) -> None:
        """Length, repetitions, groups and size are bounded."""
        for text, why in (
            ("/" + "a" * MAX_CHARACTERS, "longer"),
            ("/(a{1000}){3}", "run here"),
            ("/" + "a{1000}" * 3, "repeats"),
            ("/a{99999999999999999999999999}", "repeats"),
            ("/" + "a?" * 1001, "repetitions"),
            ("/" + r"\w" * 501, "classes of letters"),
            ("(" * (MAX_GROUPS + 1) + ")" * (MAX_GROUPS + 1), "groups"),
            (r"/\p{Greek}", "class of Unicode"),
            ("/" + "(.{40}|b)" * 32 + "(?:.{40}|b)" * 200, "repeats"),
            ("/[a", "missing ]"),
            ("/(a", "missing )"),
            ("/a\\", "trailing"),
            ("/**", "bad repetition"),
            ("+a", "no argument"),
            ("/\ud800", "no Unicode"),
        ):
            self.assertIn(why, refusal(text), text[:40])

    @settings(derandomize=True, deadline=None, max_examples=examples(300))
    @given(st.text("/ab.*+?()[]{}|^$\\<>!=:Pd0129,-\n\x00é", max_size=40), st.binary(max_size=40))
    def test_any_text(self, text: str, path: bytes) -> None:
        """Any text is an expression or refused with printable words, and an expression takes any bytes or does not."""
        try:
            one = read_path_expression(text)
        except ExpressionRefused as refused:
            self.assertTrue(str(refused))
        else:
            one.takes(path)
            Capturing(one, ("1", "2")).captured(path)

    def test_texts_that_make_others_backtrack(self) -> None:
        """What keeps engines busy for ages that go back and forth is done with at once."""
        path = b"/" + b"a" * 4000 + b"!"
        for text in ("/(a+)+$", "/(a|aa)+$", "/(a|a?)+$", "/((a*)*)*$", "/(.*a){20}$", "/(a?){50}a{50}b"):
            self.assertFalse(read_path_expression(text).takes(path), text)
