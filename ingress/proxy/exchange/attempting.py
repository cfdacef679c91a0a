"""The attempts of an exchange: endpoints, connections, the body held for another attempt.

What ``exchange`` builds upon.  What follows from a fault stands in ``attempts``; this
does it.  A further attempt goes to another endpoint, unless a kept connection was stale:
then to the same one on a new connection.
"""

from abc import ABC, abstractmethod

from ingress.http.forwarding import Origin, upstream_fields_of
from ingress.http.request_head import RequestHead
from ingress.model.backends import Endpoint
from ingress.model.limits import Timeouts
from ingress.proxy.contract.faults import (
    IDEMPOTENT,
    TABLE,
    Fault,
    Row,
    Side,
    State,
    Step,
    fault_of_connecting,
    next_step,
)
from ingress.proxy.contract.limits import MAX_HELD, SMALL_HELD
from ingress.proxy.contract.sides import Downstream, Upstream
from ingress.proxy.contract.transport import KernelCopy
from ingress.proxy.exchange.context import ExchangeContext
from ingress.proxy.upstream.rotation import Rotation
from ingress.routing.route import Route

# Bound once: looking a member up in its class costs more than comparing it.
_WAITING, _CONNECTING, _AWAITING, _ANSWERING, _TUNNEL, _DONE = State


