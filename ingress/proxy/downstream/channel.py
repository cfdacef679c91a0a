"""A downstream connection speaking HTTP/1.1: requests in, answers out, one at a time.

``channel_state`` draws its states, and decides when it reads and how long it waits.

What arrives for the next request while one is answered (pipelining) waits in the buffer, at most ``MAX_AHEAD``
bytes of it; then reading pauses.  The answer to a request that cannot be read in one way is an error reply and
the end of the connection, for where the next request would begin is then unknown.
"""

from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure

from ingress.http.body import BodyError
from ingress.http.forwarding import Origin, origin_of_peer
from ingress.http.head_buffer import only_head
from ingress.http.request_head import UNREADABLE, HeadError, RequestHead, parse_request_head
from ingress.http.response_head import ResponseHead
from ingress.http.work import REQUEST_WORK, TURN_WORK
from ingress.proxy.contract.deadlines import NEVER
from ingress.proxy.contract.limits import LINGER_GAP_SECONDS, LINGER_SECONDS
from ingress.proxy.contract.never_raises import never_raises
from ingress.proxy.contract.progress import Progress
from ingress.proxy.contract.security import Security
from ingress.proxy.contract.transport import KernelCopy, peer_address, port_of
from ingress.proxy.downstream.channel_state import (
    CLOSED,
    EXCHANGE,
    HEAD,
    LINGERING,
    TUNNEL,
    seconds_allowed,
    wants_reading,
)
from ingress.proxy.downstream.request_body import RequestBody
from ingress.proxy.downstream.timeouts import PatientConnection
from ingress.proxy.exchange.exchange import Exchange
from ingress.routing.hosts import HostError, normal_host
from ingress.routing.paths import PathError, normal_path

_NOBODY = Origin(b"", b"http", 0, b"")
_NOWHERE = (b"", b"")


