"""Tests for ``ingress.process.garbage_collection``."""

import gc

from twisted.trial.unittest import SynchronousTestCase

from ingress.process.garbage_collection import CollectorTurns


class CollectorTurnsTests(SynchronousTestCase):
    """When the collector has its turn."""

    def setUp(self) -> None:
        self.collected: list[int] = []
        self.patch(gc, "collect", self.collected.append)

    def test_after_so_much_work(self) -> None:
        """The collector has a turn after so many steps, looks at what came lately, and waits for as many again."""
        turns = CollectorTurns(3)
        taken = []
        for _ in range(8):
            taken.append(turns.take())
            turns.made += 1
        self.assertEqual(taken, [False, False, False, True, False, False, True, False])
        self.assertEqual(self.collected, [1, 1])

    def test_portions(self) -> None:
        """Work in portions brings one turn, however large they are."""
        turns = CollectorTurns(3)
        turns.made += 100
        self.assertEqual([turns.take(), turns.take()], [True, False])
