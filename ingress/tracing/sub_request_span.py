"""The span of a sub-request of a trace that is sampled, from its beginning to its end."""

from collections.abc import Callable
from typing import Protocol

from ingress.model.exchanges.sub_requests import SubAnswer
from ingress.model.observability.traces import TraceContext
from ingress.tracing.ended import EndedSubRequest
from ingress.tracing.tracer import Tracer

_NOT_WAITED_FOR = "nobody waits any longer"


class SentHead(Protocol):
    """The head of a sub-request; ``ingress.http.request_head.RequestHead`` is one."""

    method: bytes
    target: bytes


class SubRequestSpan:
    """Of one that begins now, when *seconds* is asked; *url* is where it goes."""

    __slots__ = ("_began", "_head", "_is_awaited", "_seconds", "_trace", "_tracer", "_url", "id")

    def __init__(
        self,
        tracer: Tracer,
        trace: TraceContext,
        url: str,
        head: SentHead,
        seconds: Callable[[], float],
        *,
        is_awaited: bool,
    ) -> None:
        self.id = tracer.new_span_id()
        self._tracer = tracer
        self._trace = trace
        self._url = url
        self._head = head
        self._seconds = seconds
        self._is_awaited = is_awaited
        self._began = seconds()

    def over(self, outcome: SubAnswer | str | None) -> None:
        """Tell that it ended: with an answer, with the reason why there is none, or with None for who has cancelled."""
        status = outcome.status if isinstance(outcome, SubAnswer) else 0
        why = "" if status else (outcome if isinstance(outcome, str) else _NOT_WAITED_FOR)
        ended = EndedSubRequest(
            self._trace,
            self.id,
            self._head.method,
            self._url,
            self._head.target,
            self._began,
            self._seconds(),
            status,
            why,
            self._is_awaited,
        )
        self._tracer.told(ended)
