"""Tests for ``ingress.proxy.upstream.distrust``."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.deadlines import NEVER, Deadlines
from ingress.proxy.contract.limits import DISTRUST_SECONDS
from ingress.proxy.upstream.distrust import MAX_DISTRUSTED, Distrust


def endpoint(number: int) -> Endpoint:
    return Endpoint("10.9.0.1", number)


class DistrustTests(SynchronousTestCase):
    """What is held against endpoints, and for how long it is known."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.deadlines = Deadlines(self.clock)
        self.deadlines.start()
        self.addCleanup(self.deadlines.stop)
        self.distrust = Distrust(self.deadlines)

    def test_over(self) -> None:
        """It is forgotten once its time is over, though nobody asks, and nothing is looked after then."""
        known = self.distrust.until
        self.distrust.tell(endpoint(1))
        self.clock.pump([1] * 10)
        self.distrust.tell(endpoint(2))
        self.clock.pump([1] * int(DISTRUST_SECONDS - 10))
        self.assertEqual([*known], [endpoint(2)])
        self.clock.pump([1] * 10)
        self.assertEqual((known, self.distrust.deadline), ({}, NEVER))
        self.assertEqual(self.deadlines.watched, {})

    def test_again(self) -> None:
        """Who does it again is distrusted for longer, and keeps no other in memory."""
        self.distrust.tell(endpoint(1))
        self.clock.advance(1)
        self.distrust.tell(endpoint(2))
        for _ in range(int(DISTRUST_SECONDS)):
            self.clock.advance(1)
            self.distrust.tell(endpoint(1))
        self.assertEqual([*self.distrust.until], [endpoint(1)])

    def test_many(self) -> None:
        """Of very many the latest are known."""
        for number in range(2 * MAX_DISTRUSTED):
            self.distrust.tell(endpoint(number))
        self.assertEqual(len(self.distrust.until), MAX_DISTRUSTED)
        self.assertIn(endpoint(2 * MAX_DISTRUSTED - 1), self.distrust.until)

    def test_abort(self) -> None:
        """After a bug nobody is distrusted, and others are from then on."""
        self.distrust.tell(endpoint(1))
        self.distrust.abort()
        self.assertEqual((self.distrust.until, self.deadlines.watched), ({}, {}))
        self.distrust.tell(endpoint(2))
        self.assertIn(self.distrust, self.deadlines.watched)
