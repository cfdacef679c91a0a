"""A downstream connection speaking HTTP/1.1: requests in, answers out, one at a time.

``channel_state`` draws its states, and decides when it reads and how long it waits.

What arrives for the next request while one is answered (pipelining) waits in
the buffer, at most ``MAX_AHEAD`` bytes of it; then reading pauses.  The answer
to a request that cannot be read in one way is an error reply and the end of the
connection, for where the next request would begin is then unknown.
"""

from typing import TYPE_CHECKING

from twisted.internet.interfaces import IHalfCloseableProtocol, IPushProducer
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.http.answer import Framing, downstream_head, frame, framing_of
from ingress.http.body import BodyError, ChunkedDecoder, CloseDecoder, Decoder, LengthDecoder
from ingress.http.forwarding import Origin, origin_of_peer
from ingress.http.head_buffer import HeadBuffer
from ingress.http.request_head import UNREADABLE, HeadError, RequestHead, parse_request_head
from ingress.http.response_head import ResponseHead
from ingress.proxy import limits
from ingress.proxy.channel_state import (
    CLOSED,
    EXCHANGE,
    HEAD,
    LINGERING,
    TUNNEL,
    seconds_allowed,
    wants_reading,
)
from ingress.proxy.exchange import Exchange
from ingress.proxy.sweep import NEVER
from ingress.proxy.transports import KernelCopy, Transport, peer_address, splice
from ingress.routing.hosts import HostError, normal_host
from ingress.routing.paths import PathError, normal_path

if TYPE_CHECKING:
    from ingress.proxy.site import ProxySite

_NOWHERE = Origin(b"", b"http", 0, b"")


