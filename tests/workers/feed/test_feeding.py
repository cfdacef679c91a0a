"""How far behind the current snapshot one of those is who follow."""

import gc
from typing import Any, cast

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.process.control_channel import ControlChannel
from ingress.routing.route import Route
from ingress.translate.snapshot import Snapshot
from ingress.workers.feed.feeding import MOST_LEFT, Fed, Feed, Numbered
from tests.fakes.clocks.step_clocks import StepClock
from tests.workers.sent import many_hosts


class OpenChannel:
    """A channel that sends all of a snapshot when it is told to."""

    def __init__(self) -> None:
        self.is_open = True
        self.producer: Any = None

    def feed_from(self, producer: Any) -> None:
        self.producer = producer

    def feed_no_more(self) -> None:
        self.producer = None

    def send(self, frame: object) -> None:
        """Take a piece."""

    def send_all(self) -> None:
        while self.producer is not None:
            self.producer.resumeProducing()


class BehindTests(SynchronousTestCase):
    """``Fed.behind_seconds``."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.feed = Feed(self.clock)
        self.channel = OpenChannel()
        self.fed = Fed(
            self.feed, cast(ControlChannel, self.channel), Numbered(), lambda: None, self.clock.seconds
        )

    def publish(self) -> None:
        self.feed.publish(Snapshot())
        self.fed.advance()

    def test_current(self) -> None:
        """Who has the current one is not behind, however long ago that was published."""
        self.publish()
        self.clock.advance(0.5)
        self.assertEqual(self.fed.behind_seconds, 0.5)
        self.channel.send_all()
        self.fed.took(1)
        self.clock.advance(100)
        self.assertEqual((self.fed.taken, self.fed.behind_seconds), (1, 0.0))

    def test_stopped(self) -> None:
        """Who takes nothing is behind since the first that it lacks, whatever comes after that."""
        for _ in range(5):
            self.publish()
            self.channel.send_all()
            self.clock.advance(3)
        self.assertEqual((self.fed.taken, self.fed.behind_seconds), (0, 15.0))

    def test_never_still(self) -> None:
        """Who takes one after the other, while there are always newer ones, is behind for as long as one takes."""
        self.publish()
        for number in range(1, 50):
            self.channel.send_all()
            self.publish()
            self.clock.advance(1)
            sent = self.fed.sent.number
            self.fed.took(sent)
            self.assertLessEqual(self.fed.behind_seconds, 1.0, number)


class LettingGoTests(SynchronousTestCase):
    """Snapshots of thousands of hosts, of which nobody has the first but those who follow."""

    HOSTS = 3000

    def setUp(self) -> None:
        # What other tests have left is not looked at, which there are some hundred thousand objects of.
        gc.freeze()
        self.addCleanup(gc.unfreeze)
        self.clock = StepClock()
        self.feed = Feed(cast(IReactorTime, self.clock))
        self.feed.publish(many_hosts(self.HOSTS, self.path("/a")))
        self.channels = [OpenChannel(), OpenChannel()]
        self.feds = [
            Fed(self.feed, cast(ControlChannel, one), self.feed.current, lambda: None, lambda: 0.0)
            for one in self.channels
        ]
        for number, fed in enumerate(self.feds):
            fed.took(self.feed.current.number)
            self.assertTrue(fed.is_current, number)

    def advance(self, path: str = "/b") -> None:
        """Publish other routes for all of them, and have a part of it sent."""
        self.feed.publish(many_hosts(self.HOSTS, self.path(path)))
        for fed, channel in zip(self.feds, self.channels, strict=True):
            fed.advance()
            if channel.producer is not None:
                channel.producer.resumeProducing()

    def left(self, path: str = "/a") -> int:
        """Return how many routes there are with this path."""
        path = self.path(path)
        return sum(one.path == path for one in gc.get_objects() if type(one) is Route)

    def path(self, path: str) -> str:
        """Return *path* as no other test has it: trial keeps what these had."""
        return f"{path}/{self.id()}"

    def most(self, path: str = "/a") -> int:
        """Take all steps; return how many such routes went with one of them."""
        most, left = 0, self.left(path)
        while self.clock.calls:
            self.clock.calls.pop()()
            now = self.left(path)
            most, left = max(most, left - now), now
        return most

    def test_last(self) -> None:
        """Once the last one of them has another, the first is let go little by little."""
        self.advance()
        self.channels[0].send_all()
        self.assertEqual((self.most(), self.left()), (0, self.HOSTS))
        self.channels[1].send_all()
        self.assertEqual(self.left(), self.HOSTS)
        self.assertLess(self.most(), self.HOSTS / 10)
        self.assertEqual((self.left(), self.left("/b")), (0, self.HOSTS))

    def test_faster_than_it_goes(self) -> None:
        """Where snapshots come faster than they can be let go, only so many wait for that."""
        for fed in self.feds:
            fed.end()
        for number in range(MOST_LEFT + 20):
            self.feed.publish(many_hosts(1, self.path(f"/{number}")))
        waiting = sum(self.left(f"/{number}") for number in range(MOST_LEFT + 20))
        self.assertEqual(waiting, MOST_LEFT + 1)
        while self.clock.calls:
            self.clock.calls.pop()()
        self.assertEqual(sum(self.left(f"/{number}") for number in range(MOST_LEFT + 20)), 1)

    def test_gone(self) -> None:
        """So it is where the last one ends, at rest or amid the next snapshot, once or twice."""
        self.channels[0].is_open = False
        self.feds[0].end()
        self.advance()
        for fed in (*self.feds, *self.feds):
            fed.end()
        self.assertEqual(self.left(), self.HOSTS)
        self.assertLess(self.most(), self.HOSTS / 10)
        self.assertEqual((self.left(), self.left("/b")), (0, self.HOSTS))

    def test_passed_over(self) -> None:
        """So is one that nobody came to have, and nothing that is current."""
        self.advance()
        self.advance("/c")
        self.advance("/d")
        self.assertEqual(self.left("/c"), self.HOSTS)
        self.assertLess(self.most("/c"), self.HOSTS / 10)
        lefts = [self.left(path) for path in ("/a", "/b", "/c", "/d")]
        self.assertEqual(lefts, [self.HOSTS, self.HOSTS, 0, self.HOSTS])
        for channel, fed in zip(self.channels, self.feds, strict=True):
            while channel.producer is not None:
                channel.send_all()
                fed.took(fed.sent.number)
        self.most()
        lefts = [self.left(path) for path in ("/a", "/b", "/c", "/d")]
        self.assertEqual(lefts, [0, 0, 0, self.HOSTS])
