"""Tracing, as the options have it: off, or with a tracer for the proxy and a thread that exports."""

from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from time import monotonic
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ingress.metrics.series.tracing import TracingMetrics
from ingress.model.observability.tracing_settings import TracingSettings
from ingress.tracing.ended import Ended
from ingress.tracing.export_thread import ExportThread, SpanSender
from ingress.tracing.tracer import Tracer

END_SECONDS: Final = 1.0
"""How long the end of the process, or other options, wait for what is still to be sent."""
_PACKAGES: Final = {
    "http": ("tracing", "opentelemetry-exporter-otlp-proto-http"),
    "grpc": ("tracing-grpc", "opentelemetry-exporter-otlp-proto-grpc"),
}


def missing_for(settings: TracingSettings) -> str:
    """Return what is to be installed for *settings*, as the end of a sentence; empty where nothing is missing.

    Nothing is imported for that.
    """
    if not settings.endpoint:
        return ""
    extra, package = _PACKAGES[settings.endpoint[:4]]
    try:
        version(package)
    except PackageNotFoundError:
        return f"needs packages of OpenTelemetry's: pip install 'txingress[{extra}]'"
    return ""


def otlp_sender(settings: TracingSettings) -> SpanSender:
    """Return the sender for *settings*; to be called in the thread that sends, for it imports much."""
    from ingress.tracing.otlp import OtlpSender, exporter_for

    attributes = {"service.name": settings.service}
    for text in settings.attributes:
        name, _, value = text.partition("=")
        attributes[name] = value
    return OtlpSender(exporter_for(settings.endpoint), settings.endpoint, attributes, monotonic)


class Tracing:
    """Of one process that serves.

    *share* returns how much of what all workers may do together is its own, *new_id* 32 hexadecimal digits, *time* the time of day;
    *from_thread* has the reactor call something.
    """

    log = Logger()

    def __init__(
        self,
        clock: IReactorTime,
        time: Callable[[], float],
        metrics: TracingMetrics,
        share: Callable[[int], int],
        new_id: Callable[[], bytes],
        from_thread: Callable[[Callable[[], None]], object],
        new_sender: Callable[[TracingSettings], SpanSender] = otlp_sender,
    ) -> None:
        self._clock = clock
        self._time = time
        self._metrics = metrics
        self._share = share
        self._new_id = new_id
        self._from_thread = from_thread
        self._new_sender = new_sender
        self._thread: ExportThread | None = None
        self._exports = TracingSettings()

    def follow(self, settings: TracingSettings) -> Tracer | None:
        """Go by *settings* from now on; return who is asked and told about traces, None where nobody is."""
        missing = missing_for(settings)
        if missing:
            self.log.error("Nothing is traced: tracing {missing}", missing=missing)
            settings = TracingSettings()
        if self._exported(settings) != self._exported(self._exports):
            self._end_thread()
        self._exports = settings
        if not settings.endpoint:
            return None
        if self._thread is None:
            self._thread = ExportThread(
                partial(self._new_sender, settings),
                self._metrics,
                self._from_thread,
                settings.queue_size,
                settings.batch_size,
                settings.delay_seconds,
                shows_query=settings.shows_query,
            )
            self._thread.start()
        told: Callable[[Ended], None] = self._thread.put
        most = self._share(settings.most_per_second) if settings.most_per_second else 0
        return Tracer(settings, most, self._clock.seconds, self._time, self._new_id, told, self._metrics)

    @staticmethod
    def _exported(settings: TracingSettings) -> tuple[object, ...]:
        """Return what of *settings* the thread goes by."""
        return (
            settings.endpoint,
            settings.service,
            settings.attributes,
            settings.shows_query,
            settings.queue_size,
            settings.batch_size,
            settings.delay_seconds,
        )

    def _end_thread(self) -> Deferred[None] | None:
        """Have the thread send what waits and end; it takes as long as a batch may take, at most."""
        thread, self._thread = self._thread, None
        return None if thread is None else thread.stop()

    async def stop(self) -> None:
        """Send what waits, for a second at most."""
        ended = self._end_thread()
        if ended is None:
            return
        waits: Deferred[None] = Deferred()
        late = self._clock.callLater(END_SECONDS, waits.callback, None)

        def over(_: None) -> None:
            if late.active():
                late.cancel()
                waits.callback(None)

        ended.addCallback(over)
        await waits
