"""Tests of how much a writer looks at in one turn, and of bugs; what it writes is tested with statuses and Events."""

from collections.abc import Callable

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_thread import Outcome
from ingress.errors import KubernetesError
from ingress.status.refusals import Refusals
from ingress.status.report_writer import Bounds, ReportWriter, Sending, Write


class _Slow:
    """A part for which all is as it should be, which takes *seconds* to find out."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.now = 0.0
        self.looked_at: list[int] = []

    def steady(self) -> float:
        return self.now

    def write(self, key: int) -> Write[None] | None:
        self.looked_at.append(key)
        self.now += self.seconds
        return None

    def count(self, write: Write[None], outcome: Outcome) -> None:
        raise AssertionError("nothing is written")

    def answered(self, key: int, write: Write[None], outcome: Outcome, *, is_overtaken: bool) -> bool:
        raise AssertionError("nothing is written")

    def failed(self, key: int, write: Write[None], error: KubernetesError) -> float | None:
        raise AssertionError("nothing is written")

    def settled(self, *, is_all: bool) -> None:
        """All was looked at."""


def _ask(request: ApiRequest, done: Callable[[Outcome], None]) -> None:
    raise AssertionError("nothing is written")


class PortionTests(SynchronousTestCase):
    """What one turn looks at."""

    def portions(self, seconds: float) -> list[int]:
        """Return how many of 20 keys each turn looks at that take *seconds* each."""
        part, clock = _Slow(seconds), Clock()
        sending = Sending(clock, _ask, (1.0, 1.0), part.steady, lambda: 0.0, Refusals())
        writer: ReportWriter[int, None] = ReportWriter(part, sending, Bounds(100.0, 10), "things", "it waits")
        writer.lead(range(20))
        found = []
        while writer.pending:
            before = len(part.looked_at)
            # What it calls leads to the next call, which is for the turn behind.
            [call] = clock.calls
            clock.calls.clear()
            call.func(*call.args, **call.kw)
            found.append(len(part.looked_at) - before)
        self.assertEqual(part.looked_at, list(range(20)))
        return found

    def test_quick(self) -> None:
        """Of what takes little many are looked at."""
        self.assertEqual(self.portions(0.00001), [10, 10])

    def test_middling(self) -> None:
        """Of what takes some tenths of a millisecond few are: a turn is not to last for milliseconds."""
        self.assertLessEqual(max(self.portions(0.0003)), 2)

    def test_slow(self) -> None:
        """After one that takes long, others have their turn."""
        self.assertEqual(self.portions(0.1), [1] * 20)


class _Stumbling(_Slow):
    """A part that raises for some keys."""

    def __init__(self, *raises_for: int) -> None:
        super().__init__(0.0)
        self.raises_for = set(raises_for)

    def write(self, key: int) -> Write[None] | None:
        super().write(key)
        if key in self.raises_for:
            raise LookupError(key)
        return None


class BugTests(SynchronousTestCase):
    """A part that raises."""

    def setUp(self) -> None:
        self.part, self.clock = _Stumbling(1, 3), Clock()
        sending = Sending(self.clock, _ask, (1.0, 1.0), self.clock.seconds, lambda: 0.0, Refusals())
        self.writer: ReportWriter[int, None] = ReportWriter(
            self.part, sending, Bounds(100.0, 10), "things", "it waits"
        )

    def test_others_go_on(self) -> None:
        """A key for which the part raises costs no other, and is not looked at again by itself."""
        self.writer.lead(range(25))
        self.clock.pump([1.0] * 5)
        self.assertEqual(self.part.looked_at, list(range(25)))
        self.assertEqual(len(self.flushLoggedErrors(LookupError)), 2)
        self.assertEqual((self.writer.pending, self.clock.calls), (0, []))

    def test_told_once(self) -> None:
        """It is looked at again when it is to be, and told once until that goes well."""
        self.writer.lead(())
        for raises_for, told in (({1}, 1), ({1}, 0), (set(), 0), ({1}, 1)):
            self.part.raises_for = raises_for
            self.writer.look_at([1, 2])
            self.clock.pump([1.0] * 2)
            self.assertEqual(len(self.flushLoggedErrors(LookupError)), told)
        self.assertEqual(self.part.looked_at, [1, 2] * 4)


class _Things(_Slow):
    """A part that has something to write for those keys that are there."""

    def __init__(self) -> None:
        super().__init__(0.0)
        self.there: set[int] = set()

    def write(self, key: int) -> Write[None] | None:
        super().write(key)
        return (
            Write(ApiRequest("PATCH", f"/{key}"), "", str(key), "write", None) if key in self.there else None
        )

    def count(self, write: Write[None], outcome: Outcome) -> None:
        """All of them are sent."""

    def answered(self, key: int, write: Write[None], outcome: Outcome, *, is_overtaken: bool) -> bool:
        self.there.discard(key)
        return False


class FailingTests(SynchronousTestCase):
    """What the API server fails at."""

    def test_gone(self) -> None:
        """Of what is gone nothing is remembered, however often it failed."""
        part, clock = _Things(), Clock()

        def ask(request: ApiRequest, done: Callable[[Outcome], None]) -> None:
            done({} if request.path == "/0" else KubernetesError(500, "InternalError", "x"))

        sending = Sending(clock, ask, (1.0, 1.0), clock.seconds, lambda: 0.0, Refusals())
        writer: ReportWriter[int, None] = ReportWriter(part, sending, Bounds(100.0, 10), "things", "it waits")
        part.there = {0, 1, 2}
        writer.lead([1, 2, 0])
        clock.pump([0.5] * 60)
        self.assertEqual(writer.failing(2), {1, 2})
        part.there = {2}
        clock.pump([0.5] * 240)
        self.assertEqual(writer.failing(1), {2})
