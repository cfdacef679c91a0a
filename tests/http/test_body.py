"""Tests for ``ingress.http.body``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.body import (
    MAX_CHUNK_LINE,
    MAX_EXTENSIONS,
    MAX_TRAILERS,
    BodyError,
    ChunkedDecoder,
    CloseDecoder,
    LengthDecoder,
    chunk,
    last_chunk,
)
from tests.fakes.counting import calls
from tests.properties import examples

Outcome = tuple[bytes, tuple[bytes, ...], bytes] | str
GOOD = (
    # encoded, payload, trailers
    (b"0\r\n\r\n", b"", ()),
    (b"5\r\nhello\r\n0\r\n\r\n", b"hello", ()),
    (b"5\r\nhello\r\n00\r\n\r\n", b"hello", ()),
    (b"0005\r\nhello\r\n0\r\n\r\n", b"hello", ()),
    (b"a\r\n0123456789\r\nA\r\n9876543210\r\n0\r\n\r\n", b"01234567899876543210", ()),
    (b"2\r\n\r\n\r\n3\r\n0\r\n\r\n0\r\n\r\n", b"\r\n0\r\n", ()),
    (b'1;a\r\nx\r\n1;a=b;c="d e"\r\ny\r\n0;z\r\n\r\n', b"xy", ()),
    (b"1;\r\nx\r\n0\r\n\r\n", b"x", ()),
    (b"1\r\nx\r\n0\r\nA: 1\r\nB:2\r\n\r\n", b"x", (b"A: 1", b"B:2")),
)
BAD = (
    b"\r\n",
    b"g\r\n",
    b"0x5\r\nhello\r\n",
    b"+5\r\nhello\r\n",
    b"-5\r\nhello\r\n",
    b" 5\r\nhello\r\n",
    b"5 \r\nhello\r\n",
    b"5 ;a\r\nhello\r\n",
    b"5_0\r\nhello\r\n",
    b"5\nhello\r\n",
    b"5\r\rhello\r\n",
    b"5;a\rb\r\nhello\r\n",
    b"5;a\nb\r\nhello\r\n",
    b"5;\x00\r\nhello\r\n",
    b"5\r\nhello0\r\n\r\n",
    b"5\r\nhelloxx0\r\n\r\n",
    b"5\r\nhello\n0\r\n\r\n",
    b"5\r\nhello\r0\r\n\r\n",
    b"5\r\nhello\r\n\r\n",
    b"1" + b"0" * 15 + b"\r\n",
    b"0\r\nbad line\r\n\r\n",
    b"0\r\n folded\r\n\r\n",
    b"0\r\nA: b\nC: d\r\n\r\n",
    b"0\r\nA : b\r\n\r\n",
    b"5;" + b"a" * MAX_CHUNK_LINE + b"\r\nhello\r\n",
    b"1;" + b"a" * MAX_CHUNK_LINE,
    b"0\r\nA: " + b"b" * MAX_TRAILERS + b"\r\n\r\n",
    b"0\r\nA: " + b"b" * MAX_TRAILERS + b"bb",
    b"0\r\n" + b"A: %b\r\n" % (b"b" * 1000) * 9 + b"\r\n",
)
LONGEST = (
    b"1;" + b"a" * (MAX_CHUNK_LINE - 2) + b"\r\nx\r\n0\r\n\r\n",
    b"0\r\nA: " + b"b" * (MAX_TRAILERS - 3) + b"\r\n\r\n",
)


def decode(*pieces: bytes) -> Outcome:
    """Feed *pieces* to a decoder; return what came out, or that it was refused."""
    decoder = ChunkedDecoder()
    payload = b""
    rest = b""
    for piece in pieces:
        if decoder.finished:
            rest += piece
            continue
        try:
            payload += b"".join(decoder.feed(piece))
        except BodyError:
            return "refused"
        rest += decoder.rest
    return (payload, tuple(decoder.trailers), rest) if decoder.finished else "unfinished"


def bytewise(encoded: bytes) -> Outcome:
    """Feed *encoded* byte by byte."""
    return decode(*(encoded[at : at + 1] for at in range(len(encoded))))


class ChunkedDecoderTests(SynchronousTestCase):
    """The chunked coding, taken off."""

    def test_good(self) -> None:
        """A well-formed body decodes, whole, byte by byte and split anywhere, and leaves what follows."""
        for encoded, payload, trailers in GOOD:
            for rest in (b"", b"\r\nGET / HTTP/1.1\r\n"):
                whole = encoded + rest
                expected = (payload, trailers, rest)
                self.assertEqual(decode(whole), expected, whole)
                self.assertEqual(bytewise(whole), expected, whole)
                for at in range(len(whole)):
                    self.assertEqual(decode(whole[:at], whole[at:]), expected, (whole, at))

    def test_bad(self) -> None:
        """A body that two readers could read differently is refused, however it is split."""
        for encoded in BAD:
            self.assertEqual(decode(encoded), "refused", encoded[:60])
            self.assertEqual(bytewise(encoded), "refused", encoded[:60])
            for at in range(min(len(encoded), 80)):
                self.assertEqual(decode(encoded[:at], encoded[at:]), "refused", (encoded[:60], at))

    def test_longest(self) -> None:
        """Lines of exactly the longest length are accepted, however they are split."""
        for encoded in LONGEST:
            expected = decode(encoded)
            self.assertNotIsInstance(expected, str)
            self.assertEqual(bytewise(encoded), expected)

    def test_unfinished(self) -> None:
        """A body is finished with its very last byte, not before."""
        for encoded, _, _ in GOOD:
            for end in range(len(encoded)):
                self.assertEqual(decode(encoded[:end]), "unfinished", encoded[:end])

    def test_extensions_are_bounded(self) -> None:
        """All the extensions of a body together are bounded."""
        line = b"1;" + b"e" * 999 + b"\r\nx\r\n"
        count = MAX_EXTENSIONS // 1000
        self.assertEqual(decode(line * count + b"0\r\n\r\n"), (b"x" * count, (), b""))
        self.assertEqual(decode(line * (count + 1) + b"0\r\n\r\n"), "refused")

    def test_holds_no_payload(self) -> None:
        """Payload comes out as soon as it comes in."""
        decoder = ChunkedDecoder()
        self.assertEqual(decoder.feed(b"ffffffff\r\n"), [])
        self.assertEqual(decoder.feed(b"abc"), [b"abc"])
        self.assertEqual(decoder.feed(b"d"), [b"d"])

    def test_whole_chunks_take_little(self) -> None:
        """A chunk that comes whole, and says its size alone, takes few calls: a sender may make thousands of them, of an octet each."""
        body = chunk(b"x") * 100 + last_chunk([])
        self.assertEqual(decode(body), (b"x" * 100, (), b""))
        self.assertLess(calls(lambda: ChunkedDecoder().feed(body)), 400)

    @settings(max_examples=examples(150), deadline=None)
    @given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.data())
    def test_round_trip(self, pieces: list[bytes], data: st.DataObject) -> None:
        """Encoded chunks decode to themselves, however their bytes are split."""
        encoded = b"".join(map(chunk, pieces)) + last_chunk([])
        cuts = sorted(data.draw(st.lists(st.integers(0, len(encoded)), max_size=8)))
        parts = [encoded[start:end] for start, end in zip([0, *cuts], [*cuts, len(encoded)], strict=True)]
        self.assertEqual(decode(*parts), (b"".join(pieces), (), b""))

    @settings(max_examples=examples(300), deadline=None)
    @given(
        st.lists(
            st.sampled_from(
                [b"\r\n", b"\r", b"\n", b"0", b"1", b"3", b"a", b";", b"x: y", b" ", b"abc", b"\x00"]
            ),
            max_size=14,
        ).map(b"".join),
        st.data(),
    )
    def test_splitting_changes_nothing(self, encoded: bytes, data: st.DataObject) -> None:
        """Whatever the bytes are, good or bad, their verdict does not depend on how they are split."""
        at = data.draw(st.integers(0, len(encoded)))
        expected = decode(encoded)
        for split in (decode(encoded[:at], encoded[at:]), bytewise(encoded)):
            if "unfinished" in (expected, split):
                # A line without its end may be refused a little later, but never be taken for good.
                self.assertIn(split, ("unfinished", "refused"))
                self.assertIn(expected, ("unfinished", "refused"))
            else:
                self.assertEqual(split, expected)


class EncodingTests(SynchronousTestCase):
    """The chunked coding, put on."""

    def test_chunk(self) -> None:
        """A chunk has its size in hexadecimal."""
        self.assertEqual(chunk(b"x" * 26), b"1a\r\n" + b"x" * 26 + b"\r\n")

    def test_last_chunk(self) -> None:
        """The last chunk carries the trailers."""
        self.assertEqual(last_chunk([]), b"0\r\n\r\n")
        self.assertEqual(last_chunk([b"A: 1", b"B: 2"]), b"0\r\nA: 1\r\nB: 2\r\n\r\n")


class LengthDecoderTests(SynchronousTestCase):
    """A body of known length."""

    def test_splits(self) -> None:
        """The body ends after its length, however it is split; the rest is left."""
        whole = b"0123456789rest"
        for at in range(10):
            decoder = LengthDecoder(10)
            got = b"".join(decoder.feed(whole[:at]))
            self.assertFalse(decoder.finished)
            got += b"".join(decoder.feed(whole[at:]))
            self.assertTrue(decoder.finished)
            self.assertEqual((got, decoder.rest), (b"0123456789", b"rest"))

    def test_empty(self) -> None:
        """A length of zero is finished from the start, and everything is rest."""
        decoder = LengthDecoder(0)
        self.assertTrue(decoder.finished)
        self.assertEqual((decoder.feed(b"rest"), decoder.rest), ([], b"rest"))


class CloseDecoderTests(SynchronousTestCase):
    """A body that ends with its connection."""

    def test_never_finished(self) -> None:
        """Everything is payload."""
        decoder = CloseDecoder()
        self.assertEqual(decoder.feed(b"abc") + decoder.feed(b"") + decoder.feed(b"d"), [b"abc", b"d"])
        self.assertFalse(decoder.finished)
