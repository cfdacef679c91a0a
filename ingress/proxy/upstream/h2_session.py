"""A connection to an endpoint that speaks HTTP/2, shared by exchanges: a stream for each.

What is on the wire is ``ingress.http2.client``; this joins it to transport, deadlines and the connections of its
endpoint; when it reads are its ``turns``.  The connection itself never waits for the endpoint, only its streams do.  If one of them waited in vain, and
nothing at all came meanwhile, the connection may be dead, and gets no further requests.

States::

    open ──close_idle(), GOAWAY either way, numbers used up──▶ leaving: no more streams ──last one ends──▶ closing
      └──the endpoint does what it must not──▶ failed: GOAWAY is sent, all streams end ──▶ closing ──▶ closed
"""

from typing import Final

from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.http.response_head import words_of_other
from ingress.http2.client import ClientConnection
from ingress.http2.faults import ErrorCode
from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.deadlines import NEVER, waiting_since
from ingress.proxy.contract.faults import ANY, OWN, Reuse
from ingress.proxy.contract.limits import LINGER_SECONDS, UPSTREAM_IDLE_SECONDS
from ingress.proxy.contract.never_raises import never_raises
from ingress.proxy.contract.sides import CLOSED
from ingress.proxy.contract.transport import Delivery, Hearer, Transport
from ingress.proxy.contract.turns import Turns
from ingress.proxy.upstream.h2_stream import UpstreamStream
from ingress.proxy.upstream.keepers import SessionKeeper
from ingress.routing.balancing.health import liveness_of
from ingress.tls.upstream import words_of_error

log = Logger()

_FIRST: Final = b"\0"
"""How SETTINGS begin."""


