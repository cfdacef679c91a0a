"""The two sides of an exchange, as the exchange sees them.

``Downstream`` is the side that sent the request, ``Upstream`` the side
that answers it.  A protocol joins the proxy by being one of them.  Body pieces
are always without framing; what tells a half that the other cannot take more is
``pause...``/``resume...``.
"""

from typing import TYPE_CHECKING, Protocol

from ingress.http.response_head import ResponseHead
from ingress.proxy.contract.security import Security
from ingress.proxy.transport.twisted_transports import KernelCopy
from ingress.routing.health import Liveness

if TYPE_CHECKING:
    from ingress.proxy.exchange.exchange import Exchange


class Downstream(Protocol):
    """What an exchange asks of the side that sent the request."""

    protocol: bytes
    """What the log calls what it speaks."""

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
        """Have the kernel send the rest of the body, if that is possible."""

    def send_interim(self, head: ResponseHead) -> None:
        """Send a 1xx head, where the protocol has them."""

    def open_tunnel(self, head: ResponseHead, first: bytes) -> None:
        """Send the 101 head; raw bytes follow both ways."""

    def send_raw(self, octets: bytes) -> None:
        """Send bytes of a tunnel."""

    def end_sending(self) -> bool:
        """Upstream's side of a tunnel ended: end ours after what was sent, and go on receiving, if that is possible."""

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

    is_reused: bool
    """Whether the connection answered another request before: it may have been closed meanwhile."""
    may_decline: bool
    """Whether its protocol can tell that nothing was done with a request."""
    may_rest: bool
    """Whether requests to it may be conversations, whose bodies rest as long as the endpoint may."""

    @property
    def liveness(self) -> Liveness:
        """When its endpoint was heard last, and how often it was not."""

    def begin(self, exchange: "Exchange", fields: bytes, body: bytes, ended: bool) -> None:
        """Send the request: ``exchange.head`` with *fields* in it, and what there is of its body.

        *fields* are rendered lines, each with its CRLF; request line, Host and framing are the half's own.
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
