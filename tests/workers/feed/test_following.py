"""What a worker does besides while a snapshot comes, and after it."""

import gc
from typing import cast

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.identity.certificates import CertificateTable
from ingress.model.shared_map import SharedMap
from ingress.routing.route import Route
from ingress.translate.snapshot import Snapshot
from ingress.workers.feed.follower import Follower
from ingress.workers.feed.following import PIECES_COLLECTED, Following
from ingress.workers.feed.looks import PAUSES
from ingress.workers.feed.sending import pieces
from tests.fakes.clocks.step_clocks import StepClock
from tests.tls.test_contexts import certificate
from tests.workers.sent import many_hosts

HOSTS = 3000


class FollowingTests(SynchronousTestCase):
    """``Following``, told of thousands of hosts, and of others in their place."""

    def setUp(self) -> None:
        self.clock = StepClock()
        self.follower = Follower()
        self.following = Following(self.follower, cast(IReactorTime, self.clock))
        first, second = (many_hosts(HOSTS, self.id() + path) for path in ("/a", "/b"))
        self.first = [piece for piece in pieces(None, first) if piece]
        self.second = [piece for piece in pieces(first, second) if piece]

    def take(self, snapshot: list[bytes]) -> None:
        """Have it take all pieces of a snapshot."""
        complete = [self.following.take(piece) for piece in snapshot]
        self.assertEqual(complete.index(True), len(complete) - 1)

    def test_let_go(self) -> None:
        """What was replaced is let go in turns after the last piece, also where no other ever comes."""
        # So only what is made here is counted.
        gc.freeze()
        self.addCleanup(gc.unfreeze)
        self.take(self.first)
        self.clock.work()
        self.take(self.second)
        most, left = 0, self.left()
        self.assertGreater(left, HOSTS / 2)
        while self.clock.calls:
            self.clock.calls.pop()()
            now = self.left()
            most, left = max(most, left - now), now
        self.assertEqual(left, 0)
        self.assertLess(most, HOSTS / 3)

    def left(self) -> int:
        """Return how many routes there are that were replaced."""
        path = self.id() + "/a"
        return sum(one.path == path for one in gc.get_objects() if type(one) is Route)

    def test_collected(self) -> None:
        """After every few pieces the collector looks at what is young."""
        generations: list[int] = []

        def collected(phase: str, about: dict[str, int]) -> None:
            if phase == "stop":
                generations.append(about["generation"])

        gc.disable()
        self.addCleanup(gc.enable)
        gc.callbacks.append(collected)
        self.addCleanup(gc.callbacks.remove, collected)
        self.take(self.first)
        self.assertEqual(generations, [1] * ((len(self.first) - 1) // PIECES_COLLECTED))
        self.assertGreater(len(generations), 10)

    def test_still_in_use(self) -> None:
        """What is still in use is looked at again after pauses, from the last snapshot on, and goes when it is not."""
        clock = Clock()
        follower = Follower()
        following = Following(follower, clock)
        of_a_key = CertificateTable(SharedMap({"a.test": (certificate("a.test"),)}), SharedMap())
        first, second = Snapshot(certificates=of_a_key), Snapshot()

        def take(before: Snapshot | None, after: Snapshot) -> None:
            for piece in pieces(before, after):
                following.take(piece)
            clock.pump([0.0] * 10)

        take(None, first)
        remembered = follower.remembered
        for _ in range(2):
            request = follower.snapshot
            take(first, second)
            clock.advance(PAUSES[0])
            clock.advance(0)
            self.assertEqual(follower.remembered, remembered)
            del request
            clock.advance(PAUSES[1] - 0.1)
            self.assertEqual(follower.remembered, remembered)
            clock.pump([0.1, 0.0])
            self.assertLess(follower.remembered, remembered)
            take(second, first)
            self.assertEqual(follower.remembered, remembered)
        clock.pump(PAUSES)
        clock.pump(PAUSES)
        self.assertEqual(clock.getDelayedCalls(), [])

    def test_looks_amid_changes(self) -> None:
        """What was still in use goes soon, however often something else is replaced meanwhile."""
        clock = Clock()
        follower = Follower()
        following = Following(follower, clock)
        looks: list[float] = []
        look = follower.look_again

        def look_again() -> bool:
            looks.append(clock.seconds())
            return look()

        self.patch(follower, "look_again", look_again)
        for _ in range(10):
            following.tidy()
            clock.advance(0)
            clock.advance(PAUSES[0] * 0.4)
        self.assertGreaterEqual(len(looks), 2)
        following.stop()

    def test_stopped(self) -> None:
        """It leaves nothing to be done behind its end."""
        clock = Clock()
        following = Following(Follower(), clock)
        for _ in range(2):
            following.tidy()
        self.assertEqual(len(clock.getDelayedCalls()), 1)
        following.stop()
        following.stop()
        self.assertEqual(clock.getDelayedCalls(), [])
