"""One request with its answer, from head to last byte.

An exchange stands between two halves.  *Downstream* brings the request in and
takes the answer (``channel.DownstreamChannel``); *upstream* takes the request
and brings the answer (``upstream.UpstreamConnection``).  Each half calls the
exchange, which calls the other half; what hangs on a request (attempts, log,
metrics) hangs here and on no connection class, so that another protocol only
has to be another half.

States::

    WAITING ──proxy()──▶ CONNECTING ──connected──▶ AWAITING ──head──▶ ANSWERING ──end──▶ DONE
       │                     ▲   │                    │                                    ▲
       │ reply()             └───┴─ next attempt ─────┘ (nothing of an answer yet)         │
       └───────────────────────────────────────────────────────────────────────────────────┘
    AWAITING ──101──▶ TUNNEL ──either side ends──▶ DONE

Invariants: downstream gets exactly one final head; nothing is sent twice once a
byte of an answer was seen; ``DONE`` is reached exactly once, and only there the
log line is written and the counters move.

A further attempt is made when a connection could not be made (nothing was
sent), or when a *reused* connection died before the first byte of an answer and
the request may be repeated: its method is idempotent (RFC 9110 section 9.2.2)
and the body, if any, is still held (at most ``MAX_HELD`` bytes).
"""

from enum import Enum
from typing import TYPE_CHECKING

from ingress.http.forwarding import Origin, upstream_head
from ingress.http.request_head import RequestHead
from ingress.http.response_head import ResponseHead
from ingress.model.backends import Endpoint
from ingress.model.policy import Reply
from ingress.proxy.halves import DownstreamHalf, UpstreamHalf
from ingress.proxy.limits import MAX_ATTEMPTS, MAX_HELD
from ingress.proxy.replies import accepts_html, head_of
from ingress.proxy.transports import TIMED_OUT, KernelCopy
from ingress.routing.balancing import RoundRobin
from ingress.routing.route import Route

if TYPE_CHECKING:
    from ingress.proxy.site import ProxySite

SILENT = "upstream was silent for too long"
"""The reason that becomes a 504."""
CLIENT_CLOSED = 499
"""What the log shows when downstream left before there was an answer (nginx's number)."""
_IDEMPOTENT = frozenset((b"GET", b"HEAD", b"PUT", b"DELETE", b"OPTIONS"))


class State(Enum):
    """Where an exchange is; see the picture above."""

    WAITING = "waiting"
    CONNECTING = "connecting"
    AWAITING = "awaiting"
    ANSWERING = "answering"
    TUNNEL = "tunnel"
    DONE = "done"


# Bound once: looking a member up in its class costs more than comparing it.
_WAITING, _CONNECTING, _AWAITING, _ANSWERING, _TUNNEL, _DONE = State


