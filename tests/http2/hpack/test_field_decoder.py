"""Tests for ``ingress.http2.hpack.field_decoder``."""

import sys

from twisted.trial.unittest import SynchronousTestCase

from ingress.http2.faults import ConnectionFault, ErrorCode
from ingress.http2.hpack.field_decoder import FieldDecoder
from tests.fuzz.field_blocks import STRICTER

Field = tuple[bytes, bytes]

BEYOND = "3f e2 1f"
"""A size update to 4097."""


def pair(name: bytes, value: bytes) -> Field:
    """Read a field as its name and value."""
    return name, value


def fields(text: str) -> list[Field]:
    """Fields, one a line, with a colon and a space behind the name."""
    lines = [line.strip() for line in text.strip().splitlines()]
    return [(line[:at].encode(), line[at + 2 :].encode()) for line in lines for at in [line.index(": ", 1)]]


def literal(length: int) -> bytes:
    """A field ``x`` that is not indexed, with a plain value of so many bytes, less than 16 KiB."""
    assert 0x7F <= length < 0x7F + 0x4000
    return b"\x00\x01x\x7f" + bytes([0x80 | (length - 0x7F) & 0x7F, (length - 0x7F) >> 7]) + b"v" * length


REQUESTS = (
    """
    :method: GET
    :scheme: http
    :path: /
    :authority: www.example.com
    """,
    """
    :method: GET
    :scheme: http
    :path: /
    :authority: www.example.com
    cache-control: no-cache
    """,
    """
    :method: GET
    :scheme: https
    :path: /index.html
    :authority: www.example.com
    custom-key: custom-value
    """,
)
RESPONSES = (
    """
    :status: 302
    cache-control: private
    date: Mon, 21 Oct 2013 20:13:21 GMT
    location: https://www.example.com
    """,
    """
    :status: 307
    cache-control: private
    date: Mon, 21 Oct 2013 20:13:21 GMT
    location: https://www.example.com
    """,
    """
    :status: 200
    cache-control: private
    date: Mon, 21 Oct 2013 20:13:22 GMT
    location: https://www.example.com
    content-encoding: gzip
    set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1
    """,
)


class ExampleTests(SynchronousTestCase):
    """The examples of RFC 7541 Appendix C."""

    def assert_decodes(
        self, examples: tuple[str, ...], blocks: tuple[str, ...], sizes: tuple[int, ...], table_size: int
    ) -> None:
        """Each block is the list it should be; *sizes* are those of the dynamic table behind it."""
        decoder = FieldDecoder(pair, table_size)
        for example, block, size in zip(examples, blocks, sizes, strict=True):
            expected = fields(example)
            self.assertEqual(decoder.decode(bytes.fromhex(block)), expected)
            self.assertEqual(decoder.list_size, sum(len(name) + len(value) + 32 for name, value in expected))
            self.assertEqual(decoder.table_bytes, size)

    def test_single_fields(self) -> None:
        """C.2: with indexing, without, never indexed, and by index alone."""
        for block, expected, kept in (
            (
                "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
                "custom-key: custom-header",
                55,
            ),
            ("040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path", 0),
            ("1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret", 0),
            ("82", ":method: GET", 0),
        ):
            self.assert_decodes((expected,), (block,), (kept,), 4096)

    def test_requests(self) -> None:
        """C.3: requests on one connection, without Huffman code."""
        self.assert_decodes(
            REQUESTS,
            (
                "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
                "8286 84be 5808 6e6f 2d63 6163 6865",
                "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
            ),
            (57, 110, 164),
            4096,
        )

    def test_requests_in_huffman_code(self) -> None:
        """C.4: the same with it."""
        self.assert_decodes(
            REQUESTS,
            (
                "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
                "8286 84be 5886 a8eb 1064 9cbf",
                "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
            ),
            (57, 110, 164),
            4096,
        )

    def test_responses(self) -> None:
        """C.5: responses without Huffman code; a table of 256 bytes, from which fields are evicted."""
        self.assert_decodes(
            RESPONSES,
            (
                "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133"
                "2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70"
                "6c65 2e63 6f6d",
                "4803 3330 37c1 c0bf",
                "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d"
                "54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049"
                "5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e"
                "3d31",
            ),
            (222, 222, 215),
            256,
        )

    def test_responses_in_huffman_code(self) -> None:
        """C.6: the same with it."""
        self.assert_decodes(
            RESPONSES,
            (
                "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6"
                "2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
                "4883 640e ffc1 c0bf",
                "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab"
                "77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f"
                "9587 3160 65c0 03ed 4ee5 b106 3d50 07",
            ),
            (222, 222, 215),
            256,
        )


