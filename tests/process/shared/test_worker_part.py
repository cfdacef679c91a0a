"""What is one worker's part of a limit of all."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.process.shared.worker_part import WorkerPart


def parts(count: int) -> list[WorkerPart]:
    """Return those of *count* workers."""
    return [WorkerPart(number, count) for number in range(count)]


class WorkerPartTests(SynchronousTestCase):
    """How limits are divided."""

    def test_alone(self) -> None:
        """A process that serves by itself has all of a limit."""
        self.assertEqual([WorkerPart().of(most) for most in (1, 7, 8000)], [1, 7, 8000])
        self.assertEqual([WorkerPart().rounded_up(most) for most in (0, 1, 8000)], [0, 1, 8000])

    def test_whole(self) -> None:
        """All parts together are the limit, and none is larger than another by more than one."""
        for count in range(1, 9):
            for most in (count, 10, 63, 64, 8000):
                found = [part.of(most) for part in parts(count)]
                self.assertEqual(sum(found), most)
                self.assertLessEqual(max(found) - min(found), 1)

    def test_at_least_one(self) -> None:
        """A worker that could have none of it has one all the same: it has to serve."""
        self.assertEqual([part.of(2) for part in parts(4)], [1, 1, 1, 1])

    def test_rounded_up(self) -> None:
        """Rounded up all have the same, which is up to one for each worker but one too many; 0 stays no limit."""
        self.assertEqual([part.rounded_up(10) for part in parts(4)], [3, 3, 3, 3])
        self.assertEqual([part.rounded_up(1) for part in parts(4)], [1, 1, 1, 1])
        self.assertEqual([part.rounded_up(0) for part in parts(4)], [0, 0, 0, 0])

    def test_secret(self) -> None:
        """Who makes a part makes a secret, which no text of it shows; workers are handed one and the same."""
        one = WorkerPart()
        self.assertEqual(len(one.secret), 32)
        self.assertNotEqual(one.secret, WorkerPart().secret)
        self.assertEqual(WorkerPart(1, 2, one.secret).secret, one.secret)
        self.assertNotIn(repr(one.secret), repr(one))
