"""Tests for ``ingress.proxy.upstream.named_connections``."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.contract.limits import NAMED_SECONDS
from ingress.proxy.contract.portions import PORTION_SECONDS
from ingress.proxy.upstream.named_connections import NamedConnections
from tests.fakes.clocks.busy_clocks import BusyClock

EACH = PORTION_SECONDS / 10
"""How long it takes to close a connection."""


class NamedConnectionsTests(SynchronousTestCase):
    """Many connections to names, made at the same time."""

    def setUp(self) -> None:
        self.clock = BusyClock()
        self.deadlines = Deadlines(self.clock)
        self.deadlines.start()
        self.addCleanup(self.deadlines.stop)
        self.retired: list[int] = []
        self.named: NamedConnections[int] = NamedConnections(self.deadlines, self.retire)
        for connection in range(320):
            self.named.add(connection)

    def retire(self, connection: int) -> None:
        """Take a moment to close one of two, of which the other is busy."""
        self.clock.take(EACH)
        self.retired.append(connection)
        if connection % 2:
            self.named.remove(connection)

    def test_retired(self) -> None:
        """They are retired in as many turns as that takes, each once; those that stay are told again, a time later."""
        self.clock.pump([1] * (int(NAMED_SECONDS) - 1))
        self.assertEqual(self.retired, [])
        self.clock.turns.clear()
        self.clock.advance(1)
        self.assertEqual(self.retired, list(range(320)))
        self.assertLess(max(self.clock.turns), 2 * PORTION_SECONDS)
        self.clock.pump([1] * (int(NAMED_SECONDS) - 1))
        self.assertEqual(len(self.retired), 320)
        self.clock.advance(1)
        self.assertEqual(self.retired[320:], list(range(0, 320, 2)))

    def test_gone_meanwhile(self) -> None:
        """One that ends before its turn is not told, and nobody is told twice where another tick comes first."""
        self.clock.pump([1] * (int(NAMED_SECONDS) - 1))
        self.clock.rightNow += 1
        self.deadlines.tick()
        self.assertLess(len(self.retired), 12)
        self.named.remove(300)
        self.clock.rightNow += 1
        self.deadlines.tick()
        self.clock.advance(0)
        self.assertEqual(sorted(self.retired), [each for each in range(320) if each != 300])
