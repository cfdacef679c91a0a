"""Mappings that share with their successors what did not change."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.shared_map import SHARDS, SharedMap

# Keys that meet in few shards: a small integer is its own hash.
keys = st.integers(0, 3) | st.sampled_from([SHARDS, SHARDS + 1, 2 * SHARDS])
changes = st.dictionaries(keys, st.none() | st.sampled_from(["a", "b"]))


def applied(content: dict[int, str], changed: dict[int, str | None]) -> dict[int, str]:
    """What *changed* makes of *content*, told with plain dictionaries."""
    merged = {**content, **changed}
    return {key: value for key, value in merged.items() if value is not None}


class SharedMapTests(SynchronousTestCase):
    """``SharedMap`` beside a plain dictionary."""

    @given(st.lists(changes, max_size=6))
    def test_is_a_mapping(self, history: list[dict[int, str | None]]) -> None:
        """After any changes it has the entries of a dictionary that was changed likewise."""
        expected: dict[int, str] = {}
        found: SharedMap[int, str] = SharedMap()
        for changed in history:
            expected, found = applied(expected, changed), found.patched(changed)
            self.assertEqual(dict(found), expected)
            self.assertEqual(len(found), len(expected))
            for key in (*expected, 7):
                self.assertEqual(found.get(key), expected.get(key))
                self.assertEqual(key in found, key in expected)

    @given(changes, st.lists(changes, max_size=3))
    def test_predecessor_stays(
        self, first: dict[int, str | None], history: list[dict[int, str | None]]
    ) -> None:
        """What comes after a mapping never changes it."""
        kept: SharedMap[int, str] = SharedMap[int, str]().patched(first)
        before = dict(kept)
        successor = kept
        for changed in history:
            successor = successor.patched(changed)
        self.assertEqual(dict(kept), before)

    @given(changes, st.lists(changes, max_size=3))
    def test_changes_since(self, first: dict[int, str | None], history: list[dict[int, str | None]]) -> None:
        """What changed since any predecessor makes the successor of it, and holds nothing else."""
        before = after = SharedMap[int, str]().patched(first)
        for changed in history:
            after = after.patched(changed)
        found = list(after.changes_since(before))
        self.assertEqual(applied(dict(before), dict(found)), dict(after))
        self.assertEqual(len(found), len(dict(found)))
        for key, value in found:
            self.assertIsNot(before.get(key), value)

    @given(st.dictionaries(st.integers(0, 3000), st.integers(0, 2)), st.integers(1, 500))
    def test_portions(self, content: dict[int, int], at_once: int) -> None:
        """In portions for which about so many entries are looked at, the same changes are found."""
        before = SharedMap({number: number % 3 for number in range(1500)})
        for after in (SharedMap(content), before.patched(content), SharedMap(dict(before))):
            found = [*after.portions_since(before, at_once)]
            expected = [*after.changes_since(before)]
            self.assertEqual([entry for portion in found for entry in portion], expected)
            self.assertLessEqual(len(found), 1 + (len(before) + len(after)) // at_once)

    def test_nothing_changed(self) -> None:
        """The same entries again, or the removal of what is not there, make no new mapping."""
        kept = SharedMap({1: "a"})
        self.assertIs(kept.patched({1: "a", 2: None}), kept)

    def test_missing(self) -> None:
        """A key that is not there raises KeyError."""
        with self.assertRaises(KeyError):
            SharedMap({1: "a"})[2]

    def test_repr(self) -> None:
        """The repr counts the entries and shows none."""
        self.assertEqual(repr(SharedMap({1: "a", 2: "b"})), "<SharedMap of 2 entries>")
