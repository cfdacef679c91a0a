"""Tests for ``ingress.status.agenda``."""

from math import inf
from time import process_time

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.errors import KubernetesError
from ingress.status.agenda import (
    MOST_IN_A_ROW,
    WOKEN_AT_ONCE,
    Agenda,
    Closures,
    Failing,
    Pace,
    words_of,
)
from tests.fakes.counting import calls


class AgendaTests(SynchronousTestCase):
    """What to look at, and when."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.agenda: Agenda[str] = Agenda(self.clock.seconds)

    def taken(self) -> list[str]:
        """All that is to be looked at now."""
        found = []
        while (key := self.agenda.take()) is not None:
            found.append(key)
        return found

    def test_in_order(self) -> None:
        """Keys come in the order in which they were added, each once."""
        self.agenda.add("ab")
        self.agenda.add("ca")
        self.assertEqual((len(self.agenda), "c" in self.agenda), (3, True))
        self.assertEqual(self.taken(), ["a", "b", "c"])
        self.assertEqual((len(self.agenda), self.agenda.next_at()), (0, None))

    def test_all(self) -> None:
        """All that there is comes behind everything else, but for what is put off; each such call replaces the last."""
        self.agenda.add_all("xyz")
        self.agenda.add_all("abc")
        self.agenda.put_off("b", 5)
        self.agenda.add("d")
        self.assertEqual((len(self.agenda), self.agenda.next_at()), (5, 0))
        self.assertEqual(self.taken(), ["d", "a", "c"])
        self.assertEqual(self.agenda.next_at(), 5)
        self.agenda.add_all("a")
        self.agenda.clear()
        self.assertEqual((self.taken(), len(self.agenda)), ([], 0))

    def test_behind(self) -> None:
        """Some come behind everything else, each once, however often they are added."""
        self.agenda.add_all("xy")
        self.agenda.put_off("p", 5)
        for _ in range(3):
            self.agenda.add_all_behind("yabp")
        self.agenda.add("c")
        self.assertEqual(len(self.agenda), 6)
        self.assertEqual(self.taken(), ["c", "x", "y", "a", "b"])

    def test_many(self) -> None:
        """Taking one of very many takes no longer than taking one of few."""
        self.agenda.add(str(number) for number in range(100_000))
        began = process_time()
        for _ in range(50_000):
            self.agenda.take()
        self.assertLess(process_time() - began, 5.0)
        self.assertEqual(self.agenda.take(), "50000")

    def test_put_off(self) -> None:
        """What is put off comes at its time and not before, even when it is added again."""
        self.agenda.put_off("a", 5)
        self.agenda.add("ab")
        self.assertEqual(self.taken(), ["b"])
        self.assertEqual((len(self.agenda), self.agenda.next_at()), (1, 5))
        self.clock.advance(4.9)
        self.assertEqual(self.taken(), [])
        self.clock.advance(0.1)
        self.assertEqual(self.agenda.next_at(), 5)
        self.assertEqual(self.taken(), ["a"])

    def test_put_off_again(self) -> None:
        """The time that was said last counts."""
        for until in (5, 9, 7):
            self.agenda.put_off("a", until)
        self.assertEqual(self.agenda.next_at(), 7)
        self.clock.advance(7)
        self.assertEqual(self.taken(), ["a"])
        self.clock.advance(7)
        self.assertEqual((self.taken(), self.agenda.next_at()), ([], None))

    def test_put_off_after_being_added(self) -> None:
        """What is to be looked at now can be put off."""
        self.agenda.add("a")
        self.agenda.put_off("a", 5)
        self.assertEqual((self.taken(), len(self.agenda)), ([], 1))

    def test_many_at_one_time(self) -> None:
        """Of thousands whose time has come some are taken up at once, in their order, and none is forgotten."""
        keys = [f"k{number:05}" for number in range(5000)]
        for key in keys:
            self.agenda.put_off(key, 2)
        self.clock.advance(2)
        most = max(calls(self.agenda.next_at), calls(self.agenda.take))
        self.assertLess(most, 10 * WOKEN_AT_ONCE)
        self.assertEqual(self.agenda.next_at(), 2)
        self.agenda.drop(keys[200])
        self.agenda.put_off(keys[300], 3)
        self.assertEqual(self.taken(), [key for key in keys[1:] if key not in (keys[200], keys[300])])
        self.assertEqual((self.agenda.next_at(), len(self.agenda)), (3, 1))

    def test_others_go_on_coming(self) -> None:
        """What was put off comes when its time has, behind what waits by then, though others go on coming."""
        self.agenda.put_off("a", 2)
        self.agenda.put_off("b", 2)
        self.clock.advance(2)
        self.agenda.add(["x", "y"])
        taken = []
        for number in range(6):
            taken.append(self.agenda.take())
            self.agenda.add([f"n{number}"])
        self.assertEqual(taken, ["x", "y", "a", "n0", "b", "n1"])

    def test_behind_what_goes_on(self) -> None:
        """What goes on coming, or is tried time and again, does not keep what is behind it waiting for ever: they take turns."""
        self.agenda.add("ab")
        self.agenda.add_all("xyz")
        taken = []
        for number in range(4):
            taken.append(self.agenda.take())
            self.agenda.add([f"n{number}"])
        self.assertEqual(taken, ["a", "x", "b", "y"])
        self.assertEqual(self.taken(), ["n0", "z", "n1", "n2", "n3"])

    def test_any(self) -> None:
        """One is taken from anywhere, be it to be looked at now or behind, but for the last ones; each once, and none that is put off."""
        self.agenda.add("ab")
        self.agenda.add_all("cdef")
        self.agenda.put_off("d", 5)
        for random, spared, key in (
            (0.99, 1, "e"),
            (0.5, 0, "c"),
            (0.3, 0, "b"),
            (0.99, 9, "a"),
            (0.0, 9, "f"),
        ):
            self.assertEqual(self.agenda.take_any(iter([random]).__next__, spared), key)
        self.assertIsNone(self.agenda.take_any(lambda: 0.0, 1))
        self.clock.advance(5)
        self.assertEqual(self.agenda.take_any(lambda: 0.9, 0), "d")

    def test_recalled(self) -> None:
        """What was put off comes now after all, once, and may be put off again."""
        self.agenda.put_off("a", 5)
        self.agenda.put_off("b", 6)
        self.agenda.recall()
        self.assertEqual(self.taken(), ["a", "b"])
        self.agenda.put_off("a", 9)
        self.clock.advance(8)
        self.assertEqual((self.taken(), len(self.agenda)), ([], 1))

    def test_many_recalled(self) -> None:
        """Of thousands that are recalled some are taken up at once, in the order of their times, and each once."""

        class Key(str):
            """As a problem, hashed by code of our own."""

            __slots__ = ()

            def __hash__(self) -> int:
                return str.__hash__(self)

        keys = [Key(f"k{number:04}") for number in range(3000)]
        for at, key in enumerate(keys):
            self.agenda.put_off(key, 5 + at)
        most = calls(self.agenda.recall)
        self.assertEqual((len(self.agenda), self.agenda.next_at(), keys[0] in self.agenda), (3000, 0, True))
        self.agenda.add(keys[7:8])
        most = max(most, calls(self.agenda.take))
        self.assertLess(most, 20 * WOKEN_AT_ONCE)
        self.agenda.drop(keys[1500])
        self.agenda.put_off(keys[1600], 9000)
        self.agenda.put_off("more", 1)
        self.agenda.recall([keys[2000]])
        self.agenda.recall()
        last = [key for key in keys[1:] if key not in (keys[1500], keys[1600], keys[2000])]
        self.assertEqual(
            self.taken(), [*keys[1:WOKEN_AT_ONCE], keys[2000], *last[WOKEN_AT_ONCE - 1 :], "more", keys[1600]]
        )
        self.assertEqual((self.agenda.next_at(), len(self.agenda)), (None, 0))

    def test_dropped(self) -> None:
        """What is dropped does not come, neither now nor later."""
        self.agenda.add("a")
        self.agenda.put_off("b", 5)
        self.agenda.drop("a")
        self.agenda.drop("b")
        self.agenda.drop("c")
        self.clock.advance(9)
        self.assertEqual((self.taken(), self.agenda.next_at(), len(self.agenda)), ([], None, 0))

    def test_many_dropped(self) -> None:
        """Of thousands that were put off and dropped few are forgotten at once, and who comes behind them is on time."""
        keys = [f"k{number:04}" for number in range(3000)]
        for at, key in enumerate([*keys, "last"]):
            self.agenda.put_off(key, 5 + at)
        for key in keys:
            self.agenda.drop(key)
        self.assertLess(calls(self.agenda.next_at), 20 * WOKEN_AT_ONCE)
        self.assertLess(calls(self.agenda.take), 20 * WOKEN_AT_ONCE)
        rounds = 0
        while (next_at := self.agenda.next_at()) == 0:
            self.assertIsNone(self.agenda.take())
            rounds += 1
        self.assertEqual((next_at, len(self.agenda)), (3005, 1))
        self.assertLessEqual(rounds, 3000 // WOKEN_AT_ONCE)
        self.clock.advance(3005)
        self.assertEqual(self.taken(), ["last"])

    def test_cleared(self) -> None:
        """Nothing is left after clearing."""
        self.agenda.add("a")
        self.agenda.put_off("b", 5)
        self.agenda.clear()
        self.clock.advance(9)
        self.assertEqual((self.taken(), len(self.agenda)), ([], 0))


class FailingTests(SynchronousTestCase):
    """Whose trouble it is."""

    def setUp(self) -> None:
        self.failing: Failing[int] = Failing()

    def test_its_own(self) -> None:
        """It is that of a key from the first failure on where that says so, else once another one is answered."""
        self.assertIsNone(self.failing.failed(1))
        self.assertEqual((self.failing.suspected, self.failing.is_own(1)), (1, False))
        self.assertEqual(self.failing.failed(2, is_own=True), 2.0)
        self.assertEqual((self.failing.suspected, self.failing.is_own(2)), (1, True))
        self.failing.answered(3)
        self.assertEqual((self.failing.suspected, self.failing.is_own(1)), (0, True))

    def test_same_words(self) -> None:
        """Behind such failures it is that of whatever fails with the same words, until many did with none answered among them."""
        self.failing.failed(1, "late")
        self.failing.answered(2)
        self.assertIsNone(self.failing.failed(3, "refused"))
        self.assertEqual(self.failing.failed(4, "late"), 2.0)
        self.failing.answered(2)
        self.assertEqual(self.failing.failed(5, "refused"), 2.0)
        self.assertIsNone(self.failing.failed(6, "late"))
        self.failing.answered(2)
        pauses = [self.failing.failed(key, "late") for key in range(10, 12 + MOST_IN_A_ROW)]
        self.assertEqual([pause is None for pause in pauses], [False] * MOST_IN_A_ROW + [True] * 2)
        self.failing.answered(2)
        self.failing.clear()
        self.assertIsNone(self.failing.failed(7, "late"))

    def test_without_words(self) -> None:
        """What says nothing of its cause is put down to no object because another one failed so."""
        self.failing.failed(1)
        self.failing.answered(2)
        self.assertIsNone(self.failing.failed(3))

    def test_for_days(self) -> None:
        """However often it fails, it is tried once a minute."""
        pauses = [self.failing.failed(1, is_own=True) for _ in range(3000)]
        self.assertEqual((pauses[:3], pauses[-1]), ([2.0, 4.0, 8.0], 60.0))

    def test_many(self) -> None:
        """Ten thousand are tried ten times a second together."""
        for _ in range(12):
            pauses = [self.failing.failed(key, is_own=True) for key in range(10_000)]
        self.assertEqual(pauses[-1], 1000.0)

    def test_many_in_the_same_words(self) -> None:
        """So they are from the first time on where the error does not say that it is theirs: the API server may have too much to do."""
        self.failing.failed(-1, "busy")
        for key in range(1000):
            # It answers some all the same.
            self.failing.answered(-1)
            pause = self.failing.failed(key, "busy")
        self.assertEqual(pause, 100.0)

    def test_words(self) -> None:
        """What says that it is about us, or that the API server has too much to do, says nothing of any object."""
        errors = [
            KubernetesError(status, "Reason", "message") for status in (0, 401, 429, 500, 502, 503, 504)
        ]
        said = [words_of(error) for error in errors]
        self.assertEqual([bool(one) for one in said], [True, False, False, True, True, False, True])
        self.assertEqual(len(set(said)), 5)
        self.assertEqual(words_of(KubernetesError(500, "Reason", "message", 1.0)), "")


class PaceTests(SynchronousTestCase):
    """How often the API server is asked."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.pace = Pace(self.clock.seconds, lambda: 0.0, per_second=10, burst=3)

    def test_burst(self) -> None:
        """So many go at once, then so many a second, and a rest gives the burst back."""
        for _ in range(3):
            self.assertEqual(self.pace.opens_at(), 0)
            self.pace.went()
        self.assertAlmostEqual(self.pace.opens_at(), 0.1)
        self.clock.advance(0.1)
        self.assertAlmostEqual(self.pace.opens_at(), 0.1)
        self.pace.went()
        self.clock.advance(100)
        for _ in range(3):
            self.assertEqual(self.pace.opens_at(), self.clock.seconds())
            self.pace.went()
        self.assertGreater(self.pace.opens_at(), self.clock.seconds())

    def test_trouble(self) -> None:
        """In trouble nothing goes, longer each time, and at least as long as was asked for."""
        self.pace.troubled(KubernetesError(503, "x", "y"))
        self.assertEqual(self.pace.opens_at(), 0.5)
        for _ in range(9):
            # Of those that were under way one speaks for all.
            self.pace.troubled(KubernetesError(503, "x", "y"))
        self.assertEqual(self.pace.opens_at(), 0.5)
        self.clock.advance(0.5)
        self.pace.troubled(KubernetesError(503, "x", "y"))
        self.assertEqual(self.pace.opens_at(), 1.5)
        self.pace.troubled(KubernetesError(429, "x", "y", 30.0))
        self.assertEqual(self.pace.opens_at(), 30.5)


