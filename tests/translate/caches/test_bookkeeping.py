"""Drafts, the index, and the index of problems."""

from collections import Counter
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.problems import Problem, Reason
from ingress.model.shared_map import SharedMap
from ingress.model.stepwise import finished
from ingress.translate.caches.bookkeeping import Draft, Index, Members, ProblemIndex, Timetable

FIRST = Problem("Ingress", "web", "a", Reason.INVALID_HOST, "no")
SECOND = Problem("Ingress", "web", "b", Reason.INVALID_PATH, "no")

few = st.integers(0, 2)


class DraftTests(SynchronousTestCase):
    """``Draft``."""

    def test_next_version(self) -> None:
        """A draft shows its own entries, and what it was made from stays as it was."""
        base: SharedMap[int, str] = SharedMap({1: "a", 2: "b"})
        draft: Draft[int, str, SharedMap[int, str]] = Draft(base)
        draft.put(1, None)
        draft.put(3, "c")
        self.assertEqual([draft.get(key) for key in (1, 2, 3, 4)], [None, "b", "c", None])
        self.assertEqual(dict(draft.finished()), {2: "b", 3: "c"})
        self.assertEqual(dict(base), {1: "a", 2: "b"})
        self.assertIs(draft.finished(), draft.finished())

    def test_many(self) -> None:
        """However many changes there are, all of them are in the next version."""
        draft: Draft[int, int, SharedMap[int, int]] = Draft(SharedMap())
        for number in range(2000):
            draft.put(number, number)
            self.assertEqual(draft.get(number), number)
        self.assertEqual(dict(draft.finished()), {number: number for number in range(2000)})


class TimetableTests(SynchronousTestCase):
    """``Timetable``."""

    @given(st.lists(st.tuples(st.booleans(), few, few)), few, few)
    def test_like_a_list(self, history: list[tuple[bool, int, int]], one: int, other: int) -> None:
        """It holds what a set of pairs would, both ways."""
        table: Timetable[int] = Timetable()
        pairs: set[tuple[int, int]] = set()
        for is_new, at, key in history:
            if is_new:
                table.add(moment(at), key)
                pairs.add((at, key))
            else:
                table.discard(moment(at), key)
                pairs.discard((at, key))
        first, last = sorted((one, other))
        between = {key for at, key in pairs if first < at <= last}
        self.assertEqual(set(table.between(moment(one), moment(other))), between)
        later = [moment(at) for at, _ in pairs if at > one]
        self.assertEqual(table.after(moment(one)), min(later, default=None))
        self.assertEqual(bool(table), bool(pairs))


def moment(at: int) -> datetime:
    """A moment by its number."""
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=at)


class IndexTests(SynchronousTestCase):
    """``Index``."""

    @given(st.lists(st.tuples(st.booleans(), few, few)))
    def test_like_sets(self, history: list[tuple[bool, int, int]]) -> None:
        """It holds what a dictionary of sets would."""
        index: Index[int, int] = Index()
        sets: dict[int, set[int]] = {}
        for is_new, key, value in history:
            if is_new:
                index.add(key, value)
                sets.setdefault(key, set()).add(value)
            else:
                index.discard(key, value)
                sets.get(key, set()).discard(value)
        for key in range(3):
            found = index.get(key)
            self.assertEqual((set(found), len(found)), (sets.get(key, set()), len(sets.get(key, set()))))
            self.assertEqual(key in index, bool(sets.get(key)))
        self.assertEqual(set(index), {key for key, values in sets.items() if values})

    def test_replace(self) -> None:
        """A value moves from the keys that it had to those that it has."""
        index: Index[str, int] = Index()
        index.replace(1, (), ("a", "b"))
        index.replace(1, ("a", "b"), ("b", "c"))
        self.assertEqual(list(index), ["b", "c"])


class MembersTests(SynchronousTestCase):
    """What there was."""

    def test_what_there_was(self) -> None:
        """Members are those that there were in the beginning, whatever came and went since; whoever asks anew has those of now."""
        held = {"stays": 1, "goes": 1}
        before = Members(held)
        self.assertFalse(before.are_others)
        for key in ("goes", "comes", "passes"):
            before.note(key)
        del held["goes"]
        held["comes"] = 1
        before.note("comes")
        after = Members(held)
        self.assertTrue(before.are_others)
        self.assertEqual(
            [key for key in ("stays", "goes", "comes", "passes") if key in before], ["stays", "goes"]
        )
        self.assertEqual(
            [key for key in ("stays", "goes", "comes", "passes") if key in after], ["stays", "comes"]
        )


class ProblemIndexTests(SynchronousTestCase):
    """``ProblemIndex``."""

    def test_news(self) -> None:
        """A problem is news when it comes and when it goes, and not when both happened since the last look."""
        problem_index = ProblemIndex()
        problem_index.put("a", (FIRST,))
        self.assertEqual(finished(problem_index.news()), ([FIRST], []))
        problem_index.put("a", ())
        problem_index.put("b", (FIRST, SECOND))
        self.assertEqual(finished(problem_index.news()), ([SECOND], []))
        problem_index.put("c", (SECOND,))
        problem_index.put("b", ())
        self.assertEqual(finished(problem_index.news()), ([], [FIRST]))
        self.assertEqual(problem_index.by_reason(), {SECOND.reason: 1})

    @given(st.lists(st.tuples(few, st.lists(st.sampled_from([FIRST, SECOND]), max_size=3)), max_size=8))
    def test_counts(self, history: list[tuple[int, list[Problem]]]) -> None:
        """Problems are counted once, however many sources have them."""
        problem_index = ProblemIndex()
        expected: dict[int, tuple[Problem, ...]] = {}
        for source, problems in history:
            problem_index.put(source, tuple(problems))
            expected[source] = tuple(problems)
        present = {problem for problems in expected.values() for problem in problems}
        self.assertEqual(problem_index.by_reason(), Counter(problem.reason for problem in present))
        self.assertEqual(
            dict(problem_index.by_source()), {key: some for key, some in expected.items() if some}
        )
        self.assertEqual(set(finished(problem_index.news())[0]), present)
