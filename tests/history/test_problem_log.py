"""Tests for ``ingress.history.problem_log``."""

from twisted.internet.base import DelayedCall
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.history.problem_log import (
    AT_ONCE,
    LINES_AT_ONCE,
    LINES_PER_SECOND,
    SETTLE_SECONDS,
    SUMMARY_SECONDS,
    ProblemLog,
    differing,
    portions,
)
from ingress.model.cluster.problems import ORDER, Problem, Reason
from ingress.model.stepwise import finished
from tests.fakes.counting import longest_step


def problems(count: int, reason: Reason = Reason.SERVICE_NOT_FOUND) -> tuple[Problem, ...]:
    return tuple(Problem("Ingress", "shop", f"i{number:05}", reason, "no") for number in range(count))


class ProblemLogTests(SynchronousTestCase):
    """When a problem has a line."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.log = ProblemLog(self.clock)

    def lines(self, *seconds: float) -> list[str]:
        """What is logged while so much time passes."""
        with capturedLogs() as events:
            self.clock.pump(seconds)
        return [str(formatEvent(event)) for event in events]

    def test_lasting(self) -> None:
        """A problem that lasts is told once, after a moment, and once when it is solved."""
        (one,) = problems(1)
        self.log.changed((one,), ())
        self.assertEqual(self.lines(SETTLE_SECONDS - 0.01), [])
        self.assertEqual(self.lines(0.02, 100), [str(one)])
        with capturedLogs() as events:
            self.log.changed((), (one,))
        self.assertEqual([formatEvent(event) for event in events], [f"Solved: {one}"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_passing(self) -> None:
        """One that goes before that is never told, and neither is its end; if it comes again, its time begins anew."""
        (one,) = problems(1)
        with capturedLogs() as events:
            for _ in range(9):
                self.log.changed((one,), ())
                self.clock.advance(SETTLE_SECONDS - 0.01)
                self.log.changed((), (one,))
        self.assertEqual(events, [])

    def test_at_once(self) -> None:
        """Those of the first snapshot are told at once."""
        with capturedLogs() as events:
            self.log.changed(problems(2), (), at_once=True)
        self.assertEqual(len(events), 2)

    def test_many(self) -> None:
        """Of very many some have a line, and one line counts the others by reason; so it is when they are solved."""
        many = (*problems(5000), *problems(3, Reason.INVALID_PATH))
        self.log.changed(many, ())
        lines = self.lines(SETTLE_SECONDS + 0.01, SUMMARY_SECONDS)
        self.assertEqual(len(lines), LINES_AT_ONCE + 1)
        self.assertRegex(
            lines[-1], r"^So many more like these: 4\d\d\d ServiceNotFound, 3 InvalidPath; /api/v1/problems"
        )
        with capturedLogs() as events:
            self.log.changed((), many)
            self.clock.advance(SUMMARY_SECONDS)
        solved = [str(formatEvent(event)) for event in events]
        self.assertLessEqual(len(solved), LINES_AT_ONCE + 1)
        self.assertRegex(solved[-1], r"^Solved: 49\d\d more$")
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_long_run(self) -> None:
        """Problems that come and go for ever have so many lines a second."""
        with capturedLogs() as events:
            for _ in range(20):
                self.log.changed(problems(200), ())
                self.clock.pump([SETTLE_SECONDS + 0.1, 1.0])
                self.log.changed((), problems(200))
        self.assertLess(len(events), LINES_AT_ONCE + 62 * LINES_PER_SECOND + 2 * 62 / SUMMARY_SECONDS + 2)

    def test_portions(self) -> None:
        """However many are told at a time, one turn of the reactor has a bounded part of them."""
        self.log.changed(problems(5000), ())
        self.clock.advance(SETTLE_SECONDS - 0.001)
        turns = 0
        call_later = self.clock.callLater

        def counting(*args: object, **more: object) -> object:
            nonlocal turns
            turns += 1
            return call_later(*args, **more)  # type: ignore[arg-type]

        self.clock.callLater = counting  # type: ignore[method-assign,assignment]
        self.clock.advance(0.01)
        self.assertGreaterEqual(turns, 49)

    def test_lines_of_a_turn(self) -> None:
        """No turn has more than a few lines."""
        self.log.changed(problems(200), ())
        self.clock.rightNow += SETTLE_SECONDS
        lines: list[int] = []
        while self.log._settling:
            settle = self.log._settle_call
            assert isinstance(settle, DelayedCall)
            self.clock.calls.remove(settle)
            with capturedLogs() as events:
                settle.func()
            lines.append(len(events))
        self.assertEqual(sum(lines), LINES_AT_ONCE)
        self.assertLess(max(lines), 20)

    def test_stopped(self) -> None:
        """After a stop nothing is told."""
        self.log.changed(problems(5), ())
        self.log.changed(problems(500), (), at_once=True)
        self.log.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])


def problem(name: str, field: int, message: str = "") -> Problem:
    return Problem("Ingress", "shop", name, Reason.SERVICE_NOT_FOUND, message, f"{field:04}")


class DifferingTests(SynchronousTestCase):
    """What is different between the problems of two translations."""

    def test_same_as_sets(self) -> None:
        """Those that came and that went are told, sorted, each once."""
        some = sorted((problem(name, at) for name in "abcd" for at in range(300)), key=ORDER)
        before, now = [*some[400:], *some[1000:]], some[:700]
        self.assertEqual(finished(differing(before, now)), (some[:400], some[700:]))
        self.assertEqual(finished(differing([], [])), ([], []))

    def test_steps(self) -> None:
        """A step of that is no longer the more there are."""

        def longest(count: int) -> int:
            some = sorted((problem("a", at) for at in range(count)), key=ORDER)
            return longest_step(differing(some[: count // 2], some[count // 4 :]))

        self.assertLess(longest(4000), 1.3 * longest(2000))


class PortionsTests(SynchronousTestCase):
    """What each portion has."""

    def test_few(self) -> None:
        """Few are one portion, as they came."""
        came, went = [problem("a", 1)], [problem("a", 2)]
        self.assertEqual(list(portions(came, went)), [(came, went)])
        self.assertEqual(list(portions([], [])), [([], [])])

    def test_many(self) -> None:
        """Many are several portions; all of an object, what came and what went, is in one of them."""
        count = AT_ONCE // 2
        came = sorted((problem(name, at) for name in "abcd" for at in range(count)), key=ORDER)
        went = sorted((problem(name, at, "before") for name in "abce" for at in range(count)), key=ORDER)
        found = list(portions(came, went))
        self.assertEqual([one for some, _ in found for one in some], came)
        self.assertEqual([one for _, some in found for one in some], went)
        self.assertEqual(
            [{one.name for some in portion for one in some} for portion in found],
            [{"a"}, {"b"}, {"c"}, {"d", "e"}],
        )

    def test_many_of_one(self) -> None:
        """Of an object with thousands those are divided that need not be told together."""
        came, went = ([problem("a", at, word) for at in range(1000)] for word in ("no", "before"))
        for lists in ((came, went), (went, came), (came, []), ([], went)):
            found = list(portions(*lists, ("Ingress",)))
            self.assertEqual([one for some, _ in found for one in some], lists[0])
            self.assertEqual([one for _, some in found for one in some], lists[1])
            self.assertEqual(max(len(some) + len(others) for some, others in found), AT_ONCE)
            self.assertEqual(len(list(portions(*lists, ("Gateway",)))), 1)
