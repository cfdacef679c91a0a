"""Tracing as the options have it: on, off, to another collector, and to its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError
from itertools import count
from queue import SimpleQueue
from threading import Event

from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.request_head import parse_request_head
from ingress.metrics.series.tracing import TracingMetrics
from ingress.model.observability.tracing_settings import TracingSettings
from ingress.tracing import tracing
from ingress.tracing.spans import Span
from ingress.tracing.tracer import Tracer
from ingress.tracing.tracing import END_SECONDS, Tracing, missing_for
from tests.tracing.test_export_thread import WAIT

HEAD = parse_request_head(b"GET / HTTP/1.1\r\nHost: a.test")
ON = TracingSettings("http://collector.test/v1/traces", ratio=1.0, delay_seconds=0.01)
PATIENCE_SECONDS = 60.0


class Sender:
    """Takes spans once it is *let*."""

    def __init__(self, settings: TracingSettings) -> None:
        self.settings = settings
        self.is_let = Event()
        self.is_let.set()
        self.has_begun = Event()
        self.taken: list[Span] = []
        self.is_closed = Event()

    def send(self, spans: Sequence[Span]) -> str:
        self.has_begun.set()
        self.is_let.wait(PATIENCE_SECONDS)
        self.taken += spans
        return ""

    def close(self) -> None:
        self.is_closed.set()


class TracingTests(SynchronousTestCase):
    """With threads of its own, and a clock that the test moves."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.senders: list[Sender] = []
        self.calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.metrics = TracingMetrics()
        self.shares: list[int] = []
        numbers = count(1)
        self.tracing = Tracing(
            self.clock,
            lambda: 1e9,
            self.metrics,
            self.share,
            lambda: b"%032x" % next(numbers),
            self.calls.put,
            self.new_sender,
        )
        self.addCleanup(self.let)

    def let(self) -> None:
        """Have all collectors take what they get."""
        for sender in self.senders:
            sender.is_let.set()

    def share(self, most: int) -> int:
        """Have half of what all have."""
        self.shares.append(most)
        return most // 2

    def end(self) -> None:
        """Have it end, by what its threads have the reactor call."""
        ended = Deferred.fromCoroutine(self.tracing.stop())
        while not ended.called:
            self.calls.get(timeout=PATIENCE_SECONDS)()
        self.successResultOf(ended)

    def new_sender(self, settings: TracingSettings) -> Sender:
        """Make a sender, and keep it."""
        self.senders.append(Sender(settings))
        return self.senders[-1]

    def tracer(self, settings: TracingSettings = ON) -> Tracer:
        """Have requests traced."""
        found = self.tracing.follow(settings)
        assert found is not None
        return found

    def test_off(self) -> None:
        """Without endpoint there is neither tracer nor thread, and the end waits for nothing."""
        self.assertIsNone(self.tracing.follow(TracingSettings()))
        self.successResultOf(Deferred.fromCoroutine(self.tracing.stop()))
        self.assertEqual(self.senders, [])

    def test_end(self) -> None:
        """What waits at the end is still sent."""
        tracer = self.tracer(evolve(ON, delay_seconds=60.0))
        tracer.waited(tracer.begin(HEAD, None, b"", 1.0), "auth", 1.0, "")
        self.end()
        self.assertEqual([one.name for sender in self.senders for one in sender.taken], ["filter auth"])
        self.assertTrue(self.senders[-1].is_closed.is_set())
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_end_of_time(self) -> None:
        """For a collector that hangs the end waits a second, and no longer."""
        is_let = Event()
        self.addCleanup(is_let.set)

        def hang(settings: TracingSettings) -> Sender:
            sender = self.new_sender(settings)
            sender.is_let = is_let
            return sender

        hung = Tracing(self.clock, float, self.metrics, abs, bytes, self.calls.put, hang)
        tracer = hung.follow(ON)
        assert tracer is not None
        tracer.told(WAIT)
        while not self.senders:
            Event().wait(0.001)
        self.assertTrue(self.senders[0].has_begun.wait(PATIENCE_SECONDS))
        self.tracing = hung
        ending = Deferred.fromCoroutine(self.tracing.stop())
        self.clock.advance(END_SECONDS)
        self.successResultOf(ending)

    def test_other_options(self) -> None:
        """Another ratio has another tracer, and the thread goes on; another collector gets a thread of its own."""
        first = self.tracer()
        self.assertIsNot(self.tracer(evolve(ON, ratio=0.5)), first)
        self.tracer(evolve(ON, endpoint="http://other.test/v1/traces"))
        self.end()
        self.assertEqual(
            [sender.settings.endpoint for sender in self.senders],
            [ON.endpoint, "http://other.test/v1/traces"],
        )

    def test_share(self) -> None:
        """Of what all workers may have sampled this one has its part."""
        tracer = self.tracer(evolve(ON, most_per_second=4))
        sampled = [tracer.begin(HEAD, None, b"", 1.0) for _ in range(5)]
        self.assertEqual([one.is_sampled for one in sampled if one], [True, True, False, False, False])
        self.assertEqual(self.shares, [4])
        self.end()


class MissingTests(SynchronousTestCase):
    """Where packages are missing."""

    def setUp(self) -> None:
        def missing(package: str) -> str:
            raise PackageNotFoundError(package)

        self.patch(tracing, "version", missing)

    def test_named(self) -> None:
        """What is to be installed is said, for either way; without an endpoint nothing is missing."""
        self.assertIn("txingress[tracing]", missing_for(ON))
        self.assertIn("txingress[tracing-grpc]", missing_for(evolve(ON, endpoint="grpc://a.test:4317")))
        self.assertEqual(missing_for(TracingSettings()), "")

    def test_while_running(self) -> None:
        """A collector that is named while the process runs is told of in the log, and nothing is traced."""
        found = Tracing(Clock(), float, TracingMetrics(), abs, bytes, lambda call: None)
        with capturedLogs() as told:
            self.assertIsNone(found.follow(ON))
        self.assertIn("txingress[tracing]", formatEvent(told[0]))
