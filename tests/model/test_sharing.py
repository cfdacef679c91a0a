"""Tests for ``ingress.model.sharing``."""

from attrs import field
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.frozen import frozen
from ingress.model.sharing import sharing


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
