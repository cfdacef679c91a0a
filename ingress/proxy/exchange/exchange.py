"""One request with its answer, from head to last byte.

An exchange stands between two sides.  *Downstream* brings the request in and
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

What may go wrong in which state, and when a further attempt is made, is the table of
``ingress.proxy.contract.faults``; an exchange has its ``Attempts``, which decide by it, and a ``HeldBody`` where
its request has a body.
"""

from typing import Final

from twisted.logger import Logger

from ingress.http.field_values import first_value
from ingress.http.forwarding import Origin, upstream_fields_of
from ingress.http.grpc import is_grpc
from ingress.http.request_head import RequestHead
from ingress.http.response_head import ResponseHead
from ingress.model.backends import Endpoint
from ingress.model.client_authentication import ClientEvidence
from ingress.model.limits import Timeouts
from ingress.model.policy import SecureFields
from ingress.model.records import AttemptRecord, Record
from ingress.model.reply import Reply
from ingress.proxy.contract.faults import (
    CLIENT_CLOSED,
    CUT_OFF,
    IDEMPOTENT,
    TABLE,
    Fault,
    Row,
    Side,
    State,
    Step,
)
from ingress.proxy.contract.limits import MAX_HELD
from ingress.proxy.contract.sides import Downstream, Upstream
from ingress.proxy.contract.transport import KernelCopy
from ingress.proxy.exchange.attempts import Attempts
from ingress.proxy.exchange.context import ExchangeContext
from ingress.proxy.exchange.grpc_replies import trailers_only
from ingress.proxy.exchange.held_body import HeldBody
from ingress.proxy.exchange.replies import accepts_html, head_of
from ingress.proxy.upstream.rotation import Rotation
from ingress.routing.route import Route

log = Logger()

# Bound once: looking a member up in its class costs more than comparing it.
_WAITING: Final = State.WAITING
_CONNECTING: Final = State.CONNECTING
_AWAITING: Final = State.AWAITING
_ANSWERING: Final = State.ANSWERING
_TUNNEL: Final = State.TUNNEL
_DONE: Final = State.DONE
_UNANSWERED = (_WAITING, _CONNECTING, _AWAITING)
_new = tuple.__new__


