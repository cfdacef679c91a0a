"""The trace that a request is part of, as W3C Trace Context has it (https://www.w3.org/TR/trace-context/)."""

from ingress.model.frozen import frozen


@frozen
class TraceContext:
    """Which trace, and which of its spans is the request's own here."""

    trace_id: str
    """32 hexadecimal digits, in lower case."""
    span_id: str
    """16 of them."""
    is_sampled: bool = False
    """Whether its spans are told to anybody."""
