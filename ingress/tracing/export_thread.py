"""The thread that tells of spans: it makes them of what ended, and sends them in batches.

Whoever serves only puts what ended into a queue that has an end.  What finds it full is lost, and counted; so a collector that is
away, slow, or refuses costs the proxy nothing but that.  Everything that blocks, imports of OpenTelemetry's packages included,
happens in the thread.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event, Thread
from typing import Protocol

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ingress.metrics.series.tracing import TracingMetrics
from ingress.tracing.ended import Ended
from ingress.tracing.spans import Span, spans_of


class SpanSender(Protocol):
    """Sends spans to a collector; all of it in the thread."""

    def send(self, spans: Sequence[Span]) -> str:
        """Send *spans*, and wait until they are taken; return why they are not, empty where they are."""

    def close(self) -> None:
        """Give everything back."""


class ExportThread:
    """Sends what it is given by the sender that *new_sender* makes.

    *from_thread* has the reactor call something; *queue_size*, *batch_size* and *delay_seconds* are those of
    ``TracingSettings``.
    """

    log = Logger()

    def __init__(
        self,
        new_sender: Callable[[], SpanSender],
        metrics: TracingMetrics,
        from_thread: Callable[[Callable[[], None]], object],
        queue_size: int,
        batch_size: int,
        delay_seconds: float,
        *,
        shows_query: bool = False,
    ) -> None:
        self._new_sender = new_sender
        self._metrics = metrics
        self._from_thread = from_thread
        self._queue_size = queue_size
        self._batch_size = min(batch_size, queue_size)
        self._delay_seconds = delay_seconds
        self._shows_query = shows_query
        self._waiting: deque[Ended] = deque()
        self._wake = Event()
        self._is_ending = False
        self._ended: Deferred[None] = Deferred()

    def start(self) -> None:
        """Begin."""
        # Ours and a daemon: a collector that hangs must not keep the process from ending.
        Thread(target=self.run, name="tracing", daemon=True).start()

    def put(self, ended: Ended) -> None:
        """Have *ended* told of, if there is room."""
        waiting = self._waiting
        if len(waiting) >= self._queue_size:
            self._metrics.lost("queue", ended.spans)
            return
        waiting.append(ended)
        if len(waiting) == self._batch_size:
            self._wake.set()

    def stop(self) -> Deferred[None]:
        """Take no more, and send what waits; fires when that is done, or cannot be."""
        self._is_ending = True
        self._wake.set()
        return self._ended

    def run(self) -> None:
        """Send batches until the end; this is what the thread does."""
        try:
            sender = self._new_sender()
            while not self._is_ending:
                self._wake.wait(self._delay_seconds)
                self._wake.clear()
                self._send_all(sender)
            self._send_all(sender)
            sender.close()
        except Exception:
            self.log.failure("No spans are exported any more, by a bug")
        finally:
            self._from_thread(self._over)

    def _over(self) -> None:
        self._metrics.lost("queue", sum(ended.spans for ended in self._waiting))
        self._waiting.clear()
        self._queue_size = 0
        self._ended.callback(None)

    def _send_all(self, sender: SpanSender) -> None:
        """Send what waits, in batches; what comes meanwhile has a turn of its own, unless it is a whole batch."""
        waiting = self._waiting
        left = len(waiting)
        while left or len(waiting) >= self._batch_size:
            batch = [waiting.popleft() for _ in range(min(self._batch_size, len(waiting)))]
            left = max(0, left - len(batch))
            spans = [span for ended in batch for span in spans_of(ended, shows_query=self._shows_query)]
            why = sender.send(spans)
            self._from_thread(partial(self._told, len(spans), why))

    def _told(self, count: int, why: str) -> None:
        if why:
            self._metrics.lost("export", count)
        else:
            self._metrics.exported += count
