"""Tests for ``ingress.http2.hpack.field_decoder``: the bound of a list, and agreement with another decoder."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http2.faults import ConnectionFault, ErrorCode
from ingress.http2.hpack import huffman
from ingress.http2.hpack.field_decoder import FieldDecoder
from tests.fuzz.field_blocks import agree, generated
from tests.http2.hpack.test_field_decoder import Field, literal, pair
from tests.properties import examples


class BoundTests(SynchronousTestCase):
    """A list that is too large ends the connection with ENHANCE_YOUR_CALM."""

    def assert_too_large(self, decoder: FieldDecoder[Field], block: bytes) -> None:
        fault = self.assertRaises(ConnectionFault, decoder.decode, block)
        self.assertEqual(fault.code, ErrorCode.ENHANCE_YOUR_CALM)

    def test_exact(self) -> None:
        """The bound is met to the byte, in plain text, in Huffman code and by index."""
        coded = huffman.encode(b"a" * 67)
        for block in (
            b"\x00\x01x\x43" + b"a" * 67,
            b"\x00\x01x" + bytes([0x80 | len(coded)]) + coded,
            b"\x00\x43" + b"a" * 67 + b"\x01x",
            b"\x82\x83",
        ):
            decoder = FieldDecoder(pair, most_bytes=100)
            decoder.decode(block)
            self.assertLessEqual(decoder.list_size, 100)
            self.assert_too_large(FieldDecoder(pair, most_bytes=decoder.list_size - 1), block)

    def test_each_list(self) -> None:
        """Each list has the bound for itself."""
        decoder = FieldDecoder(pair, most_bytes=100)
        for _ in range(3):
            decoder.decode(b"\x82\x83")
            self.assertEqual(decoder.list_size, 42 + 43)

    def test_bomb(self) -> None:
        """Many indexes of one large field are refused when the bound is reached, and no earlier."""
        decoder = FieldDecoder(pair)
        decoder.decode(b"\x40" + literal(4000)[1:])
        self.assertEqual(len(decoder.decode(b"\xbe" * 16)), 16)
        self.assert_too_large(decoder, b"\xbe" * 17)

    def test_before_it_is_read(self) -> None:
        """A literal beyond the bound is never handed to ``read``, nor a huge one in Huffman code decoded."""
        asked: list[int] = []

        def read(name: bytes, value: bytes) -> Field:
            asked.append(len(name) + len(value))
            return name, value

        for block in (
            literal(200),
            b"\x00\x7f\x49" + b"x" * 200 + b"\x00",
            b"\x00\x01x\xff\x49" + b"\x00" * 200,
        ):
            self.assert_too_large(FieldDecoder(read, most_bytes=150), block)
        self.assertLess(max(asked), 100)


class PeerTests(SynchronousTestCase):
    """Beside the decoder of another implementation."""

    @given(st.randoms(use_true_random=False))
    @settings(derandomize=True, deadline=None, max_examples=examples(60))
    def test_generated(self, random: Random) -> None:
        """Whatever an encoder makes of fields and sizes, both read it the same."""
        blocks = generated(random, 0)
        self.assertEqual(agree(blocks), len(blocks))
