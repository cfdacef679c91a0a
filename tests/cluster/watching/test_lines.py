"""Tests for ``ingress.cluster.watching.lines``."""

from time import process_time

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.watching.lines import LineSplitter, LineTooLongError
from tests.properties import examples


class LineSplitterTests(SynchronousTestCase):
    """Bytes to lines."""

    def test_half_line_is_never_used(self) -> None:
        """What follows the last line end is kept back."""
        splitter = LineSplitter()
        self.assertEqual(splitter.feed(b"one\ntw"), [b"one"])
        self.assertEqual(splitter.feed(b""), [])
        self.assertEqual(splitter.feed(b"o\n\nthree"), [b"two", b""])

    def test_only_one_byte_ends_lines(self) -> None:
        """Carriage return, form feed, U+0085 and U+2028 belong to the line."""
        line = "a\r\v\f\x1c\x85\u2028b".encode()
        self.assertEqual(LineSplitter().feed(line + b"\n"), [line])

    @settings(derandomize=True, max_examples=examples(200))
    @given(st.lists(st.binary(max_size=20).map(lambda b: b.replace(b"\x00", b"\n")), max_size=12))
    def test_chunks_do_not_matter(self, chunks: list[bytes]) -> None:
        """However the bytes are split, the same lines come out."""
        splitter = LineSplitter()
        lines = [line for chunk in chunks for line in splitter.feed(chunk)]
        self.assertEqual(lines, b"".join(chunks).split(b"\n")[:-1])

    def test_too_long_a_line(self) -> None:
        """A line over the limit is refused, begun or complete; one at the limit is not."""
        self.assertEqual(LineSplitter(4).feed(b"1234\n"), [b"1234"])
        with self.assertRaises(LineTooLongError):
            LineSplitter(4).feed(b"12345\n")
        splitter = LineSplitter(4)
        splitter.feed(b"12")
        with self.assertRaises(LineTooLongError):
            splitter.feed(b"345")

    def test_linear(self) -> None:
        """Twenty times the bytes do not take a hundred times as long, in one chunk or in many."""

        def seconds(chunks: list[bytes]) -> float:
            splitter = LineSplitter()
            before = process_time()
            for chunk in chunks:
                splitter.feed(chunk)
            return process_time() - before

        line = b"x" * 99 + b"\n"
        for few, many in (([line * 1000], [line * 20000]), ([b"x" * 10] * 1000, [b"x" * 10] * 20000)):
            bound = 100 * max(seconds(few), 0.0005)
            # What a machine does in between makes some longer.
            self.assertLess(min(seconds(many) for _ in range(5)), bound)
