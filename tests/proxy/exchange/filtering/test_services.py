"""What the proxy does for filters, and how a failing one is told of."""

from datetime import UTC, datetime
from random import Random
from typing import Any

from twisted.internet.defer import succeed
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.filters import Scope, SubAnswer, SubRequest
from ingress.metrics.series.filters import MAX_EVENTS, FilterMetrics
from ingress.proxy.exchange.filtering.filter_errors import QUIET_SECONDS, FilterErrorLog
from ingress.proxy.exchange.filtering.services import FilterClock, FilterServices, ReplicaCount, States
from tests.fakes.filter_parts import FakeComputing

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Asks:
    """Keeps what is asked, and answers all alike."""

    def __init__(self) -> None:
        self.asked: list[SubRequest] = []
        self.told: list[SubRequest] = []

    def ask(self, request: SubRequest) -> object:
        """Answer."""
        self.asked.append(request)
        return succeed(SubAnswer(204))

    def tell(self, request: SubRequest) -> None:
        """Keep it."""
        self.told.append(request)


class ServicesTests(SynchronousTestCase):
    """``FilterServices``."""

    def setUp(self) -> None:
        self.time = Clock()
        self.metrics = FilterMetrics()
        self.states = States()
        self.asker = Asks()
        self.computing = FakeComputing()

    def services(self, name: str = "one") -> FilterServices:
        """Return those of a name."""
        clock = FilterClock(self.time, lambda: NOW)
        asker: Any = self.asker
        return FilterServices(
            name,
            clock,
            Random(1),
            self.metrics,
            self.states,
            asker,
            ReplicaCount(),
            self.computing,
            b"of the process",
        )

    def counted(self) -> dict[tuple[str, ...], float]:
        """Return what was counted, by labels."""
        return {
            tuple(sample.labels.values()): sample.value
            for family in self.metrics.families()
            for sample in family.samples
        }

    def test_compute(self) -> None:
        """What is computed comes back; work of one name is never taken for that of another."""
        self.assertEqual(self.successResultOf(self.services().compute(lambda: 5, "me", "x")), 5)  # type: ignore[arg-type]
        self.services("two").compute(lambda: 5, "me", "x")
        self.services().compute(lambda: 5)
        self.assertEqual(self.computing.asked, [("me", ("one", "x")), ("me", ("two", "x")), (None, None)])

    def test_secret(self) -> None:
        """Filters of one name have the same secret, and others another one."""
        self.assertEqual(self.services().secret, self.services().secret)
        self.assertNotEqual(self.services().secret, self.services("two").secret)
        self.assertEqual(len(self.services().secret), 32)

    def test_time(self) -> None:
        """Calls come when they are due, and never once they are cancelled, at whatever time that is."""
        clock = self.services().clock
        called: list[int] = []
        clock.call_later(2.0, lambda: called.append(2))
        never = clock.call_later(3.0, lambda: called.append(3))
        self.time.advance(2.0)
        never.cancel()
        never.cancel()
        self.time.advance(2.0)
        self.assertEqual((called, clock.seconds(), clock.now()), ([2], 4.0, NOW))
        late = clock.call_later(0.0, lambda: called.append(4))
        self.time.advance(0.0)
        late.cancel()
        self.assertEqual(called, [2, 4])

    def test_state(self) -> None:
        """A state is made once for a name and a key; no two names share one."""
        made: list[list[int]] = []

        def make() -> list[int]:
            made.append([])
            return made[-1]

        first = self.services().state(Scope.WORKER, "key", make)
        self.assertIs(self.services().state(Scope.PROCESS, "key", make), first)
        self.assertIsNot(self.services("two").state(Scope.WORKER, "key", make), first)
        self.assertIsNot(self.services().state(Scope.WORKER, "other", make), first)
        self.assertEqual(len(made), 3)

    def test_replicas(self) -> None:
        """What replicas would share is nobody's to keep, and that is told, rather than kept for one alone."""
        self.assertRaises(LookupError, self.services().state, Scope.REPLICAS, "key", list)

    def test_sub_requests(self) -> None:
        """Sub-requests and mirrors go to who sends them."""
        request = SubRequest("http://a.test/")
        services = self.services()
        self.assertEqual(self.successResultOf(services.ask(request)).status, 204)  # type: ignore[arg-type]
        services.tell(request)
        self.assertEqual((self.asker.asked, self.asker.told), ([request], [request]))

    def test_chance(self) -> None:
        """Chance is from 0 to below 1."""
        random = self.services().random
        self.assertTrue(all(0 <= random() < 1 for _ in range(100)))

    def test_counts(self) -> None:
        """Each event has a counter under the name of the filter; however many there are, the series are not."""
        services = self.services()
        services.count("seen")
        services.count("seen")
        self.assertEqual(self.counted(), {("one", "seen"): 2})
        for number in range(2 * MAX_EVENTS):
            services.count(f"request {number}")
        self.assertLessEqual(len(self.counted()), MAX_EVENTS + 1)
        self.assertEqual(sum(self.counted().values()), 2 + 2 * MAX_EVENTS)


class FilterErrorLogTests(SynchronousTestCase):
    """``FilterErrorLog``."""

    def test_request(self) -> None:
        """The line names the request that failed."""
        with capturedLogs() as events:
            FilterErrorLog(Clock(), FilterMetrics()).raised("one", ZeroDivisionError("a"), b"17")
        self.flushLoggedErrors()
        self.assertEqual(
            formatEvent(events[0]).partition("\n")[0],
            "Filter one failed, and its request with it (request 17)",
        )
        self.assertEqual(events[0]["request"], "17")

    def test_quiet(self) -> None:
        """Each failure is counted; the same of the same filter is told once, and then how often it came."""
        time, metrics = Clock(), FilterMetrics()
        errors = FilterErrorLog(time, metrics)
        with capturedLogs() as events:
            for _ in range(3):
                errors.raised("one", ZeroDivisionError("a"))
            errors.raised("one", KeyError("b"))
            errors.raised("two", ZeroDivisionError("c"))
            errors.late("two")
            time.advance(QUIET_SECONDS)
            errors.raised("one", ZeroDivisionError("d"))
        self.flushLoggedErrors()
        told = [formatEvent(event).partition("\n")[0] for event in events]
        failed = "failed, and its request with it"
        again = f"Filter one {failed} (2 more since it was last told)"
        self.assertEqual(
            told, [f"Filter one {failed}", f"Filter one {failed}", f"Filter two {failed}", again]
        )
        counts = {
            sample.labels["filter"]: sample.value
            for family in metrics.families()
            for sample in family.samples
            if "failures" in sample.name
        }
        self.assertEqual(counts, {"one": 5, "two": 2})
