"""What is told of sampled traces: what ended, with its times, on its way to become spans."""

from typing import Final, NamedTuple

from ingress.model.exchanges.records import Record
from ingress.model.observability.traces import TraceContext

MAX_TEXT: Final = 1024
"""Of what somebody wrote: bytes that are kept, and characters that are told."""


class EndedExchange(NamedTuple):
    """An exchange, with all of its attempts."""

    trace: TraceContext
    record: Record
    """Without the side that sent the request, which has gone on with others, and without its head; its target cut."""
    tls_version: str = ""
    """That of the connection of the request, as in ``TLSv1.3``; empty without TLS."""
    agent: bytes = b""
    """What the request said in ``User-Agent``."""

    @property
    def spans(self) -> int:
        """How many spans it becomes."""
        return 1 + len(self.record.attempts)


class EndedSubRequest(NamedTuple):
    """What a filter asked another service, or only told it."""

    trace: TraceContext
    span_id: str
    method: bytes
    url: str
    """Where it went; of this, scheme, host and port count."""
    target: bytes
    began: float
    """By the clock of exchanges, ..."""
    over: float
    """... and so is this."""
    status: int
    """What was answered; 0 where nothing was."""
    why: str = ""
    """Why there is no answer; empty where there is one."""
    is_awaited: bool = True
    """Whether anybody waited for it."""

    @property
    def spans(self) -> int:
        """How many spans it becomes."""
        return 1


class EndedWait(NamedTuple):
    """How long a filter had the request, or its answer, wait."""

    trace: TraceContext
    span_id: str
    filter: str
    began: float
    over: float
    why: str = ""
    """What went wrong; empty where it decided."""

    @property
    def spans(self) -> int:
        """How many spans it becomes."""
        return 1


Ended = EndedExchange | EndedSubRequest | EndedWait
