"""Field blocks to fields: the receiving side of HPACK (RFC 7541).

One decoder belongs to one direction of one connection, and is given every block of it, in order.  What a
field means is not decided here: ``read`` says it, once for each entry of the table, and the answer is
kept there.  So a field that comes by its index costs next to nothing.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

from ingress.http.grammar import MEMO_ENTRIES, Sightings
from ingress.http2.faults import ConnectionFault, ErrorCode
from ingress.http2.hpack import huffman
from ingress.http2.hpack.static_table import ENTRY_OVERHEAD, STATIC_TABLE

F = TypeVar("F")

_STATIC: Final = len(STATIC_TABLE)
_FIRST_DYNAMIC: Final = 0x81 + _STATIC
_SHARED_BYTES: Final = 512

DEFAULT_TABLE_SIZE: Final = 4096
"""Bytes as section 4.1 counts them; what a peer may use that was told nothing else (RFC 9113 section 6.5.2)."""
DEFAULT_MOST_BYTES: Final = 64 * 1024
"""Bytes of a whole list, counted alike."""
_MAX_SIZE_UPDATES: Final = 2
"""In a row: the smallest size in between, and the last one (section 4.2)."""
WHOLE_BLOCK: Final = 1 << 30
"""More bytes than any block has."""
_MAX_CONTINUATION: Final = 5
"""Bytes of a number behind its prefix; section 5.1 asks for a limit.  So none is much larger than 2**35."""


_Entry = tuple[F, int, bytes]
"""A field, its size, and its name."""


class _SharedEntries(dict[tuple[bytes, bytes], _Entry[F]]):
    """Entries that came more than once, by name and value: browsers of one kind say much the same."""

    def __init__(self) -> None:
        super().__init__()
        self._seen = Sightings(MEMO_ENTRIES)

    def note(self, field: tuple[bytes, bytes], entry: _Entry[F]) -> None:
        """Keep *entry* of *field* if that came before."""
        if self._seen.again(b"%b\0%b" % field):
            if len(self) >= MEMO_ENTRIES:
                self.clear()
            self[field] = entry


class FieldDecoder(Generic[F]):
    """Decodes the blocks of one direction of a connection.

    *read* makes the field of a name and value; it must never raise.  *table_size* is what the peer was
    told in SETTINGS_HEADER_TABLE_SIZE and has acknowledged.  *most_bytes* bounds the list of one block:
    each field counts its name, its value and 32 bytes more.
    """

    __slots__ = (
        "_limit",
        "_most_bytes",
        "_read",
        "_room",
        "_shared",
        "_static",
        "_table",
        "_table_size",
        "changes",
        "ended_at",
        "list_size",
    )

    def __init__(
        self,
        read: Callable[[bytes, bytes], F],
        table_size: int = DEFAULT_TABLE_SIZE,
        most_bytes: int = DEFAULT_MOST_BYTES,
    ) -> None:
        self._read = read
        self._static: tuple[_Entry[F], ...] = _static_entries(read)
        self._shared: _SharedEntries[F] = _shared_entries(read)
        self._table: list[_Entry[F]] = []
        """The dynamic table, the newest entry first."""
        self._limit = table_size
        self._table_size = self._room = table_size
        self._most_bytes = most_bytes
        self.list_size = 0
        """The size of the list decoded last, in bytes as *most_bytes* counts them."""
        self.ended_at = 0
        """Where the last call of ``decode`` ended."""
        self.changes = 0
        """How often the table changed: while it is the same, a block that changes nothing means the same."""

    @property
    def table_bytes(self) -> int:
        """What is in the dynamic table, in bytes as section 4.1 counts them."""
        return self._table_size - self._room

    def decode(self, block: bytes, begun: list[F] | None = None, until: int = WHOLE_BLOCK) -> list[F]:
        """Return the fields of a whole block; or only those that begin before *until*, to the end of the last of them.

        ``ended_at`` is where that is.  What was *begun* that way goes on from there, with the same block, and is returned.

        Raises ``ConnectionFault``: COMPRESSION_ERROR for what is no field block, and ENHANCE_YOUR_CALM as
        soon as the list is too large.  The table is out of step after either, so nothing more can be read.
        No string is built that is longer than what is left for the list; of one in Huffman code it is the
        code that is compared, so it may be 8/5 of that for a moment.
        """
        fields: list[F] = []
        room = self._most_bytes
        at = 0
        if begun is not None:
            fields = begun
            room -= self.list_size
            at = self.ended_at
        static = self._static
        table = self._table
        end = len(block)
        if until > end:
            until = end
        try:
            while at < until:
                octet = block[at]
                at += 1
                if octet > 0x80:  # An indexed field (section 6.1).
                    if octet < _FIRST_DYNAMIC:
                        field, size, _ = static[octet - 0x81]
                    elif octet < 0xFF:
                        field, size, _ = table[octet - _FIRST_DYNAMIC]
                    else:
                        index, at = _long_integer(block, at, 0x7F)
                        field, size, _ = table[index - _STATIC - 1]
                    room -= size
                    if room < 0:
                        raise _too_large()
                    fields.append(field)
                    continue
                # Else a literal field (section 6.2): first its name, by its index or as a string.
                if octet >= 0x40:
                    index, most = octet & 0x3F, 0x3F
                elif octet < 0x20:
                    index, most = octet & 0x0F, 0x0F
                else:
                    if fields:
                        raise _broken("a size update behind a field")
                    at = self._update_size(block, at - 1)
                    continue
                if index:
                    if index == most:
                        index, at = _long_integer(block, at, most)
                    name = (static[index - 1] if index <= _STATIC else table[index - _STATIC - 1])[2]
                elif octet == 0x80:
                    raise _broken("index 0")
                else:
                    coded = block[at]
                    length = coded & 0x7F
                    at += 1
                    if length == 0x7F:
                        length, at = _long_integer(block, at, 0x7F)
                    start = at
                    at += length
                    if at > end:
                        raise _broken("a name ends too early")
                    if length > room:
                        raise _too_large()
                    name = block[start:at]
                    if coded > 0x7F:
                        name = huffman.decode(name)
                # Then its value, in the same words: a call for each string is what this loop is to avoid.
                coded = block[at]
                length = coded & 0x7F
                at += 1
                if length == 0x7F:
                    length, at = _long_integer(block, at, 0x7F)
                start = at
                at += length
                if at > end:
                    raise _broken("a value ends too early")
                if length > room:
                    raise _too_large()
                value = block[start:at]
                if coded > 0x7F:
                    value = huffman.decode(value)
                size = len(name) + len(value) + ENTRY_OVERHEAD
                room -= size
                if room < 0:
                    raise _too_large()
                if octet >= 0x40:
                    entry = self._shared.get((name, value)) or self._new_entry(name, value, size)
                    fields.append(entry[0])
                    self._insert(entry)
                else:
                    fields.append(self._read(name, value))
        except IndexError:
            raise _broken("an index beyond the table, or an end too early") from None
        self.list_size = self._most_bytes - room
        self.ended_at = at
        return fields

    def entries_of(self, block: bytes) -> list[_Entry[F]] | None:
        """Return what *block* puts into any table, oldest first; None if it needs what others have put there.

        To be asked after it was decoded.  Some peers send the same literals again and again, each to be put into the
        table, and never make use of that.
        """
        alone: FieldDecoder[F] = FieldDecoder(self._read, self._table_size, self._most_bytes)
        try:
            alone.decode(block)
        except ConnectionFault:
            return None
        entries = alone._table.copy()
        if alone.changes != len(entries):
            # A change of the size, or more than there is room for: more than entries would follow from it.
            return None
        entries.reverse()
        return entries

    def insert(self, entries: list[_Entry[F]]) -> None:
        """Do to the table what the block does that has these ``entries_of``."""
        for entry in entries:
            self._insert(entry)

    def _new_entry(self, name: bytes, value: bytes, size: int) -> "_Entry[F]":
        """Read a field for the table; what comes a second time is shared by all connections that have it."""
        entry = (self._read(name, value), size, name)
        if size <= _SHARED_BYTES:
            self._shared.note((name, value), entry)
        return entry

    def _insert(self, entry: "_Entry[F]") -> None:
        """Make a field the newest of the dynamic table; one that is too large only empties it (section 4.4)."""
        size = entry[1]
        self._room -= size
        self.changes += 1
        if self._room < 0:
            self._evict()
        if self._room >= 0:
            self._table.insert(0, entry)
        else:
            self._room += size

    def _evict(self) -> None:
        """Drop the oldest fields until the others fit, or none is left."""
        table = self._table
        while self._room < 0 and table:
            self._room += table.pop()[1]
            self.changes += 1

    def _update_size(self, block: bytes, at: int) -> int:
        """Obey the size updates at *at* of *block*; return where its fields begin (section 6.3)."""
        for _ in range(_MAX_SIZE_UPDATES):
            size = block[at] & 0x1F
            at += 1
            if size == 0x1F:
                size, at = _long_integer(block, at, 0x1F)
            if size > self._limit:
                raise _broken("a larger table than is allowed")
            self._room += size - self._table_size
            self._table_size = size
            self.changes += 1
            self._evict()
            if at == len(block) or block[at] & 0xE0 != 0x20:
                return at
        raise _broken("too many size updates")


@lru_cache(maxsize=8)
def _static_entries(read: Callable[[bytes, bytes], Any]) -> tuple[tuple[Any, int, bytes], ...]:
    """Return the static table as *read* understands it: one for all decoders of a role."""
    return tuple(
        (read(name, value), len(name) + len(value) + ENTRY_OVERHEAD, name) for name, value in STATIC_TABLE
    )


@lru_cache(maxsize=8)
def _shared_entries(read: Callable[[bytes, bytes], Any]) -> _SharedEntries[Any]:
    """Return what all decoders of a role share."""
    return _SharedEntries()


def _long_integer(block: bytes, at: int, prefix: int) -> tuple[int, int]:
    """Return the number whose prefix is full, and where it ends (section 5.1)."""
    number = prefix
    for shift in range(0, 7 * _MAX_CONTINUATION, 7):
        octet = block[at]
        at += 1
        number += (octet & 0x7F) << shift
        if octet < 0x80:
            return number, at
    raise _broken("a number is too long")


def _broken(why: str) -> ConnectionFault:
    return ConnectionFault(ErrorCode.COMPRESSION_ERROR, why)


def _too_large() -> ConnectionFault:
    return ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "the field list is too large")
