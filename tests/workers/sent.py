"""A snapshot as a worker has it."""

from ingress.annotations.operator_filters import InstalledFilter
from ingress.translate.snapshot import Snapshot
from ingress.workers.feed.follower import Follower
from ingress.workers.feed.sending import pieces


def sent(snapshot: Snapshot, *allowed: InstalledFilter) -> Snapshot:
    """Return what a worker that has nothing makes of *snapshot*; filters of the operator's are *allowed* there."""
    follower = Follower(allowed)
    assert [follower.take(piece) for piece in pieces(None, snapshot)][-1]
    return follower.snapshot
