"""The thread that exports, run in the thread of the test."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.series.tracing import TracingMetrics
from ingress.tracing.ended import EndedExchange, EndedWait
from ingress.tracing.export_thread import ExportThread
from ingress.tracing.spans import Span
from tests.tracing.test_spans import RECORD, TRACE

WAIT = EndedWait(TRACE, "1" * 16, "auth", 5.0, 5.5)
EXCHANGE = EndedExchange(TRACE, RECORD)


class Sender:
    """Takes spans, or says *why* it does not; calls *then* after each batch."""

    def __init__(self, why: str = "", then: Callable[[], None] = lambda: None) -> None:
        self.why = why
        self.then = then
        self.batches: list[int] = []
        self.is_closed = False

    def send(self, spans: Sequence[Span]) -> str:
        self.batches.append(len(spans))
        self.then()
        return self.why

    def close(self) -> None:
        self.is_closed = True


class ExportTests(SynchronousTestCase):
    """What becomes of what is put in."""

    def thread(self, sender: Sender, queue: int = 10, batch: int = 4) -> ExportThread:
        """Return a thread that has not begun, whose end is asked for once it has waited."""
        self.metrics = TracingMetrics()
        return ExportThread(lambda: sender, self.metrics, lambda call: call(), queue, batch, 0.01)

    def values(self) -> dict[str, float]:
        """Return what was counted."""
        return {
            "".join((sample.name, *sample.labels.values())): sample.value
            for family in self.metrics.families()
            for sample in family.samples
        }

    def run_with(self, sender: Sender, count: int, queue: int = 10) -> None:
        """Put so many in, and have the thread run to its end."""
        thread = self.thread(sender, queue)
        for _ in range(count):
            thread.put(WAIT)
        ended = thread.stop()
        thread.run()
        self.successResultOf(ended)

    def test_batches(self) -> None:
        """All that waits is sent in batches, and counted once the collector has it; at the end, too."""
        sender = Sender()
        self.run_with(sender, 10)
        self.assertEqual((sender.batches, sender.is_closed), ([4, 4, 2], True))
        self.assertEqual(self.values()["ingress_spans_exported_total"], 10)

    def test_whole_exchanges(self) -> None:
        """An exchange is as many spans as it has attempts, and one."""
        sender = Sender()
        thread = self.thread(sender)
        thread.put(EXCHANGE)
        thread.stop()
        thread.run()
        self.assertEqual(sender.batches, [2])

    def test_refused(self) -> None:
        """What the collector does not take is lost, and counted by that."""
        self.run_with(Sender("no"), 3)
        self.assertEqual(self.values()["ingress_spans_dropped_totalexport"], 3)
        self.assertEqual(self.values()["ingress_spans_exported_total"], 0)

    def test_full(self) -> None:
        """What finds the queue full is lost, span by span, and counted by that."""
        thread = self.thread(Sender(), queue=2)
        for _ in range(5):
            thread.put(EXCHANGE)
        self.assertEqual(self.values()["ingress_spans_dropped_totalqueue"], 6)
        thread.stop()
        thread.run()
        self.assertEqual(self.values()["ingress_spans_exported_total"], 4)

    def test_no_sender(self) -> None:
        """Where there can be no sender the log says so, all that waits or comes is lost, and whoever waits for the end goes on."""

        def fail() -> Sender:
            raise ImportError("nothing there")

        thread = self.thread(Sender())
        thread._new_sender = fail
        thread.put(WAIT)
        ended = thread.stop()
        thread.run()
        self.successResultOf(ended)
        self.assertEqual(len(self.flushLoggedErrors(ImportError)), 1)
        thread.put(WAIT)
        self.assertEqual(self.values()["ingress_spans_dropped_totalqueue"], 2)

    def test_comes_meanwhile(self) -> None:
        """What comes while a batch is sent waits for a turn of its own, unless it is a whole batch."""
        sender = Sender()
        thread = self.thread(sender, queue=100)
        coming = iter([3, 9])

        def then() -> None:
            for _ in range(next(coming, 0)):
                thread.put(WAIT)

        sender.then = then
        thread.put(WAIT)
        thread._send_all(sender)
        self.assertEqual(sender.batches, [1])
        thread._send_all(sender)
        self.assertEqual(sender.batches, [1, 3, 4, 4])
