"""The beginnings of regular expressions."""

import re

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.routing.beginnings import (
    MAX_BEGINNINGS,
    MAX_CHARACTERS,
    Beginnings,
    has_regex_signs,
    regex_beginnings,
)
from tests.properties import examples

letters = st.sampled_from(["a", "b", "A", "/", "-", r"\.", r"\/", r"\-", "é"])
atoms = letters | st.sampled_from(
    [".", "[ab]", "[^/]", "[]a]", r"\d", r"\w", "^", "$", "()", "(?!a)", "(?=a)", "(?i)"]
)
repeats = st.sampled_from(["", "", "", "?", "*", "+", "??", "*?", "{2}", "{0,1}", "{1,}", "{", "{,a}"])
pieces = st.recursive(
    st.tuples(atoms, repeats).map("".join),
    lambda inner: st.tuples(
        st.sampled_from(["(", "(?:", "(?P<n>", "(?!", "(?="]),
        st.lists(st.lists(inner, max_size=3).map("".join), min_size=1, max_size=3).map("|".join),
        st.just(")"),
        repeats,
    ).map("".join),
    max_leaves=8,
)
expressions = st.lists(pieces, max_size=5).map(lambda some: "/" + "".join(some)) | st.lists(
    pieces, min_size=1, max_size=4
).map("|".join)
paths = st.text("aAbB/-.é1\n", max_size=6).map(lambda text: re.sub("/+", "/", "/" + text))


def takes(found: Beginnings, path: str) -> bool:
    """Say whether *path* is among those that are meant."""
    return found.take(path.encode())


