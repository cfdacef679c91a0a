"""The two sides of an exchange, as the exchange sees them, and the exchange, as each of them sees it.

``Downstream`` is the side that sent the request, ``Upstream`` the side
that answers it.  A protocol joins the proxy by being one of them.  To the first an exchange is
a ``RequestSink``, to the second an ``AnswerSink``; whoever is an ``AnswerSink`` may use the pool.  Body pieces
are always without framing; what tells a side that the other cannot take more is
``pause...``/``resume...``.

Whoever is one of these says so by inheriting from it: compiled code calls it directly then, and any other class by the names.
"""

from typing import Any, Final, Protocol

from ingress.http.request_head import RequestHead
from ingress.http.response_head import ResponseHead
from ingress.model.exchanges.causes import Cause
from ingress.model.serving.limits import Timeouts
from ingress.model.text.lookup_budget import TurnBudget
from ingress.proxy.contract.faults import Fault
from ingress.proxy.contract.security import Security
from ingress.proxy.contract.transport import KernelCopy, Transport
from ingress.routing.balancing.health import Liveness

CLOSED: Final = "connection closed"
"""Why an exchange gets no more of upstream, where that has ended its connection in good order."""


class Answering(Protocol):
    """Where a request came in, as far as whoever has waited with it needs to know."""

    def look_up_again(self, exchange: Any, budget: TurnBudget) -> None:
        """Have *exchange*, an ``Exchange``, answered by whoever has its host now, by a lookup that may cost *budget*."""


