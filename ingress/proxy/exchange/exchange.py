"""One request with its answer, from head to last byte.

An exchange stands between two sides.  *Downstream* brings the request in and takes the answer; *upstream* takes the request and
brings the answer.  Each side calls the exchange, which calls the other; what hangs on a request hangs here, and not on a protocol.

States::

    WAITING ──proxy()──▶ CONNECTING ──connected──▶ AWAITING ──head──▶ ANSWERING ──end──▶ DONE
       │                     ▲   │                    │                                    ▲
       │ reply()             └───┴─ next attempt ─────┘ (nothing of an answer yet)         │
       └───────────────────────────────────────────────────────────────────────────────────┘
    AWAITING ──101──▶ TUNNEL ──either side ends──▶ DONE

Invariants: downstream gets exactly one final head; nothing is sent twice once a byte of an answer was seen; ``DONE`` is reached
exactly once, where the record is made.  The table of ``contract.faults``, by which ``Attempts`` decide, says what may go wrong.
"""

from functools import partial
from typing import Final

from ingress.http.edited_heads import AnswerChange
from ingress.http.forwarding import Origin, upstream_fields_of
from ingress.http.grpc import is_grpc
from ingress.http.request_head import RequestHead
from ingress.http.response_head import ResponseHead
from ingress.model.exchanges.causes import UNSAID, Cause, cause_of_answer, cause_of_reply, cause_of_status
from ingress.model.exchanges.records import Record
from ingress.model.exchanges.reply import Reply
from ingress.model.observability.traces import TraceContext
from ingress.model.serving.limits import Timeouts
from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.faults import AFTER_HEAD, IDEMPOTENT, LEFT, TABLE, Fault, Side, State, Step
from ingress.proxy.contract.sides import CLOSED, AnswerSink, Downstream, Upstream
from ingress.proxy.contract.transport import KernelCopy, Transport
from ingress.proxy.exchange.attempts import NONE_MADE, Attempts
from ingress.proxy.exchange.bugs import log_bug
from ingress.proxy.exchange.context import ExchangeContext
from ingress.proxy.exchange.facts import RequestFacts
from ingress.proxy.exchange.filtering.chain import Chain
from ingress.proxy.exchange.filtering.consulting import Stop, consult
from ingress.proxy.exchange.filtering.filtering import Filtering, GoOn
from ingress.proxy.exchange.grpc_replies import trailers_only
from ingress.proxy.exchange.replies import accepts_html, head_of
from ingress.proxy.exchange.request_passage import RequestPassage
from ingress.proxy.exchange.timing import Timing
from ingress.proxy.upstream.rotation import Rotation
from ingress.routing.route import Route

# Bound once: looking a member up in its class costs more than comparing it.
_WAITING: Final = State.WAITING
_CONNECTING: Final = State.CONNECTING
_AWAITING: Final = State.AWAITING
_ANSWERING: Final = State.ANSWERING
_TUNNEL: Final = State.TUNNEL
_DONE: Final = State.DONE
_UNANSWERED: Final = (_WAITING, _CONNECTING, _AWAITING)
_new: Final = tuple.__new__
_NO_ENDPOINT: Final = TABLE[_WAITING, Fault.NO_ENDPOINT].status