@implementer(IHalfCloseableProtocol, IPushProducer)
class DownstreamChannel(Protocol):
    """The downstream half of exchanges, speaking HTTP/1.1."""

    transport: Transport  # type: ignore[assignment]  # Twisted says ITransport or None

    def __init__(self, site: "ProxySite", secure: bool) -> None:
        self.deadline = NEVER
        self.state = HEAD
        self._site = site
        self._sweep = site.sweep
        self._secure = secure
        self._origin = _NOWHERE
        self._is_proxied = False
        """Whether the peer is a proxy of ours, which says who the client is."""
        self._buffer = HeadBuffer()
        self._advancing = False
        self._requests = 0
        self._half_closed = False
        self._linger_until = 0.0
        # The exchange under way
        self._exchange: Exchange | None = None
        self._decoder: Decoder | None = None
        """Reads the request body; None once the request is whole."""
        self._minor = 1
        self._keep_alive = True
        self._framing = Framing.NONE
        # Back-pressure
        self._reading = True
        self._request_paused = False
        self._full = False

    def __repr__(self) -> str:
        return f"<DownstreamChannel {self._origin.address.decode()} {self.state.value} {self._exchange!r}>"

    # The connection

    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)
        self.transport.setTcpKeepAlive(True)
        self.transport.registerProducer(self, True)
        peer = peer_address(self.transport.getPeer())
        port = getattr(self.transport.getHost(), "port", 0)
        self._origin = origin_of_peer(peer, b"https" if self._secure else b"http", port)
        self._is_proxied = peer in self._site.trusted_proxies
        # The first head must come as quickly as any; only between requests may a peer rest.
        self.deadline = self._sweep.now + limits.HEAD_SECONDS
        self._sweep.watch(self)
        self._site.opened(self, self._secure)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._sweep.forget(self)
        self.state = CLOSED
        self._site.closed(self, self._secure)
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.downstream_lost()

    def readConnectionLost(self) -> None:
        """Downstream sends no more; it may still wait for its answer (half-close)."""
        self._half_closed = True
        if self.state is EXCHANGE and self._decoder is not None and self._exchange is not None:
            # The request will never be whole, and upstream must not take it for one.
            self._keep_alive = False
            self._exchange.request_broken(400, "request body breaks off")
        elif self.state is not EXCHANGE:
            self._close()

    def writeConnectionLost(self) -> None:
        """Our side of the connection is shut down, as a lingering close asks."""

    def drain(self) -> None:
        """Take no further request: close now when at rest, after the answer otherwise."""
        if self.state is HEAD and not self._buffer:
            self._close()

    def abort(self) -> None:
        """End the connection at once."""
        self.transport.abortConnection()

    def _close(self) -> None:
        if self.state is not CLOSED:
            self.state = CLOSED
            self.deadline = self._sweep.now + limits.LINGER_SECONDS
            self.transport.unregisterProducer()
            self.transport.loseConnection()

    def expire(self) -> None:
        """Called by the sweep: the peer took too long."""
        self.deadline = NEVER
        if self._full:
            self.transport.abortConnection()
        elif self.state is HEAD:
            if self._buffer:
                self._refuse(408, "head not complete in time")
            else:
                self._close()
        elif self.state is EXCHANGE and self._exchange is not None:
            self._keep_alive = False
            self._exchange.request_broken(408, "request body not complete in time")
        else:
            self.transport.abortConnection()

    # Requests

    def dataReceived(self, received: bytes) -> None:
        state = self.state
        if state is HEAD:
            if not self._buffer:
                self.deadline = self._sweep.now + limits.HEAD_SECONDS
            self._buffer.add(received)
            self._advance()
        elif state is EXCHANGE:
            if self._decoder is not None:
                self._take_body(self._decoder, received)
            else:
                self._buffer.add(received)
                self._update_reading()
        elif state is TUNNEL:
            if self._exchange is not None:
                self._exchange.tunnel_from_downstream(received)
        elif state is LINGERING:
            self.deadline = min(self._linger_until, self._sweep.now + limits.LINGER_GAP_SECONDS)

    def _advance(self) -> None:
        """Begin the requests in the buffer, one after the other as each one ends."""
        if self._advancing:
            return
        self._advancing = True
        try:
            while self.state is HEAD and not self._full:
                block = self._buffer.next_head()
                if block is None:
                    break
                self._begin(block)
        except HeadError as error:
            self._refuse(error.status, str(error))
        finally:
            self._advancing = False
        if self._half_closed and self.state is HEAD and not self._full:
            self._close()

    def _begin(self, block: bytes) -> None:
        """Read one head and start its exchange."""
        self._requests += 1
        head = UNREADABLE
        try:
            head = parse_request_head(block)
            host = normal_host(head.authority)[0] if head.authority else b""
            path = normal_path(head.path) if head.path != b"*" else b"/"
        except HeadError as error:
            self._refuse(error.status, str(error))
        except (HostError, PathError) as error:
            self._refuse(400, str(error), head)
        else:
            self._start(head, host, path)

    def _start(self, head: RequestHead, host: bytes, path: bytes) -> None:
        self.state = EXCHANGE
        self.deadline = NEVER
        self._minor = head.minor
        self._keep_alive = (
            head.keep_alive and self._requests < limits.MAX_REQUESTS and not self._site.draining
        )
        origin = self._origin
        if self._is_proxied:
            origin = self._site.trusted_proxies.origin(origin, head)
        exchange = Exchange(self._site, self, head, host, path, origin)
        self._exchange = exchange
        if not head.has_body:
            exchange.request_ended()
        else:
            self._decoder = ChunkedDecoder() if head.chunked else LengthDecoder(head.content_length)
            # What came with the head goes upstream with it, in one write.
            self._take_body(self._decoder, self._buffer.take())
            if self._half_closed and self._decoder is not None and self._exchange is exchange:
                exchange.request_broken(400, "request body breaks off")
        if self._exchange is exchange:
            self._site.resource_for(exchange).render(exchange)

    def _take_body(self, decoder: Decoder, received: bytes) -> None:
        """Take the framing off a piece of the request body and hand it to the exchange."""
        exchange = self._exchange
        if exchange is None:
            return
        self.deadline = self._sweep.now + limits.BODY_GAP_SECONDS
        try:
            piece = b"".join(decoder.feed(received))
        except BodyError as error:
            self._keep_alive = False
            exchange.request_broken(400, str(error))
            return
        if decoder.finished:
            self._decoder = None
            self.deadline = NEVER
            self._buffer.add(decoder.rest)
        if piece:
            exchange.request_body(piece)
        if decoder.finished:
            exchange.request_ended()
            self._update_reading()
        elif (
            isinstance(decoder, LengthDecoder)
            and decoder.left >= limits.SPLICE_BYTES
            and not self._request_paused
        ):
            exchange.splice_request(KernelCopy(self.transport, decoder.left, self._moved, self._spliced))

    def _moved(self, count: int) -> None:
        """So much of a spliced request body went upstream."""
        self.deadline = self._sweep.now + limits.BODY_GAP_SECONDS

    def _spliced(self) -> None:
        """All of a spliced request body went upstream."""
        self._decoder = None
        if self._exchange is not None:
            self._exchange.request_ended()
        self._update_reading()

    def _refuse(self, status: int, why: str, head: RequestHead = UNREADABLE) -> None:
        """Answer what cannot be read, and end the connection."""
        self._keep_alive = False
        self._minor = 1
        # Whatever follows is of no use, but must be taken for our reply to arrive.
        self._decoder = CloseDecoder()
        self._buffer.clear()
        self.state = EXCHANGE
        self._exchange = Exchange(self._site, self, head, b"", b"", self._origin)
        self._exchange.fail(status, why)

    # DownstreamHalf

    def respond(self, head: ResponseHead, body: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Send the head, and what there is of the body with it in one write."""
        assert self._exchange is not None
        self._framing = framing_of(head, self._exchange.head.method, self._minor)
        if (
            self._site.draining
            or self._framing is Framing.UNTIL_CLOSE
            or (ended and self._decoder is not None)
        ):
            self._keep_alive = False
        answer = downstream_head(head, self._framing, self._minor, self._keep_alive, self._sweep.date)
        self.transport.write(answer + frame(self._framing, body, ended, trailers))

    def send_body(self, piece: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Send more of the body."""
        framed = frame(self._framing, piece, ended, trailers)
        if framed:
            self.transport.write(framed)

    def splice_body(self, copy: KernelCopy) -> bool:
        """Have the kernel send the rest of a body of known length, if that is possible."""
        return self._framing is Framing.LENGTH and splice(self.transport, copy)

    def send_interim(self, head: ResponseHead) -> None:
        """Send a 1xx head; HTTP/1.0 has none (RFC 9110 section 15.2)."""
        if self._minor:
            self.transport.write(head.start + b"\r\n")

    def open_tunnel(self, head: ResponseHead, first: bytes) -> None:
        """Send the 101 head and turn into a pipe."""
        self.state = TUNNEL
        upgrade = b"Connection: Upgrade\r\nUpgrade: %b\r\n\r\n" % head.upgrade
        self.transport.write(head.start + upgrade + first)
        ahead = self._buffer.take()
        self._update_reading()
        if ahead and self._exchange is not None:
            self._exchange.tunnel_from_downstream(ahead)

    def send_raw(self, octets: bytes) -> None:
        """Send bytes of a tunnel."""
        self.transport.write(octets)

    def cut(self) -> None:
        """Break the answer off, so that downstream can see that it is not whole."""
        self._keep_alive = False
        self._decoder = None
        if self._framing is Framing.UNTIL_CLOSE:
            # A regular close would look like the end of the body; a reset does not.
            self.transport.abortConnection()

    def finished(self) -> None:
        """The exchange is over: go on with the next request, or close."""
        self._exchange = None
        self._request_paused = False
        if self.state is EXCHANGE and self._decoder is not None and not self._half_closed:
            self._linger()
        elif self.state is EXCHANGE and self._keep_alive:
            self.state = HEAD
            self._update_reading()
            if self._buffer or self._half_closed:
                self._advance()
        else:
            self._close()

    def _linger(self) -> None:
        """Close our side, and take what still comes until the peer closes too."""
        self.state = LINGERING
        self._linger_until = self._sweep.now + limits.LINGER_SECONDS
        self.deadline = self._sweep.now + limits.LINGER_GAP_SECONDS
        self._buffer.clear()
        self._update_reading()
        if not self._secure:
            self.transport.unregisterProducer()
            self.transport.loseWriteConnection()

    def pause_request(self) -> None:
        """Bring no more of the request."""
        self._request_paused = True
        self._update_reading()

    def resume_request(self) -> None:
        """Go on bringing the request."""
        if self._request_paused:
            self._request_paused = False
            self._update_reading()

    def _update_reading(self) -> None:
        """Read while somebody can take it, and set until when downstream has to act."""
        in_body = self._decoder is not None
        ahead = len(self._buffer)
        if self.state is not LINGERING and self.state is not CLOSED:
            # A closing has a bound of its own.
            seconds = seconds_allowed(self.state, in_body, self._request_paused, self._full, ahead)
            self.deadline = self._sweep.now + seconds
        wanted = wants_reading(self.state, in_body, self._request_paused, self._full, ahead)
        if wanted != self._reading and not self._half_closed:
            self._reading = wanted
            if wanted:
                self.transport.resumeProducing()
            else:
                self.transport.pauseProducing()

    # IPushProducer: the transport tells how full it is.

    def pauseProducing(self) -> None:
        """The transport's buffer is full: upstream must wait."""
        self._full = True
        if self._exchange is not None:
            self._exchange.downstream_full()
        self._update_reading()

    def resumeProducing(self) -> None:
        """The transport's buffer has room again."""
        self._full = False
        if self._exchange is not None:
            self._exchange.downstream_drained()
        self._update_reading()
        if self.state is HEAD and (self._buffer or self._half_closed):
            self._advance()

    def stopProducing(self) -> None:
        """The transport is gone; ``connectionLost`` says so too."""