class Exchange:
    """One request on its way; the request that ``IngressProxyResource.render`` gets."""

    # What most exchanges never change stands here, and costs each of them nothing.
    state = _WAITING
    status = 0
    endpoint: Endpoint | None = None
    _route: Route | None = None
    _balancer: RoundRobin | None = None
    _upstream: UpstreamHalf | None = None
    _attempts = 0
    _tried: frozenset[Endpoint] = frozenset()
    _held: list[bytes] | None = None
    """Pieces of the request body that may be sent once more; None once that may not be."""
    _held_size = 0
    _body_size = 0
    _max_body_bytes = 0
    _request_id = b""
    _sent = 0

    def __init__(
        self,
        site: "ProxySite",
        downstream: DownstreamHalf,
        head: RequestHead,
        destination: tuple[bytes, bytes],
        origin: Origin,
    ) -> None:
        """*destination* is host and path in their normal forms."""
        self._site = site
        self._downstream = downstream
        self.head = head
        self.host, self.path = destination
        self._origin = origin
        self._request_ended = not head.has_body
        self._held = []
        self._started = site.clock.seconds()

    def __repr__(self) -> str:
        return f"<Exchange {self.head.method!r} {self.host!r} {self.head.target!r} {self.state.value}>"

    @property
    def target(self) -> bytes:
        """The request target in origin form, as received."""
        return self.head.target

    @property
    def scheme(self) -> bytes:
        """``http`` or ``https``: how the client sent the request."""
        return self._origin.scheme

    @property
    def client(self) -> bytes:
        """The address of the client."""
        return self._origin.address

    # What render() decides

    def reply(self, reply: Reply, route: Route | None = None) -> None:
        """Answer with a reply of our own; *route* is the one that matched, for the log."""
        self._route = route or self._route
        self.status = reply.status
        body = b"" if self.head.method == b"HEAD" else reply.body
        self._sent = len(body)
        self._downstream.respond(head_of(reply), body, True, [])
        self._finish()

    def fail(self, status: int, why: str, route: Route | None = None) -> None:
        """Answer with the error *status*; *why* is for the log alone, and only if upstream is to blame."""
        self._route = route or self._route
        if self._route is not None and status >= 500:
            subject = self.endpoint or self._route.backend
            self._site.troubles.tell(status, self.host, self.path, subject, why)
        self.reply(self._site.replies.of(status, accepts_html(self.head.forward)))

    def proxy(self, route: Route, balancer: RoundRobin) -> None:
        """Send the request to an endpoint of *balancer*, which has one."""
        self._route = route
        self._balancer = balancer
        limit = route.max_body_bytes
        if limit:
            self._max_body_bytes = limit
            if self.head.content_length > limit or self._body_size > limit:
                self.fail(413, "request body too large")
                return
        self._request_id = self.head.request_id or self._site.new_request_id()
        endpoint = balancer.pick()
        if endpoint is None:
            self.fail(503, "no endpoint")
        else:
            self._attempt(endpoint)

    # Attempts

    def _attempt(self, endpoint: Endpoint, reuse: bool = True) -> None:
        self.endpoint = endpoint
        self._attempts += 1
        self.state = _CONNECTING
        self._site.pool.acquire(endpoint, self, reuse, fresh=self.head.method not in _IDEMPOTENT)

    def upstream_connected(self, upstream: UpstreamHalf) -> bool:
        """Take *upstream* and send the request; False when nobody waits for the answer any more."""
        if self.state is not _CONNECTING:
            return False
        self.state = _AWAITING
        self._upstream = upstream
        head = upstream_head(self.head, self._request_id, self._origin)
        held = b"".join(self._held) if self._held else b""
        if not self._request_ended:
            # Before the first write, which may fill upstream and pause the request again.
            self._downstream.resume_request()
        upstream.begin(self, head, held, self._request_ended)
        if self._held_size > MAX_HELD or not upstream.is_reused or self.head.method not in _IDEMPOTENT:
            self._held = None
        return True

    def upstream_unreachable(self, why: str) -> None:
        """No connection could be made to the endpoint: nothing was sent, so try another one."""
        if self.state is not _CONNECTING:
            return
        assert self.endpoint is not None
        assert self._balancer is not None
        self._site.metrics.upstream_failed()
        self._tried |= {self.endpoint}
        another = self._balancer.pick(self._tried) if self._attempts < MAX_ATTEMPTS else None
        if another is not None:
            self._site.metrics.attempt_repeated()
            self._attempt(another)
        else:
            self.fail(504 if why == TIMED_OUT else 502, why)

    def upstream_lost(self, why: str, untouched: bool) -> None:
        """The connection broke off; *untouched* when no byte of an answer had come."""
        upstream, self._upstream = self._upstream, None
        if self.state is _AWAITING:
            is_stale = untouched and upstream is not None and upstream.is_reused
            if is_stale and self._held is not None and self.endpoint is not None:
                self._site.metrics.attempt_repeated()
                self._attempt(self.endpoint, reuse=False)
                return
            self._site.metrics.upstream_failed()
            self.fail(504 if why == SILENT else 502, why)
        elif self.state is _ANSWERING:
            self._site.metrics.upstream_failed()
            self._site.troubles.tell(
                self.status, self.host, self.path, self.endpoint, f"answer cut short: {why}"
            )
            self._downstream.cut()
            self._finish()
        elif self.state is _TUNNEL:
            self._finish()

    # From downstream

    def request_body(self, piece: bytes) -> None:
        """Take a piece of the request body."""
        self._body_size += len(piece)
        if self._max_body_bytes and self._body_size > self._max_body_bytes:
            self.request_broken(413, "request body too large")
            return
        if self._upstream is not None:
            self._upstream.send_body(piece)
            if self._held is None:
                return
        elif self.state is _DONE or self._held is None:
            return
        self._held.append(piece)
        self._held_size += len(piece)
        if self._held_size > MAX_HELD:
            if self._upstream is not None:
                self._held = None
            else:
                self._downstream.pause_request()

    def splice_request(self, copy: KernelCopy) -> bool:
        """Have the kernel send the rest of the request body, if upstream can and nothing is held."""
        upstream = self._upstream
        return upstream is not None and self._held is None and upstream.splice_body(copy)

    def request_ended(self) -> None:
        """The request is complete."""
        self._request_ended = True
        if self._upstream is not None:
            self._upstream.end_body()

    def request_broken(self, status: int, why: str) -> None:
        """The request body cannot be read; upstream must never see it end regularly."""
        self._drop_upstream()
        if self.state in (_WAITING, _CONNECTING, _AWAITING):
            self.fail(status, why)
        elif self.state is _ANSWERING:
            self._downstream.cut()
            self._finish()

    def downstream_lost(self) -> None:
        """Downstream went away: upstream's work is for nobody."""
        if self.state is _DONE:
            return
        if self.state is _TUNNEL and self._upstream is not None:
            # What downstream said last must still arrive.
            self._upstream.end_tunnel()
        else:
            self._drop_upstream()
        self.status = self.status or CLIENT_CLOSED
        self._finish()

    def downstream_full(self) -> None:
        """Downstream takes no more for now."""
        if self._upstream is not None:
            self._upstream.pause()

    def downstream_drained(self) -> None:
        """Downstream takes more again."""
        if self._upstream is not None:
            self._upstream.resume()

    def tunnel_from_downstream(self, octets: bytes) -> None:
        """Pass bytes of a tunnel on."""
        if self._upstream is not None:
            self._upstream.send_raw(octets)

    # From upstream

    def upstream_interim(self, head: ResponseHead) -> None:
        """Pass a 1xx head on."""
        self._downstream.send_interim(head)

    def upstream_head(self, head: ResponseHead, body: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Pass the final head on, with what of the body came with it."""
        self.state = _ANSWERING
        self.status = head.status
        self._held = None
        self._sent = len(body)
        if ended:
            # The connection is free, or another exchange's: a full downstream must not pause it.
            self._upstream = None
        self._downstream.respond(head, body, ended, trailers)
        if ended:
            self._finish()

    def upstream_body(self, piece: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Pass a piece of the body on."""
        self._sent += len(piece)
        if ended:
            self._upstream = None
        self._downstream.send_body(piece, ended, trailers)
        if ended:
            self._finish()

    def splice_answer(self, copy: KernelCopy) -> bool:
        """Have the kernel send the rest of the answer, if downstream can."""
        return self._downstream.splice_body(copy)

    def answer_moved(self, count: int) -> None:
        """So much of a spliced answer went downstream."""
        self._sent += count

    def upstream_switched(self, head: ResponseHead, first: bytes) -> None:
        """Upstream accepted the upgrade."""
        self.state = _TUNNEL
        self.status = head.status
        self._sent = len(first)
        self._downstream.open_tunnel(head, first)

    def tunnel_from_upstream(self, octets: bytes) -> None:
        """Pass bytes of a tunnel on."""
        self._sent += len(octets)
        self._downstream.send_raw(octets)

    def upstream_full(self) -> None:
        """Upstream takes no more of the request for now."""
        if self.state is not _DONE:
            self._downstream.pause_request()

    def upstream_drained(self) -> None:
        """Upstream takes more of the request again."""
        if self.state is not _DONE:
            self._downstream.resume_request()

    # The end

    def _drop_upstream(self) -> None:
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.abandon()

    def _finish(self) -> None:
        """Write the log line and move the counters; nothing may happen to the exchange after this."""
        if self.state is _DONE:
            return
        self.state = _DONE
        self._upstream = None
        self._held = None
        site = self._site
        ingress = self._route.ingress if self._route is not None else None
        now = site.clock.seconds()
        seconds = now - self._started
        site.metrics.exchange_ended(ingress, self.status, seconds, self._sent)
        site.access_log.record(
            now,
            self._origin.address,
            self.head.method,
            self.host,
            self.head.target,
            self.status,
            self._sent,
            seconds,
            self.endpoint,
            ingress,
        )
        self._downstream.finished()