class RefusalTests(SynchronousTestCase):
    """What RFC 7541 forbids ends the connection with COMPRESSION_ERROR."""

    def assert_refused(self, *blocks: str) -> str:
        """The last of *blocks* is refused, those before are not; return why."""
        decoder = FieldDecoder(pair)
        for block in blocks[:-1]:
            decoder.decode(bytes.fromhex(block))
        fault = self.assertRaises(ConnectionFault, decoder.decode, bytes.fromhex(blocks[-1]))
        self.assertEqual(fault.code, ErrorCode.COMPRESSION_ERROR, blocks)
        return str(fault)

    def test_index_zero(self) -> None:
        """There is no field with the index 0."""
        self.assertEqual(self.assert_refused("80"), "index 0")
        self.assertEqual(self.assert_refused("82 80"), "index 0")

    def test_index_beyond_the_table(self) -> None:
        """No index is beyond the newest table, whatever it is for."""
        for block in ("be", "ff 00", "ff 80 80 80 80 0f", "7e 00", "7f 00 00", "0f 2f 00", "1f 2f 00"):
            self.assert_refused(block)
        self.assert_refused("40 01 78 00", "be bf")
        # The name is found before the field is inserted, so this one does not name itself.
        self.assert_refused("7e 01 79")

    def test_evicted(self) -> None:
        """An entry that was evicted, or dropped by a size update, is gone."""
        self.assert_refused("40 01 78 00", "20", "be")
        self.assert_refused("40 01 78 00", "20 3f e1 1f be")
        self.assert_refused("3f 02", "40 01 78 00 40 01 79 00", "be bf")

    def test_cut_off(self) -> None:
        """A block that ends within a field is refused wherever that is."""
        pieces = [
            bytes.fromhex(field)
            for field in (
                "40 01 78 01 79",
                "40 88 25a849e95ba97d7f 89 25a849e95bb8e8b4bf",
                "0f 10 01 7a",
                "ff 80 00",
                "7f 00 00",
                "00 01 78 7f 02" + "76" * 129,
            )
        ]
        # The index 127 needs a table of so many entries.
        table = bytes.fromhex("40 00 00") * 80
        begin = b""
        for piece in pieces:
            for length in range(1, len(piece)):
                decoder = FieldDecoder(pair)
                decoder.decode(table)
                fault = self.assertRaises(ConnectionFault, decoder.decode, begin + piece[:length])
                self.assertEqual(fault.code, ErrorCode.COMPRESSION_ERROR)
            begin += piece
        decoder = FieldDecoder(pair)
        decoder.decode(table)
        self.assertEqual(len(decoder.decode(begin)), len(pieces))

    def test_long_integers(self) -> None:
        """A number may have five bytes behind its prefix, even zeros; one byte more is refused, in every place."""
        self.assertEqual(
            FieldDecoder(pair).decode(bytes.fromhex("0f 80 80 80 80 00 01 61")), [(b"accept-charset", b"a")]
        )
        for block in ("ff 80 80 80 80 80 00", "7f 80 80 80 80 80 00 00", "0f 80 80 80 80 80 00 00"):
            self.assertEqual(self.assert_refused(block), "a number is too long")
        for block in (
            "3f 80 80 80 80 80 00",
            "00 7f ff ff ff ff ff 7f",
            "00 01 78 7f ff ff ff ff ff ff ff ff",
        ):
            self.assertEqual(self.assert_refused(block), "a number is too long")
        for block in ("00 7f ff ff ff ff 7f", "00 01 78 ff ff ff ff ff 7f"):
            self.assertIn("too early", self.assert_refused(block))

    def test_huffman(self) -> None:
        """Bad padding and the end of string are refused in names and values."""
        for coded in ("81 00", "81 ff", "82 ff ff", "84 ff ff ff ff", "82 1f ff"):
            self.assertEqual(self.assert_refused(f"00 01 78 {coded}"), "bad Huffman code")
            self.assertEqual(self.assert_refused(f"40 {coded} 00"), "bad Huffman code")

    def test_size_update_behind_a_field(self) -> None:
        """The size of the table changes only where a block begins."""
        for block in ("82 20", "00 01 78 00 20", "20 82 20", "40 01 78 00 3f e1 1f"):
            self.assertEqual(self.assert_refused(block), "a size update behind a field")

    def test_too_large_a_table(self) -> None:
        """No size is beyond what was allowed."""
        self.assert_refused(BEYOND)
        self.assert_refused("20 " + BEYOND)
        self.assert_refused("3f ff ff ff ff 7f")
        FieldDecoder(pair).decode(bytes.fromhex("3f e1 1f"))

    def test_too_many_size_updates(self) -> None:
        """Two size updates in a row are all that a sender ever needs."""
        FieldDecoder(pair).decode(bytes.fromhex("20 3f e1 1f"))
        FieldDecoder(pair).decode(bytes.fromhex("20 3f e1 1f 82"))
        self.assertIn(self.assert_refused("20 20 20"), STRICTER)
        self.assertIn(self.assert_refused("20 3f e1 1f 20 82"), STRICTER)


