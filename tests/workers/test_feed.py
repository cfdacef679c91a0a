"""Snapshots in pieces."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.listeners import Listener
from ingress.translate.snapshot import Snapshot
from ingress.workers.feed import Follower, pieces


class FeedTests(SynchronousTestCase):
    """What is put together is what was taken apart."""

    def test_whole(self) -> None:
        """Of nothing, all pieces make the snapshot."""
        snapshot = Snapshot(listeners=(Listener("tcp:80"),), replicas=3)
        follower = Follower()
        complete = [follower.take(piece) for piece in pieces(None, snapshot)]
        self.assertEqual(complete[-1:], [True])
        self.assertEqual(follower.snapshot.listeners, snapshot.listeners)
        self.assertEqual(follower.snapshot.replicas, 3)
