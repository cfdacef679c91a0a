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
``attempts``; the attempts themselves are made in ``attempting``.
"""

from twisted.logger import Logger

from ingress.http.field_values import first_value
from ingress.http.forwarding import Origin
from ingress.http.grpc import is_grpc
from ingress.http.request_head import RequestHead
from ingress.http.response_head import ResponseHead
from ingress.model.client_authentication import ClientEvidence
from ingress.model.policy import Reply, SecureFields
from ingress.proxy.contract.faults import CLIENT_CLOSED, CUT_OFF, State
from ingress.proxy.contract.sides import Downstream
from ingress.proxy.contract.transport import KernelCopy
from ingress.proxy.exchange.attempting import Attempting
from ingress.proxy.exchange.context import ExchangeContext
from ingress.proxy.exchange.grpc_replies import trailers_only
from ingress.proxy.exchange.replies import accepts_html, head_of
from ingress.routing.route import Route

log = Logger()

# Bound once: looking a member up in its class costs more than comparing it.
_WAITING, _CONNECTING, _AWAITING, _ANSWERING, _TUNNEL, _DONE = State


class Exchange(Attempting):
    """One request on its way; the request that ``IngressProxyResource.render`` gets."""

    _sent = 0
    _is_half_over = False
    """Whether one side of a tunnel has ended."""
    secure_fields: SecureFields | None = None
    """Those of the host, where no route matched."""

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
        self._request_ended = not head.has_body
        self._held = []
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

    # What render() decides

    def reply(self, reply: Reply, route: Route | None = None) -> None:
        """Answer with a reply of our own; *route* is the one that matched, for the log.

        An exchange that is over stays so: whoever takes its time to answer cannot know that downstream has left.
        """
        if self.state is _DONE:
            return
        self._route = route or self._route
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
        """Answer with the error *status*; *why* is for the log alone, and only if upstream is to blame."""
        self._route = route or self._route
        if self._route is not None and status >= 500:
            subject = self.endpoint or self._route.backend
            self._context.upstream_errors.warn(status, self.host, self.path, subject, why)
        self.reply(self._context.replies.of(status, accepts_html(self.head.forward)))

    # From downstream

    def request_broken(self, status: int, why: str) -> None:
        """The request body cannot be read; upstream must never see it end regularly."""
        self._drop_upstream()
        if self.state in (_WAITING, _CONNECTING, _AWAITING):
            self.fail(status, why)
        elif self.state is _ANSWERING:
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
        if self.state in (_WAITING, _CONNECTING, _AWAITING):
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
            self._context.upstream_errors.warn(
                self.status, self.host, self.path, self.endpoint, f"answer cut short: {why}"
            )
            self._downstream.cut()
        self._finish()

    def _finish(self) -> None:
        """Write the log line and move the counters; nothing may happen to the exchange after this."""
        if self.state is _DONE:
            return
        self.state = _DONE
        self._upstream = None
        self._held = None
        if self._attempt_began is not None:
            self._attempt_ended(failed=self.status >= 499)
        context = self._context
        owner = self._route.owner if self._route is not None else None
        ingress = owner.key if owner is not None else None
        seconds = context.clock.seconds() - self._started
        context.metrics.exchange_ended(ingress, self.status, seconds, self._sent)
        context.access_log.record(
            self._origin.address,
            self.head.method,
            self.host,
            self.head.target,
            self.status,
            self._sent,
            seconds,
            self.endpoint,
            ingress,
            self._downstream.protocol if self.head.minor else b"HTTP/1.0",
        )
        self._downstream.finished()
