"""Sub-requests: what filters ask other services, and what they only tell them.

Each is a ``SubExchange``; here is what all of them have in common: where URLs lead, who waits for which, how many
mirrors there may be, and what is counted and logged of them.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from twisted.internet.defer import Deferred

from ingress.http.own_request import own_request_head
from ingress.http.request_head import RequestHead
from ingress.http.trace_context import with_trace
from ingress.metrics.series.sub_requests import SubRequestMetrics
from ingress.model.exchanges.sub_requests import SubAnswer, SubRequest, SubRequestFailed
from ingress.model.network.http_urls import HttpUrl, parse_url
from ingress.model.requests.client_authentication import MOST_DEPTH
from ingress.model.upstream.backends import BackendReference, Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings, TlsSettings, UpstreamTls
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.contract.limits import DECISION_SECONDS, MAX_MIRROR_BYTES, MAX_MIRRORS, MAX_MIRRORS_OF_ONE
from ingress.proxy.contract.pending import Pending
from ingress.proxy.exchange.sub_requests.sub_exchange import SubExchange
from ingress.proxy.exchange.sub_requests.sub_request_errors import SubRequestErrorLog
from ingress.proxy.upstream.pool import UpstreamPool
from ingress.proxy.upstream.rotation import Rotation, Rotations
from ingress.tracing.sub_request_span import SubRequestSpan
from ingress.tracing.tracer import Tracer

T = TypeVar("T")

MAX_SECONDS = 3600.0
"""What a sub-request may be given at most."""

MAX_KNOWN: Final = 1024
"""URLs of which it is remembered where they lead."""
_LONGEST_KNOWN: Final = 2048
"""Characters of a URL that is worth remembering."""


class SubRequests:
    """Sends the sub-requests of all filters of a process.

    *rotations* make those of URLs; *rotation_of* returns that of a backend of the current snapshot, None for any other.
    """

    def __init__(
        self,
        pool: UpstreamPool,
        deadlines: Deadlines,
        metrics: SubRequestMetrics,
        rotations: Rotations,
        rotation_of: Callable[[BackendReference], Rotation | None],
    ) -> None:
        self._pool = pool
        self._deadlines = deadlines
        self._metrics = metrics
        self._rotations = rotations
        self._rotation_of = rotation_of
        self.known: dict[tuple[str, bool, bool, tuple[str, ...]], tuple[HttpUrl, Rotation]] = {}
        """By URL, and what goes with it: the same few are asked again and again."""
        self._under_way: set[SubExchange] = set()
        self._mirrors = 0
        self._mirror_bytes = 0
        self._told: dict[str, int] = {}
        """How many of these there are by URL: one that hangs must not take the room of all."""
        self._errors = SubRequestErrorLog(deadlines.exact_seconds)
        self.tracer: Tracer | None = None
        """Who is told of those of sampled traces; None where nobody traces."""

    def __repr__(self) -> str:
        return f"<SubRequests: {len(self._under_way)} under way, {self._mirrors} of them mirrors>"

    def ask(self, request: SubRequest) -> Deferred[SubAnswer]:
        """Send *request*; its answer is awaited, and cancelling that ends it.

        Fails with ``SubRequestFailed``; raises ``ValueError`` at once for a request that is none.
        """
        answered: Deferred[SubAnswer] = Deferred(lambda _: exchange.cancel())

        def heard(outcome: SubAnswer | SubRequestFailed) -> None:
            if isinstance(outcome, SubRequestFailed):
                answered.errback(outcome)
            else:
                answered.callback(outcome)

        exchange = self._asked(request, heard)
        exchange.start()
        return answered

    def ask_then(self, request: SubRequest, then: Callable[[SubAnswer | SubRequestFailed], T]) -> Pending[T]:
        """Send *request*; what *then* makes of its answer, or of its failure, is awaited, and cancelling that ends it.

        Raises ``ValueError`` at once for a request that is none, or that may take longer than anybody waits.
        """
        if request.seconds > DECISION_SECONDS:
            raise ValueError(f"nobody waits {request.seconds:g} s for a decision")

        def heard(outcome: SubAnswer | SubRequestFailed) -> None:
            try:
                made = then(outcome)
            except Exception as error:
                answered.fail(error)
            else:
                answered.come(made)

        exchange = self._asked(request, heard)
        answered: Pending[T] = Pending(exchange.cancel)
        exchange.start()
        return answered

    def _asked(
        self, request: SubRequest, heard: Callable[[SubAnswer | SubRequestFailed], None]
    ) -> "SubExchange":
        """Return what is under way, once it starts, until *heard* is told of its end; unless that is cancelled."""
        exchange = self._exchange_of(request, is_kept=request.wants_body)
        span = None if request.trace is None else self._span(request, exchange.head, is_awaited=True)

        def ended(outcome: SubAnswer | str | None) -> None:
            self._under_way.discard(exchange)
            if span is not None:
                span.over(outcome)
            self._metrics.ended("ask", _word_for(outcome))
            if isinstance(outcome, str):
                self._errors.warn(exchange.head.authority.decode("ascii", "replace"), outcome)
                heard(SubRequestFailed(f"{request.url}: {outcome}"))
            elif outcome is not None:
                heard(outcome)

        exchange.ended = ended
        self._under_way.add(exchange)
        return exchange

    def tell(self, request: SubRequest) -> None:
        """Send *request* in a turn of its own, if there is room for it, and forget it.

        Raises ``ValueError`` at once for a request that is none.
        """
        exchange = self._exchange_of(request, is_kept=False)
        size = len(exchange.head.forward) + len(request.body or b"")
        told = self._told
        if (
            self._mirrors >= MAX_MIRRORS
            or self._mirror_bytes + size > MAX_MIRROR_BYTES
            or told.get(request.url, 0) >= MAX_MIRRORS_OF_ONE
        ):
            self._metrics.ended("tell", "dropped")
            return
        self._mirrors += 1
        told[request.url] = told.get(request.url, 0) + 1
        self._mirror_bytes += size
        span = None if request.trace is None else self._span(request, exchange.head, is_awaited=False)

        def ended(outcome: SubAnswer | str | None) -> None:
            self._under_way.discard(exchange)
            if span is not None:
                span.over(outcome)
            self._mirrors -= 1
            if told[request.url] == 1:
                del told[request.url]
            else:
                told[request.url] -= 1
            self._mirror_bytes -= size
            self._metrics.ended("tell", _word_for(outcome))

        exchange.ended = ended
        self._under_way.add(exchange)
        self._deadlines.run_queue.put(exchange.start)

    def close(self) -> None:
        """End all that is under way; who waits is told."""
        for exchange in list(self._under_way):
            exchange.fail(503, "the process ends")

    def _span(self, request: SubRequest, head: RequestHead, *, is_awaited: bool) -> SubRequestSpan | None:
        """Have *head* say which trace it is part of, if *request* is part of one; return its span, if that is told to anybody."""
        trace, tracer = request.trace, self.tracer
        if trace is None or tracer is None:
            return None
        span = None
        if trace.is_sampled:
            seconds = self._deadlines.exact_seconds
            span = SubRequestSpan(tracer, trace, request.url, head, seconds, is_awaited=is_awaited)
        head.forward = with_trace(head.forward, trace, trace.span_id if span is None else span.id)
        return span

    def _exchange_of(self, request: SubRequest, is_kept: bool) -> "SubExchange":
        if not 0 < request.seconds <= MAX_SECONDS or request.max_bytes < 0:
            raise ValueError(f"{request.seconds} s and {request.max_bytes} bytes are no bounds of an answer")
        url, rotation = self._whither(request)
        head = own_request_head(
            request.method,
            url,
            request.fields,
            request.body,
            target=request.target,
            authority=request.authority,
            lines=request.lines,
            without=request.without,
        )
        backend = request.backend
        return SubExchange(
            self._pool,
            self._deadlines,
            rotation if backend is None else partial(self._rotation_of, backend),
            head,
            request.body or b"",
            request.seconds,
            request.max_bytes,
            is_kept,
        )

    def _whither(self, request: SubRequest) -> tuple[HttpUrl, Rotation]:
        """Return what the URL of *request* says, and where it leads."""
        key = request.url, request.is_trusted, request.verifies, request.within
        known = self.known.get(key)
        if known is None:
            url = parse_url(request.url)
            endpoint = _endpoint_of(url, request)
            known = url, self._rotations.make(BackendReference("", url.host, url.port, "URL"), (endpoint,))
            if len(request.url) <= _LONGEST_KNOWN:
                if len(self.known) >= MAX_KNOWN:
                    self.known.clear()
                self.known[key] = known
        return known


def _word_for(outcome: SubAnswer | str | None) -> str:
    if outcome is None:
        return "cancelled"
    return "answered" if isinstance(outcome, SubAnswer) else "failed"


def _endpoint_of(url: HttpUrl, request: SubRequest) -> Endpoint:
    """Return where *url* leads; what a tenant may have written is judged as external names are."""
    tls = None
    if url.is_secure:
        tls = UpstreamTls(TlsSettings(verify=request.verifies, depth=MOST_DEPTH, send_name=True))
    if tls is None and request.is_trusted:
        return Endpoint(url.host, url.port)
    is_external = not request.is_trusted
    return Endpoint(url.host, url.port, LinkSettings(tls, is_external, within=request.within))
