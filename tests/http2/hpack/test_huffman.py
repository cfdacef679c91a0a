"""Tests for ``ingress.http2.hpack.huffman``."""

from functools import partial

from hpack import HPACKDecodingError
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.huffman_table import decode_huffman
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http2.faults import ConnectionFault, ErrorCode
from ingress.http2.hpack.huffman import decode, encode
from tests.fakes.counting import calls
from tests.properties import examples

# Behind these a string is a long one, and goes on at each bit of a byte.
LONG = tuple(b"a" * 100 + b" " * count for count in range(8))


def packed(digits: str) -> bytes:
    """Whole bytes of binary digits."""
    return int(digits, 2).to_bytes(len(digits) // 8, "big")


def digits_of(octets: bytes) -> str:
    """The code of *octets*, as binary digits."""
    return "".join(f"{REQUEST_CODES[octet]:0{REQUEST_CODES_LENGTH[octet]}b}" for octet in octets)


class HuffmanTests(SynchronousTestCase):
    """The code of RFC 7541 Appendix B."""

    def assert_refused(self, octets: bytes) -> None:
        fault = self.assertRaises(ConnectionFault, decode, octets)
        self.assertEqual(fault.code, ErrorCode.COMPRESSION_ERROR)

    def assert_as_others(self, coded: bytes) -> None:
        try:
            expected = decode_huffman(coded)
        except HPACKDecodingError:
            self.assert_refused(coded)
        else:
            self.assertEqual(decode(coded), expected)

    def test_every_code(self) -> None:
        """Each octet has the code that other implementations give it."""
        for octet in range(256):
            length = REQUEST_CODES_LENGTH[octet]
            digits = f"{REQUEST_CODES[octet]:0{length}b}"
            self.assertEqual(encode(bytes([octet])), packed(digits + "1" * (-length % 8)), octet)

    def test_examples(self) -> None:
        """The strings of Appendix C have the codes that it gives."""
        for octets, coded in (
            (b"www.example.com", "f1e3 c2e5 f23a 6ba0 ab90 f4ff"),
            (b"no-cache", "a8eb 1064 9cbf"),
            (b"custom-key", "25a8 49e9 5ba9 7d7f"),
            (b"custom-value", "25a8 49e9 5bb8 e8b4 bf"),
            (b"Mon, 21 Oct 2013 20:13:21 GMT", "d07a be94 1054 d444 a820 0595 040b 8166 e082 a62d 1bff"),
            (b"", ""),
        ):
            self.assertEqual(encode(octets), bytes.fromhex(coded))
            self.assertEqual(decode(bytes.fromhex(coded)), octets)

    def test_pairs(self) -> None:
        """Each octet is found again behind many others, wherever in a byte it begins."""
        for first in range(256):
            octets = bytes(octet for second in range(first % 5, 256, 5) for octet in (first, second))
            self.assertEqual(decode(encode(octets)), octets)

    @given(st.binary(max_size=200))
    @settings(derandomize=True, deadline=None, max_examples=examples(200))
    def test_any_octets(self, octets: bytes) -> None:
        """What is encoded is decoded to the same."""
        self.assertEqual(decode(encode(octets)), octets)

    @given(st.binary(max_size=12))
    @settings(derandomize=True, deadline=None, max_examples=examples(1000))
    def test_any_code(self, coded: bytes) -> None:
        """Of any bytes, what they stand for and whether they are refused is as others see it."""
        self.assert_as_others(coded)

    @given(
        st.sampled_from(LONG),
        st.lists(
            st.one_of(
                st.binary(max_size=3).map(lambda octets: "".join(f"{octet:08b}" for octet in octets)),
                st.sampled_from((b"0", b"z", b"#", b"{", b"\\", b"\n", b"\xff")).map(
                    lambda octet: digits_of(octet)
                ),
                st.integers(0, 40).map("1".__mul__),
            ),
            max_size=4,
        ),
    )
    @settings(derandomize=True, deadline=None, max_examples=examples(500))
    def test_any_end_of_a_long_string(self, before: bytes, behind: list[str]) -> None:
        """A long string, too, is what others see in it, and refused where they refuse it, whatever it ends with."""
        digits = digits_of(before) + "".join(behind)
        for whole in (digits[: len(digits) // 8 * 8], digits + "1" * (-len(digits) % 8)):
            self.assert_as_others(packed(whole))

    def test_long_strings_take_little(self) -> None:
        """A long string of what strings usually have takes a few calls, and none for each of its octets: a cookie may have thousands."""
        usual = bytes(range(32, 127)).replace(b"\\", b"") * 40
        for before in LONG:
            for last in (b"0", b"z"):
                coded = encode(before + usual + last)
                self.assertEqual(decode(coded), before + usual + last)
                if not coded.endswith(b"\xff"):
                    self.assertLess(calls(partial(decode, coded)), 20)

    def test_padding(self) -> None:
        """Up to seven bits fill a string up; more of them, and any that is zero, are refused."""
        for digits, octets in (
            ("00000", b"0"),
            ("010100", b" "),
            ("1011100", b":"),
            ("11111000", b"&"),
            ("111111111010", b"#"),
        ):
            filled = -len(digits) % 8
            self.assertEqual(decode(packed(digits + "1" * filled)), octets)
            self.assert_refused(packed(digits + "1" * (filled + 8)))
            # Fewer than five bits are no code, whatever they are.
            for padding in range(2**filled - 1):
                self.assert_refused(packed(f"{digits}{padding:0{filled}b}"))
        self.assertEqual(decode(packed("00000" + "111111111010" + "1111111")), b"0#")

    def test_end_of_string(self) -> None:
        """The end of string is refused wherever it stands, and its beginning is no string."""
        end = "1" * 30
        for before in (b"", b"a", b"ab", b"a" * 7, b"!", b"\n"):
            digits = "".join(f"{octet:08b}" for octet in encode(before))
            for whole in (end, end + "00011", end + end):
                at_any_bit = digits + whole
                self.assert_refused(packed(at_any_bit + "1" * (-len(at_any_bit) % 8)))
        for length in range(1, 9):
            self.assert_refused(b"\xff" * length)
        self.assert_refused(packed("00011" + end + "00011"))
