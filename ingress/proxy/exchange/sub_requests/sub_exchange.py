"""One sub-request on its way: to the pool and to connections a ``SubExchange`` is what an exchange is, an ``AnswerSink``.

It makes its attempts as one, by the same table of faults and the same books.  What it has instead of a downstream side is
a bound: of the answer, which is kept whole or dropped, and of the time that all of it may take.  It ends in no access
log::

    WAITING ──start()──▶ CONNECTING ──connected──▶ AWAITING ──head──▶ ANSWERING ──end──▶ DONE
                             ▲   └── next attempt ────┘                  │
                             └──────(nothing of an answer yet)           └─ too large, cut short, time is over, cancelled

A mirror (``tell``) begins in a turn of its own, behind whoever is served in this one, and keeps nothing of its answer.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ingress.http.request_head import RequestHead
from ingress.http.response_head import ResponseHead
from ingress.model.exchanges.sub_requests import SubAnswer
from ingress.model.serving.limits import Timeouts
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.retries import DEFAULT_RETRIES
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.contract.faults import IDEMPOTENT, TABLE, Fault, Row, State, Step
from ingress.proxy.contract.sides import Upstream
from ingress.proxy.contract.transport import KernelCopy
from ingress.proxy.exchange.attempts import Attempts
from ingress.proxy.exchange.held_body import HeldBody
from ingress.proxy.upstream.pool import UpstreamPool
from ingress.proxy.upstream.rotation import Rotation

log = Logger()

_LONGEST_KNOWN: Final = 2048
"""Bytes of the head of an answer that are worth remembering."""

_BUG = "a bug of the proxy"


@lru_cache(maxsize=256)
def _timeouts_within(connect_seconds: float, seconds: float, interval_seconds: float) -> Timeouts:
    # Connections keep their deadlines by ticks, the whole its own to the point.
    later = seconds + 2 * interval_seconds
    return Timeouts(min(connect_seconds, seconds), later, later)


def _fields_of(start: bytes) -> tuple[tuple[bytes, bytes], ...]:
    lines = start.split(b"\r\n")[1:-1]
    return tuple((name, value.strip(b" \t")) for name, _, value in (line.partition(b":") for line in lines))


_known_fields_of = lru_cache(maxsize=256)(_fields_of)


def _nobody(outcome: SubAnswer | str | None) -> None:
    """Who is told before anybody wants to know."""


class SubExchange:
    """One sub-request on its way.

    *rotation* is where it may go, or returns that when it begins, *body* is sent whole, and the answer may have *max_bytes*;
    where its body is not to be kept (*is_kept*), one that has more counts as answered all the same.  ``ended`` is called once, with the answer, the reason why
    there is none, or None for who has cancelled.
    """

    __slots__ = (
        "_attempts",
        "_body",
        "_deadlines",
        "_head",
        "_is_kept",
        "_kept",
        "_max_bytes",
        "_pool",
        "_rotation",
        "_seconds",
        "_size",
        "_started",
        "_state",
        "_timer",
        "_upstream",
        "ended",
        "head",
        "timeouts",
    )

    def __init__(
        self,
        pool: UpstreamPool,
        deadlines: Deadlines,
        rotation: Rotation | Callable[[], Rotation | None],
        head: RequestHead,
        body: bytes,
        seconds: float,
        max_bytes: int,
        is_kept: bool,
    ) -> None:
        self.head = head
        self.timeouts: Timeouts | None = _timeouts_within(
            pool.timeouts.connect_seconds, seconds, deadlines.interval_seconds
        )
        self.ended: Callable[[SubAnswer | str | None], None] = _nobody
        self._pool = pool
        self._deadlines = deadlines
        self._rotation = rotation
        self._body = body
        self._max_bytes = max_bytes
        self._is_kept = is_kept
        self._state = State.WAITING
        self._seconds = seconds
        self._started = 0.0
        self._timer: IDelayedCall | None = None
        self._attempts: Attempts | None = None
        self._upstream: Upstream | None = None
        self._head: ResponseHead | None = None
        self._kept = HeldBody()
        self._size = 0

    def __repr__(self) -> str:
        return f"<SubExchange {self.head.method!r} {self.head.authority!r} {self._state.value}>"

    # Attempts

    def start(self) -> None:
        """Make the first attempt; from now on the time counts."""
        if self._state is not State.WAITING:
            return
        self._started = self._deadlines.exact_seconds()
        self._timer = self._deadlines.call_after(self._seconds, self._timed_out)
        try:
            where = self._rotation
            rotation = where if isinstance(where, Rotation) else where()
            if rotation is None:
                self._end("no route of the snapshot leads to this backend")
                return
            attempts = self._attempts = Attempts(rotation, DEFAULT_RETRIES, b"")
            if attempts.endpoint is None:
                self._end("no endpoint")
            else:
                self._attempt(attempts, attempts.endpoint)
        except Exception:
            self.crash()

    def _attempt(self, attempts: Attempts, endpoint: Endpoint) -> None:
        pool = self._pool
        if pool.most and not pool.has_room(endpoint):
            roomy = attempts.choose_roomy(pool.has_room)
            if roomy is None:
                self._end("all endpoints have the connections they may")
                return
            endpoint = roomy
        self._state = State.CONNECTING
        if attempts.rotation.counts:
            attempts.tell_began(self._now())
        pool.acquire(endpoint, self, attempts.reuse, fresh=self.head.method not in IDEMPOTENT)

    def _go_on(self, row: Row, why: str) -> None:
        """Make the attempt that *row* allows, if there is an endpoint for it."""
        attempts = self._attempts
        assert attempts is not None
        step = attempts.go_on(row, why, self.head.method, is_held=True, now=self._now())
        if step is Step.FAIL:
            self._end(why)
        else:
            assert attempts.endpoint is not None
            self._attempt(attempts, attempts.endpoint)

    def _now(self) -> float:
        return self._deadlines.exact_seconds() - self._started

    def upstream_connected(self, upstream: Upstream) -> bool:
        """Take *upstream* and send the request; False when nobody waits for the answer any more."""
        if self._state is not State.CONNECTING:
            return False
        assert self._attempts is not None
        self._state = State.AWAITING
        self._upstream = upstream
        if self._attempts.tried:
            self._attempts.reached()
        upstream.begin(self, self.head.forward, self._body, True)
        return True

    def upstream_unreachable(self, why: str, is_first: bool = True) -> bool:
        """No connection could be made; return whether that was still awaited."""
        if self._state is not State.CONNECTING:
            return False
        assert self._attempts is not None
        fault = self._attempts.unreachable(why, is_first)
        self._go_on(TABLE[State.CONNECTING, fault], why)
        return True

    def upstream_lost(self, why: str, fault: Fault) -> None:
        """The connection is gone, or of no use any more."""
        upstream, self._upstream = self._upstream, None
        if self._state is State.AWAITING:
            assert self._attempts is not None
            if fault is Fault.SILENT and upstream is not None:
                self._attempts.silent(upstream.liveness)
            self._go_on(TABLE[self._state, fault], why)
        elif self._state is State.ANSWERING:
            self._end(f"the answer was cut short: {why}")

    # The answer

    def upstream_interim(self, head: ResponseHead) -> None:
        """Wait on: this is not the answer."""

    def upstream_head(self, head: ResponseHead, body: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Take the head of the answer, with what of the body came with it."""
        if self._state is not State.AWAITING:
            return
        self._state = State.ANSWERING
        self._head = head
        has_body = head.has_body and self.head.method != b"HEAD"
        if has_body and head.content_length > self._max_bytes:
            self._too_large(ended)
        else:
            self.upstream_body(body, ended, trailers)

    def upstream_body(self, piece: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Take a piece of the body."""
        if self._state is not State.ANSWERING:
            return
        self._size += len(piece)
        if self._size > self._max_bytes:
            self._too_large(ended)
            return
        if self._is_kept and piece:
            self._kept.add(piece)
        if ended:
            self._upstream = None
            self._end(self._answer())

    def _too_large(self, ended: bool) -> None:
        if ended:
            self._upstream = None
        if self._is_kept:
            self._end(f"the answer has more than {self._max_bytes} bytes")
        else:
            self._end(self._answer())

    def _answer(self) -> SubAnswer:
        head = self._head
        assert head is not None
        start = head.start
        fields = _known_fields_of(start) if len(start) <= _LONGEST_KNOWN else _fields_of(start)
        return SubAnswer(head.status, fields, self._kept.joined())

    def splice_answer(self, copy: KernelCopy) -> bool:
        """Have it come here, where it is counted."""
        return False

    # What no connection has for who asks for no upgrade, brings no body in pieces, and has no downstream side

    def answer_moved(self, count: int) -> None:
        """Nothing is spliced."""

    def upstream_switched(self, head: ResponseHead, first: bytes) -> None:
        """Nothing asks for a tunnel."""

    def tunnel_from_upstream(self, octets: bytes) -> None:
        """There is no tunnel."""

    def upstream_ended(self) -> None:
        """There is no tunnel."""

    def downstream_transport(self) -> None:
        """There is no tunnel."""

    def upstream_full(self) -> None:
        """All of the request waits there already."""

    def upstream_drained(self) -> None:
        """There is no more of the request."""

    # The end

    def _timed_out(self) -> None:
        self._timer = None
        self._end(f"took longer than {self._seconds:g} s")

    def cancel(self) -> None:
        """Nobody wants the answer any more."""
        self._end(None)

    def downstream_lost(self) -> None:
        """Nobody wants the answer any more."""
        self._end(None)

    def fail(self, status: int, why: str) -> None:
        """There will be no answer."""
        self._end(why)

    def crash(self) -> None:
        """End what met a bug of ours; to be called while its exception is handled."""
        log.failure(
            "A sub-request to {host} failed by a bug", host=self.head.authority.decode("ascii", "replace")
        )
        self._end(_BUG)

    def hang_up(self) -> None:
        """End it, when nothing else can be done."""
        self._end(_BUG)

    def _end(self, outcome: SubAnswer | str | None) -> None:
        """Let go of everything, and tell how it ended; nothing may happen after this."""
        if self._state is State.DONE:
            return
        state, self._state = self._state, State.DONE
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        upstream, self._upstream = self._upstream, None
        attempts = self._attempts
        if upstream is not None:
            upstream.abandon()
        elif state is State.CONNECTING and attempts is not None and attempts.endpoint is not None:
            self._pool.forget(self, attempts.endpoint)
        if attempts is not None:
            attempts.tell_ended(self._now(), failed=not isinstance(outcome, SubAnswer))
        self._kept = HeldBody()
        ended, self.ended = self.ended, _nobody
        ended(outcome)
