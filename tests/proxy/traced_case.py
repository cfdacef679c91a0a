"""Conversations with a proxy that traces, and the spans that come of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from ingress.http.trace_context import Parent, read_parent
from ingress.model.observability.tracing_settings import TracingSettings
from ingress.tracing.ended import Ended
from ingress.tracing.spans import Span, spans_of
from ingress.tracing.tracer import Tracer
from tests.fakes.transports import Peer
from tests.proxy.filter_case import FilterCase

ALL = TracingSettings(endpoint="http://collector.test/v1/traces", ratio=1.0, trusts_parent=True)
NOW = 1_800_000_000.0
"""The time of day when the clock of the stage is at 0."""


def tree_of(spans: Iterable[Span], parent_id: str = "") -> dict[str, object]:
    """Return names of spans, each with those below it; a name that comes twice has a number."""
    spans = list(spans)
    found: dict[str, object] = {}
    for span in spans:
        if span.parent_id == parent_id:
            names: Iterator[str] = (span.name if not at else f"{span.name} {at + 1}" for at in count())
            name = next(one for one in names if one not in found)
            found[name] = tree_of(spans, span.span_id)
    return found


class TracedCase(FilterCase):
    """A stage with a tracer, of which the test is told."""

    def setUp(self) -> None:
        super().setUp()
        self.told: list[Ended] = []
        self.trace(ALL)

    def trace(self, settings: TracingSettings | None) -> None:
        """Trace by *settings* from now on; None for not at all."""
        tracer = None
        if settings is not None:
            seconds = self.reactor.seconds
            tracer = Tracer(
                settings,
                settings.most_per_second,
                seconds,
                lambda: NOW + seconds(),
                self.stage.site.context.new_request_id,
                self.told.append,
                self.metrics.tracing,
            )
        self.stage.site.context.trace_by(tracer)
        self.stage.sub_requests.tracer = tracer

    def spans(self) -> list[Span]:
        """Return all spans so far."""
        return [span for ended in self.told for span in spans_of(ended, shows_query=False)]

    def span(self, name: str) -> Span:
        """Return the only span called *name*."""
        (found,) = [span for span in self.spans() if span.name == name]
        return found

    @staticmethod
    def parent(peer: Peer) -> Parent:
        """Return what a peer was told of the trace, since it was looked last."""
        head = peer.take().partition(b"\r\n\r\n")[0].partition(b"\r\n")[2]
        found = read_parent(head + b"\r\n")
        assert found is not None, head
        return found
