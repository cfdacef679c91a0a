"""Tests for equal values as one object, and how they are let go once nothing else has them."""

from __future__ import annotations

import gc
from enum import Enum
from typing import Any
from weakref import ref

from attrs import frozen
from twisted.trial.unittest import SynchronousTestCase

from ingress.routing.route import Route
from ingress.workers.feed import shared_values
from ingress.workers.feed.shared_values import AT_ONCE, FEW, LEFT_AT_ONCE, MOST_AT_ONCE, SharedValues
from tests.fakes.counting import calls
from tests.routing.test_expression_routes import expression


class Sort(Enum):
    """What each value refers to, and all of its class with it."""

    PLAIN = "plain"


@frozen
class Part:
    """What is kept; *others* may have no hash."""

    name: str
    others: Any = ()
    sort: Sort = Sort.PLAIN


@frozen(eq=False)
class Whole:
    """What is replaced, and not kept itself."""

    parts: tuple[Part, ...]


class LettingGoTests(SynchronousTestCase):
    """Values of which nothing but ``SharedValues`` knows any more."""

    def setUp(self) -> None:
        self.addCleanup(gc.enable)
        gc.disable()
        self.values = SharedValues()
        self.share = self.values.sharing(Part)
        self.together = self.values.sharing(tuple)

    def part(self, name: str, others: Any = ()) -> Part:
        """Return the part that is kept for one like this."""
        made = Part(name, others)
        return self.share(made, made)

    def whole(self, *parts: Part) -> Whole:
        """Return what has *parts*, of which the tuple is kept, too."""
        return Whole(self.together(parts, parts))

    def work(self) -> int:
        """Let go of all that can be; return in how many steps."""
        steps = 0
        while self.values.is_letting_go:
            self.values.let_go_some()
            steps += 1
        return steps

    def test_few(self) -> None:
        """However few there are, what was replaced goes with all that only it had, down to the least part; the rest stays."""
        served = self.part("served")
        inner = self.part("inner")
        first, second = self.whole(self.part("outer", (inner,)), served), self.whole(served)
        gone = ref(inner)
        del inner
        self.assertEqual(len(self.values), 5)
        self.values.leave([first, None])
        del first
        self.work()
        self.assertIsNone(gone())
        self.assertEqual(len(self.values), 2)
        self.assertIs(self.part("served"), served)
        self.assertIs(self.together(second.parts, second.parts), second.parts)

    def test_last_of_several(self) -> None:
        """What several have goes with the last of them, in the same steps or in later ones."""
        for later in (False, True):
            some = [self.whole(self.part("common"), self.part(f"own {number}")) for number in range(4)]
            self.values.leave(some[:2])
            del some[:2]
            if later:
                self.work()
                self.assertEqual(len(self.values), 5)
            self.values.leave(some)
            some.clear()
            self.work()
            self.assertEqual(len(self.values), 0)

    def test_still_in_use(self) -> None:
        """What somebody has for a while yet goes when it is looked at again after that, and not before."""
        part = self.part("key", (self.part("inner"),))
        whole = self.whole(part)
        self.values.leave([whole])
        request = whole
        del whole
        self.work()
        self.values.look_again()
        self.work()
        self.assertEqual(len(self.values), 3)
        gone = ref(part)
        del part, request
        self.work()
        self.assertEqual(len(self.values), 3)
        self.values.look_again()
        self.assertTrue(self.values.is_letting_go)
        self.work()
        self.assertEqual((gone(), len(self.values)), (None, 0))
        self.values.look_again()
        self.assertFalse(self.values.is_letting_go)

    def test_equal_one(self) -> None:
        """One that is equal to what is kept, and not the same, takes that away from nobody."""
        kept = self.part("a")
        self.values.leave([Part("a"), Part("no hash", [1])])
        self.work()
        self.assertIs(self.part("a"), kept)

    def test_steps(self) -> None:
        """A step looks at few values, at more where very many wait, and never at more than so many: it keeps up with what comes."""
        looked_at = []
        count = shared_values._references

        def counted(values: list[Any]) -> list[int]:
            looked_at.append(len(values))
            return count(values)

        self.patch(shared_values, "_references", counted)
        self.patch(shared_values, "_ALONE", shared_values._ALONE + 1)
        self.patch(shared_values, "_KEPT_ALONE", shared_values._KEPT_ALONE + 1)
        for many, most in ((1000, 300), (200_000, MOST_AT_ONCE + 2 * LEFT_AT_ONCE)):
            self.values.leave([self.whole(self.part(str(number))) for number in range(many)])
            longest = 0
            while self.values.is_letting_go:
                looked_at.clear()
                self.values.let_go_some()
                longest = max(longest, sum(looked_at))
            self.assertEqual(len(self.values), 0)
            self.assertLess(longest, most)

    def test_bounded(self) -> None:
        """Of what stays in use only so much is looked at again."""
        self.patch(shared_values, "MOST_DOUBTED", 100)
        some = [self.whole(self.part(str(number))) for number in range(1000)]
        self.values.leave(list(some))
        self.work()
        self.values.look_again()
        self.assertLessEqual(len(self.values._left), 100)
        self.work()
        self.assertEqual(len(self.values), 2000)

    def test_texts(self) -> None:
        """A text goes with the last that was made of it, be it one that was in use for a while, and not before."""
        share = self.values.sharing(str)

        def named(name: str) -> Part:
            host = f"{name}.test"
            return Part(share(host, host), ())

        served, request = named("served"), named("asked")
        self.values.leave([named("gone"), named("served"), request])
        self.work()
        self.assertEqual(len(self.values), 2)
        del request
        self.values.look_again()
        self.work()
        self.assertEqual(len(self.values), 1)
        self.assertIs(named("served").name, served.name)

    def test_tidy(self) -> None:
        """When twice as much is kept what nobody has is found, of one class after the other: few are listed in one step."""
        texts = self.values.sharing(str)
        numbers = range(3 * AT_ONCE)
        kept: list[list[Any]] = [
            [texts(made, made) for made in map(str, numbers)],
            [self.together(made, made) for made in ((number,) for number in numbers)],
            [self.part(str(number)) for number in numbers],
        ]
        for values in kept:
            del values[100:]
        del values
        longest = 0
        for _ in range(3 * 3 + 3):
            before = len(self.values._looked_at)
            self.values.tidy()
            longest = max(longest, len(self.values._looked_at) - before)
        self.assertEqual(len(self.values), 300)
        self.assertLess(longest, 3 * AT_ONCE)
        self.assertEqual([len(values) for values in kept], [100] * 3)

    def test_tidy_of_routes(self) -> None:
        """A step lets go of few routes, which are hashed for that with all that they have."""
        for number in range(FEW + 1):
            made = expression(f"/{number}(.*)")
            self.values.sharing(Route)(made, made)
        del made
        self.assertLess(calls(self.values.tidy), 5000)
        self.assertEqual(len(self.values), FEW + 1 - AT_ONCE)

    def test_tidy_between_changes(self) -> None:
        """A look at all values comes to its end though nothing else comes, and keeps none that is replaced meanwhile."""
        some = [self.part(str(number)) for number in range(FEW + 1)]
        self.values.tidy()
        gone = ref(some[0])
        self.values.leave(some[:1])
        del some[0]
        self.work()
        self.assertIsNone(gone())
        self.assertEqual(len(self.values), len(some))