class DownstreamChannel(PatientConnection):
    """The downstream half of exchanges, speaking HTTP/1.1."""

    half_closes = True
    _origin = _NOBODY
    _is_proxied = False
    """Whether the peer is a proxy of ours, which says who the client is."""
    _advancing = False
    _old_at = NEVER
    """When it has carried requests for long enough."""
    _is_broken = False
    """Whether what was received could not be read, so that nobody knows where the next request begins."""

    def __repr__(self) -> str:
        return f"<DownstreamChannel {self._origin.address.decode()} {self.state.value} {self._exchange!r}>"

    # The connection

    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)
        self.transport.setTcpKeepAlive(True)
        peer = peer_address(self.transport.getPeer())
        port = port_of(self.transport.getHost())
        self._origin = origin_of_peer(peer, b"https" if self._secure else b"http", port)
        self._is_proxied = peer in self._site.trusted_proxies
        # The first head must come as quickly as any; only between requests may a peer rest.
        self.deadline = self._deadlines.now + self._limits.head_seconds
        self._old_at = self._deadlines.now + self._limits.keep_alive_age_seconds
        self._deadlines.watch(self)
        if self._secure:
            self.security = Security(self.transport)
        self._site.connections.opened(self, self._secure)

    def handshakeCompleted(self) -> None:
        """What was agreed on is of interest to who speaks HTTP/2 alone."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._deadlines.forget(self)
        self.state = CLOSED
        self._site.connections.closed(self, self._secure)
        try:
            if self._exchange is not None:
                self._exchange.downstream_lost()
        except Exception:
            self.raised()
        self._exchange = None

    @never_raises
    def readConnectionLost(self) -> None:
        """Downstream sends no more: it has left, unless it may still wait for its answer (half-close)."""
        self._half_closed = True
        if self._waits_for_turn:
            return  # What came before is read first.
        if self._exchange is None or self.state not in (EXCHANGE, TUNNEL):
            self._close()
        elif self.state is TUNNEL:
            self._exchange.downstream_ended()
        elif self._body is not None:
            # The request will never be whole, and upstream must not take it for one.
            self._keep_alive = False
            self._exchange.request_broken(400, "request body breaks off")
        elif not self._limits.allow_half_close:
            self._leave()

    def drain(self) -> None:
        """Take no further request: close now when at rest, after the answer otherwise."""
        if self.state is HEAD and not self._buffer:
            self._close()

    def abort(self) -> None:
        """End the connection at once."""
        self.transport.abortConnection()

    # Requests

    def dataReceived(self, received: bytes) -> None:
        try:
            state = self.state
            if state is HEAD:
                buffer = self._buffer
                if not buffer:
                    block = only_head(received)
                    if block is not None and not self.is_full and not self._advancing:
                        self._begin(block)
                        return
                    self.deadline = self._deadlines.now + self._limits.head_seconds
                buffer += received
                self._advance()
            elif state is EXCHANGE:
                if self._body is not None:
                    if self._waits_for_turn:
                        self._body.keep(received)
                    else:
                        self._take_body(self._body, received)
                elif not self._is_broken:
                    self._buffer += received
                    self._update_reading()
            elif state is TUNNEL:
                if self._exchange is not None:
                    self._exchange.tunnel_from_downstream(received)
            elif state is LINGERING:
                self.deadline = min(self._linger_until, self._deadlines.now + LINGER_GAP_SECONDS)
        except Exception:
            self.raised()

    def _advance(self) -> None:
        """Begin the requests in the buffer, one after the other as each one ends."""
        if self._advancing or self._waits_for_turn:
            return
        self._advancing = True
        left = TURN_WORK
        try:
            while self.state is HEAD and not self.is_full:
                if left <= 0 and self._buffer:
                    self._wait_for_turn()
                    return
                block = self._buffer.next_head()
                if block is None:
                    break
                left -= REQUEST_WORK + len(block)
                self._begin(block)
        except HeadError as error:
            self._refuse(error.status, str(error))
        finally:
            self._advancing = False
        if self._half_closed and self.state is HEAD and not self.is_full:
            self._close()

    def _begin(self, block: bytes) -> None:
        """Read one head and start its exchange."""
        self._requests += 1
        head = UNREADABLE
        try:
            head = parse_request_head(block)
            if head.destination is None:
                head.destination = (
                    normal_host(head.authority)[0] if head.authority else b"",
                    normal_path(head.path) if head.path != b"*" else b"/",
                )
        except HeadError as error:
            self._refuse(error.status, str(error))
        except (HostError, PathError) as error:
            self._refuse(400, str(error), head)
        else:
            self._start(head, head.destination)

    def _start(self, head: RequestHead, destination: tuple[bytes, bytes]) -> None:
        self.state = EXCHANGE
        self.deadline = NEVER
        self._minor = head.minor
        self._keep_alive = (
            head.keep_alive
            and self._requests < self._limits.keep_alive_requests
            and self._deadlines.now < self._old_at
            and not self._site.connections.draining
        )
        origin = self._origin
        if self._is_proxied:
            origin = self._site.trusted_proxies.origin(origin, head)
        exchange = Exchange(self._site.context, self, head, destination, origin)
        self._exchange = exchange
        try:
            if head.has_body:
                self._body = RequestBody(head, self._deadlines.now, self._limits)
                # What came with the head goes upstream with it, in one write.
                self._take_body(self._body, self._buffer.take())
                is_over = self._half_closed and not self._waits_for_turn
                if is_over and self._body is not None and self._exchange is exchange:
                    exchange.request_broken(400, "request body breaks off")
                if self._exchange is not exchange:
                    return
            if self.security is not None and not self.security.serves(
                destination[0], self._site.server_names
            ):
                exchange.fail(421, "the host needs a connection of its own")
            else:
                self._site.resource_for(exchange).render(exchange)
        except Exception:
            self.raised()

    def _take_body(self, body: RequestBody, received: bytes) -> None:
        """Hand what *received* holds of the request body to the exchange."""
        exchange = self._exchange
        if exchange is None:
            return
        try:
            piece = body.feed(received)
        except BodyError as error:
            self._keep_alive = False
            exchange.request_broken(400, str(error))
            return
        if body.finished:
            self._body = None
            self.deadline = NEVER
            self._buffer += body.rest
        else:
            self._await_more(body)
        if piece:
            exchange.request_body(piece)
        if body.finished:
            exchange.request_ended()
            self._update_reading()
        elif body.has_more:
            if self._exchange is exchange:
                self._wait_for_turn()
        elif not self._request_paused and body.left_to_splice:
            copy = KernelCopy(self.transport, body.left_to_splice, self._moved, self._spliced)
            if exchange.splice_request(copy):
                self._is_bringing = True
                body.restart_window(self._deadlines.now)
                self._update_reading()

    @never_raises
    def _moved(self, count: int) -> None:
        """So much of a spliced request body went upstream."""
        if self._body is not None:
            self._body.moved(count, self._deadlines.now)

    @never_raises
    def _spliced(self) -> None:
        """All of a spliced request body went upstream."""
        self._body = None
        self._is_bringing = False
        if self._exchange is not None:
            self._exchange.request_ended()
        self._update_reading()

    def _refuse(self, status: int, why: str, head: RequestHead = UNREADABLE) -> None:
        """Answer what cannot be read, and end the connection."""
        self._keep_alive = False
        self._minor = 1
        # Whatever follows is of no use, but must be taken for our reply to arrive.
        self._is_broken = True
        self._buffer.clear()
        self.state = EXCHANGE
        self._exchange = Exchange(self._site.context, self, head, _NOWHERE, self._origin)
        self._exchange.fail(status, why)

    # Downstream

    def open_tunnel(self, head: ResponseHead, first: bytes) -> None:
        """Send the 101 head and turn into a pipe."""
        self.state = TUNNEL
        self.send_switch(head, first)
        ahead = self._buffer.take()
        self._update_reading()
        if ahead and self._exchange is not None:
            self._exchange.tunnel_from_downstream(ahead)

    def end_sending(self) -> bool:
        """End our side of a tunnel alone, if that is possible: with TLS, the end of one side ends both."""
        if not self._secure:
            self.transport.loseWriteConnection()
        return not self._secure

    def finished(self) -> None:
        """The exchange is over: go on with the next request, or close."""
        self._exchange = None
        self._request_paused = False
        is_whole = self._body is None and not self._is_broken
        if self.state is not EXCHANGE:
            self._close()
        elif not is_whole and not self._half_closed:
            self._linger()
        elif self._keep_alive and is_whole:
            self.state = HEAD
            if self._reading and not self.is_full and not self._buffer and not self._half_closed:
                # What ``_update_reading`` would find nearly always.
                self.deadline = self._deadlines.now + self._limits.keep_alive_seconds
                return
            self._update_reading()
            if self._buffer or self._half_closed:
                self._advance()
        elif self._buffer and not self._half_closed:
            # More requests came than are taken; closing with some unread would be a reset, and lose the answer.
            self._linger()
        else:
            self._close()

    def _linger(self) -> None:
        """Close our side, and take what still comes until the peer closes too."""
        self.state = LINGERING
        self._waits_for_turn = False
        self._progress = Progress()
        self._linger_until = self._deadlines.now + LINGER_SECONDS
        self.deadline = self._deadlines.now + LINGER_GAP_SECONDS
        self._buffer.clear()
        self._update_reading()
        if not self._secure:
            self.is_full = False
            self.transport.loseWriteConnection()

    def pause_request(self) -> None:
        """Bring no more of the request."""
        self._request_paused = True
        self._update_reading()

    def resume_request(self) -> None:
        """Go on bringing the request."""
        if self._request_paused:
            self._request_paused = False
            if self._body is not None:
                self._body.restart_window(self._deadlines.now)
            self._update_reading()

    def _update_reading(self) -> None:
        """Read while somebody can take it, and set until when downstream has to act."""
        in_body = self._body is not None
        ahead = len(self._buffer)
        wanted = wants_reading(self.state, in_body, self._request_paused, self.is_full, ahead)
        if self.state is LINGERING or self.state is CLOSED:
            pass  # A closing has a bound of its own.
        elif (self.is_full and self.state is not TUNNEL) or self._is_copying or self._is_bringing:
            self.deadline = self._deadlines.now
        elif self._waits_for_turn:
            self.deadline = NEVER
        elif not wanted and self.state is EXCHANGE:
            # Nobody would see the peer's end; so the deadlines looks for it.
            self.deadline = self._deadlines.now
        else:
            seconds = seconds_allowed(self.state, in_body, self._request_paused, ahead, self._limits)
            self.deadline = self._deadlines.now + seconds
        wanted = wanted and not self._waits_for_turn
        if wanted != self._reading and not self._half_closed:
            self._reading = wanted
            if wanted:
                self.transport.resumeProducing()
            else:
                self.transport.pauseProducing()

    # The transport tells how full it is.

    @never_raises
    def pauseProducing(self) -> None:
        """The transport's buffer is full: upstream must wait."""
        self.is_full = True
        self._progress = Progress()
        if self._exchange is not None:
            self._exchange.downstream_full()
        self._update_reading()

    @never_raises
    def resumeProducing(self) -> None:
        """The transport's buffer has room again."""
        self.is_full = False
        if self._exchange is not None:
            self._exchange.downstream_drained()
        self._update_reading()
        if self.state is HEAD and (self._buffer or self._half_closed):
            self._advance()