class Exchange(AnswerSink):
    """One request on its way; the request that ``IngressProxyResource.render`` gets."""

    # CPython 3.11 finds what stands in a slot six times as fast as what an instance has from its class.
    __slots__ = (
        "_attempts", "_came", "_context", "_facts", "_filter", "_filtering", "_has_crashed",
        "_is_half_over", "_reason", "_route", "_timing", "cause", "chain", "downstream", "head", "host", "is_answer_filtered", "is_counted",
        "origin", "passage", "path", "request_id", "rest_seconds", "sent", "started", "state", "status", "timeouts",
        "trace", "upstream",
    )  # fmt: skip

    def __init__(
        self,
        context: ExchangeContext,
        downstream: Downstream,
        head: RequestHead,
        destination: tuple[bytes, bytes],
        origin: Origin,
    ) -> None:
        """*destination* is host and path in their normal forms."""
        self._context, self.downstream = context, downstream
        self.head, self.origin = head, origin
        self.host, self.path = destination
        self.state, self.status, self.request_id = _WAITING, 0, b""
        self.sent = 0  # Bytes of the body of the answer, or of a tunnel, that went downstream so far.
        self.upstream: Upstream | None = None  # The side that answers; None before and after it does.
        self.timeouts: Timeouts | None = None  # Those of a route that asks for some.
        self.rest_seconds: float | None = None  # For how long the body may rest where the route says so.
        self.chain: Chain | None = None  # Its filters; None where there are none.
        self.cause: Cause | None = None  # Whose failure it is, where that is known before the end.
        self.trace: TraceContext | None = None  # The trace that it is part of, once anybody needs to know.
        self.is_counted = False  # Whether it is among those of which not too many may wait with one id.
        self.is_answer_filtered = False  # Whether pieces of the answer pass filters, or wait for its head.
        self._route: Route | None = None
        self._attempts: Attempts | None = None  # As long as no endpoint was looked for.
        self._filtering: Filtering | None = None  # As long as its filters were not asked, or said nothing.
        self._facts: RequestFacts | None = None
        self._came: RequestHead | None = None  # The head that came, where endpoints get another one.
        self._timing: Timing | None = None  # Of a route that says something about time.
        self._filter = ""  # The name of the one that answered, or failed.
        self._reason = ""  # Why the answer is an error of our own, or is not whole.
        self._has_crashed = self._is_half_over = False  # The last: whether one side of a tunnel has ended.
        self.passage = RequestPassage(self, downstream, head) if head.has_body else None
        self.started = context.seconds()

    def __repr__(self) -> str:
        return f"<Exchange {self.head.method!r} {self.host!r} {self.head.target!r} {self.state.value}>"

    @property
    def received(self) -> RequestHead:
        """The head as it came."""
        return self._came or self.head

    def facts(self) -> RequestFacts:
        """Return what is known of the request, for who decides about it."""
        if self._facts is None:
            self.request_id = self.request_id or self.head.request_id or self._context.new_request_id()
            came, where, down = self._came or self.head, (self.host, self.path), self.downstream
            self._facts = RequestFacts(self.request_id, came, where, self.origin, down.security, down)
        self._facts.attempts, tracer = self._attempts, self._context.tracer
        if tracer is not None and self.chain is not None:
            self._facts.trace = tracer.trace_of(self)
        return self._facts

    @property
    def endpoint(self) -> Endpoint | None:
        """The endpoint that was asked last; None as long as none was."""
        return None if self._attempts is None else self._attempts.endpoint

    # What render() decides

    def ask(self, chain: Chain, route: Route | None, go_on: GoOn, stop: Stop | None = None) -> None:
        """Have the filters of *chain* decide, after *stop*, and *go_on* if all let pass; *route* matched, if any did."""
        self._route, self.chain = route, chain
        if route is not None and self.passage is not None:
            self.passage.limit = route.max_body_bytes
        self._filters(chain).ask(go_on, stop)

    def _filters(self, chain: Chain) -> Filtering:
        """Return what the filters of *chain* have to say."""
        self._filtering = self._filtering or Filtering(chain, self, self.facts(), self._context)
        return self._filtering

    def proxy(self, route: Route, rotation: Rotation, key: bytes = b"") -> None:
        """Send the request to an endpoint of *rotation*, which has one; *key* is what it may be chosen by."""
        self._route = route
        if route.timeouts is not None:
            self.timeouts = route.timeouts.completed_by(self._context.limits.upstream)
            self._timing = Timing(self, self._context.deadlines, route.timeouts, self.started)
        passage = self.passage
        if passage is not None and passage.exceeds(route.max_body_bytes):
            self.fail(413, "request body too large")
            return
        self.request_id = self.request_id or self.head.request_id or self._context.new_request_id()
        chain = self.chain
        if chain is not None and chain.request_bodies and not self._filters(chain).stage_request(passage):
            return
        attempts = self._attempts = Attempts(rotation, route.retries, key)
        if self._filtering is not None:
            attempts.began = self._context.clock.seconds() - self.started
        if attempts.endpoint is None:
            self.fail(_NO_ENDPOINT, "no endpoint")
        else:
            self._attempt(attempts, attempts.endpoint)

    def reply(self, reply: Reply, route: Route | None = None) -> None:
        """Answer with a reply of our own, unless the exchange is over; *route* is the one that matched."""
        if self.state is _DONE:
            return
        self._route = route or self._route
        self._conclude(self._reason or "answered without it")
        status = reply.status
        if status >= 300 and is_grpc(self.received):
            reply = trailers_only(status, self._attempts is not None and self.state is _AWAITING, self.cause)
        head, body = head_of(reply), b"" if self.head.method == b"HEAD" else reply.body
        if self.chain is None or not self.chain.sees_answers or self._has_crashed:
            self.deliver(status, head, body, True, [])
        else:
            self.state = _AWAITING
            if self.passage is not None:
                self.passage.held = None
            self._filters(self.chain).answer_ourselves(status, head, body)

    def fail(self, status: int, why: str, route: Route | None = None, reply: Reply | None = None) -> None:
        """Answer with the error *status*, by its usual reply or *reply*; *why* is for the record, and the log if upstream is to blame."""
        self._route, self._reason = route or self._route, why
        self.cause = self.cause or cause_of_status(status)
        if self._route is not None and status >= 500:
            subject = self.endpoint or self._route.backend
            self.request_id = self.request_id or self.head.request_id or self._context.new_request_id()
            self._context.upstream_errors.warn(status, self.host, self.path, subject, why, self.request_id)
        self.reply(reply or self._context.replies.of(status, accepts_html(self.received.forward)))

    # Attempts

    def _attempt(self, attempts: Attempts, endpoint: Endpoint | None) -> None:
        """Send the request to *endpoint*, or to another one where it has no room."""
        pool = self._context.pool
        if pool.most and endpoint is not None and not pool.has_room(endpoint):
            endpoint = attempts.choose_roomy(pool.has_room)
        if endpoint is None:
            self.fail(_NO_ENDPOINT, "all endpoints have the connections they may")
            return
        self.state = _CONNECTING
        if attempts.rotation.counts:
            attempts.tell_began(self._context.clock.seconds() - self.started)
        pool.acquire(endpoint, self, attempts.reuse, fresh=self.head.method not in IDEMPOTENT)

    def _attempt_again(self, fault: Fault, outcome: str) -> bool:
        """Make the attempt that follows *fault*, if one may; *outcome* is what became of the last one."""
        attempts = self._attempts
        assert attempts is not None
        now = self._context.clock.seconds() - self.started
        is_held = self.passage is None or self.passage.held is not None
        if attempts.go_on(TABLE[self.state, fault], outcome, self.head.method, is_held, now) is Step.FAIL:
            return False
        self._context.metrics.attempt_repeated(fault.word)
        attempt = partial(self._attempt, attempts, attempts.endpoint)
        if attempts.pause and self._timing is not None:
            self.state = _CONNECTING
            self._timing.pause(attempts.pause, attempt)
        else:
            attempt()
        return True

    def upstream_connected(self, upstream: Upstream) -> bool:
        """Take *upstream* and send the request; False when nobody waits for the answer any more."""
        if self.state is not _CONNECTING:
            return False
        attempts, route = self._attempts, self._route
        assert attempts is not None and route is not None
        self.state, self.upstream = _AWAITING, upstream
        is_reused = attempts.is_reused = upstream.is_reused
        attempts.connected = attempts.began if is_reused else self._context.clock.seconds() - self.started
        if attempts.tried:
            attempts.reached()
        came = self.head = self._came or self.head
        if self.origin.authority:
            self._came, self.head = came, came.asked_as(self.origin.authority)
        fields = upstream_fields_of(came, self.request_id, self.origin)
        chain, passage = self.chain, self.passage
        if chain is not None and (chain.upstreams or (passage is not None and passage.is_changed)):
            self._came = came
            self.head, fields = self._filters(chain).change_request(self.head, fields)
            if self.upstream is None:
                return True
        if self._context.tracer is not None:
            self._came = came
            self.head, fields = self._context.tracer.traced(self, self.head, fields, len(attempts.over))
        if passage is None:
            upstream.begin(self, fields, b"", True)
        else:
            passage.begin(upstream, fields, route.retries)
            if upstream.may_rest:
                self.rest_seconds = (self.timeouts or self._context.limits.upstream).read_seconds
        if self._timing is not None:
            self._timing.attempt_begins(upstream)
        if self.downstream.is_full:
            # Something waits there, be it interim answers to an attempt before, and nobody says so again.
            upstream.pause()
        return True

    def upstream_unreachable(self, why: str, is_first: bool = True) -> bool:
        """No connection could be made to the endpoint, and nothing was sent; return whether that was still awaited."""
        if self.state is not _CONNECTING:
            return False
        assert self._attempts is not None
        self._upstream_failed(self._attempts.unreachable(why, is_first), why)
        return True

    def upstream_lost(self, why: str, fault: Fault) -> None:
        """The connection is gone, or of no use any more."""
        upstream, self.upstream = self.upstream, None
        if self.state in (_AWAITING, _ANSWERING, _TUNNEL):
            if self.is_answer_filtered:
                # Its head was seen, and nothing is sent twice after that.
                fault = AFTER_HEAD.get(fault, fault)
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
        elif not self._attempt_again(fault, fault.value):
            if row.blames is Side.NOBODY:
                self._context.metrics.upstream_failed()
            self._conclude(fault.value)
            if self._filtering is None or not self._filtering.waits_without(row.status, why):
                self.fail(row.status, why)

    def _is_refused(self, status: int, ended: bool) -> bool:
        """Whether an answer of this status is dropped, and another endpoint asked instead."""
        if self._route is None or status not in self._route.retries.statuses:
            return False
        upstream, self.upstream = self.upstream, None
        if not self._attempt_again(Fault.REFUSED_STATUS, str(status)):
            self.upstream = upstream
            return False
        self._context.metrics.upstream_failed()
        if upstream is not None and not ended:
            upstream.abandon()
        return True

    def _conclude(self, outcome: str) -> None:
        """Note what became of the attempt under way, if there is one."""
        if self._attempts is not None:
            self._attempts.conclude(outcome, self._context.clock.seconds() - self.started)

    def _drop_upstream(self) -> None:
        upstream, self.upstream = self.upstream, None
        if upstream is not None:
            upstream.abandon()
        elif self.state is _CONNECTING and self.endpoint is not None:
            self._context.pool.forget(self, self.endpoint)

    # From downstream

    def request_broken(self, status: int, why: str) -> None:
        """The request body cannot be read; upstream must never see it end regularly."""
        self.give_up(status, why, Fault.UNREADABLE)

    def give_up(self, status: int, why: str, fault: Fault) -> None:
        """Answer with the error *status*, or cut an answer that has begun; upstream's work is for nobody."""
        self._drop_upstream()
        if self.state in _UNANSWERED:
            self._conclude(fault.value)
            self.fail(status, why)
        elif self.state is _ANSWERING:
            self._reason = why
            self.cause = Cause.REQUEST if fault is Fault.UNREADABLE else Cause.CUT
            self.downstream.cut()
            self._finish()

    def crash(self) -> None:
        """End what a bug of ours made impossible, by 500 if nothing was sent, else by a cut; called while the exception is handled."""
        self.request_id = self.request_id or self.head.request_id or self._context.new_request_id()
        log_bug(self.host, self.state, self.request_id)
        self._drop_upstream()
        # What its filters would say of it may be where the bug is.
        self._has_crashed = True
        self._reason, self.cause = self._reason or "a bug of the proxy", Cause.BUG
        if self.state in _UNANSWERED:
            self.downstream.close_after_answer()
            self.reply(self._context.replies.of(500, accepts_html(self.received.forward)))
        elif self.state is _DONE:
            # What there was to say is said; but nobody knows how far its end came.
            self.downstream.end()
        else:
            self.downstream.cut()
            self._finish()

    def hang_up(self) -> None:
        """End downstream's connection, when nothing else can be done."""
        self.downstream.end()

    def downstream_lost(self) -> None:
        """Downstream went away: upstream's work is for nobody."""
        if self.state is _DONE:
            return
        if self.state is _TUNNEL and self.upstream is not None:
            # What downstream said last must still arrive.
            self.upstream.end_tunnel()
        else:
            self._drop_upstream()
        status, why, cause = LEFT[self._context.is_cutting_off]
        if self.cause is None and (self.state is not _TUNNEL or self._context.is_cutting_off):
            self._reason, self.cause = why, None if self.state is _TUNNEL else cause
        if self.state in _UNANSWERED:
            self._conclude(why)
        self.status = self.status or status
        self._finish()

    def downstream_ended(self) -> None:
        """Downstream says no more in a tunnel, where upstream may still say its last words."""
        if self._is_half_over or self.upstream is None:
            self.downstream_lost()
        else:
            self._is_half_over = True
            self.upstream.end_sending()

    def downstream_full(self) -> None:
        """Downstream takes no more for now."""
        if self.upstream is not None:
            self.upstream.pause()

    def downstream_drained(self) -> None:
        """Downstream takes more again."""
        is_held = self._filtering is not None and self._filtering.holds_answer
        if self.upstream is not None and not is_held and not self.downstream.is_full:
            self.upstream.resume()

    def tunnel_from_downstream(self, octets: bytes) -> None:
        """Pass bytes of a tunnel on."""
        if self.upstream is not None:
            self.upstream.send_raw(octets)

    # From upstream

    def upstream_interim(self, head: ResponseHead) -> None:
        """Pass a 1xx head on."""
        self.downstream.send_interim(head)

    def upstream_head(self, head: ResponseHead, body: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Pass the final head on, with what of the body came with it."""
        if head.status >= 400 and self._is_refused(head.status, ended):
            return
        if ended:
            # The connection is free, or another exchange's: a full downstream must not pause it.
            self.upstream = None
        elif self._attempts is not None:
            self._attempts.answered = self._context.clock.seconds() - self.started
        if self.passage is not None:
            self.passage.held = None
        chain, settled = self.chain, None
        if chain is not None and chain.settled is not None:
            settled = chain.settled.changed(head, self._came or self.head, self.downstream)
        if settled is not None:
            head = settled
        elif chain is not None and chain.sees_answers:
            change = AnswerChange(head, False)
            stop = consult(chain, self.facts(), change)
            if stop is not None or chain.answer_bodies:
                self._conclude(str(head.status))
                self._filters(chain).answer(head.status, head, body, ended, trailers, change, stop)
                return
            came, head = head, change.head
            if head.status != came.status:
                self._conclude(str(came.status))
        self.state = _ANSWERING
        self.status, self.sent = head.status, len(body)
        self.downstream.respond(head, body, ended, trailers)
        if ended:
            self._finish()
        elif self.is_counted:
            self._context.loops.over(self)

    def upstream_body(self, piece: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Pass a piece of the body on."""
        if ended:
            self.upstream = None
        if self._filtering is not None and self.is_answer_filtered:
            self._filtering.answer_body(piece, ended, trailers)
            return
        self.sent += len(piece)
        self.downstream.send_body(piece, ended, trailers)
        if ended:
            self._finish()

    def splice_answer(self, copy: KernelCopy) -> bool:
        """Have the kernel send the rest of the answer, if downstream can."""
        return not self.is_answer_filtered and self.downstream.splice_body(copy)

    def answer_moved(self, count: int) -> None:
        """So much of a spliced answer went downstream."""
        self.sent += count

    def upstream_switched(self, head: ResponseHead, first: bytes) -> None:
        """Upstream accepted the upgrade."""
        self.timeouts = None if self._timing is None or self._timing.spares_tunnels else self.timeouts
        if self.passage is not None:
            self.passage.leave_to_tunnel()
        self._conclude(str(head.status))
        if self.chain is None:
            self.deliver_switch(head, first)
        else:
            self._filters(self.chain).switch(head, first)

    def tunnel_from_upstream(self, octets: bytes) -> None:
        """Pass bytes of a tunnel on."""
        if self._filtering is not None and self.is_answer_filtered:
            self._filtering.answer_body(octets, False, [])
            return
        self.sent += len(octets)
        self.downstream.send_raw(octets)

    def upstream_ended(self) -> Transport | None:
        """Upstream says no more in a tunnel; return downstream's transport if that may still say something to it."""
        if self.state is not _TUNNEL or self._is_half_over:
            return None
        self._is_half_over = True
        return self.downstream.end_sending()

    def downstream_transport(self) -> Transport:
        """Return downstream's connection."""
        return self.downstream.transport

    def upstream_full(self) -> None:
        """Upstream takes no more of the request for now."""
        if self.state is not _DONE:
            (self.passage or self.downstream).pause_request()

    def upstream_drained(self) -> None:
        """Upstream takes more of the request again."""
        if self.state is not _DONE:
            (self.passage or self.downstream).resume_request()

    # From its filters

    def replied(self, name: str, reply: Reply, cause: Cause) -> None:
        """Filter *name* answers, in place of whatever else would; if it is with an error, that is the *cause*."""
        self._filter = name
        if reply.status >= 400:
            if self.cause is None and self._attempts is None:
                self.cause = cause_of_reply(cause, reply.status)
            self._reason = self._reason or reply.reason or f"answered by the filter {name}"
        self._drop_upstream()
        self.reply(reply)

    def filter_failed(self, name: str, status: int, why: str) -> None:
        """Filter *name* failed: answer with *status*, or end an answer that has begun."""
        self._filter, self.cause = name, Cause.FILTER
        self._drop_upstream()
        if self.state in _UNANSWERED:
            self._reason = why
            self.reply(self._context.replies.of(status, accepts_html(self.received.forward)))
        elif self.state is _ANSWERING:
            self._cut(why)

    def deliver(
        self, status: int, head: ResponseHead, body: bytes, ended: bool, trailers: list[bytes]
    ) -> None:
        """Send an answer that has passed its filters, if there are any; the log calls it *status*."""
        self.status, self.sent, self.state = status, len(body), _ANSWERING
        self.downstream.respond(head, body, ended, trailers)
        if ended:
            self._finish()
        elif self.is_counted:
            self._context.loops.over(self)

    def deliver_body(self, piece: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Send more of the answer."""
        self.sent += len(piece)
        self.downstream.send_body(piece, ended, trailers)
        if ended:
            self._finish()

    def deliver_switch(self, head: ResponseHead, first: bytes) -> None:
        """Open a tunnel."""
        self.status, self.sent, self.state = head.status, len(first), _TUNNEL
        if self.is_counted:
            self._context.loops.over(self)
        self.downstream.open_tunnel(head, first)

    def _cut(self, why: str) -> None:
        """End an answer that cannot be whole any more, so that downstream sees it; or a tunnel."""
        if self.state is _ANSWERING:
            # Beside a status that is none of an error.
            self._reason, self.cause = f"answer cut short: {why}", self.cause or Cause.CUT
            what = self.status, self.host, self.path, self.endpoint, self._reason
            self._context.upstream_errors.warn(*what, self.request_id)
            self.downstream.cut()
        elif why != CLOSED:
            self._reason = why
        self._finish()

    def _finish(self) -> None:
        """Record the exchange for whoever listens; nothing may happen to it after this."""
        if self.state is _DONE:
            return
        self.state, self.upstream = _DONE, None
        if self.is_counted:
            self._context.loops.over(self)
        if self._filtering is not None:
            self._filtering.close()
        if self._timing is not None:
            self._timing.close()
        attempts, made = self._attempts, NONE_MADE
        backend = None if self._route is None else self._route.backend
        seconds = self._context.seconds() - self.started
        if attempts is not None:
            backend, made = attempts.rotation.backend, attempts.finished(self.status, seconds)
        listeners, chain = self._context.listeners, self.chain
        if listeners or (chain is not None and chain.ends):
            route, head, cause, passage = self._route, self._came or self.head, self.cause, self.passage
            if cause is None and self.status >= 400:
                cause = cause_of_answer(self.status, made[-1].outcome if made else "")
            if cause is not None:
                self.request_id = self.request_id or head.request_id or self._context.new_request_id()
                self._reason = self._reason or UNSAID.get(cause, "")
                listeners = (*listeners, self._context.failed)
            protocol = self.downstream.protocol if head.minor else b"HTTP/1.0"
            # In the order of its fields, and not by its name, which is a call more for each request.
            known = (self.request_id, route, None if route is None or route.owner is None else route.owner.key, self._filter, made, self.status, self.sent, seconds, self._reason, self.origin.address, head.method, self.host, head.target, protocol, head, self.origin.scheme, cause, backend, 0 if passage is None else passage.received, self.downstream, None if self._context.tracer is None else self._context.tracer.trace_of(self))  # fmt: skip
            record = _new(Record, known)
            if chain is not None and chain.ends:
                self._filters(chain).tell_end(record)
            if self._context.burst.is_on:
                self._context.tell_behind(record, listeners)
            else:
                for listener in listeners:
                    listener(record)
        # They know the exchange, too; nobody needs to look for what is left of a circle.
        self.passage = self._filtering = self._timing = None
        self.downstream.finished()
