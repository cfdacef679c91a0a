"""Connections of listeners that end by themselves, and with all others."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.metrics import Metrics
from ingress.proxy.contract.deadlines import NEVER, Deadlines
from ingress.proxy.contract.portions import PORTION_SECONDS
from ingress.proxy.transport.open_connections import OpenConnections
from tests.fakes.clocks.busy_clocks import BusyClock

EACH = PORTION_SECONDS / 10
"""How long it takes to end a connection."""


class FakeConnection:
    """A connection that ends when it is told to, if it rests."""

    def __init__(self, connections: OpenConnections, *, rests: bool = True) -> None:
        self._connections = connections
        self.rests = rests
        self.told: list[str] = []
        connections.opened(self, False)

    def drain(self) -> None:
        self.told.append("drain")
        if self.rests:
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


class SlowConnection(FakeConnection):
    """One whose end takes a moment."""

    def __init__(self, clock: BusyClock, connections: OpenConnections) -> None:
        super().__init__(connections)
        self._clock = clock

    def drain(self) -> None:
        self._clock.take(EACH)
        super().drain()

    def abort(self) -> None:
        self._clock.take(EACH)
        super().abort()


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

    def test_drains_twice(self) -> None:
        """Whoever asks for the end while others wait for it waits for the same, and they for no other."""
        busy = FakeConnection(self.part, rests=False)
        asked = [self.part.drain(), self.part.drain(), self.whole.drain()]
        for drained in asked:
            self.assertNoResult(drained)
        busy.end()
        for drained in asked:
            self.successResultOf(drained)
        self.successResultOf(self.part.drain())

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

    def test_leaves(self) -> None:
        """A part without connections that will have none leaves the whole; one that has some does so with the last of them."""
        for _ in range(3):
            self.whole.part().leave()
        mine = FakeConnection(self.part)
        self.part.leave()
        self.assertEqual((len(self.whole._parts), len(self.whole.all)), (1, 1))
        self.successResultOf(self.part.drain())
        self.assertEqual((mine.told, self.whole._parts, len(self.whole.all._parts)), (["drain"], [], 1))
        self.part.leave()


class ManyTests(SynchronousTestCase):
    """Very many connections that are told to end at once."""

    def setUp(self) -> None:
        self.clock = BusyClock()
        self.part = OpenConnections(Deadlines(self.clock), Metrics()).part()
        self.all = [SlowConnection(self.clock, self.part) for _ in range(200)]

    def told(self) -> int:
        """Return how many were told something."""
        return sum(len(each.told) for each in self.all)

    def work(self) -> None:
        """Let all turns pass, and see that none is long."""
        self.assertLessEqual(self.told(), 11)
        self.clock.turns.clear()
        self.clock.advance(0)
        self.assertLess(max(self.clock.turns), PORTION_SECONDS + 2 * EACH)

    def test_drained(self) -> None:
        """They end in as many turns as that takes, those that are busy later, and those that came meanwhile, too."""
        busy = self.all[150]
        busy.rests = False
        drained = self.part.drain()
        gone, carried = self.all[100], self.all[120]
        gone.end()
        late = SlowConnection(self.clock, self.part)
        carrying = SlowConnection(self.clock, self.part)
        self.part.replaced(carried, carrying)
        self.work()
        self.assertEqual((gone.told, carried.told), ([], []))
        self.assertEqual((late.told, carrying.told, busy.told), (["drain"], ["drain"], ["drain"]))
        self.assertEqual(self.told(), 198)
        self.assertNoResult(drained)
        busy.end()
        self.successResultOf(drained)

    def test_cut(self) -> None:
        """Those that a listener leaves behind are cut likewise."""
        self.part.cut()
        gone = self.all[100]
        gone.end()
        self.work()
        self.assertEqual((gone.told, self.told(), len(self.part.all)), ([], 199, 0))

    def test_cut_while_they_are_carried_on(self) -> None:
        """One that another carries on before its turn is cut as that one, be it that this happens again, and again meanwhile."""
        following: list[SlowConnection] = []

        def carry_on(connection: SlowConnection) -> None:
            following.append(SlowConnection(self.clock, self.part))
            self.part.replaced(connection, following[-1])

        self.part.cut()
        for connection in self.all[100:150]:
            carry_on(connection)
        self.clock.callLater(0.015, lambda: carry_on(following[-1]))
        self.work()
        self.assertEqual([each.told for each in following[:-2]], [["abort"]] * 49)
        self.assertEqual([each.told for each in following[-2:]], [[], ["abort"]])
        self.assertEqual(len(self.part.all), 0)

    def test_fault(self) -> None:
        """One that cannot be ended keeps no other from its end, in whichever portion it is, and however they are told."""
        for tell in (self.part.close_resting, self.part.cut, self.part.abort):
            self.all = [SlowConnection(self.clock, self.part) for _ in range(50)]
            for each in (self.all[3], self.all[30]):
                # It takes no bytes any more, as it were.
                each.rests = False
                self.patch(each, "end", self.fail)
                self.patch(each, "drain", self.fail)
            tell()
            self.clock.advance(0)
            self.assertEqual(len(self.flushLoggedErrors(self.failureException)), 2)
            self.assertEqual(len(self.part.all), 2)
            for each in self.all:
                if each in self.part.all:
                    self.part.closed(each, False)

    def test_aborted(self) -> None:
        """At the end of the process nobody waits for anything."""
        self.part.abort()
        self.assertEqual((self.told(), len(self.part.all)), (200, 0))
