"""Fields to field blocks: the sending side of HPACK (RFC 7541), without a dynamic table.

So a block means the same on every connection, whatever was sent before, and what was encoded once can be
sent again: most lines come again, and most heads of answers do.  Only what is remembered for that is worth
its Huffman code.  Names and values are not judged here: whoever made the lines did that.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from ingress.http.grammar import (
    MEMO_BLOCK,
    MEMO_BLOCKS,
    MEMO_ENTRIES,
    MEMO_LINE,
    MEMO_NAME,
    MEMO_NAMES,
    Sightings,
)
from ingress.http2.hpack import huffman
from ingress.http2.hpack.static_table import STATIC_TABLE

SECRETS: Final = frozenset({b"authorization", b"cookie", b"proxy-authorization", b"set-cookie"})
"""Fields that nobody on the way may put into a table (section 7.1.3), and that are remembered as part of a head only."""

_USUAL_NEWS: Final = 256
_SAMPLED_NEWS: Final = 13
"""Of a name that had more new lines than usual, only one in so many may be remembered, as in ``FieldLines``."""

_LENGTHS: Final = [bytes([length]) for length in range(0x7F)]
_HUFFMAN: Final = 0x80

_static_indexes: Final[dict[bytes, int]] = {}
"""The first index of each name."""
_static_values: Final[dict[bytes, dict[bytes, bytes]]] = {}
"""For each name the values that the table has with it, as indexed fields."""
for _index, (_name, _value) in enumerate(STATIC_TABLE, 1):
    _static_indexes.setdefault(_name, _index)
    _static_values.setdefault(_name, {})[_value] = bytes([0x80 | _index])


def encode_field(name: bytes, value: bytes) -> bytes:
    """Return a field as a block.

    *name* is that of a pseudo-header field, or has no colon; white space around *value* is no part of it.
    """
    return _lines[name + b":" + value]


def once_encoder(name: bytes) -> Callable[[bytes], bytes]:
    """Return what makes a block of a value, for fields of this *name* whose values never come again."""
    return _Name(name).encode_once


def encode_lines(lines: bytes) -> bytes:
    """Return a block for the field lines of an HTTP/1.1 head, each with its CRLF; names become lower case."""
    block = _blocks.get(lines)
    if block is None:
        block = b"".join([_lines[line] for line in lines[:-2].split(b"\r\n")]) if lines else b""
        if len(lines) <= MEMO_BLOCK and _blocks_seen.again(lines):
            if len(_blocks) >= MEMO_BLOCKS:
                _blocks.clear()
            _blocks[lines] = block
    return block


@lru_cache(maxsize=1000)
def encode_status(status: int) -> bytes:
    """Return the field ``:status`` of an answer as a block; *status* has three digits."""
    return _Name(b":status").encode(b"%d" % status, True)


class _Name:
    """A field name: how fields begin that have it, and how many lines with it were new."""

    __slots__ = ("_indexed", "_literal", "is_secret", "news")

    def __init__(self, lower: bytes) -> None:
        self.is_secret = lower in SECRETS
        self.news = 0
        # Section 6.1: name and value are in the static table.
        self._indexed = {} if self.is_secret else _static_values.get(lower, {})
        # Section 6.2.2 and, for secrets, 6.2.3: literal fields that no table takes.
        mark = 0x10 if self.is_secret else 0x00
        index = _static_indexes.get(lower, 0)
        self._literal = _integer(index, 0x0F, mark)
        if not index:
            self._literal += _string(lower)

    def encode(self, value: bytes, is_kept: bool) -> bytes:
        """Return a field with *value*, in the shortest form if it is kept to be sent again."""
        indexed = self._indexed.get(value)
        if indexed is not None:
            return indexed
        return self._literal + _string(value) if is_kept else self.encode_once(value)

    def encode_once(self, value: bytes) -> bytes:
        """Return a field with *value*, which is in no table and not kept."""
        length = len(value)
        return self._literal + (_LENGTHS[length] if length < 0x7F else _integer(length, 0x7F, 0)) + value


class _Lines(dict[bytes, bytes]):
    """Blocks of lines (without CRLF) that came more than once; ``lines[line]`` encodes one that is new."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[bytes, _Name] = {}
        """By the name as it was written."""
        self._seen = Sightings(MEMO_ENTRIES)

    def __missing__(self, line: bytes) -> bytes:
        """Encode a line; its name may begin with a colon."""
        colon = line.index(b":", 1)
        name = line[:colon]
        known = self.names.get(name) or self._new_name(name)
        value = line[colon + 1 :].strip(b" \t")
        if known.is_secret or len(line) > MEMO_LINE:
            return known.encode(value, False)
        news = known.news = known.news + 1
        if (news >= _USUAL_NEWS and news % _SAMPLED_NEWS) or not self._seen.again(line):
            return known.encode(value, False)
        if len(self) >= MEMO_ENTRIES:
            self.clear()
        block = self[line] = known.encode(value, True)
        return block

    def _new_name(self, name: bytes) -> _Name:
        known = _Name(name.lower())
        if len(name) <= MEMO_NAME:
            if len(self.names) >= MEMO_NAMES:
                self.names.clear()
            self.names[name] = known
        return known


def _integer(number: int, most: int, mark: int) -> bytes:
    """Return *number* with a prefix that holds less than *most*, below the bits of *mark* (section 5.1)."""
    if number < most:
        return bytes([mark | number])
    octets = bytearray([mark | most])
    number -= most
    while number > 0x7F:
        octets.append(0x80 | number & 0x7F)
        number >>= 7
    octets.append(number)
    return bytes(octets)


def _string(octets: bytes) -> bytes:
    """Return a string literal, by its Huffman code if that is shorter (section 5.2)."""
    coded = huffman.encode(octets)
    if len(coded) < len(octets):
        return _integer(len(coded), 0x7F, _HUFFMAN) + coded
    return _integer(len(octets), 0x7F, 0) + octets


_lines: Final = _Lines()
_blocks: Final[dict[bytes, bytes]] = {}
_blocks_seen: Final = Sightings(MEMO_BLOCKS)
