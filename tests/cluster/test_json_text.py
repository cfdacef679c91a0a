"""Tests for ``ingress.cluster.json_text``."""

import json

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.json_text import decoded

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


class DecodedTests(SynchronousTestCase):
    """What text becomes is what the standard library makes of it."""

    @given(value=_VALUES, ascii_only=st.booleans())
    def test_like_the_standard_library(self, value: object, ascii_only: bool) -> None:
        """Values come back as they were, escaped or not."""
        text = json.dumps(value, ensure_ascii=ascii_only).encode(errors="surrogatepass")
        self.assertEqual(decoded(text), json.loads(text))

    def test_what_only_the_standard_library_takes(self) -> None:
        """Half a surrogate pair and numbers that are none are no reason to lose a stream."""
        self.assertEqual(decoded(b'{"a": "\\ud800"}'), {"a": "\ud800"})
        self.assertEqual(decoded(b'{"a": "\xed\xa0\x80"}'), {"a": "\ud800"})
        self.assertEqual(decoded(b'{"a": Infinity}'), {"a": float("inf")})

    def test_last_of_two_fields(self) -> None:
        """Of a field that stands twice the last one counts."""
        self.assertEqual(decoded(b'{"a": 1, "a": 2}'), {"a": 2})

    def test_huge_numbers(self) -> None:
        """A number that fits no field of the API is some number, or no JSON; it is no crash."""
        self.assertEqual(decoded(b'{"port": 100000000000000000000}'), {"port": 1e20})
        with self.assertRaises(ValueError):
            decoded(b"1" * 5000 + b"x")

    def test_what_is_no_json(self) -> None:
        """Half a document, two, none, other bytes, and a nesting without end are refused."""
        for text in (b"", b"{", b'{"a": 1}{', b"\xff", b'{"a": "\xff"}', b"'a'", b"[" * 200_000):
            with self.assertRaises(ValueError):
                decoded(text)
