"""Tracing: ``enable-opentelemetry`` and its like.

What they say is for the tracer alone, which the operator has started by ``--tracing-endpoint``, or has not: then they change nothing.
"""

from typing import ClassVar, Final

from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, Risk, ValueRefused, parse_boolean
from ingress.filters import Filter, FilterSpec, Phase, RouteTracing, Services
from ingress.model.frozen import frozen
from ingress.model.observability.span_names import SpanName, read_span_name


def parse_name(text: str) -> SpanName | None:
    """Read what spans are called."""
    try:
        return read_span_name(text)
    except ValueError as error:
        raise ValueRefused(str(error)) from None


@frozen
class TracingSettings:
    """What the annotations of one Ingress say about traces; None is what holds for all."""

    is_on: bool | None = None
    trusts_parent: bool | None = None
    name: SpanName | None = None


@frozen
class TracedRoute:
    """What a route says of traces."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "tracing"

    said: RouteTracing

    def describe(self) -> str:
        """Say which requests are traced, and how."""
        said = self.said
        if said.is_on is False:
            return "is not traced"
        words = ["is traced if the operator has a collector"]
        if said.trusts_parent is not None:
            words.append(
                "goes on with the client's trace" if said.trusts_parent else "begins a trace of its own"
            )
        if said.name is not None:
            words.append(f"its spans are called {said.name.text}")
        return ", ".join(words)

    def make(self, services: Services) -> Filter:
        """Make the filter that says so, and does nothing."""
        live = Filter()
        live.tracing = self.said
        return live


def tracing_filters(settings: TracingSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what says so before a route; nothing where nothing is asked."""
    if settings == TRACING.settings:
        return ()
    return (TracedRoute(RouteTracing(settings.is_on, settings.trusts_parent, settings.name)),)


TRACING: Final = Family(
    name="tracing",
    settings=TracingSettings(),
    acts="traces of requests",
    annotations={
        "enable-opentelemetry": Annotation(
            "is_on",
            parse_boolean,
            instead="what holds for all does",
            values="a boolean; what `tracing-by-default` says",
            meaning="has requests traced or not, where the operator has said by `tracing-endpoint` where spans go",
            differs="of what is traced, `tracing-ratio` is sampled; requests that are not traced go on with fields about traces as they came",
        ),
        "opentelemetry-trust-incoming-span": Annotation(
            "trusts_parent",
            parse_boolean,
            instead="what holds for all does",
            values="a boolean; what `tracing-trust-parent` says",
            meaning="goes on with traces that clients name in `traceparent`, or begins another one for each request",
            differs="without it, nothing is believed unless the operator says so",
        ),
        "opentelemetry-operation-name": Annotation(
            "name",
            parse_name,
            instead="spans have their usual name",
            values="text with some of nginx's variables; method and path of the rule",
            meaning="names the spans of requests",
            differs="`$uri` and `$request_uri` are the path of the rule, `$host` is its host; other variables that visitors choose are refused",
            risk=Risk.MEDIUM,
        ),
    },
    phases=(Phase.EDITS,),
    filters=tracing_filters,
)
