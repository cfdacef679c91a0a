"""How many connections there may be, and who makes room."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial

from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.series.connections import ConnectionMetrics
from ingress.proxy.contract.deadlines import NEVER, Deadlines
from ingress.proxy.contract.portions import PORTION_SECONDS
from ingress.proxy.transport.accepting import PAUSE_SECONDS, SLOW_SECONDS, AcceptPause
from ingress.proxy.transport.connection_limit import (
    AT_ONCE,
    LEAST_REST_SECONDS,
    PATIENCE_SECONDS,
    SEEN_AT_ONCE,
    ConnectionLimit,
)
from tests.fakes.clocks.busy_clocks import BusyClock
from tests.proxy.playing import GET, OK, ProxyCase

EACH = PORTION_SECONDS / 10
"""How long it takes to close a connection."""


class FakeConnection:
    """A connection, at rest since some time."""

    def __init__(
        self, connection_limit: set[FakeConnection], since: float, is_mute: bool, is_silent: bool
    ) -> None:
        self._connection_limit = connection_limit
        self._since = since
        self.is_mute = is_mute
        self.is_silent = is_silent
        self.closed = False
        self.came = 0.0

    def rests_since(self) -> float:
        return self._since

    def drain(self) -> None:
        self.closed = True
        self._connection_limit.discard(self)

    def abort(self) -> None:
        self.drain()

    def make_way(self) -> None:
        self.drain()


class SlowConnection(FakeConnection):
    """One that takes a moment to be looked at, and to be closed."""

    clock: BusyClock

    def rests_since(self) -> float:
        self.clock.take(EACH / 10)
        return super().rests_since()

    def drain(self) -> None:
        self.clock.take(EACH)
        super().drain()


class CountingSet(set[FakeConnection]):
    """Connections of which it is known how often somebody asked how many they are."""

    asked = 0

    def __len__(self) -> int:
        self.asked += 1
        return super().__len__()


class FakePort:
    """A listener."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def pause(self) -> None:
        self.said.append("pause")

    def resume(self) -> None:
        self.said.append("resume")

    def slow_down(self, is_slow: bool) -> None:
        if is_slow:
            self.said.append("slow")


