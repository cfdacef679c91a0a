"""The part of regular expressions that names are compared by."""

import re
from time import perf_counter

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.common_names import NOBODY, CommonNames, parse_common_names
from ingress.annotations.values import ValueRefused


class ParseTests(SynchronousTestCase):
    """What is understood, and what is not."""

    def test_understood(self) -> None:
        """Names, alternatives and gaps let in what they say, and compare the whole name."""
        for text, inside, outside in (
            ("CN=shop", ["shop"], ["shopkeeper", "myshop", "Shop", "", "shop\n"]),
            ("CN=shop$", ["shop"], ["shops"]),
            ("CN=a.b", ["a.b"], ["aXb"]),
            (r"CN=a\.b\+c", ["a.b+c"], ["aXb+c", "a.bb"]),
            ("CN=(ann|bob).test", ["ann.test", "bob.test"], ["eve.test", "ann", "annbob.test"]),
            ("CN=(a|b)(c|d)", ["ac", "ad", "bc", "bd"], ["a", "ab", "cd"]),
            ("CN=(|my-)shop", ["shop", "my-shop"], ["-shop"]),
            ("CN=till-.*", ["till-", "till-7"], ["till", "a till-7"]),
            ("CN=.+.test", ["a.test"], [".test", "test", "a.test.b"]),
            ("CN=a.*b.+c", ["abxc", "axxbxxc", "abbbc"], ["abc", "acb", "ab"]),
            ("CN=(a.*|b)", ["a", "ax", "b"], ["bx"]),
            ("CN=.*", ["a", ""], []),
            ("CN=Jörg", ["Jörg"], ["Jorg"]),
        ):
            with self.subTest(text):
                names = parse_common_names(text)
                self.assertEqual([one for one in inside if one not in names], [])
                self.assertEqual([one for one in outside if one in names], [])

    def test_refused(self) -> None:
        """Everything beyond is refused, and so is what has no end or lets no name in."""
        for text in (
            "",
            "shop",
            "cn=shop",
            "O=shop",
            "CN=",
            "CN=()",
            "CN=$",
            "CN=^shop",
            "CN=a|b",
            "CN=a|CN=b",
            "CN=((a|b))",
            "CN=(a",
            "CN=a)",
            "CN=(a)*",
            "CN=a*",
            "CN=a+",
            "CN=(a+)+$",
            "CN=[ab]",
            "CN=a{3}",
            "CN=a?",
            r"CN=\w+",
            r"CN=\d",
            "CN=(?:a)",
            "CN=a,OU=b",
            "CN=a$b",
            "CN=a\nb",
            "CN=a\x00",
            "CN=" + "a" * 600,
            "CN=" + "(a|b)" * 7,
            "CN=(" + "|".join(map(str, range(99))) + ")",
        ):
            with self.subTest(text), self.assertRaises(ValueRefused):
                parse_common_names(text)

    def test_nobody(self) -> None:
        """Without patterns no name gets in."""
        for name in ("", "a", "CN=a"):
            self.assertNotIn(name, NOBODY)

    def test_time(self) -> None:
        """The worst that can be written takes no time with the worst that can be shown."""
        names = parse_common_names("CN=" + "(a.*|b.*)" * 6 + ".*a" * 100 + "c")
        self.assertEqual(len(names.patterns), 64)
        began = perf_counter()
        self.assertNotIn("a" * 16384, names)
        self.assertLess(perf_counter() - began, 0.2)


class BesideRegularExpressionsTests(SynchronousTestCase):
    """Whom the patterns let in the regular expression lets in, too."""

    @settings(derandomize=True, max_examples=300, deadline=None)
    @given(
        st.lists(
            st.sampled_from(["a", "b", ".", ".*", ".+", "(a|b)", "(|a)", r"\."]), min_size=1, max_size=7
        ),
        st.text("ab.", max_size=8),
    )
    def test_narrower(self, parts: list[str], name: str) -> None:
        """Nobody gets in whom the expression would keep out; but for lone dots the whole name decides alike."""
        text = "CN=" + "".join(parts)
        try:
            names: CommonNames = parse_common_names(text)
        except ValueRefused:
            return
        matches = re.fullmatch(text, f"CN={name}") is not None
        self.assertLessEqual(name in names, matches)
        if "." not in parts:
            self.assertEqual(name in names, matches)