class UpstreamSession(ClientConnection[UpstreamStream], Hearer):
    """One connection to *endpoint*, with its streams; to its transport a receiver."""

    transport: Transport
    half_closes = False

    def __init__(self, endpoint: Endpoint, pool: SessionKeeper["UpstreamSession"], most_streams: int) -> None:
        """*most_streams* is what the endpoint is taken to allow at once until it says so."""
        self.deadlines = pool.deadlines
        # The clock of the deadlines, and no method of its own: that would be a cycle.
        super().__init__(self.deadlines.seconds, most_streams)
        self.endpoint = endpoint
        self.liveness = liveness_of(pool.livenesses, endpoint)
        link = endpoint.link_settings
        self.scheme = b"http" if link is None or link.tls is None else b"https"
        self.timeouts = pool.timeouts
        self.turns = Turns()
        self.deadline = NEVER
        self.news: list[UpstreamStream] = []
        """Streams with something to tell their exchanges."""
        self.was_used = False
        """Whether the endpoint has said anything about any request."""
        self._pool = pool
        self._http2 = pool.http2
        self._heard_at = 0.0
        self._is_closing = False
        self._delivery: Delivery | None = None
        """Only from a request that may not be repeated, sent while nothing went on, to the next that comes."""
        self._loss: Failure | None = None
        """Why the connection is gone, while something that came before is still read."""

    def __repr__(self) -> str:
        return f"<UpstreamSession {self.endpoint} with {len(self.streams)} streams>"

    def open(self, reuse: Reuse) -> UpstreamStream:
        """Return a stream for one exchange to begin, for which a connection would have done as *reuse* says."""
        is_reused = self.was_used and reuse is ANY
        is_shared = reuse is not OWN and (self.was_used or bool(self.streams))
        return UpstreamStream(self, is_reused, is_shared)

    @property
    def is_quiet(self) -> bool:
        """Whether the endpoint has said nothing since, not even goodbye, as far as is known."""
        return self.transport.is_quiet

    def watch_delivery(self) -> None:
        """Find out about the next request whether the endpoint takes anything of it, where that can be known."""
        self._delivery = self.transport.watch_delivery()

    # The connection

    @never_raises
    def makeConnection(self, transport: Transport) -> None:
        """Begin."""
        self.transport = transport
        transport.setTcpNoDelay(True)
        transport.setTcpKeepAlive(True)
        transport.gather_writes()
        self.outgoing.write = transport.write
        self._heard_at = self.deadlines.now
        self.greet()
        self.deadline = self.deadlines.now + UPSTREAM_IDLE_SECONDS
        self.deadlines.watch(self)
        self._pool.connected(self)

    def dataReceived(self, received: bytes) -> None:
        """Take what has come; with nothing, go on with what was kept."""
        turns = self.turns
        if (turns.is_heavy or turns.reads_later) and received:
            turns.keep(self, received)
            return
        reader = self.reader
        try:
            self.liveness.heard_at = self._heard_at = self.deadlines.now
            self._delivery = None
            if not reader.knows_settings and not reader.unread and received[:1] != _FIRST:
                # No first frame is large enough for its length to begin with anything else.
                said = "HTTP/1.1" if received.startswith(b"HTTP/1.") else words_of_other(received)
                self.fail(ErrorCode.PROTOCOL_ERROR, f"the endpoint speaks no HTTP/2: {said}")
            else:
                self.receive(received)
                if reader.has_more:
                    turns.read_later(self)
        except Exception:
            self.raised()
        if self.news:
            self._deliver()

    waits_to_send = False
    """It is read on whatever the endpoint takes, which may wait for us in the same way."""
    is_for_nobody = False
    """There may be answers in what waits, also behind the end."""

    def take_turn(self) -> None:
        """Read on, in a turn of its own."""
        self.transport.call_in_batch(self.read_on)

    @never_raises
    def read_on(self) -> None:
        """Read on; if the connection is gone, and nothing is left to read, that is its end."""
        self.turns.read_on(self)
        if self._loss is not None and (self.reader.is_closed or not self.turns.reads_later):
            self.connectionLost(self._loss)

    def _deliver(self) -> None:
        """Tell the exchanges what has come for them."""
        news, self.news = self.news, []
        for stream in news:
            stream.deliver()

    def handshakeCompleted(self) -> None:
        """It was before this is a connection."""

    def readConnectionLost(self) -> None:
        """Never: the end of one side is the end."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._pool.discard(self)
        if self.turns.reads_later and not self.reader.is_closed:
            # What came before the end has to wait for its turn, and may be answers.
            self._loss = reason
            return
        self._loss = None
        self.deadlines.forget(self)
        self._is_closing = True
        self.reader.close()
        self._pool.lost(self)
        delivery, self._delivery = self._delivery, None
        took_nothing = delivery is not None and delivery.took_nothing()
        is_clean = reason.check(ConnectionDone) is not None
        why = CLOSED if is_clean else "connection lost"
        if self.scheme == b"https" and not is_clean:
            # What ends TLS has more to say than a reset, such as that our certificate is not liked.
            why = f"{why}: {words_of_error(reason.value)}"
        streams, self.streams = self.streams, {}
        self.outgoing.forget_all()
        for stream in streams.values():
            stream.lost(why, is_clean and took_nothing)

    def raised(self) -> None:
        """A bug was met outside of any exchange: nobody knows what the connection is worth."""
        log.failure("A connection to an endpoint failed by a bug; it is the only one that ends")
        self._pool.discard(self)
        self.transport.abortConnection()

    # ClientConnection

    def stream_closed(self, stream: UpstreamStream) -> None:
        """A stream is over; the last one leaves the connection at rest, or ends it."""
        stream.deadline = NEVER
        if self.streams:
            return
        if self.is_leaving:
            self.close()
        else:
            self._rest_or_close()

    def _rest_or_close(self) -> None:
        """Stay for the next request, if the endpoint takes any; else each would leave a connection behind."""
        if self.most_streams:
            self.deadline = self.deadlines.now + UPSTREAM_IDLE_SECONDS
        else:
            self.close_idle()

    def begin(self, stream: UpstreamStream, block: bytes, piece: bytes, ended: bool) -> None:
        """Send the head of a request."""
        if not self.streams:
            # From now on each tick looks at the streams.
            self.deadline = self.deadlines.now
        self._http2.streams += 1
        # Not by ``super``: to find it so takes as long as what it does.
        ClientConnection.begin(self, stream, block, piece, ended)

    def no_more_streams(self) -> None:
        """The endpoint takes no more: so nobody may ask here, and nobody has to."""
        self._pool.discard(self)
        if not self.streams:
            self.close()

    def most_streams_changed(self, count: int) -> None:
        """The endpoint says how many streams it takes at once."""
        super().most_streams_changed(count)
        self._pool.learned(self.endpoint, count)
        if not self.streams:
            self._rest_or_close()

    def failed(self, code: ErrorCode, why: str) -> None:
        """What came makes no sense: end everything."""
        self._pool.failed(self)
        streams, self.streams = self.streams, {}
        self.outgoing.forget_all()
        for stream in streams.values():
            stream.broken(code, why)
        self.close()

    # The end

    def was_silent(self, seconds: float) -> None:
        """A stream waited in vain for so long; if nothing else came either, nobody should ask here any more."""
        if self._heard_at <= waiting_since(self.deadlines, seconds):
            self.close_idle()

    def close_idle(self) -> None:
        """Begin no more streams, and close after the last one."""
        self._pool.discard(self)
        self.leave()
        if not self.streams:
            self.close()

    def close(self) -> None:
        """Close once everything is sent; a peer that does not take it has a while to do so."""
        if not self._is_closing:
            self.leave()
            self._is_closing = True
            self.reader.close()
            self.deadline = self.deadlines.now + LINGER_SECONDS
            self._pool.discard(self)
            self.transport.loseConnection()

    def abort(self) -> None:
        """End the connection at once; the exchanges are told when it is lost."""
        self.transport.abortConnection()

    # The transport tells how full it is.

    @never_raises
    def pauseProducing(self) -> None:
        """The transport's buffer is full: what streams have to send waits with them."""
        self.outgoing.is_full = True

    @never_raises
    def resumeProducing(self) -> None:
        """The transport's buffer has room again."""
        self.outgoing.send_on()
        self.read_on()

    # Time

    @never_raises
    def expire(self) -> None:
        """Called by the deadlines: at rest or closing for too long, or streams are to be looked at."""
        now = self.deadlines.now
        self.deadline = NEVER
        if self._is_closing:
            self.transport.abortConnection()
        elif not self.streams:
            self.close_idle()
        else:
            self.deadline = now
            due = now + self.deadlines.interval_seconds / 2
            for stream in [each for each in self.streams.values() if each.deadline <= due]:
                if stream.deadline <= due:
                    stream.expire()