class TableTests(SynchronousTestCase):
    """The dynamic table."""

    def test_sizes(self) -> None:
        """A smaller table drops its oldest fields; a larger one has room again, but not what was dropped."""
        decoder = FieldDecoder(pair)
        decoder.decode(bytes.fromhex("40 01 61 00  40 01 62 00  40 01 63 00"))
        self.assertEqual(decoder.table_bytes, 99)
        self.assertEqual(decoder.decode(bytes.fromhex("3f 23 be bf")), [(b"c", b""), (b"b", b"")])  # 66 bytes
        self.assertEqual(decoder.table_bytes, 66)
        self.assertEqual(decoder.decode(bytes.fromhex("3f 22 3f e1 1f be")), [(b"c", b"")])  # 65, then 4096
        self.assertEqual(decoder.table_bytes, 33)
        self.assertEqual(
            decoder.decode(bytes.fromhex("40 01 64 00 be bf")), [(b"d", b""), (b"d", b""), (b"c", b"")]
        )

    def test_too_large_for_the_table(self) -> None:
        """A field larger than the table is read, and leaves the table empty (section 4.4)."""
        decoder = FieldDecoder(pair)
        for length in (4096 - 33, 4096 - 32):
            decoder.decode(b"\x40\x01a\x00")
            block = b"\x40" + literal(length)[1:]
            self.assertEqual(decoder.decode(block), [(b"x", b"v" * length)])
            self.assertEqual(decoder.table_bytes, 4096 if length == 4096 - 33 else 0)
        self.assertEqual(decoder.decode(b"\x40\x01b\x00\xbe"), [(b"b", b"")] * 2)

    def test_name_of_what_it_evicts(self) -> None:
        """A field may have the name of the entry that must go for it (section 4.4)."""
        decoder = FieldDecoder(pair, 64)
        decoder.decode(b"\x40\x08x-secret\x00")
        self.assertEqual(decoder.decode(b"\x7e\x18" + b"v" * 24 + b"\xbe"), [(b"x-secret", b"v" * 24)] * 2)

    def test_read_once(self) -> None:
        """A field is read when it comes as a literal; by its index, it is the same object again."""
        asked = []

        def read(name: bytes, value: bytes) -> object:
            asked.append((name, value))
            return object()

        decoder = FieldDecoder(read)
        self.assertEqual(len(asked), 61)
        first = decoder.decode(b"\x40\x01a\x01b\x82")
        self.assertEqual(asked[61:], [(b"a", b"b")])
        self.assertEqual(decoder.decode(b"\xbe\x82\xbe"), [*first, first[0]])
        self.assertEqual(len(asked), 62)
        other = FieldDecoder(read)
        self.assertIs(other.decode(b"\x82")[0], first[1])
        self.assertEqual(len(asked), 62)

    def test_changes(self) -> None:
        """Insertions, evictions and size updates change the table; what is only looked up does not."""
        decoder = FieldDecoder(pair, 80)
        for block, changed in (
            (b"\x82\x84\x00\x01a\x00\x10\x01a\x00\x04\x01/", 0),
            (b"\x40\x01a\x00", 1),
            (b"\xbe", 0),
            (b"\x40\x01b\x00", 1),
            (b"\x40\x01c\x00", 2),
            (b"\x3f\x31", 1),
            (b"\x20", 3),
        ):
            before = decoder.changes
            decoder.decode(block)
            self.assertEqual(decoder.changes - before, changed, block)

    def test_memory(self) -> None:
        """A decoder that has not been used is small."""
        decoder = FieldDecoder(pair)
        # Methods, what classes and decoders share, and what is only worked out: a compiled class has no slots to ask for the rest.
        others = {name for name in dir(decoder) if name[:2] == "__" or callable(getattr(decoder, name))}
        others |= {"_is_protocol", "_static", "_shared", "table_bytes"}
        own = [getattr(decoder, name) for name in dir(decoder) if name not in others]
        self.assertGreater(len(own), 5)
        self.assertLess(sys.getsizeof(decoder) + sum(map(sys.getsizeof, own)), 400)

    def test_shared(self) -> None:
        """What comes again on other connections is kept once for all, unless it is long."""
        decoders = [FieldDecoder(pair) for _ in range(4)]
        for length in (200, 1000):
            block = b"\x40" + literal(length)[1:]
            first, _, *later = [decoder.decode(block)[0] for decoder in decoders]
            self.assertEqual(first, (b"x", b"v" * length))
            self.assertEqual(len({id(each) for each in later}), 1 if length == 200 else 2)


