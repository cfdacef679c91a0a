"""Tests of ``FieldDecoder`` for peers that send the same literals again and again."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http2.faults import ConnectionFault
from ingress.http2.hpack.field_decoder import FieldDecoder
from tests.fuzz.field_blocks import generated
from tests.http2.hpack.test_field_decoder import Field, literal, pair
from tests.properties import examples


class RepeatTests(SynchronousTestCase):
    """Blocks that do the same to any table."""

    def test_independent(self) -> None:
        """What a block of literals puts into the table is known from the block alone."""
        decoder = FieldDecoder(pair)
        block = bytes.fromhex("88  40 01 61 01 31  7e 01 32")  # The second one has the name of the first.
        self.assertEqual(decoder.decode(block), [(b":status", b"200"), (b"a", b"1"), (b"a", b"2")])
        entries = decoder.entries_of(block)
        self.assertEqual(entries, [((b"a", b"1"), 34, b"a"), ((b"a", b"2"), 34, b"a")])

    def test_dependent(self) -> None:
        """A block that uses the table, changes its size or overflows it is never taken for one."""
        decoder = FieldDecoder(pair)
        decoder.decode(b"\x40\x01a\x011")
        self.assertEqual(decoder.entries_of(b"\x82"), [])
        self.assertIsNone(decoder.entries_of(b"\xbe"))
        self.assertIsNone(decoder.entries_of(b"\x7e\x011"))
        self.assertIsNone(decoder.entries_of(b"\x20"))
        self.assertIsNone(decoder.entries_of(b"\x40" + literal(4096)[1:]))
        self.assertIsNone(decoder.entries_of((b"\x40" + literal(3000)[1:]) * 2))

    @given(st.integers(0, 2**32))
    @settings(max_examples=examples(150), deadline=None)
    def test_like_decoding(self, seed: int) -> None:
        """Whether blocks are decoded or repeated, the table is the same after each of them."""
        random = Random(seed)
        plain, repeating = FieldDecoder(pair), FieldDecoder(pair)
        known: dict[bytes, list[tuple[Field, int, bytes]]] = {}
        blocks = generated(random, changes=0.0)
        for each in [*blocks, *random.choices(blocks, k=10)]:
            try:
                plain.decode(each)
            except ConnectionFault:
                return  # Sent again, it means an entry that is gone.
            if each in known:
                repeating.insert(known[each])
            else:
                repeating.decode(each)
                entries = repeating.entries_of(each)
                if entries is not None:
                    known[each] = entries
            self.assertEqual(entries_in(repeating), entries_in(plain))


def entries_in(decoder: FieldDecoder[Field]) -> list[Field]:
    """Return the dynamic table, newest first."""
    found: list[Field] = []
    while True:
        try:
            found += decoder.decode(
                bytes([0x80 | (62 + len(found))]) if len(found) < 65 else b"\xff" + bytes([len(found) - 65])
            )
        except ConnectionFault:
            return found
