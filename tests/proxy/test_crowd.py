"""How many connections there may be, and who makes room."""

from __future__ import annotations

import errno
import os

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.connections import ConnectionMetrics
from ingress.proxy.accepting import PAUSE_SECONDS, Rest
from ingress.proxy.crowd import Crowd
from ingress.proxy.sweep import NEVER, Sweep
from tests.proxy.playing import GET, OK, ProxyCase


class FakeConnection:
    """A connection, at rest since some time."""

    def __init__(self, crowd: set[FakeConnection], since: float, is_mute: bool) -> None:
        self._crowd = crowd
        self._since = since
        self.is_mute = is_mute
        self.closed = False

    def rests_since(self) -> float:
        return self._since

    def drain(self) -> None:
        self.closed = True
        self._crowd.discard(self)

    def abort(self) -> None:
        self.drain()


class FakePort:
    """A listener."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def pause(self) -> None:
        self.said.append("pause")

    def resume(self) -> None:
        self.said.append("resume")


class CrowdTests(SynchronousTestCase):
    """At most 32 connections; near is from 30 on, roomy is 28."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.clock.advance(1000.0)
        self.sweep = Sweep(self.clock)
        self.sweep.start()
        self.addCleanup(self.sweep.stop)
        self.connections: set[FakeConnection] = set()
        self.metrics = ConnectionMetrics()
        self.crowd = Crowd(self.connections, 32, self.sweep, self.metrics)  # type: ignore[arg-type]
        self.ports = [FakePort(), FakePort()]
        for port in self.ports:
            self.crowd.add_port(port)

    def come(self, count: int, since: float, is_mute: bool = True) -> list[FakeConnection]:
        """Let *count* connections come, at rest since so many seconds ago."""
        come = [FakeConnection(self.connections, 1000.0 - since, is_mute) for _ in range(count)]
        for each in come:
            self.connections.add(each)
            self.crowd.grown()
        return come

    def test_roomy(self) -> None:
        """While there is room nobody is closed, however long they rest."""
        come = self.come(29, 70)
        self.clock.pump([1] * 5)
        self.assertFalse(any(each.closed for each in come))
        self.assertEqual(self.ports[0].said, [])

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
        self.crowd.add_port(late)
        self.assertEqual(late.said, ["pause"])
        for _ in range(3):
            come.pop().drain()
            self.crowd.shrunk()
            self.come(1, -NEVER)
        self.assertEqual(self.ports[0].said, ["pause", "resume"] * 3 + ["pause"])
        self.assertIn("paused", repr(self.crowd))
        pauses = {family.name: family.samples[0].value for family in self.metrics.families()}
        self.assertEqual(pauses["ingress_accept_pauses"], 4)


class RestTests(SynchronousTestCase):
    """Why a listener rests, and until when."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.watched: list[bool] = []
        self.rest = Rest(self.watched.append, self.clock.callLater)

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
        """Silent connections make room for those who have something to say, before their time is over."""
        site = self.stage.site
        site.crowd = Crowd(site._channels, 16, self.stage.sweep, self.metrics.connections)
        kept = self.stage.open()
        kept.say(GET)
        self.upstream().say(OK)
        busy = self.stage.open()
        busy.say(GET)
        silent = [self.stage.open() for _ in range(14)]
        self.assertTrue(site.crowd.is_paused)
        self.reactor.pass_time(3)
        self.assertFalse(site.crowd.is_paused)
        self.assertEqual(sum(each.closed for each in silent), 2)
        self.assertFalse(kept.closed)
        self.assertFalse(busy.closed)
        self.assertEqual(self.metrics.value("ingress_downstream_connections_closed_early_total"), 2)
        self.reactor.pass_time(8)
        self.assertTrue(all(each.closed for each in silent))
