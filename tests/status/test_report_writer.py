"""Tests of how much a writer looks at in one turn; what it writes is tested with statuses and Events."""

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
        self.assertEqual(self.portions(0.0001), [10, 10])

    def test_slow(self) -> None:
        """After one that takes long, others have their turn."""
        self.assertEqual(self.portions(0.1), [1] * 20)
