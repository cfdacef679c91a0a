"""What the field blocks of one peer mean, and what they meant before.

A field block is decoded whatever becomes of its stream, or the two tables of HPACK would be out of step (RFC 9113
section 4.3).  What a block meant is remembered while the table stays as it is; most peers send the same few blocks
again and again.
"""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from ingress.http.work import LIST_BYTES_OF_WORK
from ingress.http2.hpack.field_decoder import FieldDecoder

MAX_LIST_BYTES: Final = 64 * 1024
"""Of one field list, as section 6.5.2 counts it; what is larger ends the connection."""
MEMO_BLOCKS: Final = 32
MEMO_BLOCK_BYTES: Final = 1024
MEMO_LIST_BYTES: Final = 4096

F = TypeVar("F")
M = TypeVar("M")


class BlockDecoder(Generic[F, M]):
    """Decodes blocks in their order to fields, *F*, and keeps what its user made of them, *M*."""

    __slots__ = ("_begun", "decoder", "known", "work")

    def __init__(self, read_field: Callable[[bytes, bytes], F]) -> None:
        self.decoder = FieldDecoder(read_field, most_bytes=MAX_LIST_BYTES)
        self.known: dict[bytes, M] = {}
        """What field blocks meant, while the peer's table is as it was then."""
        self.work = 0
        """How much work the block was that was decoded last (``ingress.http.work``), or what was decoded of it just now."""
        self._begun: list[F] | None = None
        """The fields of a block that ``decode_some`` has begun."""

    def decode_some(self, block: bytes, work: int) -> bool:
        """Decode more of *block*, a large one: about so much *work*, and one field at least; return whether it is whole.

        Then ``decode`` has its fields at once.  Raises ``ConnectionFault``.
        """
        decoder = self.decoder
        begun = self._begun
        at = size = 0
        if begun is not None:
            at, size = decoder.ended_at, decoder.list_size
        changes = decoder.changes
        self._begun = decoder.decode(block, begun, at + max(1, work))
        self.work = decoder.ended_at - at + (decoder.list_size - size) // LIST_BYTES_OF_WORK
        if changes != decoder.changes and self.known:
            self.known.clear()
        return decoder.ended_at == len(block)

    def decode(self, block: bytes) -> list[F]:
        """Return the fields of *block*, which must be decoded in its turn; raises ``ConnectionFault``."""
        decoder = self.decoder
        changes = decoder.changes
        if self._begun is not None:
            fields = self._begun
            self._begun = None
            self.work = 0
            return fields
        fields = decoder.decode(block)
        self.work = len(block) + decoder.list_size // LIST_BYTES_OF_WORK
        if changes != decoder.changes and self.known:
            self.known.clear()
        return fields

    def remember(self, block: bytes, changes: int, meaning: M) -> None:
        """Keep what *block* means, if it left the table alone since that had so many *changes*."""
        decoder = self.decoder
        if (
            len(block) <= MEMO_BLOCK_BYTES
            and decoder.changes == changes
            and decoder.list_size <= MEMO_LIST_BYTES
        ):
            if len(self.known) >= MEMO_BLOCKS:
                self.known.clear()
            self.known[block] = meaning
