"""Tests for ``ingress.process.yielding``."""

import os
import select
from threading import Event, Thread

from twisted.trial.unittest import SynchronousTestCase

from ingress.process.yielding import MAX_RESTS, REST_SECONDS, YieldToTraffic

PATIENCE_SECONDS = 60.0


class RightOfWayTests(SynchronousTestCase):
    """Who decodes lets the traffic pass."""

    def setUp(self) -> None:
        self.rests: list[float] = []
        self.yielding = YieldToTraffic(self.rest)
        self.passes_after = 0
        self.reading, self.writing = os.pipe()
        self.addCleanup(os.close, self.reading)
        self.addCleanup(os.close, self.writing)

    def rest(self, seconds: float) -> None:
        """Note a rest; after enough of them, the traffic has passed."""
        self.rests.append(seconds)
        if len(self.rests) == self.passes_after:
            self.yielding.is_serving = False
            if select.select([self.reading], [], [], 0)[0]:
                os.read(self.reading, 1)

    def decode(self) -> None:
        """Do what a thread does for each object."""
        with self.yielding:
            pass

    def test_free(self) -> None:
        """Without traffic nobody rests."""
        self.decode()
        self.yielding.follow(self.reading)
        self.decode()
        self.assertEqual(self.rests, [])

    def test_serving(self) -> None:
        """While the data path works, the thread rests, and goes on when it is done."""
        self.yielding.is_serving = True
        self.passes_after = 3
        self.decode()
        self.assertEqual(self.rests, [REST_SECONDS] * 3)

    def test_waiting(self) -> None:
        """A request that nobody has looked at yet goes first, too."""
        self.yielding.follow(self.reading)
        os.write(self.writing, b"x")
        self.passes_after = 2
        self.decode()
        self.assertEqual(len(self.rests), 2)

    def test_not_for_ever(self) -> None:
        """Beside traffic that never ends, each object gets its turn after a bounded number of rests."""
        self.yielding.is_serving = True
        self.decode()
        self.decode()
        self.assertEqual(len(self.rests), 2 * MAX_RESTS)

    def test_nothing_followed(self) -> None:
        """A data path that has left is waited for no more."""
        self.yielding.follow(self.reading)
        os.write(self.writing, b"x")
        self.yielding.leave()
        self.decode()
        self.assertEqual(self.rests, [])

    def test_one_at_a_time(self) -> None:
        """Two threads never decode at once, and an error in one lets the other go on."""
        entered = Event()

        def other() -> None:
            with self.yielding:
                entered.set()

        thread = Thread(target=other)
        with self.assertRaises(ValueError), self.yielding:
            thread.start()
            self.assertFalse(entered.wait(0.05))
            raise ValueError
        thread.join(PATIENCE_SECONDS)
        self.assertTrue(entered.is_set())
