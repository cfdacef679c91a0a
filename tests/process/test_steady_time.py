"""The reactor's time goes by a clock that nobody sets."""

from __future__ import annotations

from time import monotonic

from twisted.internet.selectreactor import SelectReactor
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.process.steady_time import keep_steady_time


class KeepSteadyTimeTests(SynchronousTestCase):
    """``keep_steady_time``."""

    def setUp(self) -> None:
        self.reactor = SelectReactor()
        self.addCleanup(self.reactor.removeAll)
        self.called: list[str] = []

    def test_time(self) -> None:
        """The reactor and what it calls later go by the monotonic clock."""
        keep_steady_time(self.reactor)
        self.assertIs(self.reactor.seconds, monotonic)
        call = self.reactor.callLater(60, self.called.append, "late")
        self.assertTrue(0 < call.getTime() - monotonic() <= 60)
        call.reset(120)
        self.assertTrue(60 < call.getTime() - monotonic() <= 120)
        call.cancel()

    def test_scheduled_before(self) -> None:
        """What was scheduled by the other clock keeps its distance, and what was canceled stands in nobody's way."""
        canceled = self.reactor.callLater(30, self.called.append, "canceled")
        old = self.reactor.callLater(60, self.called.append, "old")
        # Both are sorted in by now, and the next one is not yet.
        self.reactor.timeout()
        newer = self.reactor.callLater(90, self.called.append, "newer")
        canceled.cancel()
        keep_steady_time(self.reactor)
        self.assertTrue(50 < old.getTime() - monotonic() <= 60)
        self.assertTrue(80 < newer.getTime() - monotonic() <= 90)
        self.reactor.callLater(0, self.called.append, "now")
        self.reactor.runUntilCurrent()
        self.assertEqual(self.called, ["now"])
        old.cancel()
        newer.cancel()

    def test_other_reactors(self) -> None:
        """A reactor of another make is left alone, and the log says so."""
        clock = Clock()
        with capturedLogs() as events:
            keep_steady_time(clock)
        self.assertEqual(clock.seconds(), 0)
        self.assertIn("Clock is none of Twisted's reactors", formatEvent(events[0]) or "")
