"""The Huffman code of HPACK (RFC 7541 section 5.2, Appendix B), both ways.

Decoding takes one step for each byte: a row stands for the bits that are left of the code under way, and
says for each next byte what comes out and which row is next.  Rows are filled when they are first needed.

Long strings, such as cookies and tokens, are decoded by zlib.  DEFLATE has its codes said as HPACK's is, by their lengths alone (RFC 1951
section 3.2.2), and so there is a block of it whose code is this one.  It has no codes of more than 15 bits: all that is left, of
15 ones, ends the block.  The longer codes, of octets that hardly any string has, begin so; whatever has one is decoded byte by byte.
"""

import zlib
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Final, TypeAlias

from ingress.http2.faults import ConnectionFault, ErrorCode

# The code is canonical: those of one length count up in the order of the symbols, from the shortest to
# the longest.  So the lengths say everything.
_SYMBOLS_BY_LENGTH: Final = {
    5: b"012aceiost",
    6: b" %-./3456789=A_bdfghlmnpru",
    7: b":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz",
    8: b"&*,;XZ",
    10: b'!"()?',
    11: b"'+|",
    12: b"#>",
    13: b"\0$@[]~",
    14: b"^}",
    15: b"<`{",
    19: bytes.fromhex("5c c3 d0"),
    20: bytes.fromhex("80 82 83 a2 b8 c2 e0 e2"),
    21: bytes.fromhex("99 a1 a7 ac b0 b1 b3 d1 d8 d9 e3 e5 e6"),
    22: bytes.fromhex("81 84 85 86 88 92 9a 9c a0 a3 a4 a9 aa ad b2 b5 b9 ba bb bd be c4 c6 e4 e8 e9"),
    23: bytes.fromhex(
        "01 87 89 8a 8b 8c 8d 8f 93 95 96 97 98 9b 9d 9e a5 a6 a8 ae af b4 b6 b7 bc bf c5 e7 ef"
    ),
    24: bytes.fromhex("09 8e 90 91 94 9f ab ce d7 e1 ec ed"),
    25: bytes.fromhex("c7 cf ea eb"),
    26: bytes.fromhex("c0 c1 c8 c9 ca cd d2 d5 da db ee f0 f2 f3 ff"),
    27: bytes.fromhex("cb cc d3 d4 d6 dd de df f1 f4 f5 f6 f7 f8 fa fb fc fd fe"),
    28: bytes.fromhex(
        "02 03 04 05 06 07 08 0b 0c 0e 0f 10 11 12 13 14 15 17 18 19 1a 1b 1c 1d 1e 1f 7f dc f9"
    ),
    30: bytes.fromhex("0a 0d 16"),
}
_END_OF_STRING: Final = "1" * 30
"""A code that no string may contain, and with whose first bits the last byte is filled up."""


def _codes(symbols_by_length: Mapping[int, bytes]) -> dict[int, str]:
    """The code of each symbol, as binary digits."""
    codes = {}
    next_code = length_before = 0
    for length, symbols in symbols_by_length.items():
        next_code <<= length - length_before
        length_before = length
        for symbol in symbols:
            codes[symbol] = f"{next_code:0{length}b}"
            next_code += 1
    return codes


_CODES: Final = _codes(_SYMBOLS_BY_LENGTH)
_OCTETS: Final = {code: bytes([octet]) for octet, code in _CODES.items()}

_Row: TypeAlias = list[tuple[bytes, "_Row"]]
_LAST_STEP: Final = 256
"""In a row, behind the steps for all bytes: the step for the end of the string."""
_START: Final[_Row] = []
_FAILED: Final[_Row] = []
_rows: Final[defaultdict[str, _Row]] = defaultdict(list, {"": _START, _END_OF_STRING: _FAILED})
"""By the bits that are left of the code under way; all are empty at first."""

_LONG: Final = 64
"""Octets of a code from which on it is worth to begin a block for them."""
_MOST_BITS: Final = 15
"""Of a code in DEFLATE."""
_END_OF_BLOCK: Final = 256
_LENGTH_CODES: Final = _codes({3: bytes((0, 5, 6, 7, 15)), 4: bytes((8, 10, 11, 12, 13, 14))})
"""The codes of lengths of codes in the head of the block: such that it ends with a byte, and strings may follow."""
_LENGTH_ORDER: Final = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)


