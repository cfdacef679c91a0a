"""Tests for ``ingress.http2.fields``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.grammar import FORWARD, MEMO_NAME, MEMO_NAMES
from ingress.http2.fields import MALFORMED, Field, FieldNames, field_reader
from tests.properties import examples

SPECIAL = 20


def sort_of(name: bytes) -> int:
    """A sort for one name, and FORWARD for all others."""
    return SPECIAL if name == b"special" else FORWARD


def special(sort: int, name: bytes, value: bytes) -> Field:
    """What is made of a special field."""
    return sort, name, value, b"special"


read = field_reader({b":own": SPECIAL + 1, b"bad": MALFORMED}, sort_of, special)


class FieldReaderTests(SynchronousTestCase):
    """What is read of a single field."""

    def test_goes_on(self) -> None:
        """A field without a meaning of its own becomes a line."""
        for name, value, line in (
            (b"accept", b"*/*", b"accept: */*"),
            (b"x", b"", b"x: "),
            (b"a.b_c-1~", b"a \t b", b"a.b_c-1~: a \t b"),
            (b"x", b"\xff\x80", b"x: \xff\x80"),
        ):
            self.assertEqual(read(name, value), (FORWARD, name, value, line))

    def test_special(self) -> None:
        """Any other is read by whoever knows its sort."""
        self.assertEqual(read(b"special", b"v"), (SPECIAL, b"special", b"v", b"special"))
        self.assertEqual(read(b":own", b"v"), (SPECIAL + 1, b":own", b"v", b"special"))

    def test_names(self) -> None:
        """What is no lower-case token, or belongs to one connection, is malformed."""
        for name in (b"", b":", b":other", b"A", b"aB", b"a b", b" a", b"a ", b"a:", b"a\r", b"a\n", b"a\x00", b"a\x7f", b"\xe4", b"a\t", b"a(", b"a/b", b"bad"):  # fmt: skip
            self.assertEqual(read(name, b"v")[0], MALFORMED, name)

    def test_values(self) -> None:
        """A control, a line ending or white space around a value makes any field malformed."""
        for value in (b"a\r\nb: c", b"a\rb", b"a\nb", b"a\x00", b"\x7f", b"\x1b[0m", b" a", b"a ", b"\ta", b"a\t", b" ", b"\x0b"):  # fmt: skip
            for name in (b"accept", b"special", b":own", b"bad"):
                self.assertEqual(read(name, value)[0], MALFORMED, (name, value))

    def test_memo(self) -> None:
        """So many names are remembered, then the memo begins anew, with those of its own; and none that is long or no name."""
        names = FieldNames({}, sort_of)
        self.assertEqual(
            [names[b"a" * MEMO_NAME], names[b"b" * (MEMO_NAME + 1)], names[b"C"]], [0, 0, MALFORMED]
        )
        self.assertEqual(list(names), [b"a" * MEMO_NAME])
        names = FieldNames({b":own": SPECIAL}, sort_of)
        for number in range(MEMO_NAMES + 10):
            self.assertEqual(names[b"x%d" % number], FORWARD)
            self.assertLessEqual(len(names), MEMO_NAMES)
        self.assertEqual(names[b"special"], SPECIAL)
        self.assertEqual(
            [name in names for name in (b":own", b"special", b"x%d" % number, b"x0")],
            [True, True, True, False],
        )

    @settings(derandomize=True, deadline=None, max_examples=examples(500))
    @given(
        st.binary(max_size=6) | st.sampled_from([b"special", b":own", b"bad", b"a"]), st.binary(max_size=6)
    )
    def test_never_raises(self, name: bytes, value: bytes) -> None:
        """Whatever comes is read, and the line of what goes on has no line ending."""
        sort, found, same, line = read(name, value)
        self.assertEqual((found, same), (name, value))
        if sort == FORWARD:
            self.assertEqual(line, name + b": " + value)
            self.assertNotIn(b"\r", line)
            self.assertNotIn(b"\n", line)