class ManyConnectionsTests(SynchronousTestCase):
    """Very many connections: who is looked at, and who is closed, in one turn."""

    most = 1600

    def setUp(self) -> None:
        self.clock = BusyClock()
        self.deadlines = Deadlines(self.clock)
        self.connections: set[FakeConnection] = set()
        self.metrics = ConnectionMetrics()
        self.limit = ConnectionLimit(self.connections, self.most, self.deadlines, self.metrics)
        self.port = FakePort()
        self.limit.add_port(self.port)
        self.clock.rightNow = 100.0
        self.deadlines.take_time()
        self.clock.advance(2)

    def come(self, count: int, *, since: float = 10.0, is_silent: bool = False) -> list[SlowConnection]:
        """Have so many connections come, silent, or mute, or at rest *since* then."""
        found = []
        for _ in range(count):
            connection = SlowConnection(self.connections, since, is_mute=is_silent, is_silent=is_silent)
            connection.clock = self.clock
            self.connections.add(connection)
            self.limit.grown(connection)
            found.append(connection)
        return found

    def counted(self, what: str) -> float:
        """Return what the metrics count of something."""
        (found,) = (each for each in self.metrics.families() if each.name.endswith(what))
        return sum(sample.value for sample in found.samples)

    def longest(self, call: Callable[[], object]) -> float:
        """Call, let all turns pass, and return how long the longest one took, that of the call included."""
        self.clock.turns.clear()
        begun = self.clock.seconds()
        call()
        self.clock.turns.append(self.clock.seconds() - begun)
        self.clock.advance(0)
        return max(self.clock.turns)

    def test_near(self) -> None:
        """Near the limit a tick closes as many as there are too many, some in each turn, and those that rest longest."""
        old, young = self.come(300, since=5.0), self.come(1250, since=50.0)
        busy = self.come(20, since=NEVER)
        begun, old[0]._since = old[:1], NEVER
        self.assertLess(self.longest(self.deadlines.tick), PORTION_SECONDS + 2 * EACH)
        self.assertEqual(len(self.connections), 1400)
        self.assertEqual(sum(each.closed for each in old), 170)
        self.assertFalse(any(each.closed for each in (*young, *busy, *begun)))
        self.assertEqual(self.counted("closed_early"), 170)

    def test_end_resting(self) -> None:
        """Where there is no memory all that rest end, some in each turn, but for who asks for something meanwhile."""
        resting = self.come(500)

        def begin() -> None:
            self.limit.end_resting()
            resting[499]._since = NEVER

        self.assertLess(self.longest(begin), PORTION_SECONDS + 2 * EACH)
        self.assertEqual([each.closed for each in resting], [True] * 499 + [False])

    def test_make_way(self) -> None:
        """At the limit few make way in one turn, however many are silent."""
        silent = self.come(self.most - 1, is_silent=True)
        self.clock.rightNow += 1
        before = self.clock.seconds()
        self.come(1, is_silent=True)
        self.assertLess(self.clock.seconds() - before, AT_ONCE * EACH + EACH)
        self.assertEqual(
            [each.closed for each in silent], [True] * AT_ONCE + [False] * (self.most - 1 - AT_ONCE)
        )
        self.assertEqual(self.port.said, [])

    def test_silent_behind_others(self) -> None:
        """Those that said something are looked past, some in each turn, until there are some that are silent; nobody is told before."""
        spoken, silent = self.come(self.most - 11), self.come(10, is_silent=True)
        self.clock.rightNow += 1
        self.come(1)
        self.assertFalse(any(each.closed for each in (*spoken, *silent)))
        self.assertEqual(self.port.said, ["pause"])
        self.clock.advance(0)
        self.assertTrue(all(each.closed for each in silent))
        self.assertFalse(any(each.closed for each in spoken))
        self.assertEqual(self.counted("accept_pauses"), 0)

    def test_mute_behind_others(self) -> None:
        """Those that asked for something meanwhile are looked past, few in one turn, until there are some that did not."""
        spoken, mute = self.come(self.most - 11), self.come(10)
        for each in (*spoken, *mute):
            each.is_mute = True
        self.clock.rightNow += 1
        self.come(1, since=NEVER)
        self.clock.advance(0)
        self.assertFalse(any(each.closed for each in (*spoken, *mute)))
        for each in spoken:
            each.is_mute = False
        looks: list[str] = []

        def look_at(connection: FakeConnection, name: str) -> object:
            if name == "is_mute":
                looks.append(name)
            return object.__getattribute__(connection, name)

        most: list[int] = []
        later = self.clock.callLater

        def call_later(seconds: float, call: Callable[[], None], *arguments: object) -> IDelayedCall:
            most.append(len(looks))
            looks.clear()
            return later(seconds, call, *arguments)

        self.patch(self.clock, "callLater", call_later)
        self.patch(SlowConnection, "__getattribute__", look_at)
        self.clock.advance(LEAST_REST_SECONDS)
        self.clock.advance(0)
        self.assertTrue(all(each.closed for each in mute))
        self.assertFalse(any(each.closed for each in spoken))
        self.assertLessEqual(max(*most, len(looks)), SEEN_AT_ONCE)

    def test_nobody_makes_way(self) -> None:
        """Where nobody can it is told once, when all were looked at."""
        self.come(self.most - 1)
        self.clock.rightNow += 1
        self.come(1)
        self.assertEqual(self.counted("accept_pauses"), 0)
        self.clock.advance(0)
        self.clock.advance(PATIENCE_SECONDS)
        self.clock.advance(PATIENCE_SECONDS)
        self.assertEqual(self.counted("accept_pauses"), 1)


