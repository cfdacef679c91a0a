"""Tracing: ``enable-opentelemetry`` and its like.

The proxy makes no spans.  What clients say about traces (``traceparent``, ``b3`` and others) goes to endpoints as it
came, and their answers come back as they are; so spans of endpoints hang together without the proxy between them.
"""

from typing import Final

from ingress.annotations.values import Annotation, Family, Risk, ValueRefused, parse_boolean
from ingress.model.frozen import frozen

_MAX_NAME: Final = 256
_NO_SPANS: Final = (
    "the proxy makes no spans; what clients say in fields such as traceparent goes to endpoints as it came"
)


def ignore_name(text: str) -> None:
    """Read the name of an operation, which names no span here."""
    if len(text) > _MAX_NAME or not text.isprintable():
        raise ValueRefused(f"is not a name of at most {_MAX_NAME} characters")


def ignore_boolean(text: str) -> None:
    """Read a switch about spans, of which there are none."""
    parse_boolean(text)


@frozen
class TracingSettings:
    """What the annotations of one Ingress say about traces."""

    makes_spans: bool = False
    unused: None = None
    """How the spans are to be that are not made."""


TRACING: Final = Family(
    name="tracing",
    settings=TracingSettings(),
    acts="traces of requests",
    annotations={
        "enable-opentelemetry": Annotation(
            "makes_spans",
            parse_boolean,
            instead=_NO_SPANS,
            unhonored=_NO_SPANS,
            values="a boolean; false",
            meaning="`false` has the proxy make no spans, as it never does",
            differs="`true` is not honored; fields about traces are passed on in any case",
        ),
        "opentelemetry-trust-incoming-span": Annotation(
            "unused",
            ignore_boolean,
            instead="fields about traces go to endpoints as they came",
            values="a boolean",
            meaning="nothing: fields about traces go to endpoints as they came",
        ),
        "opentelemetry-operation-name": Annotation(
            "unused",
            ignore_name,
            instead="there are no spans to be named",
            values="a name",
            meaning="nothing: the proxy makes no spans",
            risk=Risk.MEDIUM,
        ),
    },
)