class RegexBeginningsTests(SynchronousTestCase):
    """What an expression takes begins so."""

    def check(self, expression: str, taken: tuple[str, ...], left: tuple[str, ...]) -> None:
        """Compare what the beginnings of *expression* take with what they are to take."""
        found = regex_beginnings(expression)
        self.assertEqual([path for path in (*taken, *left) if takes(found, path)], [*taken], expression)

    def test_literal_part(self) -> None:
        """What stands before the first thing that is no character is a beginning, in any case."""
        self.check("/api/(.*)", ("/api/", "/api/x", "/API/x"), ("/api", "/ap", "/"))
        self.check("/api.*", ("/api", "/apifoo", "/Api/x"), ("/ap",))
        self.check("/users/[0-9]+", ("/users/1", "/users/"), ("/users",))
        self.check(r"/v1\.0/x.", ("/v1.0/xy",), ("/v1x0/xy",))

    def test_end(self) -> None:
        """A path that ends where the expression says so is one, and what goes on there is none."""
        self.check("/admin(/|$)(.*)", ("/admin", "/admin/", "/Admin/users"), ("/admins", "/adm"))
        self.check("/a$", ("/a", "/a\n"), ("/ab", "/a/"))

    def test_alternatives(self) -> None:
        """Each alternative of a group is a beginning; so is what may be absent, with it and without."""
        self.check("/app/(static|assets)/(.*)", ("/app/static/x", "/app/assets/"), ("/app/login", "/app"))
        self.check("/(en|de)?/?shop", ("/en/shop", "/deshop", "/shop"), ("/fr/shop", "/"))
        self.check("/admins?", ("/admin", "/admins"), ("/admi",))

    def test_alternative_outside_of_groups_takes_everything(self) -> None:
        """Only the first one is fixed to the beginning of the path; the others match anywhere."""
        self.check("/a|/b", ("/a", "/x/b", "/"), ())

    def test_brace_that_counts_nothing(self) -> None:
        """A brace that says no number is a character, and hides no alternative behind it."""
        for expression in ("/admin{(a)|b}", "/x{|b}", r"/x{\}|b"):
            with self.subTest(expression):
                self.assertTrue(regex_beginnings(expression).takes_all)
        self.check("/a{2", ("/a", "/a{2"), ("/",))
        self.check("/a{b}", ("/a", "/a{b}"), ("/", "/b"))
        self.check("/ab{0,1}c", ("/a", "/ac", "/abc"), ("/",))

    def test_beginning_that_may_be_anything(self) -> None:
        """An expression without literal beginning takes everything."""
        for expression in ("/(.*)", "/.*", ".*", "(.*)", "/*", "/()(.*)", "/(?!x)", r"/\d", "[/]a", "/{2}"):
            with self.subTest(expression):
                self.assertTrue(regex_beginnings(expression).takes_all)

    def test_what_is_not_understood_takes_everything(self) -> None:
        """Where a sign may change what stood before it, nothing is taken for sure."""
        for expression in (
            "/a(",
            "/a)b",
            "/[a",
            r"/\Qa\E",
            # To us the class ends at the first bracket; what it holds would hide an alternative.
            r"/x[\Q]([\E]|b[\Q])[\E]",
            "/a(?x) b",
            "/(?>a)",
            "/a\\",
            "/(*ANY)a",
            "/(?#)",
        ):
            with self.subTest(expression):
                self.assertTrue(regex_beginnings(expression).takes_all)
        self.assertTrue(regex_beginnings("/" + "a" * MAX_CHARACTERS).takes_all)
        self.assertTrue(regex_beginnings("(" * 1000 + ")" * 1000).takes_all)

    def test_never_much(self) -> None:
        """However many alternatives an expression has, its beginnings are few and short."""
        for expression in (
            "/" + "(a|b)" * 700,
            "/(" + "a$|" * 1000 + ")",
            "/" + "a?" * 2000,
            "/" + "a" * 4000,
        ):
            found = regex_beginnings(expression)
            self.assertLessEqual(len(found.prefixes) + len(found.whole), 2 * MAX_BEGINNINGS + 2)
            self.assertLess(sum(map(len, found.prefixes)), 10000)

    @settings(
        deadline=None, derandomize=True, max_examples=examples(200), suppress_health_check=list(HealthCheck)
    )
    @given(expressions, st.lists(paths, min_size=1, max_size=8))
    def test_every_match_is_taken(self, expression: str, some: list[str]) -> None:
        """Whatever the expression matches, as nginx does, is taken."""
        try:
            # Flags and a quantifier behind nothing are where Python is stricter.
            compiled = re.compile(f"^{expression.replace('(?i)', '')}", re.IGNORECASE)
        except re.error:
            assume(False)
        found = regex_beginnings(expression)
        for path in some:
            if compiled.search(path):
                self.assertTrue(takes(found, path), (expression, path, found))

    def test_in_words(self) -> None:
        """A message says what is taken, bounded and printable."""
        self.assertEqual(str(regex_beginnings("/a(/|$)")), 'what begins with "/a/", "/a"')
        self.assertEqual(str(regex_beginnings("/(.*)")), "every path")
        self.assertEqual(str(regex_beginnings("/(a|b|c|d|e)x")).count("begins"), 4)
        self.assertTrue(str(regex_beginnings("/a\x00\n(b)")).isprintable())


class SignsTests(SynchronousTestCase):
    """Which paths mean something else as expressions."""

    def test_signs(self) -> None:
        """Signs of expressions are those that nobody writes in plain paths; a dot is in many."""
        self.assertFalse(
            any(map(has_regex_signs, ("/", "/a-b_c~", "/index.html", "/a%20b", "/.well-known/x")))
        )
        self.assertTrue(
            all(map(has_regex_signs, ("/a*", "/a+", "/a?", "/(a)", "/[a]", "/a{2}", "/a|b", "/a$", r"/\d")))
        )

    def test_plain_path(self) -> None:
        """A plain path is its own beginning."""
        found = Beginnings((b"/admin",))
        self.assertTrue(takes(found, "/adminX") and takes(found, "/ADMIN"))
        self.assertFalse(takes(found, "/adm"))