class InPartsTests(SynchronousTestCase):
    """A block that is decoded in several goes."""

    def in_parts(self, block: bytes, step: int, **settings: int) -> tuple[FieldDecoder[Field], list[Field]]:
        """Decode some bytes of *block* a go."""
        decoder = FieldDecoder(pair, **settings)
        found = decoder.decode(block, None, step)
        while decoder.ended_at < len(block):
            before = decoder.ended_at
            found = decoder.decode(block, found, before + step)
            self.assertGreater(decoder.ended_at, before)
        return decoder, found

    def test_parts(self) -> None:
        """It means the same wherever it is cut, and leaves the same table and size."""
        block = (
            bytes.fromhex("3f e1 1f 82 86 84 41 8c f1e3 c2e5 f23a 6ba0 ab90 f4ff")
            + literal(300)
            + b"\xbe" * 3
        )
        block += b"\x40\x01a\x01b" * 40 + b"\xbe\xbf" * 5
        whole = FieldDecoder(pair)
        expected = whole.decode(block)
        for step in range(1, len(block)):
            decoder, found = self.in_parts(block, step)
            self.assertEqual(found, expected)
            self.assertEqual(decoder.list_size, whole.list_size)
            self.assertEqual((decoder.table_bytes, decoder.changes), (whole.table_bytes, whole.changes))

    def test_too_large(self) -> None:
        """What is too large as a whole is so in parts."""
        with self.assertRaises(ConnectionFault) as caught:
            self.in_parts(literal(1000) * 5, 10, most_bytes=4 * 1033)
        self.assertIs(caught.exception.code, ErrorCode.ENHANCE_YOUR_CALM)

    def test_late_size_update(self) -> None:
        """A size update at the beginning of a later part is behind a field, still."""
        with self.assertRaises(ConnectionFault) as caught:
            self.in_parts(literal(300) + b"\x20" + literal(300), 10)
        self.assertIs(caught.exception.code, ErrorCode.COMPRESSION_ERROR)
