"""What the operator says of traces: whose spans are told, to whom, and how much of that there may be."""

from typing import Final

from ingress.model.frozen import frozen
from ingress.model.observability.span_names import SpanName

MOST_PER_SECOND: Final = 100


@frozen
class RouteTracing:
    """What a route says of traces; None is what holds for all."""

    is_on: bool | None = None
    """Whether its requests are traced."""
    trusts_parent: bool | None = None
    """Whether what its clients say of a trace is believed."""
    name: SpanName | None = None
    """What its spans are called."""


@frozen
class TracingSettings:
    """What holds for all; without an endpoint nobody traces anything."""

    endpoint: str = ""
    """Where spans go, by OTLP: ``http://HOST:4318/v1/traces``, or ``grpc://HOST:4317``."""
    ratio: float = 0.01
    """Of the traces that begin here, which are sampled: 0 to 1."""
    trusts_parent: bool = False
    """Whether the trace that a client names is gone on with."""
    follows_parent: bool = True
    """Whether such a trace is sampled where its client says so, whatever the ratio."""
    header: str = ""
    """The field whose presence has a request sampled; empty for none."""
    most_per_second: int = MOST_PER_SECOND
    """How many requests are sampled in a second at most, whoever asks for it; 0 means no bound."""
    by_default: bool = True
    """Whether requests are traced whose Ingress does not say so."""
    service: str = "txingress"
    """What the controller is called in traces (``service.name``)."""
    attributes: tuple[str, ...] = ()
    """What else is said of it: attributes of the resource, each as ``NAME=VALUE``."""
    name: SpanName | None = None
    """What spans of requests are called, where no Ingress says so; None for method and path of the rule."""
    shows_query: bool = False
    """Whether spans have query strings."""
    queue_size: int = 2048
    """How many exchanges, and parts of them, wait to be told of at most."""
    batch_size: int = 64
    """How many of them are told of at once: few, for while they are encoded requests share the interpreter with that."""
    delay_seconds: float = 1.0
    """How long they wait at most, if the batch does not become full before."""
