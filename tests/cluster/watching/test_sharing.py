"""Tests for ``ingress.cluster.watching.sharing``."""

from random import Random
from typing import TypeVar

from attrs import field
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.watching.sharing import ITEMS_AT_ONCE
from ingress.cluster.watching.sharing import sharing as sharing_in_steps
from ingress.model.frozen import frozen
from ingress.model.stepwise import finished

T = TypeVar("T")


@frozen
class Leaf:
    """Has a field that says nothing about what it is equal to."""

    name: str
    aside: str = field(default="", eq=False)


@frozen
class Tree:
    """Has others, in a tuple and by itself, and a field that is none of its arguments."""

    leaves: tuple[object, ...]
    own: object = None
    _private: int = 0
    count: int = field(init=False, default=7)


def words(*names: str) -> tuple[Tree, ...]:
    return tuple(Tree((name,)) for name in names)


def sharing(before: object, after: T) -> T:
    return finished(sharing_in_steps(before, after))


class SharingTests(SynchronousTestCase):
    """A successor is what it was without sharing, and has the parts of its predecessor."""

    def test_equal(self) -> None:
        """What is equal is what was there before."""
        before = Tree(words("a", "b"), own=Tree(()))
        self.assertIs(sharing(before, Tree(words("a", "b"), own=Tree(()))), before)

    def test_parts(self) -> None:
        """Of what differs those parts are kept that are equal and stand where they stood, however deep."""
        before = Tree((Tree(words("a", "b", "c")), *words("d")), own=Tree(()), private=1)
        after = Tree((Tree(words("a", "x", "c")), *words("d", "e")), own=Tree(("y",)), private=2)
        found = sharing(before, after)
        self.assertEqual(found, after)
        inner, was = found.leaves[0], before.leaves[0]
        assert isinstance(inner, Tree) and isinstance(was, Tree)
        self.assertEqual(
            [new is old for new, old in zip(inner.leaves, was.leaves, strict=True)], [True, False, True]
        )
        self.assertIs(found.leaves[1], before.leaves[1])

    def test_shorter(self) -> None:
        """What is gone from the end is gone."""
        self.assertEqual(sharing(words("a", "b"), words("a")), words("a"))
        self.assertEqual(sharing(words("a"), words("b", "a", "c")), words("b", "a", "c"))

    def test_other_types(self) -> None:
        """Where something of another type stood, or nothing, nothing is kept."""
        self.assertEqual(sharing(None, Tree(())), Tree(()))
        self.assertEqual(sharing(("a", Tree(())), (Tree(()), "b")), (Tree(()), "b"))

    def test_fields_aside(self) -> None:
        """A field that does not count when values are compared is what it is now."""
        self.assertEqual(sharing(Leaf("a", "old"), Leaf("a", "new")).aside, "new")
        found = sharing((Leaf("a", "old"), Leaf("b")), (Leaf("a", "new"), Leaf("c")))
        self.assertEqual([leaf.aside for leaf in found], ["new", ""])

    def test_long(self) -> None:
        """Long tuples take steps, and come to the same as others."""
        names = [f"n{number}" for number in range(4 * ITEMS_AT_ONCE)]
        before = Tree(words(*names), own=Tree(words(*names)))
        steps = list(sharing_in_steps(before, Tree(words(*names), own=Tree(words(*names)))))
        self.assertGreaterEqual(len(steps), 8)
        self.assertIs(sharing(before, Tree(words(*names), own=Tree(words(*names)))), before)
        after = Tree(words(*names[:-1]), own=Tree(words(*names[:-1], "other")))
        found = sharing(before, after)
        self.assertEqual(found, after)
        assert isinstance(found.own, Tree) and isinstance(before.own, Tree)
        for new, old in zip(found.own.leaves[:-1], before.own.leaves[:-1], strict=True):
            self.assertIs(new, old)

    def test_any(self) -> None:
        """Whatever is before and after, the successor is equal to what it is made of, in fields that do not count, too."""
        random = Random(3)

        def value(depth: int) -> object:
            sort = random.randrange(5 if depth else 3)
            if sort == 3:
                return tuple(value(depth - 1) for _ in range(random.choice((0, 1, 3, 120))))
            if sort == 4:
                return Tree(tuple(value(depth - 1) for _ in range(random.randrange(4))), value(depth - 1))
            return (random.choice("ab"), random.randrange(3), Leaf(random.choice("ab"), random.choice("xy")))[
                sort
            ]

        for _ in range(200):
            before, after = value(3), value(3)
            self.assertEqual(repr(sharing(before, after)), repr(after))
            self.assertEqual(repr(sharing(before, before)), repr(before))
