"""What each backend of each Ingress does at the moment."""

from collections import deque
from collections.abc import Sequence

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.live.route_numbers import AT_ONCE, MOST_TOLD, NOTHING, AllRoutes, RouteNumbers
from tests.live.rows import READ, FakeRow


class AllRoutesTests(SynchronousTestCase):
    """What is told, of which rows, and when."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.rows: Sequence[FakeRow] = [FakeRow(f"shop/web/{number}") for number in range(3)]
        self.routes = AllRoutes(lambda: self.rows, READ)
        self.rows[0].count(1_000_000, 1_000)
        self.look(0.0)

    def look(self, seconds: float = 1.0) -> dict[str, RouteNumbers]:
        """Look at all rows after *seconds*, and return what there is to tell."""
        self.clock.advance(seconds)
        for _ in self.routes.look(self.clock.seconds):
            pass
        return self.routes.told()

    def test_quiet(self) -> None:
        """Of rows that nothing happens to nothing is told, whatever happened before somebody looked."""
        self.assertEqual(self.look(), {})

    def test_busy(self) -> None:
        """A row tells its requests a second, the failing share and the time that 99 of 100 took at most."""
        self.rows[1].count(99, 0, 0)
        self.rows[1].count(1, 1, 3)
        told = self.look()
        self.assertEqual(list(told), ["shop/web/1"])
        self.assertEqual(told["shop/web/1"], RouteNumbers(100.0, 0.01, 0.001))

    def test_one_failure(self) -> None:
        """A single failure on a quiet route is seen, and so for half a minute at least."""
        self.rows[2].count(1, 1)
        self.assertEqual(self.look()["shop/web/2"].failing, 1.0)
        for _ in range(29):
            for numbers in self.look().values():
                self.assertEqual(numbers.failing, 1.0)

    def test_rest(self) -> None:
        """A row at rest is told once more, as nothing, and then no longer."""
        self.rows[1].count(10)
        told = [self.look() for _ in range(120)]
        tellings = [numbers["shop/web/1"] for numbers in told if numbers]
        self.assertEqual(tellings[-1], NOTHING)
        self.assertNotIn(NOTHING, tellings[:-1])
        self.assertFalse(any(told[75:]))
        self.assertEqual(list(self.routes.all()), [])

    def test_told_again(self) -> None:
        """What is as it was is not told again."""
        for _ in range(60):
            self.rows[1].count(10)
            self.look()
        self.rows[1].count(10)
        self.assertEqual(self.look(), {})
        self.assertEqual([list(some) for some in self.routes.all()], [["shop/web/1"]])

    def test_bounded(self) -> None:
        """However many rows are busy, few are told of at a time, failing ones first; none is forgotten."""
        self.rows = [FakeRow(f"shop/web/{number}") for number in range(3 * MOST_TOLD)]
        self.look()
        for number, row in enumerate(self.rows):
            row.count(5, number % 10 == 0)
        first = self.look()
        self.assertEqual(len(first), MOST_TOLD)
        self.assertEqual(sum(numbers.failing > 0 for numbers in first.values()), len(self.rows) // 10)
        told = {*first, *self.look(0.0), *self.look(0.0)}
        self.assertEqual(len(told), len(self.rows))
        self.assertEqual([len(some) for some in self.routes.all()], [MOST_TOLD] * 3)

    def test_steps(self) -> None:
        """A step looks at few rows, and none is looked at twice."""
        self.rows = [FakeRow(f"shop/web/{number}") for number in range(5 * AT_ONCE + 1)]
        self.look()
        before = [row.looks for row in self.rows]
        steps = self.routes.look(self.clock.seconds)
        next(steps)
        self.assertEqual(sum(row.looks for row in self.rows) - sum(before), AT_ONCE)
        self.assertEqual(len(list(steps)), 5)
        self.assertEqual({row.looks - looks for row, looks in zip(self.rows, before, strict=True)}, {1})

    def test_rows_that_go(self) -> None:
        """Rows keep what is known of them in other places, and one that went is told no more."""
        self.rows[0].count(50)
        self.rows[2].count(50)
        self.look()
        self.rows = [self.rows[2], FakeRow("shop/web/3")]
        told = self.look()
        self.assertEqual(list(told), ["shop/web/2"])
        self.assertLess(told["shop/web/2"].per_second, 50)
        self.assertEqual([list(some) for some in self.routes.all()], [["shop/web/2"]])

    def test_told_by_name(self) -> None:
        """A busy row can be told of although its numbers are the same, and one at rest is not."""
        self.rows[1].count(1)
        self.look()
        deque(self.routes.tell({"shop/web/1", "shop/web/2"}), 0)
        self.assertEqual(list(self.routes.told()), ["shop/web/1"])
