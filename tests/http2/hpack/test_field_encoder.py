"""Tests for ``ingress.http2.hpack.field_encoder``."""

from hpack import Decoder, NeverIndexedHeaderTuple
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.grammar import MEMO_BLOCK, MEMO_BLOCKS, MEMO_ENTRIES, MEMO_LINE, MEMO_NAMES
from ingress.http2.hpack import field_encoder, huffman
from ingress.http2.hpack.field_encoder import SECRETS, encode_field, encode_lines, encode_status
from ingress.http2.hpack.static_table import STATIC_TABLE
from tests.properties import examples

_VALUES = st.binary(max_size=300).map(lambda octets: octets.strip(b" \t"))
_NAMES = st.one_of(
    st.sampled_from([name for name, _ in STATIC_TABLE]),
    st.text("abcxyz-019", min_size=1, max_size=80).map(str.encode),
)


def decoded(block: bytes) -> list[tuple[bytes, bytes]]:
    """What another implementation makes of *block*, at the beginning of a connection; its table stays empty."""
    decoder = Decoder()
    found = [(name, value) for name, value in decoder.decode(block, raw=True)]
    assert not decoder.header_table.dynamic_entries
    return found


class FieldTests(SynchronousTestCase):
    """One field."""

    def test_forms(self) -> None:
        """The shortest literal for what the static table has by name, one byte for what it has altogether."""
        for name, value, expected in (
            (b":method", b"GET", b"\x82"),
            (b":scheme", b"https", b"\x87"),
            (b"accept-encoding", b"gzip, deflate", b"\x90"),
            (b":authority", b"", b"\x81"),
            (b":method", b"PUT", b"\x02\x03PUT"),
            (b":path", b"/a:b", b"\x04\x04/a:b"),
            (b"accept-charset", b"x", b"\x0f\x00\x01x"),
            (b"www-authenticate", b"x", b"\x0f\x2e\x01x"),
            (b"via", b"v" * 126, b"\x0f\x2d\x7e" + b"v" * 126),
            (b"via", b"v" * 127, b"\x0f\x2d\x7f\x00" + b"v" * 127),
            (b"via", b"v" * 400, b"\x0f\x2d\x7f\x91\x02" + b"v" * 400),
            (
                b"x-form",
                b"",
                b"\x00"
                + bytes([0x80 | len(huffman.encode(b"x-form"))])
                + huffman.encode(b"x-form")
                + b"\x00",
            ),
        ):
            self.assertEqual(encode_field(name, value), expected, name)

    def test_every_static_field(self) -> None:
        """Each field of the static table is one byte, but for secrets."""
        for index, (name, value) in enumerate(STATIC_TABLE, 1):
            block = encode_field(name, value)
            self.assertEqual(decoded(block), [(name, value)])
            if name not in SECRETS:
                self.assertEqual(block, bytes([0x80 | index]))

    def test_secrets(self) -> None:
        """Nobody may index credentials, and they are the same however often they come."""
        for name in (b"authorization", b"proxy-authorization", b"cookie", b"set-cookie"):
            for value in (b"", b"secret"):
                block = encode_field(name, value)
                for _ in range(3):
                    self.assertEqual(encode_field(name, value), block)
                    self.assertEqual(encode_lines(b"%s: %s\r\n" % (name.title(), value)), block)
                (field,) = Decoder().decode(block, raw=True)
                self.assertEqual(tuple(field), (name, value))
                self.assertIsInstance(field, NeverIndexedHeaderTuple)
                self.assertEqual(block[0] & 0xF0, 0x10)
                self.assertTrue(block.endswith(value))

    def test_kept(self) -> None:
        """What comes again is kept, in Huffman code where that is shorter."""
        first = encode_field(b"x-kept", b"some words")
        second = encode_field(b"x-kept", b"some words")
        self.assertIn(b"some words", first)
        self.assertIn(huffman.encode(b"some words"), second)
        self.assertIs(encode_field(b"x-kept", b"some words"), second)
        rest = MEMO_LINE - len(b"x-kept:")
        for value, is_kept in ((b"a" * rest, True), (b"a" * (rest + 1), False)):
            for _ in range(3):
                block = encode_field(b"x-kept", value)
            self.assertEqual(block is encode_field(b"x-kept", value), is_kept)
        for value in (b"\xff\xfe\xfd", b"a" * (MEMO_LINE + 1)):
            for _ in range(3):
                self.assertIn(value, encode_field(b"x-kept", value))
        self.assertEqual(decoded(first), decoded(second))

    def test_statuses(self) -> None:
        """Every status is encoded; those of the static table in one byte."""
        for status in range(100, 1000):
            self.assertEqual(decoded(encode_status(status)), [(b":status", b"%d" % status)])
        self.assertEqual(encode_status(200), b"\x88")
        self.assertEqual(encode_status(500), b"\x8e")
        self.assertEqual(encode_status(302), b"\x08\x82\x64\x02")

    @given(_NAMES, _VALUES)
    @settings(derandomize=True, deadline=None, max_examples=examples(200))
    def test_any_field(self, name: bytes, value: bytes) -> None:
        """Another implementation reads what was encoded, the first time and later."""
        for _ in range(3):
            self.assertEqual(decoded(encode_field(name, value)), [(name, value)])