class Downstream(Protocol):
    """What an exchange asks of the side that sent the request."""

    __slots__ = ()

    protocol: bytes
    """What the log calls what it speaks."""

    @property
    def site(self) -> Answering:
        """Where it came in."""

    @property
    def transport(self) -> Transport:
        """Its connection, which other requests may share."""

    @property
    def security(self) -> Security | None:
        """What its handshake means for requests; None without TLS."""

    @property
    def is_full(self) -> bool:
        """Whether it takes no more of answers for now."""

    def respond(self, head: ResponseHead, body: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Send the final head with the first piece of the body."""

    def send_body(self, piece: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Send more of the body."""

    def splice_body(self, copy: KernelCopy) -> bool:
        """Have the rest of the body sent without being received first, if that is possible."""

    def send_interim(self, head: ResponseHead) -> None:
        """Send a 1xx head, where the protocol has them."""

    def open_tunnel(self, head: ResponseHead, first: bytes) -> None:
        """Send the 101 head; raw bytes follow both ways."""

    def send_raw(self, octets: bytes) -> None:
        """Send bytes of a tunnel."""

    def end_sending(self) -> Transport | None:
        """Upstream's side of a tunnel ended: end ours after what was sent, and go on receiving, if that is possible.

        Then return the transport, which tells what is still to be taken.
        """

    def close_after_answer(self) -> None:
        """Take no request after this one."""

    def cut(self) -> None:
        """End the connection so that downstream can see that the answer is not whole."""

    def end(self) -> None:
        """End the connection once everything is sent."""

    def finished(self) -> None:
        """The exchange is over: go on with the next request, or close."""

    def pause_request(self) -> None:
        """Bring no more of the request body."""

    def resume_request(self) -> None:
        """Go on bringing the request body."""


class Upstream(Protocol):
    """What an exchange asks of the side that answers."""

    __slots__ = ()

    is_reused: bool
    """Whether the connection answered another request before: it may have been closed meanwhile."""
    may_decline: bool
    """Whether its protocol can tell that nothing was done with a request."""
    may_rest: bool
    """Whether requests to it may be conversations, whose bodies rest as long as the endpoint may."""

    @property
    def liveness(self) -> Liveness:
        """When its endpoint was heard last, and how often it was not."""

    def begin(self, exchange: "AnswerSink", fields: bytes, body: bytes, ended: bool) -> None:
        """Send the request: ``exchange.head`` with *fields* in it, and what there is of its body.

        *fields* are rendered lines, each with its CRLF; request line, Host and framing are the side's own.
        """

    def send_body(self, piece: bytes) -> None:
        """Send more of the request body."""

    def splice_body(self, copy: KernelCopy) -> bool:
        """Have the kernel send the rest of the request body, if that is possible."""

    def end_body(self) -> None:
        """The request body is complete."""

    def send_raw(self, octets: bytes) -> None:
        """Send bytes of a tunnel."""

    def end_sending(self) -> None:
        """Downstream's side of a tunnel ended: tell upstream after what was sent, and give it time for its own end."""

    def end_tunnel(self) -> None:
        """Downstream is gone from a tunnel: close once everything is sent."""

    def abandon(self) -> None:
        """Drop the exchange at once; upstream must not take it for a regular end."""

    def pause(self) -> None:
        """Bring no more of the answer."""

    def resume(self) -> None:
        """Go on bringing the answer."""


class BodySink(Protocol):
    """Who takes the body of a request, as the side sees it that brings the request."""

    __slots__ = ()

    received: int
    """Bytes that came of it."""

    def take(self, piece: bytes) -> None:
        """Take a piece of it."""

    def splice(self, copy: KernelCopy) -> bool:
        """Have the kernel send the rest of it, if upstream can and nothing is held."""

    def end(self) -> None:
        """All of it came."""


class RequestSink(Protocol):
    """The exchange, as the side sees it that brings the request and takes the answer."""

    head: RequestHead
    """What is asked."""
    status: int
    """Of the answer, as far as it is known; 0 until then."""
    cause: Cause | None
    """Whose failure it is, as far as that is known."""
    rest_seconds: float | None
    """How long the request body may rest, where that is for the route to say; None: as ``Limits`` say of any."""

    @property
    def passage(self) -> BodySink | None:
        """Who takes the request body; None where nobody does, be it that there is none, or that the exchange is over."""

    @property
    def sent(self) -> int:
        """How many bytes of the body of the answer went downstream so far."""

    def request_broken(self, status: int, why: str) -> None:
        """The request body cannot be read; upstream must never see it end regularly."""

    def fail(self, status: int, why: str) -> None:
        """Answer with the error *status*; *why* is for the log alone."""

    def downstream_lost(self) -> None:
        """Downstream went away: upstream's work is for nobody."""

    def downstream_ended(self) -> None:
        """Downstream says no more in a tunnel, where upstream may still say its last words."""

    def downstream_full(self) -> None:
        """Downstream takes no more for now."""

    def downstream_drained(self) -> None:
        """Downstream takes more again."""

    def tunnel_from_downstream(self, octets: bytes) -> None:
        """Pass bytes of a tunnel on."""

    def crash(self) -> None:
        """End the exchange that a bug of ours made impossible; to be called while its exception is handled."""


class AnswerSink(Protocol):
    """The exchange, as the side sees it that takes the request and brings the answer; as the pool does, too."""

    __slots__ = ()

    head: RequestHead
    """What the endpoint is asked, which filters may have changed."""
    timeouts: Timeouts | None
    """Those of a route that asks for some."""

    def upstream_connected(self, upstream: Upstream) -> bool:
        """Take *upstream* and send the request; False when nobody waits for the answer any more."""

    def upstream_unreachable(self, why: str, is_first: bool = True) -> bool:
        """No connection could be made, and nothing was sent; return whether that was still awaited.

        Where several waited for one connection, only one of them *is_first*: the endpoint failed once, not for each.
        """

    def upstream_interim(self, head: ResponseHead) -> None:
        """Pass a 1xx head on."""

    def upstream_head(self, head: ResponseHead, body: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Pass the final head on, with what of the body came with it."""

    def upstream_body(self, piece: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Pass a piece of the body on."""

    def splice_answer(self, copy: KernelCopy) -> bool:
        """Have the rest of the answer sent without being received first, if downstream can."""

    def answer_moved(self, count: int) -> None:
        """So much of a spliced answer went downstream."""

    def upstream_switched(self, head: ResponseHead, first: bytes) -> None:
        """Upstream accepted the upgrade."""

    def tunnel_from_upstream(self, octets: bytes) -> None:
        """Pass bytes of a tunnel on."""

    def upstream_ended(self) -> Transport | None:
        """Upstream says no more in a tunnel; return downstream's transport if that may still say something to it."""

    def downstream_transport(self) -> Transport | None:
        """Return downstream's connection, which tells whether a side of a tunnel has ended; None where there is none."""

    def upstream_lost(self, why: str, fault: Fault) -> None:
        """The connection is gone, or of no use any more."""

    def upstream_full(self) -> None:
        """Upstream takes no more of the request for now."""

    def upstream_drained(self) -> None:
        """Upstream takes more of the request again."""

    def downstream_lost(self) -> None:
        """Nobody waits for the answer any more."""

    def fail(self, status: int, why: str) -> None:
        """Answer with the error *status*; *why* is for the log alone."""

    def crash(self) -> None:
        """End the exchange that a bug of ours made impossible; to be called while its exception is handled."""

    def hang_up(self) -> None:
        """End downstream's connection, when nothing else can be done."""
