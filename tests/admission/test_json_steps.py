"""JSON in steps: the same as the standard library reads, whatever it is, and no step takes long."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.admission.json_steps import (
    MOST_DEPTH,
    MOST_TEXT,
    MOST_TOKENS,
    MOST_VALUES,
    TextTooLargeError,
    decoding,
)
from ingress.model.stepwise import finished
from tests.fakes.counting import longest_step

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda some: st.lists(some, max_size=4) | st.dictionaries(st.text(max_size=4), some, max_size=4),
    max_leaves=30,
)


def _refused(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


class DecodingTests(SynchronousTestCase):
    """What texts come to."""

    @given(values, st.booleans(), st.sampled_from([None, 1]))
    def test_any_value(self, value: Any, is_ascii: bool, indent: int | None) -> None:
        """Whatever was written is read again, however it was written."""
        text = json.dumps(value, ensure_ascii=is_ascii, indent=indent).encode("utf-8", "replace")
        self.assertEqual(finished(decoding(text)), json.loads(text))

    @given(st.text('[]{},:"\\u0123d8e-.+ntfalsru \n\x01', max_size=12))
    def test_any_text(self, text: str) -> None:
        """What is no JSON is refused, and nothing else is."""
        try:
            expected: Any = [json.loads(text, parse_constant=_refused)]
        except ValueError:
            expected = []
        try:
            found: Any = [finished(decoding(text.encode()))]
        except ValueError:
            found = []
        self.assertEqual(found, expected)

    def test_long_texts(self) -> None:
        """A text is put together out of its parts, and no character is cut in two."""
        for text in ("aé€😀" * 5000, 'a"\\\n' * 5000, "😀" * 40_000, "a" + "é" * 40_000):
            for is_ascii in (True, False):
                self.assertEqual(finished(decoding(json.dumps(text, ensure_ascii=is_ascii).encode())), text)

    def test_not_utf_8(self) -> None:
        """Bytes that are no UTF-8 are refused."""
        for octets in (b'"\xff"', b'"\xc3"', b'"' + b"\x80" * 5000 + b'"', b'{"a\xff": 1}'):
            with self.assertRaises(ValueError):
                finished(decoding(octets))

    def test_skipped(self) -> None:
        """What stands under a name that nobody asks for is None, and has to be JSON all the same."""
        text = b'{"a": {"x": [1, {"y": "\\u00e9"}], "b": 2}, "b": [{"x": 3}], "x": "z"}'
        self.assertEqual(
            finished(decoding(text, {"x"})), {"a": {"x": None, "b": 2}, "b": [{"x": None}], "x": None}
        )
        for wrong in (b'{"x": [1,]}', b'{"x": {"a"}}', b'{"x": {"a": tru}}', b'{"x": "\\z"}'):
            with self.assertRaises(ValueError):
                finished(decoding(wrong, {"x"}))

    def test_bounds(self) -> None:
        """Depth, values and tokens have bounds, which what is passed over does not need, but for the depth and the tokens."""
        finished(decoding(b"[" * MOST_DEPTH + b"]" * MOST_DEPTH))
        for text in (
            b"[" * 8_000_000,
            b'{"a":' * 100_000,
            b"[" + b"0," * MOST_VALUES + b"0]",
            b'{"x":[' + b"0," * MOST_TOKENS + b"0]}",
            b'"' + b"a" * (MOST_TEXT + 600) + b'"',
        ):
            with self.assertRaises(TextTooLargeError):
                finished(decoding(text, {"x"}))
        finished(decoding(b'{"x":[' + b"0," * MOST_VALUES + b"0]}", {"x"}))
        finished(decoding(b'{"x":"' + b"a" * (MOST_TEXT + 600) + b'"}', {"x"}))

    def test_no_step_takes_long(self) -> None:
        """A step takes some hundred calls, of whatever there are megabytes."""
        for text in (
            b"[" + b",".join([b"0"] * 19_000) + b"]",
            b"[" + b",".join([b'{"a":{}}'] * 9_000) + b"]",
            b'"' + b"a" * 500_000 + b'"',
            b'"' + b'\\"' * 200_000 + b'"',
            b'"' + b"\\u00e9" * 80_000 + b'"',
            b'{"x":"' + b"a" * 4_000_000 + b'"}',
            b" " * 4_000_000 + b"1",
            b'{"x":"' + b'\\"' * 1_000_000 + b'"}',
            b'{"' + b"n" * 500_000 + b'":1}',
        ):

            def steps(text: bytes = text) -> Any:
                yield from decoding(text, {"x"})

            self.assertLess(longest_step(steps()), 1500)