class ClosuresTests(SynchronousTestCase):
    """Namespaces that are left alone."""

    def test_closed(self) -> None:
        """A namespace is left alone until its time, each time for longer, and others are not."""
        clock = Clock()
        closures = Closures(clock.seconds)
        self.assertEqual(closures.close("shop", 300), 5)
        self.assertEqual((closures.until("shop"), closures.until("blog")), (5, -inf))
        clock.advance(6)
        for seconds in (20, 80, 300, 300):
            # Of several at a time one counts.
            for _ in range(3):
                self.assertEqual(closures.close("shop", 300) - clock.seconds(), seconds)
            clock.advance(seconds)
        self.assertEqual(closures.close("blog", 300) - clock.seconds(), 5)

    def test_many(self) -> None:
        """Where very many are closed, all together are tried some times a second."""
        clock = Clock()
        closures = Closures(clock.seconds)
        tries = 0
        until = dict.fromkeys([f"n{number}" for number in range(1000)], 0.0)
        for _ in range(300):
            for namespace in [name for name, time in until.items() if time <= clock.seconds()]:
                until[namespace] = closures.close(namespace, 20)
                tries += 1
            clock.advance(1)
        self.assertLess(tries, 300 * 10 + 4 * 1000)

    def test_permitted(self) -> None:
        """When one of them comes to be permitted, no other is left alone, either."""
        clock = Clock()
        closures = Closures(clock.seconds)
        self.assertFalse(closures.permitted("shop"))
        for namespace in ("shop", "blog"):
            closures.close(namespace, 20)
        self.assertFalse(closures.permitted("other"))
        self.assertEqual(closures.until("blog"), 5)
        self.assertTrue(closures.permitted("shop"))
        self.assertEqual(closures.until("blog"), -inf)

    def test_forgotten(self) -> None:
        """What was closed long ago is closed for seconds again."""
        clock = Clock()
        closures = Closures(clock.seconds)
        for seconds in (5, 20, 80, 300):
            closures.close("shop", 300)
            clock.advance(seconds)
        clock.advance(301)
        self.assertEqual(closures.close("shop", 300) - clock.seconds(), 5)
