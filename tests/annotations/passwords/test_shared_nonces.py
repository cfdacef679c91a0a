"""Nonces that workers share: no request is good twice, whichever of them is asked."""

from random import Random

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.passwords.shared_nonces import WINDOW, SharedNonces
from ingress.process.shared.shared_table import ROW, SharedTable
from tests.fakes.filter_parts import FakeClock

LASTING = 300_000


class SharedNoncesTests(SynchronousTestCase):
    """What is new."""

    def setUp(self) -> None:
        self.clock = FakeClock()
        self.table = SharedTable((9,))
        self.crowded = 0
        self.workers = [
            SharedNonces(self.table, self.clock, b"secret", LASTING, self._count) for _ in range(2)
        ]

    def _count(self) -> None:
        self.crowded += 1

    def now(self) -> int:
        """Return the time in milliseconds."""
        return int(self.clock.seconds() * 1000)

    def test_once(self) -> None:
        """Along random histories a count is let in once by all workers together, and all that are not far behind are."""
        random = Random(4)
        for nonce in range(40):
            came: set[int] = set()
            self.clock.clock.advance(0.01)
            made, highest = self.now(), 0
            for _ in range(300):
                count = max(1, min(4096, highest + random.randrange(-60, 12)))
                expected = count not in came and count > highest - WINDOW
                is_new = random.choice(self.workers).is_new(b"%d" % nonce, made, count)
                self.assertEqual(is_new, expected, (nonce, count, highest))
                if is_new:
                    came.add(count)
                    highest = max(highest, count)

    def test_given_up(self) -> None:
        """When there are more nonces than places, those without a place are good no more, and new ones are."""
        nonces = [b"%d" % number for number in range(600)]
        for nonce in nonces:
            self.clock.clock.advance(0.002)
            self.assertTrue(self.workers[0].is_new(nonce, self.now(), 1))
        self.assertGreater(self.crowded, 80)
        self.assertFalse(any(self.workers[1].is_new(nonce, self.now() - 2000, 1) for nonce in nonces))
        self.clock.clock.advance(0.002)
        self.assertTrue(self.workers[1].is_new(b"later", self.now(), 1))

    def test_places_return(self) -> None:
        """A nonce that is too old gives its place back."""
        # Where nonces lie is another thing in each process: no more of them are good at a time than a row of the table has places.
        for number in range(3000):
            self.clock.clock.advance(LASTING / 1000 / (ROW - 1))
            self.assertTrue(self.workers[0].is_new(b"%d" % number, self.now(), 1))
        self.assertEqual(self.crowded, 0)