class Attempting(ABC):
    """The half of an exchange that faces upstream until an answer begins."""

    # What most exchanges never change stands here, and costs each of them nothing.
    state = _WAITING
    status = 0
    endpoint: Endpoint | None = None
    _route: Route | None = None
    _rotation: Rotation | None = None
    _key = b""
    _upstream: Upstream | None = None
    _tries = 1
    """Endpoints that were tried; a new connection for a stale one does not count."""
    _tried: frozenset[Endpoint] = frozenset()
    """Those that failed."""
    _attempt_began: float | None = None
    """Only where the balancer wants to know."""
    _held: list[bytes] | None = None
    """Pieces of the request body that may be sent once more; None once that may not be."""
    _held_size = 0
    _body_size = 0
    _max_body_bytes = 0
    _request_id = b""
    timeouts: Timeouts | None = None
    """Those of a route that asks for some."""
    rest_seconds: float | None = None
    """How long the request body may rest, where that is for the route to say; None: as ``Limits`` say of any."""

    # Given by ``Exchange``
    _context: ExchangeContext
    _downstream: Downstream
    _origin: Origin
    _request_ended: bool
    _started: float
    head: RequestHead

    @abstractmethod
    def fail(self, status: int, why: str, route: Route | None = None) -> None:
        """Answer with an error."""

    @abstractmethod
    def crash(self) -> None:
        """End the exchange, which met a bug of ours."""

    @abstractmethod
    def _cut(self, why: str) -> None:
        """End an answer, or a tunnel, that cannot be whole any more."""

    @abstractmethod
    def request_broken(self, status: int, why: str) -> None:
        """The request body cannot be read."""

    def proxy(self, route: Route, rotation: Rotation, key: bytes = b"") -> None:
        """Send the request to an endpoint of *rotation*, which has one; *key* is what it may be chosen by."""
        self._route = route
        self._rotation = rotation
        if route.timeouts is not None:
            self.timeouts = route.timeouts.completed_by(self._context.limits.upstream)
        limit = route.max_body_bytes
        if limit:
            self._max_body_bytes = limit
            if self.head.content_length > limit or self._body_size > limit:
                self.fail(413, "request body too large")
                return
        self._request_id = self.head.request_id or self._context.new_request_id()
        if key:
            self._key = key
        endpoint = rotation.pick((), key)
        if endpoint is None:
            self.fail(TABLE[_WAITING, Fault.NO_ENDPOINT].status, "no endpoint")
        else:
            self._attempt(endpoint, rotation)

    def _attempt(self, endpoint: Endpoint, rotation: Rotation, reuse: bool = True) -> None:
        pool = self._context.pool
        if pool.most and not pool.has_room(endpoint):
            roomy = self._with_room(endpoint, rotation)
            if roomy is None:
                self.fail(
                    TABLE[_WAITING, Fault.NO_ENDPOINT].status, "all endpoints have the connections they may"
                )
                return
            endpoint = roomy
        self.endpoint = endpoint
        self.state = _CONNECTING
        if rotation.counts:
            self._attempt_began = self._context.clock.seconds()
            rotation.began(endpoint)
        pool.acquire(endpoint, self, reuse, fresh=self.head.method not in IDEMPOTENT)  # type: ignore[arg-type]  # it is one

    def _with_room(self, full: Endpoint, rotation: Rotation) -> Endpoint | None:
        """Choose an endpoint that may have another connection, as if the others were not there."""
        passed_over = {full, *self._tried}
        while (endpoint := rotation.another(passed_over, self._key)) is not None:
            if self._context.pool.has_room(endpoint):
                return endpoint
            passed_over.add(endpoint)
        return None

    def upstream_connected(self, upstream: Upstream) -> bool:
        """Take *upstream* and send the request; False when nobody waits for the answer any more."""
        if self.state is not _CONNECTING:
            return False
        self.state = _AWAITING
        self._upstream = upstream
        if self._tried:
            self._reached_another()
        fields = upstream_fields_of(self.head, self._request_id, self._origin)
        route = self._route
        if route is not None and route.upstream_fields is not None:
            fields += route.upstream_fields.render(self)  # type: ignore[arg-type]  # it is one
        held = b"".join(self._held) if self._held else b""
        if not self._request_ended:
            # Before the first write, which may fill upstream and pause the request again.
            self._downstream.resume_request()
        upstream.begin(self, fields, held, self._request_ended)  # type: ignore[arg-type]  # it is one
        if self.head.has_body:
            if not self._is_worth_holding(upstream):
                self._held = None
            if upstream.may_rest:
                self.rest_seconds = (self.timeouts or self._context.limits.upstream).read_seconds
        if self._downstream.is_full:
            # Something waits there, be it interim answers to an attempt before, and nobody says so again.
            upstream.pause()
        return True

    def _is_worth_holding(self, upstream: Upstream) -> bool:
        """Whether the body may be needed once more, now that it is being sent to *upstream*."""
        if self._held_size > MAX_HELD or self.head.content_length > MAX_HELD:
            return False
        if upstream.is_reused or upstream.may_decline or self.head.method in IDEMPOTENT:
            return True
        return self._route is not None and self._route.retries.non_idempotent

    def _reached_another(self) -> None:
        assert self._rotation is not None and self.endpoint is not None
        self._rotation.reached(self.endpoint)

    # Faults

    def upstream_unreachable(self, why: str, is_first: bool = True) -> bool:
        """No connection could be made to the endpoint, and nothing was sent; return whether that was still awaited.

        Where several waited for one connection, only one of them *is_first*: the endpoint failed once, not for each.
        """
        if self.state is not _CONNECTING:
            return False
        assert self._rotation is not None and self.endpoint is not None
        fault = fault_of_connecting(why)
        if is_first and fault is not Fault.NO_SOCKET:
            self._rotation.unreachable(self.endpoint)
        self._upstream_failed(TABLE[_CONNECTING, fault], why)
        return True

    def upstream_lost(self, why: str, fault: Fault) -> None:
        """The connection is gone, or of no use any more."""
        upstream, self._upstream = self._upstream, None
        if self.state in (_AWAITING, _ANSWERING, _TUNNEL):
            if fault is Fault.SILENT and upstream is not None:
                assert self._rotation is not None and self.endpoint is not None
                self._rotation.silent(self.endpoint, upstream.liveness)
            self._upstream_failed(TABLE[self.state, fault], why)

    def _upstream_failed(self, row: Row, why: str) -> None:
        if row.blames is Side.UPSTREAM:
            self._context.metrics.upstream_failed()
        if self.state is _ANSWERING or self.state is _TUNNEL:
            self._cut(why)
        elif not self._attempt_again(row):
            if row.blames is Side.NOBODY:
                self._context.metrics.upstream_failed()
            self.fail(row.status, why)

    def _attempt_again(self, row: Row) -> bool:
        """Make the attempt that *row* allows, if there is an endpoint for it."""
        route, rotation, endpoint = self._route, self._rotation, self.endpoint
        assert route is not None and rotation is not None and endpoint is not None
        seconds = self._context.clock.seconds() - self._started
        is_held = self._held is not None
        step = next_step(row, route.retries, self.head.method, is_held, self._tries, seconds)
        if step is Step.FAIL:
            return False
        if step is Step.RENEW and endpoint in rotation.endpoints:
            another: Endpoint | None = endpoint
        else:
            self._tried |= {endpoint}
            another = rotation.another(self._tried, self._key)
            self._tries += 1
        if another is None:
            return False
        self._attempt_ended(failed=True)
        self._context.metrics.attempt_repeated()
        self._attempt(another, rotation, reuse=step is not Step.RENEW)
        return True

    def _is_refused(self, status: int, ended: bool) -> bool:
        """Whether an answer of this status is dropped, and another endpoint asked instead."""
        route = self._route
        if route is None or status not in route.retries.statuses:
            return False
        upstream, self._upstream = self._upstream, None
        if not self._attempt_again(TABLE[_AWAITING, Fault.REFUSED_STATUS]):
            self._upstream = upstream
            return False
        self._context.metrics.upstream_failed()
        if upstream is not None and not ended:
            upstream.abandon()
        return True

    def _attempt_ended(self, failed: bool) -> None:
        """Tell the balancer, if it wants to know."""
        if self._attempt_began is not None:
            assert self._rotation is not None and self.endpoint is not None
            seconds = self._context.clock.seconds() - self._attempt_began
            self._attempt_began = None
            self._rotation.ended(self.endpoint, seconds, failed)

    # The request body

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
        held = self._held
        if held and len(held[-1]) + len(piece) <= SMALL_HELD:
            held[-1] += piece
        else:
            held.append(piece)
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

    def _drop_upstream(self) -> None:
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.abandon()
        elif self.state is _CONNECTING:
            assert self.endpoint is not None
            self._context.pool.forget(self, self.endpoint)  # type: ignore[arg-type]  # it is one