class LinesTests(SynchronousTestCase):
    """The lines of an HTTP/1.1 head."""

    def test_lines(self) -> None:
        """Names become lower case, white space around values is dropped, and the order stays."""
        lines = b"Server: a: b\r\nX-Empty:\r\nX-White: \t a \t b \t\r\nACCEPT:*/*\r\nVary: \r\nx-again: 1\r\nx-again: 2\r\n"
        expected = [
            (b"server", b"a: b"),
            (b"x-empty", b""),
            (b"x-white", b"a \t b"),
            (b"accept", b"*/*"),
            (b"vary", b""),
            (b"x-again", b"1"),
            (b"x-again", b"2"),
        ]
        for _ in range(4):
            self.assertEqual(decoded(encode_lines(lines)), expected)

    def test_no_lines(self) -> None:
        """No lines are no block."""
        for _ in range(3):
            self.assertEqual(encode_lines(b""), b"")

    def test_kept(self) -> None:
        """Lines that came twice are one look-up; longer ones than are worth it are encoded each time."""
        lines = b"X-Whole: some words\r\nX-Other: more\r\n"
        first, second, third = (encode_lines(lines) for _ in range(3))
        self.assertEqual(decoded(first), decoded(second))
        self.assertLess(len(second), len(first))
        self.assertIs(second, third)
        long = b"".join(b"X-Long-%d: %s\r\n" % (number, b"v" * 100) for number in range(MEMO_BLOCK // 100))
        self.assertEqual(len({id(block) for block in [encode_lines(long) for _ in range(4)]}), 4)
        longest = (lines + b"X-Rest: ").ljust(MEMO_BLOCK - 2, b"v") + b"\r\n"
        self.assertEqual(len(longest), MEMO_BLOCK)
        self.assertEqual(len({id(block) for block in [encode_lines(longest) for _ in range(4)]}), 2)

    @given(st.lists(st.tuples(_NAMES, _VALUES.filter(lambda value: b"\r\n" not in value)), max_size=12))
    @settings(derandomize=True, deadline=None, max_examples=examples(100))
    def test_any_lines(self, fields: list[tuple[bytes, bytes]]) -> None:
        """Another implementation reads the fields of the lines, the first time and later."""
        lines = b"".join(b"%s: %s\r\n" % (name.title(), value) for name, value in fields)
        for _ in range(3):
            self.assertEqual(decoded(encode_lines(lines)), fields)


class MemoryTests(SynchronousTestCase):
    """What is remembered is bounded."""

    def setUp(self) -> None:
        """Start with nothing remembered."""
        self.lines = field_encoder._lines
        self.blocks = field_encoder._blocks
        for memo in (self.lines, self.lines.names, self.blocks, field_encoder._blocks_seen.seen):
            memo.clear()

    def test_bounded(self) -> None:
        """Neither lines nor blocks nor names are more than their bounds, which they reach, and all still read the same."""
        most = [0, 0, 0]
        for number in range(MEMO_ENTRIES + 100):
            line = b"x-%d: %d" % (number, number)
            for _ in range(3):
                block = encode_lines(line + b"\r\n")
            self.assertEqual(decoded(block), [tuple(line.split(b": "))])
            most = [max(pair) for pair in zip(most, self.remembered(), strict=True)]
        self.assertEqual(most, [MEMO_ENTRIES, MEMO_BLOCKS, MEMO_NAMES])
        self.assertLess(len(self.blocks), MEMO_BLOCKS)

    def remembered(self) -> list[int]:
        """Return how many lines, blocks and names there are."""
        return [len(self.lines), len(self.blocks), len(self.lines.names)]

    def test_seen_once(self) -> None:
        """What came once is not remembered."""
        for number in range(50):
            encode_lines(b"x-once: %d\r\n" % number)
        self.assertEqual((len(self.lines), len(self.blocks)), (0, 0))

    def test_always_new(self) -> None:
        """Of a name whose values always differ, nothing is remembered any more, although each comes twice."""
        for number in range(128):
            for _ in range(2):
                encode_field(b"x-request-id", b"%d" % number)
        usual = len(self.lines)
        for number in range(1000, 2000):
            for _ in range(2):
                encode_field(b"x-request-id", b"%d" % number)
        self.assertGreater(usual, 100)
        self.assertEqual(len(self.lines), usual)
        # What does come again and again is remembered after all.
        for _ in range(40):
            encode_field(b"x-request-id", b"the same")
        self.assertEqual(len(self.lines), usual + 1)

    def test_long_names(self) -> None:
        """A very long name is encoded, and not remembered."""
        name = b"x" * 70
        self.assertEqual(decoded(encode_field(name, b"v")), [(name, b"v")])
        self.assertEqual(self.lines.names, {})
