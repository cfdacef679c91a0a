"""Tests for ``ingress.http2.hpack.huffman``."""

from hpack import HPACKDecodingError
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.huffman_table import decode_huffman
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http2.faults import ConnectionFault, ErrorCode
from ingress.http2.hpack.huffman import decode, encode
from tests.properties import examples


def packed(digits: str) -> bytes:
    """Whole bytes of binary digits."""
    return int(digits, 2).to_bytes(len(digits) // 8, "big")


class HuffmanTests(SynchronousTestCase):
    """The code of RFC 7541 Appendix B."""

    def assert_refused(self, octets: bytes) -> None:
        fault = self.assertRaises(ConnectionFault, decode, octets)
        self.assertEqual(fault.code, ErrorCode.COMPRESSION_ERROR)

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
        try:
            expected = decode_huffman(coded)
        except HPACKDecodingError:
            self.assert_refused(coded)
        else:
            self.assertEqual(decode(coded), expected)

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
