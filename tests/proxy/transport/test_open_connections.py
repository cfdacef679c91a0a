"""Connections of listeners that end by themselves, and with all others."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.metrics import Metrics
from ingress.proxy.contract.deadlines import NEVER, Deadlines
from ingress.proxy.transport.open_connections import OpenConnections


class FakeConnection:
    """A connection that ends when it is told to, if it rests."""

    def __init__(self, connections: OpenConnections, *, rests: bool = True) -> None:
        self._connections = connections
        self._rests = rests
        self.told: list[str] = []
        connections.opened(self, False)

    def drain(self) -> None:
        self.told.append("drain")
        if self._rests:
            self.end()

    def end(self) -> None:
        """Be gone."""
        self._connections.closed(self, False)

    def abort(self) -> None:
        self.told.append("abort")
        self.end()

    def make_way(self) -> None:
        self.end()

    is_mute = False
    is_silent = False

    def rests_since(self) -> float:
        return NEVER


class PartTests(SynchronousTestCase):
    """The connections of one listener among all."""

    def setUp(self) -> None:
        self.whole = OpenConnections(Deadlines(Clock()), Metrics())
        self.part = self.whole.part()

    def test_counted_together(self) -> None:
        """Connections of a part are connections of the whole, under one limit."""
        mine, other = FakeConnection(self.part), FakeConnection(self.whole)
        self.assertEqual((self.part.all, self.whole.all), ({mine}, {mine, other}))
        self.assertIs(self.part.limit, self.whole.limit)
        mine.end()
        self.assertEqual((self.part.all, self.whole.all), (set(), {other}))

    def test_parts_come_and_go(self) -> None:
        """The whole has the connections of each part, of any number of them, and of one that has ended none more than are left."""
        second = self.whole.part()
        one, two, other = FakeConnection(self.part), FakeConnection(second), FakeConnection(self.whole)
        self.assertEqual((len(self.whole.all), set(self.whole.all)), (3, {one, two, other}))
        self.assertTrue({one, two, other} <= self.whole.all)
        self.assertNotIn(two, self.part.all)
        self.successResultOf(self.part.drain())
        self.assertEqual(self.whole.all, {two, other})
        self.assertEqual(self.whole.all - {two}, {other})

    def test_part_drains_alone(self) -> None:
        """A part that drains leaves the others alone, and is done when its own are gone."""
        mine, busy = FakeConnection(self.part), FakeConnection(self.part, rests=False)
        other = FakeConnection(self.whole)
        drained = self.part.drain()
        self.assertEqual((mine.told, busy.told, other.told), (["drain"], ["drain"], []))
        self.assertTrue(self.part.draining)
        self.assertFalse(self.whole.draining)
        self.assertNoResult(drained)
        busy.end()
        self.successResultOf(drained)
        self.assertEqual(self.whole.all, {other})

    def test_patience(self) -> None:
        """Who is at rest is left alone until that is over, and told of the end by the next answer."""
        resting = FakeConnection(self.whole)
        drained = self.whole.drain(closes_resting=False)
        self.assertEqual(resting.told, [])
        self.assertTrue(self.whole.draining)
        self.assertNoResult(drained)
        self.whole.close_resting()
        self.assertEqual(resting.told, ["drain"])
        self.successResultOf(drained)

    def test_whole_drains_parts(self) -> None:
        """The whole waits for its parts, which are told to end with it."""
        busy = FakeConnection(self.part, rests=False)
        drained = self.whole.drain()
        self.assertTrue(self.part.draining)
        self.assertTrue(self.part.is_ending)
        self.assertNoResult(drained)
        busy.end()
        self.successResultOf(drained)

    def test_part_amid_the_end(self) -> None:
        """A part that drains already ends for both."""
        busy = FakeConnection(self.part, rests=False)
        part, whole = self.part.drain(), self.whole.drain()
        busy.end()
        self.successResultOf(part)
        self.successResultOf(whole)

    def test_cut(self) -> None:
        """Cutting a part cuts no other."""
        mine, other = FakeConnection(self.part), FakeConnection(self.whole)
        self.part.abort()
        self.assertEqual((mine.told, other.told), (["abort"], []))
