"""Tests for ``ingress.model.stepwise``."""

from collections.abc import Callable
from operator import itemgetter
from random import Random
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.stepwise import LOOKED_AT_ONCE, finished, in_order, least

Pair = tuple[int, int]
FIRST: Callable[[Pair], int] = itemgetter(0)


class InOrderTests(SynchronousTestCase):
    """``in_order``."""

    def test_as_at_once(self) -> None:
        """However many items there are, they come as ``sorted`` has them, equal ones in their order."""
        random = Random(1)
        for count in (0, 1, 2, 3, 4, 5, 7, 16, 33, 100, 999):
            for distinct in (1, 5, 1000):
                items = [(random.randrange(distinct), number) for number in range(count)]
                for at_once in (1, 2, 3, 64):
                    found = finished(in_order(iter(items), FIRST, at_once))
                    self.assertEqual(found, sorted(items, key=FIRST))
                    self.assertEqual(finished(in_order(items, None, at_once)), sorted(items))

    def test_few_comparisons(self) -> None:
        """A step compares some hundreds, however the items lie, and all steps together not much more than one would."""
        compared = 0

        class Counting(int):
            """A number that notes when it is compared."""

            def __lt__(self, other: int) -> bool:
                nonlocal compared
                compared += 1
                return int.__lt__(self, other)

        shuffled = list(range(3000))
        Random(1).shuffle(shuffled)
        in_turn = [number for begin in range(100) for number in range(begin, 3000, 100)]
        for numbers in (shuffled, in_turn, sorted(shuffled), [*range(1000, 3000), *range(1000)]):
            items = [Counting(number) for number in numbers]
            expected: list[Any] = sorted(items)
            most = total = compared = 0
            steps = in_order(items, at_once=100)
            while True:
                try:
                    next(steps)
                except StopIteration as end:
                    self.assertEqual(end.value, expected)
                    break
                finally:
                    most, total, compared = max(most, compared), total + compared, 0
            self.assertLess(most, 700)
            self.assertLess(total, 3000 * 16)


class LeastTests(SynchronousTestCase):
    """``least``."""

    def test_as_at_once(self) -> None:
        """The first of all items come in their order, those alone that are meant."""
        for count in (0, 1, 3, LOOKED_AT_ONCE, 3 * LOOKED_AT_ONCE + 1):
            items = list(range(count))
            Random(1).shuffle(items)
            for most in (1, 20, LOOKED_AT_ONCE + 1):
                self.assertEqual(finished(least(iter(items), most)), sorted(items)[:most])
                odd = finished(least(items, most, lambda one: -one, lambda one: one % 2 == 1))
                self.assertEqual(odd, [one for one in range(count - 1, -1, -1) if one % 2][:most])

    def test_steps(self) -> None:
        """A step looks at a thousand at most, and few items are none."""
        self.assertEqual(sum(1 for _ in least(range(LOOKED_AT_ONCE - 1), 10)), 0)
        looked_at = 0

        def is_meant(one: int) -> bool:
            nonlocal looked_at
            looked_at += 1
            return True

        for _ in least(range(65_536), 10, is_meant=is_meant):
            self.assertLessEqual(looked_at, LOOKED_AT_ONCE)
            looked_at = 0
