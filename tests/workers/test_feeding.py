"""How far behind the current snapshot one of those is who follow."""

from typing import Any, cast

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.process.control_channel import ControlChannel
from ingress.translate.snapshot import Snapshot
from ingress.workers.feeding import Fed, Feed, Numbered


class OpenChannel:
    """A channel that sends all of a snapshot when it is told to."""

    is_open = True

    def __init__(self) -> None:
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
        self.feed = Feed()
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
