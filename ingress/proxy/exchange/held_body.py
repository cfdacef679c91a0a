"""What is held of a body: of a request for an endpoint that is not connected to yet, for another attempt or for a filter, and of another
service's answer to the request of a filter.
"""

from ingress.proxy.contract.limits import SMALL_HELD


class HeldBody:
    """Pieces of one body, from its beginning on."""

    __slots__ = ("_pieces", "size")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.size = 0
        """In bytes."""

    @property
    def pieces(self) -> int:
        """In how many pieces it is kept."""
        return len(self._pieces)

    def add(self, piece: bytes) -> None:
        """Hold one more piece."""
        pieces = self._pieces
        if pieces and len(pieces[-1]) + len(piece) <= SMALL_HELD:
            pieces[-1] += piece
        else:
            pieces.append(piece)
        self.size += len(piece)

    def joined(self) -> bytes:
        """Return all of it."""
        return b"".join(self._pieces)

    def replace(self, body: bytes) -> None:
        """Hold *body*, and nothing else."""
        self._pieces = [body] if body else []
        self.size = len(body)