def _block_head() -> bytes:
    """Begin a block of DEFLATE, the last one, whose code is that of HPACK (RFC 1951 section 3.2.7)."""
    lengths = {octet: len(code) for octet, code in _CODES.items() if len(code) <= _MOST_BITS}
    lengths[_END_OF_BLOCK] = _MOST_BITS
    # Numbers begin with their last digit, codes with their first one.
    digits = "1" + "01" + "00000" + "00000" + "1111"
    digits += "".join(f"{len(_LENGTH_CODES.get(length, '')):03b}"[::-1] for length in _LENGTH_ORDER)
    digits += "".join(_LENGTH_CODES[lengths.get(symbol, 0)] for symbol in range(_END_OF_BLOCK + 1))
    # The one code of distances that has to be there is none.
    digits += _LENGTH_CODES[0]
    return int(digits[::-1], 2).to_bytes(len(digits) // 8, "little")


# No window is looked back into; this is the smallest one.
_BLOCK: Final = zlib.decompressobj(-9)
"""Before the first octet of a string; to be copied."""
_BLOCK.decompress(_block_head())
_MIRRORED: Final = bytes(int(f"{octet:08b}"[::-1], 2) for octet in range(256))
"""DEFLATE fills bytes from their other end."""
_END: Final = b"\xff\x7f"
"""The code that ends the block, 15 ones, and a zero."""


def _decode_long(octets: bytes) -> bytes | None:
    """Return what *octets* stand for; None where that is for others to find out: they have a longer code, or are no string."""
    block = _BLOCK.copy()
    try:
        decoded = block.decompress(octets.translate(_MIRRORED) + _END)
    except zlib.error:
        return None
    # What fills the last byte up are the first ones of the end, which ends amid its second byte then, or where they are seven with its
    # first one; and so it does where they are too many, which are a whole byte and more.  Where anything else fills it up, there is no end.
    most_unused = 0 if octets.endswith(b"\xff") else 1
    return decoded if block.eof and len(block.unused_data) <= most_unused else None


def decode(octets: bytes) -> bytes:
    """Return what *octets* stand for: at most 8 bytes for 5.

    Raises ``ConnectionFault`` for a string that contains the end of string, or is not filled up with
    the first bits of it, seven at most.
    """
    if len(octets) >= _LONG:
        long = _decode_long(octets)
        if long is not None:
            return long
    while True:
        row = _START
        pieces: list[bytes] = []
        try:
            for octet in octets:
                piece, row = row[octet]
                pieces.append(piece)
            if row[_LAST_STEP][1] is _FAILED:
                raise ConnectionFault(ErrorCode.COMPRESSION_ERROR, "bad Huffman code")
            return b"".join(pieces)
        except IndexError:
            _fill(row)


def encode(octets: bytes) -> bytes:
    """Return the code of *octets*."""
    digits = "".join([_CODES[octet] for octet in octets])
    digits += "1" * (-len(digits) % 8)
    return int(digits or "0", 2).to_bytes(len(digits) // 8, "big")


def _fill(row: _Row) -> None:
    """Fill a row that is needed for the first time."""
    left = next(left for left, known in _rows.items() if known is row)
    steps = [
        (first + second, _rows[left_behind])
        for first, left_between in _half(left)
        for second, left_behind in _half(left_between)
    ]
    may_end = len(left) < 8 and _END_OF_STRING.startswith(left)
    row[:] = [*steps, (b"", _START if may_end else _FAILED)]


@cache
def _half(left: str) -> list[tuple[bytes, str]]:
    """Return what comes out, and what is left, after each half of a byte."""
    steps = [(b"", left)]
    for _ in range(4):
        steps = [_step(found, left + digit) for found, left in steps for digit in "01"]
    return steps


def _step(found: bytes, left: str) -> tuple[bytes, str]:
    """Return *found* with the octet that is complete now, if one is; nothing leads out of the end of string."""
    octet = _OCTETS.get(left)
    if octet is not None:
        return found + octet, ""
    return found, _END_OF_STRING if left.startswith(_END_OF_STRING) else left