class Exchange:
    """One request on its way; the request that ``IngressProxyResource.render`` gets."""

    # What most exchanges never change stands here, and costs each of them nothing.
    state = _WAITING
    status = 0
    timeouts: Timeouts | None = None
    """Those of a route that asks for some."""
    rest_seconds: float | None = None
    """How long the request body may rest, where that is for the route to say; None: as ``Limits`` say of any."""
    secure_fields: SecureFields | None = None
    """Those of the host, where no route matched."""
    _route: Route | None = None
    _attempts: Attempts | None = None
    """None as long as no endpoint was looked for."""
    held: HeldBody | None = None
    """The request body so far, to be sent or sent once more; None where there is none, or once that may not be."""
    _body_size = 0
    _max_body_bytes = 0
    _request_id = b""
    _sent = 0
    _reason = ""
    """Why the answer is an error of our own, or is not whole."""
    _filter = ""
    """The name of the filter that answered, or failed."""
    _is_half_over = False
    """Whether one side of a tunnel has ended."""

    def __init__(
        self,
        context: ExchangeContext,
        downstream: Downstream,
        head: RequestHead,
        destination: tuple[bytes, bytes],
        origin: Origin,
    ) -> None:
        """*destination* is host and path in their normal forms."""
        self._context = context
        self._downstream = downstream
        self.head = head
        self.host, self.path = destination
        self._origin = origin
        self._upstream: Upstream | None = None
        self._request_ended = not head.has_body
        if head.has_body:
            self.held = HeldBody()
        self._started = context.clock.seconds()

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
    def secure_line(self) -> bytes:
        """The field line that the answer has besides when it goes over TLS; empty for none."""
        fields = self.secure_fields if self._route is None else self._route.secure_fields
        return b"" if fields is None else fields.line_for(self.host)

    @property
    def sent(self) -> int:
        """How many bytes of the body of the answer went downstream so far."""
        return self._sent

    @property
    def client(self) -> bytes:
        """The address of the client."""
        return self._origin.address

    @property
    def method(self) -> bytes:
        """The method, as received."""
        return self.head.method

    @property
    def client_evidence(self) -> ClientEvidence | None:
        """What the handshake of the connection proved about the client; None without TLS."""
        security = self._downstream.security
        return None if security is None else security.evidence()

    def field(self, name: bytes) -> bytes:
        """Return the value of the first field called *name*, in lower case; empty when there is none."""
        head = self.head
        if name == b"host":
            return head.authority
        return head.forwarded.get(name) or first_value(head.forward, name)

    @property
    def endpoint(self) -> Endpoint | None:
        """The endpoint that was asked last; None as long as none was."""
        return None if self._attempts is None else self._attempts.endpoint

    # What render() decides

    def proxy(self, route: Route, rotation: Rotation, key: bytes = b"") -> None:
        """Send the request to an endpoint of *rotation*, which has one; *key* is what it may be chosen by."""
        self._route = route
        if route.timeouts is not None:
            self.timeouts = route.timeouts.completed_by(self._context.limits.upstream)
        limit = route.max_body_bytes
        if limit:
            self._max_body_bytes = limit
            if self.head.content_length > limit or self._body_size > limit:
                self.fail(413, "request body too large")
                return
        self._request_id = self.head.request_id or self._context.new_request_id()
        attempts = self._attempts = Attempts(rotation, route.retries, key)
        if attempts.endpoint is None:
            self.fail(TABLE[_WAITING, Fault.NO_ENDPOINT].status, "no endpoint")
        else:
            self._attempt(attempts, attempts.endpoint, True)

    def reply(self, reply: Reply, route: Route | None = None) -> None:
        """Answer with a reply of our own; *route* is the one that matched, for the log.

        An exchange that is over stays so: whoever takes its time to answer cannot know that downstream has left.
        """
        if self.state is _DONE:
            return
        self._route = route or self._route
        self._conclude(self._reason or "answered without it")
        self.status = reply.status
        if reply.status >= 300 and is_grpc(self.head):
            reply = trailers_only(reply.status, was_sent=self.state is _AWAITING)
        body = b"" if self.head.method == b"HEAD" else reply.body
        self._sent = len(body)
        # From here on there is a status line, whatever happens.
        self.state = _ANSWERING
        self._downstream.respond(head_of(reply), body, True, [])
        self._finish()

    def fail(self, status: int, why: str, route: Route | None = None) -> None:
        """Answer with the error *status*; *why* is for the record, and for the log if upstream is to blame."""
        self._route = route or self._route
        self._reason = why
        if self._route is not None and status >= 500:
            subject = self.endpoint or self._route.backend
            self._context.upstream_errors.warn(status, self.host, self.path, subject, why)
        self.reply(self._context.replies.of(status, accepts_html(self.head.forward)))

    # Attempts

    def _attempt(self, attempts: Attempts, endpoint: Endpoint, reuse: bool) -> None:
        """Send the request to *endpoint*, or to another one where it has no room."""
        pool = self._context.pool
        if pool.most and not pool.has_room(endpoint):
            roomy = attempts.choose_roomy(pool.has_room)
            if roomy is None:
                why = "all endpoints have the connections they may"
                self.fail(TABLE[_WAITING, Fault.NO_ENDPOINT].status, why)
                return
            endpoint = roomy
        self.state = _CONNECTING
        if attempts.rotation.counts:
            attempts.tell_began(self._context.clock.seconds() - self._started)
        pool.acquire(endpoint, self, reuse, fresh=self.head.method not in IDEMPOTENT)

    def _attempt_again(self, row: Row, outcome: str) -> bool:
        """Make the attempt that *row* allows, if there is an endpoint for it; *outcome* is what became of the last one."""
        attempts = self._attempts
        assert attempts is not None
        seconds = self._context.clock.seconds() - self._started
        is_held = self.held is not None or not self.head.has_body
        step = attempts.go_on(row, outcome, self.head.method, is_held, seconds)
        if step is Step.FAIL:
            return False
        self._context.metrics.attempt_repeated()
        assert attempts.endpoint is not None
        self._attempt(attempts, attempts.endpoint, reuse=step is not Step.RENEW)
        return True

    def upstream_connected(self, upstream: Upstream) -> bool:
        """Take *upstream* and send the request; False when nobody waits for the answer any more."""
        if self.state is not _CONNECTING:
            return False
        attempts, route = self._attempts, self._route
        assert attempts is not None and route is not None
        self.state = _AWAITING
        self._upstream = upstream
        if attempts.tried:
            attempts.reached()
        fields = upstream_fields_of(self.head, self._request_id, self._origin)
        if route.upstream_fields is not None:
            fields += route.upstream_fields.render(self)
        held = b"" if self.held is None else self.held.joined()
        if not self._request_ended:
            # Before the first write, which may fill upstream and pause the request again.
            self._downstream.resume_request()
        upstream.begin(self, fields, held, self._request_ended)
        if self.head.has_body:
            if not self._is_worth_holding(upstream, route):
                self.held = None
            if upstream.may_rest:
                self.rest_seconds = (self.timeouts or self._context.limits.upstream).read_seconds
        if self._downstream.is_full:
            # Something waits there, be it interim answers to an attempt before, and nobody says so again.
            upstream.pause()
        return True

    def _is_worth_holding(self, upstream: Upstream, route: Route) -> bool:
        """Whether the body may be needed once more, now that it is being sent to *upstream*."""
        if self.head.content_length > MAX_HELD or (self.held is not None and self.held.size > MAX_HELD):
            return False
        if upstream.is_reused or upstream.may_decline or self.head.method in IDEMPOTENT:
            return True
        return route.retries.non_idempotent

    def upstream_unreachable(self, why: str, is_first: bool = True) -> bool:
        """No connection could be made to the endpoint, and nothing was sent; return whether that was still awaited.

        Where several waited for one connection, only one of them *is_first*: the endpoint failed once, not for each.
        """
        if self.state is not _CONNECTING:
            return False
        assert self._attempts is not None
        fault = self._attempts.unreachable(why, is_first)
        self._upstream_failed(fault, why)
        return True

    def upstream_lost(self, why: str, fault: Fault) -> None:
        """The connection is gone, or of no use any more."""
        upstream, self._upstream = self._upstream, None
        if self.state in (_AWAITING, _ANSWERING, _TUNNEL):
            if fault is Fault.SILENT and upstream is not None:
                assert self._attempts is not None
                self._attempts.silent(upstream.liveness)
            self._upstream_failed(fault, why)

    def _upstream_failed(self, fault: Fault, why: str) -> None:
        """Do what the table says of *fault* in this state."""
        row = TABLE[self.state, fault]
        if row.blames is Side.UPSTREAM:
            self._context.metrics.upstream_failed()
        if self.state is _ANSWERING or self.state is _TUNNEL:
            self._cut(why)
        elif not self._attempt_again(row, fault.value):
            if row.blames is Side.NOBODY:
                self._context.metrics.upstream_failed()
            self._conclude(fault.value)
            self.fail(row.status, why)

    def _is_refused(self, status: int, ended: bool) -> bool:
        """Whether an answer of this status is dropped, and another endpoint asked instead."""
        route = self._route
        if route is None or status not in route.retries.statuses:
            return False
        upstream, self._upstream = self._upstream, None
        if not self._attempt_again(TABLE[_AWAITING, Fault.REFUSED_STATUS], str(status)):
            self._upstream = upstream
            return False
        self._context.metrics.upstream_failed()
        if upstream is not None and not ended:
            upstream.abandon()
        return True

    def _conclude(self, outcome: str) -> None:
        """Note what became of the attempt under way, if there is one."""
        if self._attempts is not None:
            self._attempts.conclude(outcome, self._context.clock.seconds() - self._started)

    def _drop_upstream(self) -> None:
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.abandon()
        elif self.state is _CONNECTING and self.endpoint is not None:
            self._context.pool.forget(self, self.endpoint)

    # From downstream

    def request_body(self, piece: bytes) -> None:
        """Take a piece of the request body."""
        self._body_size += len(piece)
        if self._max_body_bytes and self._body_size > self._max_body_bytes:
            self.request_broken(413, "request body too large")
            return
        held, upstream = self.held, self._upstream
        if upstream is not None:
            upstream.send_body(piece)
        if held is None or self.state is _DONE:
            return
        held.add(piece)
        if held.size > MAX_HELD:
            if upstream is not None:
                self.held = None
            else:
                self._downstream.pause_request()

    def splice_request(self, copy: KernelCopy) -> bool:
        """Have the kernel send the rest of the request body, if upstream can and nothing is held."""
        upstream = self._upstream
        return upstream is not None and self.held is None and upstream.splice_body(copy)

    def request_ended(self) -> None:
        """The request is complete."""
        self._request_ended = True
        if self._upstream is not None:
            self._upstream.end_body()

    def request_broken(self, status: int, why: str) -> None:
        """The request body cannot be read; upstream must never see it end regularly."""
        self._drop_upstream()
        if self.state in _UNANSWERED:
            self._conclude(Fault.UNREADABLE.value)
            self.fail(status, why)
        elif self.state is _ANSWERING:
            self._reason = why
            self._downstream.cut()
            self._finish()

    def crash(self) -> None:
        """End the exchange that a bug of ours made impossible; to be called while its exception is handled.

        Downstream gets 500 if nothing of an answer was sent, and never a second status line; its connection
        ends in any case, and upstream's is not used again.
        """
        log.failure(
            "A request to {host} failed by a bug, and is the only one that did: {state}",
            host=self.host.decode("latin-1"),
            state=self.state.value,
        )
        self._drop_upstream()
        self._reason = self._reason or "a bug of the proxy"
        if self.state in _UNANSWERED:
            self._downstream.close_after_answer()
            self.reply(self._context.replies.of(500, accepts_html(self.head.forward)))
        elif self.state is _DONE:
            # What there was to say is said; but nobody knows how far its end came.
            self._downstream.end()
        else:
            self._downstream.cut()
            self._finish()

    def hang_up(self) -> None:
        """End downstream's connection, when nothing else can be done."""
        self._downstream.end()

    def downstream_lost(self) -> None:
        """Downstream went away: upstream's work is for nobody."""
        if self.state is _DONE:
            return
        if self.state is _TUNNEL and self._upstream is not None:
            # What downstream said last must still arrive.
            self._upstream.end_tunnel()
        else:
            self._drop_upstream()
        if self.state is not _TUNNEL:
            self._reason = "the process ends" if self._context.is_cutting_off else Fault.LEFT.value
            if self.state is not _ANSWERING:
                self._conclude(self._reason)
        self.status = self.status or (CUT_OFF if self._context.is_cutting_off else CLIENT_CLOSED)
        self._finish()

    def downstream_ended(self) -> None:
        """Downstream says no more in a tunnel, where upstream may still say its last words."""
        if self._is_half_over or self._upstream is None:
            self.downstream_lost()
        else:
            self._is_half_over = True
            self._upstream.end_sending()

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
        if head.status >= 400 and self._is_refused(head.status, ended):
            return
        self.state = _ANSWERING
        self.status = head.status
        self.held = None
        self._sent = len(body)
        if ended:
            # The connection is free, or another exchange's: a full downstream must not pause it.
            self._upstream = None
        elif self._attempts is not None:
            self._attempts.answered = self._context.clock.seconds() - self._started
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
        if self._attempts is not None:
            self._attempts.answered = self._context.clock.seconds() - self._started
        self._sent = len(first)
        self._downstream.open_tunnel(head, first)

    def tunnel_from_upstream(self, octets: bytes) -> None:
        """Pass bytes of a tunnel on."""
        self._sent += len(octets)
        self._downstream.send_raw(octets)

    def upstream_ended(self) -> bool:
        """Upstream says no more in a tunnel; return whether downstream may still say something to it."""
        if self._is_half_over or not self._downstream.end_sending():
            return False
        self._is_half_over = True
        return True

    def upstream_full(self) -> None:
        """Upstream takes no more of the request for now."""
        if self.state is not _DONE:
            self._downstream.pause_request()

    def upstream_drained(self) -> None:
        """Upstream takes more of the request again."""
        if self.state is not _DONE:
            self._downstream.resume_request()

    # The end

    def _cut(self, why: str) -> None:
        """End an answer that cannot be whole any more, so that downstream sees it; or a tunnel."""
        if self.state is _ANSWERING:
            self._reason = why
            self._context.upstream_errors.warn(
                self.status, self.host, self.path, self.endpoint, f"answer cut short: {why}"
            )
            self._downstream.cut()
        self._finish()

    def _finish(self) -> None:
        """Record the exchange for whoever listens; nothing may happen to it after this."""
        if self.state is _DONE:
            return
        self.state = _DONE
        self._upstream = None
        self.held = None
        attempts = self._attempts
        seconds = self._context.clock.seconds() - self._started
        made: tuple[AttemptRecord, ...] = ()
        if attempts is not None:
            if attempts.told is not None:
                attempts.tell_ended(seconds, failed=self.status >= 499)
            made = attempts.over
            if attempts.is_under_way and attempts.endpoint is not None:
                outcome = attempts.outcome or str(self.status)
                answered = seconds if attempts.answered is None else attempts.answered
                made = (*made, _new(AttemptRecord, (attempts.endpoint, outcome, attempts.began, answered)))
        listeners = self._context.listeners
        if listeners:
            route, head = self._route, self.head
            # By name it would be one more call, for each request.
            record = _new(
                Record,
                (
                    self._request_id,
                    route,
                    None if route is None or route.owner is None else route.owner.key,
                    self._filter,
                    made,
                    self.status,
                    self._sent,
                    seconds,
                    self._reason,
                    self._origin.address,
                    head.method,
                    self.host,
                    head.target,
                    self._downstream.protocol if head.minor else b"HTTP/1.0",
                ),
            )
            for listener in listeners:
                listener(record)
        self._downstream.finished()