class ConnectionLimitTests(SynchronousTestCase):
    """At most 32 connections; near is from 30 on, roomy is 28."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.clock.advance(1000.0)
        self.deadlines = Deadlines(self.clock)
        self.deadlines.start()
        self.addCleanup(self.deadlines.stop)
        self.connections = CountingSet()
        self.metrics = ConnectionMetrics()
        self.connection_limit = ConnectionLimit(self.connections, 32, self.deadlines, self.metrics)
        self.ports = [FakePort(), FakePort()]
        for port in self.ports:
            self.connection_limit.add_port(port)

    def come(
        self, count: int, since: float, is_mute: bool = True, is_silent: bool = False
    ) -> list[FakeConnection]:
        """Let *count* connections come, at rest since so many seconds ago."""
        now = self.clock.seconds()
        come = [FakeConnection(self.connections, now - since, is_mute, is_silent) for _ in range(count)]
        for each in come:
            each.came = now
            self.connections.add(each)
            self.connection_limit.grown(each)
        return come

    def leave(self, *gone: FakeConnection) -> None:
        """Tell of the ends of these."""
        for each in gone:
            self.connection_limit.shrunk(each)

    def test_roomy(self) -> None:
        """While there is room nobody is closed, however long they rest."""
        come = self.come(29, 70)
        self.clock.pump([1] * 5)
        self.assertFalse(any(each.closed for each in come))
        self.assertEqual(self.ports[0].said, [])

    def test_room_beside(self) -> None:
        """Another request of a busy client has room while fewer than 56 sockets are taken, by clients that are there now."""
        has_room = self.connection_limit.has_room_beside
        come = self.come(20, -NEVER)
        for _ in range(2):
            self.assertEqual((has_room(35), has_room(36)), (True, False))
            come[-1].drain()
            self.leave(come.pop())
            self.assertEqual((has_room(35), has_room(36), has_room(37)), (True, True, False))
            come += self.come(1, -NEVER)

    def test_room_is_known(self) -> None:
        """As long as nobody came since, no request has connections counted to know that there is room."""
        come = self.come(20, -NEVER)
        for one in come[:5]:
            one.drain()
            self.leave(one)
        before = self.connections.asked
        for _ in range(10):
            self.assertTrue(self.connection_limit.has_room_beside(30))
        self.assertEqual(self.connections.asked, before)

    def test_each_port_is_first(self) -> None:
        """Where one listener's clients take every place that is free, another listener has the first turn the next time."""
        resumed: list[int] = []
        ports = [FakePort() for _ in range(3)]
        for number, port in enumerate(ports):
            self.patch(port, "resume", partial(resumed.append, number))
            self.connection_limit.add_port(port)
        for _ in range(5):
            (one,) = self.come(32 - len(self.connections), -NEVER, is_mute=False)[:1]
            one.drain()
            self.leave(one)
        self.assertEqual(len(resumed), 15)
        firsts = [resumed[at] for at in range(0, 15, 3)]
        self.assertEqual({firsts.count(number) for number in range(3)} - {1, 2, 3}, set())

    def test_more_are_allowed(self) -> None:
        """With a higher limit accepting goes on at once, and nobody is closed any more."""
        self.come(32, -NEVER, is_mute=False)
        self.assertEqual([port.said for port in self.ports], [["pause"]] * 2)
        self.connection_limit.allow(64)
        self.assertEqual([port.said for port in self.ports], [["pause", "resume"]] * 2)
        resting = self.come(20, 50, is_mute=False)
        self.clock.pump([1] * 5)
        self.assertFalse(any(each.closed for each in resting))
        self.come(12, -NEVER)
        self.assertEqual(self.ports[0].said, ["pause", "resume", "pause"])

    def test_fewer_are_allowed(self) -> None:
        """With a lower limit nothing is accepted until enough have ended, those at rest first, and none that is busy."""
        busy, resting = self.come(10, -NEVER), self.come(10, 50, is_mute=False)
        self.connection_limit.allow(16)
        self.assertEqual(self.ports[0].said, ["pause"])
        self.clock.advance(1)
        self.assertEqual(sum(each.closed for each in resting), 6)
        self.assertFalse(any(each.closed for each in busy))
        self.leave(*(each for each in resting if each.closed))
        self.assertEqual(self.ports[0].said, ["pause", "resume"])

    def test_held(self) -> None:
        """While newcomers are held off nothing is accepted, whatever the number; each reason by itself is enough."""
        self.connection_limit.hold(True)
        self.connection_limit.hold(True)
        come = self.come(32, -NEVER, is_mute=False)
        late = FakePort()
        self.connection_limit.add_port(late)
        self.connections.discard(come[0])
        self.leave(come[0])
        self.assertEqual((self.ports[0].said, late.said), (["pause", "pause"], ["pause"]))
        self.connection_limit.hold(False)
        self.assertEqual((self.ports[0].said[-1], late.said), ("resume", ["pause", "resume"]))

    def test_held_at_the_limit(self) -> None:
        """Who is held off no more still waits for a place."""
        self.connection_limit.hold(True)
        self.come(32, -NEVER, is_mute=False)
        self.connection_limit.hold(False)
        self.assertNotIn("resume", self.ports[0].said)

    def test_slow(self) -> None:
        """All listeners are slowed down, also those that come later."""
        self.connection_limit.slow_down(True)
        late = FakePort()
        self.connection_limit.add_port(late)
        self.assertEqual([port.said for port in (*self.ports, late)], [["slow"]] * 3)

    def test_end_resting(self) -> None:
        """All that rest are ended where there is no memory, but for those that came or were answered a moment ago."""
        busy, resting, new = self.come(2, -NEVER), self.come(3, 50, is_mute=False), self.come(2, 0)
        self.connection_limit.end_resting()
        self.assertTrue(all(each.closed for each in resting))
        self.assertFalse(any(each.closed for each in (*busy, *new)))

    def test_near(self) -> None:
        """Near the limit those are closed that rest longest, and no more than is needed."""
        busy, old = self.come(20, -NEVER), self.come(6, 50)
        new = self.come(4, 5)
        self.clock.advance(1)
        self.assertEqual(sum(each.closed for each in old), 2)
        self.assertFalse(any(each.closed for each in (*busy, *new)))
        self.assertEqual(len(self.connections), 28)

    def test_mute(self) -> None:
        """Those that never said a word go before those that rest longer, but have asked for something."""
        asked, mute = self.come(20, 50, is_mute=False), self.come(10, 5)
        self.clock.advance(1)
        self.assertEqual(sum(each.closed for each in mute), 2)
        self.assertFalse(any(each.closed for each in asked))

    def test_newcomers_are_spared(self) -> None:
        """Who was accepted a moment ago is given time to say something."""
        come = self.come(31, -0.5)
        self.clock.pump([1, 1])
        self.assertFalse(any(each.closed for each in come))
        self.clock.advance(1)
        self.assertEqual(sum(each.closed for each in come), 3)

    def test_limit(self) -> None:
        """At the limit all listeners pause, and resume as soon as there is room for one; the log says so once."""
        come = self.come(32, -NEVER)
        self.assertEqual([port.said for port in self.ports], [["pause"]] * 2)
        late = FakePort()
        self.connection_limit.add_port(late)
        self.assertEqual(late.said, ["pause"])
        for _ in range(3):
            gone = come.pop()
            gone.drain()
            self.leave(gone)
            self.come(1, -NEVER)
        self.assertEqual(self.ports[0].said, ["pause", "resume"] * 3 + ["pause"])
        self.assertIn("paused", repr(self.connection_limit))
        pauses = {family.name: family.samples[0].value for family in self.metrics.families()}
        self.assertEqual(pauses["ingress_accept_pauses"], 4)

    def test_silent_make_way(self) -> None:
        """At the limit the oldest silent ones make way at once, and listeners do not pause."""
        silent = self.come(31, 0, is_silent=True)
        self.clock.advance(0.2)
        self.come(1, 0, is_silent=True)
        self.assertEqual([each.closed for each in silent], [True] * 2 + [False] * 29)
        self.assertEqual(self.ports[0].said, [])

    def test_patience(self) -> None:
        """However many come one after the other, each has a moment to say something; then it makes way."""
        come: list[FakeConnection] = []
        for _ in range(500):
            self.clock.advance(0.001)
            while self.connection_limit.is_paused:
                self.clock.advance(0.001)
                self.leave(*[each for each in come if each.closed])
            come += self.come(1, 0, is_silent=True)
            self.assertLessEqual(len(self.connections), 32)
            now = self.clock.seconds()
            self.assertFalse(any(each.closed for each in come if now - each.came < 0.09))
        self.assertGreater(sum(each.closed for each in come), 460)
        self.assertLess(self.clock.seconds(), 1000 + 500 / 32 * 2 * PATIENCE_SECONDS)

    def test_gone_later(self) -> None:
        """Until those who make way are gone, nothing is accepted; then it goes on."""
        silent = self.come(31, 0, is_silent=True)
        self.clock.advance(0.2)
        for each in silent:
            each.drain = lambda: None  # type: ignore[method-assign]
        self.come(1, 0, is_silent=True)
        self.assertEqual(self.ports[0].said, ["pause"])
        self.connections.discard(silent[0])
        self.leave(silent[0])
        self.assertEqual(self.ports[0].said, ["pause", "resume"])
        self.assertEqual(self.clock.calls, [call for call in self.clock.calls if call.getTime() >= 1001])

    def test_last_place(self) -> None:
        """Whoever takes the last place has a moment to say something, and makes way if it does not."""
        busy = self.come(31, -NEVER, is_mute=False)
        (last,) = self.come(1, 0, is_silent=True)
        self.assertEqual(self.ports[0].said, ["pause"])
        self.clock.advance(PATIENCE_SECONDS / 2)
        self.assertFalse(last.closed)
        self.clock.advance(PATIENCE_SECONDS)
        self.assertTrue(last.closed)
        self.leave(last)
        self.assertEqual(self.ports[0].said, ["pause", "resume"])
        self.assertFalse(any(each.closed for each in busy))

    def test_half_said(self) -> None:
        """Those that began to say something make way when the silent are gone, once they had two seconds."""
        begun = self.come(16, -NEVER)
        silent = self.come(14, 0, is_silent=True)
        self.clock.advance(0.2)
        self.come(2, -NEVER)
        self.assertEqual(sum(each.closed for each in silent), 2)
        for each in silent:
            self.connections.discard(each)
        self.leave(*silent)
        self.come(14, -NEVER)
        self.assertEqual(self.ports[0].said, ["pause"])
        self.assertFalse(any(each.closed for each in begun))
        self.clock.pump([0.1] * 16)
        self.assertFalse(any(each.closed for each in begun))
        self.clock.pump([0.1] * 3)
        self.assertTrue(all(each.closed for each in begun[:2]))
        self.assertFalse(any(each.closed for each in begun[6:]))

    def test_busy_stay(self) -> None:
        """Whoever has asked for something is never closed for others that way, whatever it does now."""
        asked = self.come(32, -NEVER, is_mute=False)
        self.clock.pump([1] * 5)
        self.assertFalse(any(each.closed for each in asked))

    def test_carried_on(self) -> None:
        """A connection that another one carries on keeps its age, and is silent no more."""
        first = self.come(1, -NEVER, is_silent=True)[0]
        self.connections.discard(first)
        session = FakeConnection(self.connections, -NEVER, True, False)
        self.connections.add(session)
        self.connection_limit.replaced(first, session)
        self.clock.pump([1, 1, 1])
        self.come(31, -NEVER, is_mute=False)
        self.assertTrue(session.closed)


