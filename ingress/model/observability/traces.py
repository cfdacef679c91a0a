"""The trace that a request is part of, as W3C Trace Context has it (https://www.w3.org/TR/trace-context/)."""

from typing import NamedTuple

from ingress.model.observability.span_names import SpanName

_MASK = (1 << 64) - 1


class TraceContext(NamedTuple):
    """Which trace, and which of its spans is the request's own here.  Made once for each request, so it is a tuple."""

    trace_id: str
    """32 hexadecimal digits, in lower case."""
    span_id: str
    """16 of them."""
    is_sampled: bool = False
    """Whether its spans are told to anybody."""
    flags: str = "00"
    """What is said of it to whoever gets the request next: two hexadecimal digits, the lowest bit for *is_sampled*."""
    parent_id: str = ""
    """The span in which the request was sent to us; empty where the trace begins here."""
    state: str = ""
    """What other systems have noted, which goes on."""
    epoch: float = 0.0
    """The time of day, in seconds since 1970, when the proxy's clock was at 0; only of what is sampled."""
    began: float = 0.0
    """When the request was read, by that clock."""
    name: SpanName | None = None
    """What its span is called; None for the usual name."""

    def attempt_id(self, number: int) -> str:
        """Return the id of the span of attempt *number*, from 0; where nobody is told of any it is the request's own."""
        if not self.is_sampled:
            return self.span_id
        # Nobody has to keep it: who makes the span knows how many came before.
        return f"{(int(self.span_id, 16) + number + 1) & _MASK or 1:016x}"

    def time_of(self, seconds: float) -> int:
        """Return the time of day, in nanoseconds since 1970, when the clock was at *seconds*."""
        return round(self.epoch * 1_000_000_000) + round(seconds * 1_000_000_000)
