"""HPACK blocks that nobody wrote, read by our decoder and by that of the ``hpack`` package alike.

Where both read, they must read the same.  What ``hpack`` refuses we refuse; what we refuse beyond that is
named in ``STRICTER``.
"""

from collections.abc import Callable
from random import Random
from typing import Protocol

from hpack import Decoder, Encoder, HPACKDecodingError, NeverIndexedHeaderTuple

from ingress.http2.faults import ConnectionFault, ErrorCode
from ingress.http2.hpack.field_decoder import FieldDecoder
from tests.corpus.judge import WrongError

Field = tuple[bytes, bytes]

STRICTER = ("too many size updates",)
"""RFC 7541 section 4.2 has a sender signal two sizes at most between two blocks; ``hpack`` takes any number."""

_NAMES = (
    b":authority",
    b":method",
    b":path",
    b":status",
    b"accept",
    b"cookie",
    b"x",
    b"x-request-id",
    b"\xff\0",
    b"",
)
_VALUES = (
    b"",
    b"/",
    b"GET",
    b"200",
    b"shop.test",
    b"text/html, */*;q=0.1",
    b"\0\xff\n" * 9,
    b"a" * 126,
    b"b" * 700,
)
_BEGINNINGS = b"\x00\x0f\x10\x1f\x20\x3f\x40\x7f\x80\x82\xbe\xbf\xc0\xff"
"""First bytes of each kind of field, at the borders of each prefix."""


def field_decoder() -> FieldDecoder[Field]:
    """Return one of ours."""
    return FieldDecoder(lambda name, value: (name, value))


class Decodes(Protocol):
    """What is compared with others' decoder."""

    @property
    def list_size(self) -> int:
        """The size of the last list of fields, as RFC 9113 section 6.5.2 counts it."""

    def decode(self, block: bytes) -> list[Field]:
        """Return the fields of *block*; raises ``ConnectionFault``."""


def agree(blocks: list[bytes], make: Callable[[], Decodes] = field_decoder) -> int:
    """Give *blocks* to both decoders, ours as *make* makes it, until one is refused; return how many were read.

    Raises ``WrongError`` where the decoders do not agree.
    """
    ours = make()
    theirs = Decoder()
    for number, block in enumerate(blocks):
        try:
            expected = [tuple(field) for field in theirs.decode(block, raw=True)]
        except HPACKDecodingError as error:
            try:
                found = ours.decode(block)
            except ConnectionFault:
                return number
            raise WrongError(f"{block!r} is {found}, but {error}") from error
        try:
            found = ours.decode(block)
        except ConnectionFault as fault:
            if str(fault) in STRICTER and fault.code is ErrorCode.COMPRESSION_ERROR:
                return number
            raise WrongError(f"{block!r} is {expected}, but was refused: {fault}") from fault
        if found != expected or ours.list_size != sum(len(name) + len(value) + 32 for name, value in found):
            raise WrongError(f"{block!r} is {expected}, but was read as {found}, {ours.list_size} bytes")
    return len(blocks)


def generated(random: Random, changes: float) -> list[bytes]:
    """Return the blocks of a connection, of which one in *changes* is not as its sender made it."""
    sender = Encoder()
    blocks = []
    for _ in range(random.randrange(1, 12)):
        if random.random() < 0.2:
            sender.header_table_size = random.choice((0, 31, 32, 100, 256, 4096))
        block = sender.encode(map(_field, [random] * random.randrange(8)), huffman=random.random() < 0.7)
        blocks.append(_changed(random, block) if random.random() < changes else block)
    return blocks


def _field(random: Random) -> Field:
    name = random.choice(_NAMES)
    value = random.choice(_VALUES) if random.random() < 0.6 else random.randbytes(random.randrange(40))
    return NeverIndexedHeaderTuple(name, value) if random.random() < 0.2 else (name, value)


def _changed(random: Random, block: bytes) -> bytes:
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        at = random.randrange(len(block) + 1)
        kind = random.randrange(6)
        if kind == 0:
            block = block[:at] + bytes([random.choice(_BEGINNINGS)]) + block[at:]
        elif kind == 1:
            block = block[:at] + bytes([random.randrange(256)]) + block[at + 1 :]
        elif kind == 2:
            block = block[:at] + block[at + random.randrange(1, 4) :]
        elif kind == 3:
            block = block[:at] + random.randbytes(random.randrange(1, 7)) + block[at:]
        elif kind == 4:
            block = block[:at]
        else:
            block = b"\x3f\xe1\x1f" * random.randrange(1, 4) + block
    return block
