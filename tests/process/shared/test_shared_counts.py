"""Counts that workers share: each knows those of the others, and nobody counts for the dead."""

from random import Random

from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from ingress.process.shared.crowding import TELL_SECONDS, Crowding
from ingress.process.shared.limit_memory import LimitMemory
from ingress.process.shared.shared_counts import ROW, SharedCounts, WorkerCounts


class CountsCase(SynchronousTestCase):
    """A test with counts of a few workers."""

    def setUp(self) -> None:
        self.crowded = 0
        self.memory = SharedCounts(3, 256)
        self.workers = [self.worker(number) for number in range(3)]

    def worker(self, number: int) -> WorkerCounts:
        """Return a worker that begins with this number."""
        return WorkerCounts(self.memory, number, self._count)

    def _count(self) -> None:
        self.crowded += 1


class WorkerCountsTests(CountsCase):
    """What workers know of each other."""

    def test_sums(self) -> None:
        """Along random histories each worker knows the sum of what all others have counted, for each key."""
        random = Random(2)
        keys = [random.randrange(-(1 << 63), 1 << 63) for _ in range(60)]
        counted = [dict.fromkeys(keys, 0) for _ in range(3)]
        for _ in range(3000):
            number, key = random.randrange(3), random.choice(keys)
            counted[number][key] = max(0, counted[number][key] + random.choice([-1, 1]))
            self.workers[number].tell(key, counted[number][key])
            expected = sum(counts[key] for counts in counted) - counted[number][key]
            self.assertEqual(self.workers[number].of_others(key), expected)
        self.assertEqual(self.crowded, 0)

    def test_nothing_is_left(self) -> None:
        """Of what is 0 nothing is kept."""
        for number in range(100):
            self.workers[0].tell(number + 1, 1)
            self.workers[0].tell(number + 1, 0)
            self.workers[0].tell(number + 1, 0)
        self.assertEqual(set(self.memory.keys[self.memory.part_bytes // 8 :]) - {0}, set())
        self.assertEqual(self.workers[1].of_others(1), 0)
        self.assertEqual(self.crowded, 0)

    def test_death(self) -> None:
        """What a worker had counted is taken back when it is known to be gone, and when another begins in its place."""
        for take_back in (self.memory.forget, self.worker):
            self.worker(1).tell(7, 5)
            self.workers[2].tell(7, 1)
            self.assertEqual(self.workers[0].of_others(7), 6)
            take_back(1)
            self.assertEqual(self.workers[0].of_others(7), 1)

    def test_no_place(self) -> None:
        """Keys beyond those of a row are told of, and counted when there is a place."""
        keys = [(number << 20) + 1 for number in range(ROW + 1)]
        for key in keys:
            self.workers[0].tell(key, 1)
        self.assertEqual(self.crowded, 1)
        self.assertEqual([self.workers[1].of_others(key) for key in keys], [1] * ROW + [0])
        self.workers[0].tell(keys[0], 0)
        self.workers[0].tell(keys[-1], 2)
        self.assertEqual(self.workers[1].of_others(keys[-1]), 2)


class CrowdingTests(SynchronousTestCase):
    """What is told when there is no place."""

    def test_told(self) -> None:
        """Each time is counted, and a minute has one line of the log."""
        counted: list[tuple[str, str]] = []
        time = [0.0]
        crowding = Crowding(lambda: time[0], lambda *event: counted.append(event))
        with capturedLogs() as logged:
            for seconds in (0.0, 1.0, TELL_SECONDS, TELL_SECONDS + 1):
                time[0] = seconds
                crowding("rate-limit")
        self.assertEqual(counted, [("rate-limit", "crowded")] * 4)
        self.assertEqual(len(logged), 2)

    def test_size(self) -> None:
        """What memory all of it may take is some 43 MiB, and a quarter of one more for each worker."""
        self.assertLess(LimitMemory(2).size, 43 * 1024**2)
        self.assertLess(LimitMemory(18).size - LimitMemory(2).size, 16 * 300 * 1024)
