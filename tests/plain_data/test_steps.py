"""Sorting and writing JSON in small steps."""

import json
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.plain_data.steps import AT_ONCE, NOT_YET, NotYet, in_order, json_text

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


class InOrderTests(SynchronousTestCase):
    """``in_order``."""

    @given(st.lists(st.tuples(st.integers(0, 9), st.integers()), max_size=3 * AT_ONCE))
    def test_order(self, values: list[tuple[int, int]]) -> None:
        """Values come sorted by their key, equal ones in the order in which they were given."""
        found = [one for one in in_order(values, lambda pair: pair[0]) if not isinstance(one, NotYet)]
        self.assertEqual(found, sorted(values, key=lambda pair: pair[0]))

    def test_steps(self) -> None:
        """No step looks at more than a few hundred values, however many there are."""
        looked = 0

        def many() -> Iterator[int]:
            nonlocal looked
            for number in range(10_000, 0, -1):
                looked += 1
                yield number

        steps = in_order(many(), int)
        for _ in range(10_000 // AT_ONCE):
            before = looked
            self.assertIs(next(steps), NOT_YET)
            self.assertLessEqual(looked - before, AT_ONCE)
        self.assertEqual(list(steps), list(range(1, 10_001)))


class JSONTextTests(SynchronousTestCase):
    """``json_text``."""

    @given(VALUES)
    def test_like_the_library(self, value: object) -> None:
        """The text is that of ``json.dumps`` with an indent of 2."""
        self.assertEqual("".join(json_text(value)), json.dumps(value, indent=2))

    def test_iterator(self) -> None:
        """An iterator is a list, whose items are asked for one by one, and what is not there yet is left out."""
        asked: list[int] = []

        def items() -> Iterator[object]:
            for number in range(3):
                asked.append(number)
                yield NOT_YET
                yield number

        pieces = json_text({"items": items(), "none": iter(())})
        text = ""
        while "0" not in text:
            text += next(pieces)
        self.assertEqual(asked, [0])
        self.assertEqual(json.loads(text + "".join(pieces)), {"items": [0, 1, 2], "none": []})

    def test_no_json(self) -> None:
        """A value that JSON has no form for is an error, and not left out."""
        self.assertRaises(TypeError, list, json_text({"a": object()}))
