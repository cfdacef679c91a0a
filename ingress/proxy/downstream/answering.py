"""The answering side of a downstream connection that speaks HTTP/1.1.

What ``channel`` builds upon: it reads requests and knows when one is over, this
writes the answers.  Nothing here decides what is answered.
"""

from abc import abstractmethod

from attrs import evolve
from twisted.internet.protocol import Protocol

from ingress.http.answer import Framing, downstream_head, frame, framing_of
from ingress.http.response_head import ResponseHead, without_strict_transport
from ingress.proxy.contract.deadlines import NEVER
from ingress.proxy.contract.progress import Progress
from ingress.proxy.contract.security import Security
from ingress.proxy.contract.sides import RequestSink
from ingress.proxy.contract.transport import KernelCopy, Transport
from ingress.proxy.dispatch.site import ProxySite
from ingress.proxy.downstream.request_body import RequestBody


class AnsweringConnection(Protocol):
    """Writes the answers of one connection, one exchange at a time."""

    transport: Transport  # type: ignore[assignment]  # Twisted says ITransport or None

    protocol = b"HTTP/1.1"
    # What a connection at rest has as it began stands here: thousands of them rest.
    security: Security | None = None
    """None without TLS."""
    _exchange: RequestSink | None = None
    """The exchange under way."""
    _body: RequestBody | None = None
    """What reads its request body; None once the request is whole."""
    _minor = 1
    _keep_alive = True
    """Whether another request may follow this one."""
    _framing = Framing.NONE
    is_full = False
    """Whether more waits for the peer than should."""
    _is_copying = False
    """Whether the kernel moves what is left of an answer."""
    _progress: Progress | None = None
    """How what is sent is taken, while that is looked at."""

    def __init__(self, site: ProxySite, secure: bool) -> None:
        self._site = site
        self._limits = site.context.limits
        self._deadlines = site.context.deadlines
        self._secure = secure
        """Whether the connection is TLS."""
        self.deadline = NEVER

    def respond(self, head: ResponseHead, body: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Send the head, and what there is of the body with it in one write."""
        exchange = self._exchange
        assert exchange is not None
        start, line = head.start, b""
        if self._secure:
            line = exchange.secure_line
            if line and head.has_strict_transport:
                # The field must not come twice (RFC 6797 section 7.1), and ours is the operator's word.
                start = without_strict_transport(start)
        if self._site.connections.draining:
            self._keep_alive = False
        if (
            ended
            and head.is_complete
            and self._keep_alive
            and self._minor
            and self._body is None
            and exchange.head.method != b"HEAD"
        ):
            # Nearly every answer: nothing is to be added, and its body is here.
            self.transport.write(b"%b%b\r\n%b" % (start, line, body))
            return
        self._framing = framing_of(head, exchange.head.method, self._minor)
        if self._framing is Framing.UNTIL_CLOSE or (ended and self._body is not None):
            self._keep_alive = False
        answer = downstream_head(head, self._framing, self._minor, self._keep_alive, self._deadlines.date)
        if line:
            answer = start + line + answer[len(head.start) :]
        self.transport.write(answer + frame(self._framing, body, ended, trailers))

    def send_body(self, piece: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Send more of the body."""
        framed = frame(self._framing, piece, ended, trailers)
        if framed:
            self.transport.write(framed)

    def splice_body(self, copy: KernelCopy) -> bool:
        """Have the kernel send the rest of a body of known length, if that is possible."""

        def ended() -> None:
            self._is_copying = False
            copy.ended()

        if self._framing is not Framing.LENGTH or not self.transport.splice_from(evolve(copy, ended=ended)):
            return False
        self._is_copying = True
        if self._body is not None:
            # From now on the deadlines measures the sender of the request by this.
            self._body.restart_window(self._deadlines.now)
        self._watch_sending()
        return True

    @abstractmethod
    def _watch_sending(self) -> None:
        """Look, from now on, at how what is sent is taken."""

    def send_interim(self, head: ResponseHead) -> None:
        """Send a 1xx head; HTTP/1.0 has none (RFC 9110 section 15.2)."""
        if self._minor:
            self.transport.write(head.start + b"\r\n")

    def send_switch(self, head: ResponseHead, first: bytes) -> None:
        """Send the 101 head and the first bytes of what follows it."""
        upgrade = b"Connection: Upgrade\r\nUpgrade: %b\r\n\r\n" % head.upgrade
        self.transport.write(head.start + upgrade + first)

    def send_raw(self, octets: bytes) -> None:
        """Send bytes of a tunnel."""
        self.transport.write(octets)

    def close_after_answer(self) -> None:
        """Take no request after this one."""
        self._keep_alive = False

    def cut(self) -> None:
        """Break the answer off, so that downstream can see that it is not whole."""
        self._keep_alive = False
        self._body = None
        if self._framing is Framing.UNTIL_CLOSE:
            # A regular close would look like the end of the body; a reset does not.
            self.transport.abortConnection()