class RestTests(SynchronousTestCase):
    """Why a listener rests, and until when."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.watched: list[bool] = []
        self.rest = AcceptPause(self.watched.append, self.clock.callLater)

    def test_shortage(self) -> None:
        """Without a descriptor it rests for a second, again and again, and says so once."""
        problem = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        for _ in range(3):
            self.assertTrue(self.rest.is_shortage(problem))
            self.assertTrue(self.rest.is_on)
            self.clock.advance(PAUSE_SECONDS)
            self.assertFalse(self.rest.is_on)
        self.assertEqual(self.watched, [False, True] * 3)
        self.rest.accepted()

    def test_other_problems(self) -> None:
        """A peer that gave up is no reason to rest."""
        self.assertFalse(self.rest.is_shortage(ConnectionAbortedError(errno.ECONNABORTED, "aborted")))
        self.assertEqual(self.watched, [])

    def test_slow(self) -> None:
        """A listener that is slowed down accepts one, and rests for a moment."""
        self.rest.is_slow = True
        self.rest.accepted()
        self.assertTrue(self.rest.is_on)
        self.clock.advance(SLOW_SECONDS)
        self.assertFalse(self.rest.is_on)
        self.rest.is_slow = False
        self.rest.accepted()
        self.assertEqual(self.watched, [False, True])

    def test_both_reasons(self) -> None:
        """It goes on when there is no reason left."""
        self.rest.pause()
        self.rest.is_shortage(OSError(errno.ENFILE, "too many"))
        self.rest.resume()
        self.assertTrue(self.rest.is_on)
        self.clock.advance(PAUSE_SECONDS)
        self.assertEqual(self.watched, [False, True])


class SilenceTests(ProxyCase):
    """Connections that say nothing, with real channels."""

    def test_others_are_served(self) -> None:
        """Silent connections make room for those who have something to say, at once, and nobody else does."""
        site = self.stage.site
        site.connections.limit = ConnectionLimit(
            site.connections.all, 16, self.stage.deadlines, self.metrics.connections
        )
        kept = self.stage.open()
        kept.say(GET)
        self.upstream().say(OK)
        busy = self.stage.open()
        busy.say(GET)
        silent = [self.stage.open() for _ in range(13)]
        self.reactor.advance(0.2)
        silent.append(self.stage.open())
        self.assertFalse(site.connections.limit.is_paused)
        self.assertEqual([each.closed for each in silent], [True] + [False] * 13)
        begun = [self.stage.open() for _ in range(3)]
        for each in begun:
            each.say(GET[:20])
        for _ in range(100):
            self.reactor.advance(0.015)
            silent.append(self.stage.open())
        self.assertFalse(site.connections.limit.is_paused)
        self.assertLessEqual(sum(not each.closed for each in silent), 11)
        self.assertFalse(any(each.closed for each in (kept, busy, *begun)))
        newcomer = self.stage.open()
        newcomer.say(GET.replace(b"shop", b"none"))
        self.assert_status(newcomer.received, 404)
        self.assertEqual(self.metrics.value("ingress_downstream_connections_closed_early_total"), 105)
        self.assertEqual(self.metrics.value("ingress_accept_pauses_total"), 0)
        self.upstream().say(OK)
        self.assert_status(busy.received, 200)
        self.reactor.pass_time(20)
        self.assertTrue(all(each.closed for each in (*silent, *begun)))

    def test_half_said(self) -> None:
        """Heads that were begun make room when there is nobody else, once they had two seconds."""
        site = self.stage.site
        site.connections.limit = ConnectionLimit(
            site.connections.all, 16, self.stage.deadlines, self.metrics.connections
        )
        begun = []
        for _ in range(16):
            begun.append(self.stage.open())
            begun[-1].say(GET[:20])
        self.assertTrue(site.connections.limit.is_paused)
        self.reactor.pass_time(3)
        self.assertFalse(site.connections.limit.is_paused)
        self.assertEqual([each.closed for each in begun], [True] + [False] * 15)
        newcomer = self.stage.open()
        newcomer.say(GET.replace(b"shop", b"none"))
        self.assert_status(newcomer.received, 404)
