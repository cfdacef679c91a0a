"""Snapshots on their way to workers: as pieces of bytes, of which each takes a moment to read."""

from collections.abc import Iterator

from ingress.translate.snapshot import Snapshot
from ingress.translate.snapshot_bytes import snapshot_from_bytes, snapshot_to_bytes


def pieces(before: Snapshot | None, after: Snapshot) -> Iterator[bytes]:
    """Yield what makes *after* of *before*, or of nothing, for a ``Follower`` that has that."""
    yield snapshot_to_bytes(after)


class Follower:
    """Puts snapshots together from pieces."""

    def __init__(self) -> None:
        self.snapshot = Snapshot()
        """The last one that all pieces have come of."""

    def take(self, piece: bytes) -> bool:
        """Take the next *piece*; return whether a snapshot is complete with it.  Raises ``SnapshotError``."""
        self.snapshot = snapshot_from_bytes(piece)
        return True
