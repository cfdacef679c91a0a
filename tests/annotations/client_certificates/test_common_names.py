"""The regular expressions that names are compared by."""

import pickle
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.client_certificates.common_names import (
    MAX_NAME_CHARACTERS,
    NOBODY,
    CommonNames,
    parse_common_names,
)
from ingress.annotations.contract.values import ValueRefused
from tests.properties import examples


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
            ("^CN=shop$", ["shop"], ["shops"]),
            ("CN=a|CN=b", ["a", "b"], ["a|CN=b", "c", "CN=b"]),
            ("CN=((a|b)c|d)", ["ac", "bc", "d"], ["a", "cd"]),
            ("CN=(a+)+$", ["a", "aaa"], ["", "ab"]),
            ("CN=a*b", ["b", "aab"], ["a"]),
            ("CN=[ab.]+", ["a.b"], ["abc", ""]),
            ("CN=[]a]", ["]", "a"], ["b"]),
            ("CN=[[:alpha:].]{2}", ["a."], ["aX.", "1a"]),
            ("CN=pod-[0-9]{1,3}", ["pod-7", "pod-123"], ["pod-", "pod-1234"]),
            ("CN=a.{2}b", ["axyb"], ["a..xb"]),
            ("CN=a.?b", ["ab", "axb"], ["axxb"]),
            (r"CN=\w+\.test", ["a_1.test"], ["aXtest", "ö.test"]),
            (r"CN=\d(?:st|nd)", ["1st"], ["1"]),
            ("CN=(?i)shop", ["Shop"], ["shops"]),
            (r"CN=a\,b", ["a,b"], ["ab"]),
            (r"CN=\pL+", ["Jörg"], ["Jörg1"]),
        ):
            with self.subTest(text):
                names = parse_common_names(text)
                self.assertEqual([one for one in inside if one not in names], [])
                self.assertEqual([one for one in outside if one in names], [])

    def test_refused(self) -> None:
        """What is no expression of RE2 is refused, and so is what can be no name, or is too much."""
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
            "CN=a|^b",
            "CN=a|",
            "CN=(a|^b)",
            "CN=[",
            "CN=[b-a]",
            "CN=**",
            r"CN=(a)\1",
            "CN=(?=a)a",
            "CN=(?<!a)b",
            "CN=a++",
            r"CN=\Qa.b\E",
            "CN=a{1,2000}",
            "CN=(a{100}){100}",
            "CN=" + r"[\pL\pN]*" * 10,
            "CN=\ud800",
            "^",
            "CN=a\\",
            "CN=(a",
            "CN=a)",
            "CN=(a)*",
            "CN=a*",
            "CN=a?",
            "CN=a,OU=b",
            "CN=a$b",
            "CN=a\nb",
            "CN=a\x00",
            "CN=" + "a" * 600,
        ):
            with self.subTest(text), self.assertRaises(ValueRefused):
                parse_common_names(text)

    def test_nobody(self) -> None:
        """Without patterns no name gets in."""
        for name in ("", "a", "CN=a"):
            self.assertNotIn(name, NOBODY)

    def test_reason(self) -> None:
        """What is refused is refused with the reason."""
        for text, reason in (
            (r"CN=(a)\1", r"invalid escape sequence: \1"),
            ("CN=(?=a)a", "invalid perl operator: (?="),
            ("CN=(a{100}){100}", "invalid repetition size"),
            ("CN=a,OU=b", "a comma would begin"),
            ("CN=a$b", "at the end"),
            ("CN=a?", "an empty name"),
            ("CN=a\tb", "control character"),
        ):
            with self.subTest(text):
                with self.assertRaises(ValueRefused) as caught:
                    parse_common_names(text)
                self.assertIn(reason, str(caught.exception))

    def test_long_names(self) -> None:
        """A name that is longer than any is not looked at."""
        names = parse_common_names("CN=.*")
        self.assertIn("a" * MAX_NAME_CHARACTERS, names)
        self.assertNotIn("a" * (MAX_NAME_CHARACTERS + 1), names)

    def test_plain_data(self) -> None:
        """Equal values are equal, before and after they were written to bytes."""
        names = parse_common_names("CN=a.*")
        self.assertIn("ab", names)
        self.assertEqual({names, parse_common_names("CN=a.*"), pickle.loads(pickle.dumps(names))}, {names})
        self.assertNotEqual(names, parse_common_names("CN=b.*"))


class BesideRegularExpressionsTests(SynchronousTestCase):
    """Whom the patterns let in the regular expression lets in, too."""

    @settings(derandomize=True, max_examples=examples(300), deadline=None)
    @given(
        st.lists(
            st.sampled_from(
                ["a", "b", ".", ".*", ".+", ".?", "[ab]", "[.]*", "(a|b.)", "(|a)", "(a+b?)*", r"\."]
            ),
            min_size=1,
            max_size=7,
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
        if not {".", "(a|b.)"} & set(parts):
            self.assertEqual(name in names, matches)
