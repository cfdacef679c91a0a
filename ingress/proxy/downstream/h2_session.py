"""A downstream connection speaking HTTP/2: many requests at once, each a stream with an exchange of its own.

What is on the wire is ``ingress.http2.server``; this joins it to transport, site and deadlines.  What it keeps of answers is its
``backlog``, and when it reads are its ``turns``.  The whole
connection waits for its client in three cases only: until the preface and a head are whole, while
nothing goes on (keep-alive), and at its end.  All other waiting is a stream's.

States::

    open ──leave()──▶ takes what was on its way, then no more ──last stream ends──▶ closing ──▶ closed
      └──the peer does what it must not──▶ failed: GOAWAY is sent, nothing read any more ──a tick──▶ closing

Closing waits for the client to take what the kernel still has for it, and then to close, too, or to be silent.  Each piece that it takes
it answers with credit, and what comes to a socket that is closed is answered with a reset, which would throw the rest away: megabytes,
for a slow client.  Who was owed nothing when it was told to end is not waited for: it may have left without a word, as telephones
do, and would never take our GOAWAY.
"""

from typing import Final

from twisted.internet.protocol import connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.http.forwarding import Origin
from ingress.http.request_head import UNREADABLE, RequestHead
from ingress.http.web_socket import web_socket_key
from ingress.http.work import SECONDS_OF_WORK
from ingress.http2.faults import ErrorCode
from ingress.http2.outgoing import MAX_SURPLUS
from ingress.http2.server import LEFT, Leaving, ServerConnection
from ingress.http2.stream import Stream
from ingress.proxy.contract.deadlines import NEVER
from ingress.proxy.contract.limits import (
    LEAVE_SECONDS,
    LINGER_GAP_SECONDS,
    LINGER_SECONDS,
    MEMO_SECONDS,
    OVERTIME,
)
from ingress.proxy.contract.never_raises import never_raises
from ingress.proxy.contract.progress import Progress
from ingress.proxy.contract.security import Security
from ingress.proxy.contract.sides import Answering
from ingress.proxy.contract.transport import Hearer, Transport
from ingress.proxy.contract.turns import Turns
from ingress.proxy.dispatch.site import ProxySite
from ingress.proxy.downstream.client import client_of
from ingress.proxy.downstream.h2_backlog import SendBacklog
from ingress.proxy.downstream.h2_stream import DownstreamStream
from ingress.proxy.exchange.exchange import Exchange
from ingress.routing.hosts import HostError, normal_host
from ingress.routing.paths import PathError, normal_path

log = Logger()

_NOWHERE: Final = (b"", b"")


class DownstreamSession(ServerConnection[DownstreamStream], Hearer):
    """One connection of a client, with its streams; to its transport a receiver."""

    __slots__ = (
        "_amid_after",
        "_amid_since",
        "_ends_at",
        "_has_let_go",
        "_is_closing",
        "_is_owed",
        "_is_proxied",
        "_leaving_looks",
        "_leaving_since",
        "_lingers_until",
        "_metrics",
        "_old_at",
        "_origin",
        "_progress",
        "_resting_since",
        "_secure",
        "_site",
        "_too_old_at",
        "_turn_began",
        "_unbegun",
        "backlog",
        "deadline",
        "deadlines",
        "frame_room",
        "limits",
        "security",
        "transport",
        "turns",
    )

    transport: Transport
    half_closes = False
    _origin: Origin
    is_silent = False
    """Its preface was said, or agreed on."""

    def __init__(self, site: ProxySite, secure: bool) -> None:
        self.deadlines = site.context.deadlines
        # The clock of the deadlines, and no method of its own: that would be a cycle.
        super().__init__(self.deadlines.seconds)
        self.limits = site.context.limits
        self.backlog = SendBacklog()
        self.frame_room = site.frame_room
        self.turns = Turns()
        self.security: Security | None = None
        """None without TLS."""
        self.deadline = NEVER
        self._site = site
        self._turn_began = NEVER
        """When the first request of this turn was begun; NEVER before there is one."""
        self._secure = secure
        self._is_proxied = False
        self._is_closing = self._has_let_go = False
        self._resting_since = self._old_at = self._too_old_at = self._ends_at = 0.0
        self._lingers_until = 0.0
        """When a connection that ends has had its time, if its client has taken all by now."""
        self._is_owed = True
        """Whether the client may have something to take yet but that the connection ends."""
        self._amid_since = NEVER
        self._amid_after = 0
        """How many requests there were when that began."""
        self._leaving_since = NEVER
        self._leaving_looks = 0
        """How many ticks there were since then."""
        self._progress: Progress | None = None
        self._metrics = site.context.metrics.http2.downstream
        self._unbegun: tuple[DownstreamStream, Exchange] | None = None
        """A request whose head has come in this read; and so may have its body, which is still to be looked at."""

    def __repr__(self) -> str:
        return f"<DownstreamSession with {len(self.streams)} streams>"

    @property
    def site(self) -> Answering:
        """Where it came in."""
        return self._site

    # The connection

    def makeConnection(self, transport: Transport) -> None:
        """Begin on *transport*, with what was received so far still to come."""
        self.transport = transport
        transport.gather_writes()
        transport.lend_to(self)
        self.outgoing.write = transport.write
        self._origin, self._is_proxied = client_of(transport, self._secure, self._site.trusted_proxies)
        if self._secure:
            self.security = Security(transport)
        now = self.deadlines.now
        self._resting_since = self._amid_since = now
        age = self.limits.keep_alive_age_seconds
        self._old_at = now + age
        self._too_old_at = self._old_at + age * OVERTIME
        # The preface must come as quickly as a head; only after it may a peer rest.
        self.deadline = now + self.limits.head_seconds
        self.deadlines.watch(self)
        self._metrics.open += 1
        self.greet()

    def dataReceived(self, received: bytes) -> None:
        """Take what has come; with nothing, go on with what was kept."""
        turns = self.turns
        self._turn_began = NEVER
        if self._is_closing:
            if not self._has_let_go:
                self._ends_at = min(self._lingers_until, self.deadlines.now + LINGER_GAP_SECONDS)
            return
        try:
            if (turns.is_heavy or turns.reads_later) and received:
                turns.keep(self, received)
                return
            self.receive(received)
            if self._unbegun is not None:
                self._begin_unbegun()
            reader = self.reader
            if reader.has_more or self.outgoing.surplus > MAX_SURPLUS:
                turns.read_later(self)
            if not self.streams and reader.is_amid:
                # Nothing else has the deadlines look whether the rest of it comes.
                self.deadline = min(self.deadline, self.deadlines.now + self.limits.head_seconds)
        except Exception:
            self.raised()

    def memoryReceived(self, received: memoryview) -> None:
        """Take what has come: bodies where they lie, and what is between and behind them as ever."""
        is_to_wait = self.turns.is_heavy or self.turns.reads_later
        gathered = 0 if is_to_wait else self.reader.gather_bodies(received)
        self.dataReceived(bytes(received[gathered:]))

    def handshakeCompleted(self) -> None:
        """It was before: HTTP/2 was agreed on in it."""

    def readConnectionLost(self) -> None:
        """Never: the end of one side is the end."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The connection is gone."""
        self.deadlines.forget(self)
        self._is_closing = True
        self.reader.close()
        self._abandon_streams()
        self.blocks.known.clear()
        self._metrics.open -= 1
        self._site.connections.closed(self, self._secure)

    def _abandon_streams(self) -> None:
        streams, self.streams, self._unbegun = self.streams, {}, None
        self.outgoing.forget_all()
        for stream in streams.values():
            stream.broken(ErrorCode.NO_ERROR, "the connection is gone")

    # ServerConnection

    def request(self, stream_id: int, head: RequestHead, ended: bool) -> None:
        """Make the exchange of a request, and begin it: with what there is of its body, if that comes behind."""
        if self._unbegun is not None:
            self._begin_unbegun()
        if self.streams and not self._site.connections.limit.has_room_beside(self._site.context.pool.sockets):
            self.refuse(stream_id)
            return
        if head.destination is None:
            try:
                head.destination = (
                    normal_host(head.authority)[0],
                    normal_path(head.path) if head.path != b"*" else b"/",
                )
            except (HostError, PathError) as error:
                self._refuse(stream_id, head, 400, str(error), ended)
                return
        key = None
        if head.connect_protocol:
            key = web_socket_key(self._site.context.new_request_id())
            head = head.with_line(key.line)
        if head.underscored and self._site.context.takes_underscores:
            head = head.with_line(head.underscored)
        origin = self._origin
        if self._is_proxied:
            origin = self._site.trusted_proxies.origin(origin, head)
        stream = DownstreamStream(self, stream_id, head, ended, key)
        self._add(stream)
        destination = head.destination
        assert destination is not None
        exchange = stream.exchange = Exchange(self._site.context, stream, head, destination, origin)
        if self._turn_began == NEVER:
            self._turn_began = exchange.started
        elif exchange.started - self._turn_began > self.reader.turn_work * SECONDS_OF_WORK:
            self.reader.work_left = 0
        if ended or key is not None:
            self._begin(stream, exchange)
        else:
            # A small body is nearly always in the same read, and then goes upstream with the head, in one.
            self._unbegun = stream, exchange

    def _begin_unbegun(self) -> None:
        """Nothing more of that request is in this read, or another one is."""
        unbegun, self._unbegun = self._unbegun, None
        if unbegun is not None:
            stream, exchange = unbegun
            if not stream.remote_ended:
                stream.await_body()
            self._begin(stream, exchange)

    def _begin(self, stream: DownstreamStream, exchange: Exchange) -> None:
        """Have the request of *stream* go its way, unless that is over."""
        if stream.exchange is not exchange:
            return
        try:
            security = self.security
            if security is not None and not security.serves(exchange.host, self._site.server_names):
                exchange.fail(421, "the host needs a connection of its own")
            else:
                self._site.resource_for(exchange).render(exchange)
        except Exception:
            stream.raised()
        if self._site.connections.draining or self.deadlines.now >= self._too_old_at:
            self.leave()

    def unreadable(self, stream_id: int, head: RequestHead, status: int, why: str, ended: bool) -> None:
        """Answer a request that does not go on."""
        self._refuse(stream_id, head, status, why, ended)

    def _refuse(self, stream_id: int, head: RequestHead, status: int, why: str, ended: bool) -> None:
        stream = DownstreamStream(self, stream_id, UNREADABLE, ended, None)
        self._add(stream)
        stream.exchange = Exchange(self._site.context, stream, head, _NOWHERE, self._origin)
        stream.exchange.fail(status, why)

    def _add(self, stream: DownstreamStream) -> None:
        if not self.streams:
            # From now on each tick looks at the streams.
            self.deadline = self.deadlines.now
            self._is_owed = True
        if self.backlog.is_above_high_watermark:
            stream.hold_back()
        self.streams[stream.id] = stream
        self._metrics.streams += 1

    def sent_early(self, stream: Stream) -> None:
        """An answer was sent; of a request that is refused the rest may still come for a while, unless we leave."""
        if self.leaving is Leaving.OPEN and isinstance(stream, DownstreamStream) and stream.is_refused:
            stream.await_rest()
        else:
            super().sent_early(stream)

    def stream_closed(self, stream: DownstreamStream) -> None:
        """A stream is over; the last one leaves the connection at rest, or ends it."""
        if self.backlog.is_above_high_watermark:
            self.backlog.shrank(self.outgoing, self.streams.values())
        if self.streams:
            return
        if self.leaving is LEFT:
            self.close()
        elif not self._is_closing and not self.outgoing.is_full:
            self._resting_since = now = self.deadlines.now
            self.deadline = now + MEMO_SECONDS

    def leave(self) -> None:
        """Take no more requests than those that are on their way."""
        if self.leaving is Leaving.OPEN:
            self._leaving_since = self.deadlines.now
            self.deadline = self.deadlines.now
            self._note_owed()
        super().leave()

    def no_more_streams(self) -> None:
        """Close, if nothing goes on."""
        if not self.streams:
            self.close()

    def failed(self, code: ErrorCode, why: str) -> None:
        """End all streams; the connection stays for a moment, or a reset might overtake our GOAWAY."""
        self._metrics.failed += 1
        self._abandon_streams()
        # A flood is not read for as long as its client pleases.
        self._is_owed = False
        self.deadline = self.deadlines.now

    # Connection of the connection limit

    def drain(self) -> None:
        """Begin nothing any more, and close once what runs is over."""
        self.leave()

    def abort(self) -> None:
        """End the connection at once."""
        self.transport.abortConnection()

    @property
    def is_mute(self) -> bool:
        """Whether nothing was asked."""
        return not self.requests

    def make_way(self) -> None:
        """Take no request any more, and close if nothing goes on."""
        self._note_owed()
        self.leave_now()

    def rests_since(self) -> float:
        """Return since when nothing goes on; ``NEVER`` if something does."""
        if self.streams or self.turns.reads_later or self._is_closing or self.reader.is_closed:
            return NEVER
        if self.leaving is not Leaving.OPEN:
            return NEVER
        return self._resting_since

    def close(self) -> None:
        """Close, once everything is taken that the client was owed."""
        if not self._is_closing:
            self._is_closing = True
            self.reader.close()
            self._progress = Progress()
            self.deadline = now = self.deadlines.now
            if self.is_mute or not self._is_owed or not self.transport.untaken:
                self._let_go(now)
            else:
                self._lingers_until = now + LINGER_SECONDS
                self._ends_at = now + LEAVE_SECONDS

    def _note_owed(self) -> None:
        """Before it is told that it ends: take note whether the client has anything else to take."""
        self._is_owed = bool(self.streams) or self.transport.untaken > 0

    def _let_go(self, now: float) -> None:
        self._has_let_go = True
        self._ends_at = now + LINGER_SECONDS
        self.transport.loseConnection()

    def raised(self) -> None:
        """A bug was met outside of any exchange: nobody knows what the connection is worth."""
        log.failure("A connection failed by a bug; it is the only one that ends")
        self.transport.abortConnection()

    @property
    def waits_to_send(self) -> bool:
        """Whether the client must take some of its answers before it is read on."""
        return self.outgoing.is_overfull

    @property
    def is_for_nobody(self) -> bool:
        """Whether the client has left: nobody waits for answers to what it said last."""
        return self.transport.has_left

    def take_turn(self) -> None:
        """Read on, in a turn of its own."""
        self.transport.call_in_batch(self.read_on)

    @never_raises
    def read_on(self) -> None:
        """Read on, if there is nothing against it."""
        self.turns.read_on(self)

    # The transport tells how full it is.

    @never_raises
    def pauseProducing(self) -> None:
        """The transport's buffer is full: what streams have to send waits with them."""
        if not self.outgoing.is_full:
            # Twisted's transports say so with each write.
            self.outgoing.is_full = True
            self._progress = Progress()
            self.deadline = self.deadlines.now

    @never_raises
    def resumeProducing(self) -> None:
        """The transport's buffer has room again."""
        if not self._is_closing:
            # At the end the kernel has the rest, and that has to be taken, too.
            self._progress = None
        self.outgoing.send_on()
        if self.backlog.is_above_high_watermark:
            self.backlog.shrank(self.outgoing, self.streams.values())
        self.turns.read_on(self)
        if not self.streams and not self._is_closing and not self.reader.is_closed:
            self._resting_since = now = self.deadlines.now
            self.deadline = now + MEMO_SECONDS

    # Time

    @never_raises
    def expire(self) -> None:
        """Called by the deadlines: look at who keeps us waiting."""
        now = self.deadlines.now
        waiting = self._waiting
        progress = self._progress
        is_stuck = progress is not None and progress.is_stuck(waiting, now, self.limits.send_seconds)
        if is_stuck or (self.turns.reads_later and self.transport.has_left):
            self.deadline = NEVER
            self.transport.abortConnection()
        elif self._is_closing:
            self._expire_at_end(waiting, now)
        elif self.reader.is_closed:
            self.close()
        else:
            self._look(now)

    @property
    def _waiting(self) -> int:
        """Bytes that the client has still to take: here or in the kernel, but of a connection that goes on only while some wait here."""
        if self._is_closing:
            return self.transport.untaken
        return self.transport.unsent or int(self.outgoing.is_full)

    def _expire_at_end(self, waiting: int, now: float) -> None:
        """Wait while the peer takes what is sent, then for it to close or to be silent; and once more when we have closed."""
        if waiting:
            self._lingers_until = now + LINGER_SECONDS
            self._ends_at = max(self._ends_at, now + (LINGER_SECONDS if self._has_let_go else LEAVE_SECONDS))
            self.deadline = now
        elif now < self._ends_at:
            self.deadline = self._ends_at
        elif self._has_let_go:
            self.deadline = NEVER
            self.transport.abortConnection()
        else:
            self._let_go(now)
            self.deadline = self._ends_at

    def _look(self, now: float) -> None:
        if self._has_had_its_time(now):
            self.leave_now()
        if self.backlog.is_above_high_watermark:
            self.backlog.look(self.outgoing.waiting, self.streams.values(), now, self.limits.send_seconds)
        for stream in list(self.streams.values()):
            stream.look(now)
        if self._is_closing:
            return
        if not self.reader.is_amid or self.turns.reads_later:
            self._amid_since = NEVER
        elif self._amid_since == NEVER or self._amid_after != self.requests:
            # What is amid now is not what was: each tick may come amid some request.
            self._amid_since = now
            self._amid_after = self.requests
        elif now - self._amid_since >= self.limits.head_seconds:
            self.fail(ErrorCode.PROTOCOL_ERROR, "not complete in time")
            return
        is_busy = self.streams or self.outgoing.is_full or self.reader.is_amid or self.turns.reads_later
        if is_busy or self.leaving is Leaving.LEAVING:
            self.deadline = now
        else:
            self._expire_at_rest(now)

    def _has_had_its_time(self, now: float) -> bool:
        """Whether a client that was to hear that we leave did not answer its PING in time."""
        if self.leaving is not Leaving.LEAVING:
            return False
        if self.turns.reads_later:
            self._leaving_since = now
            self._leaving_looks = 0
            return False
        # Should we have stood still, its answer, and requests before it, are read between two ticks.
        self._leaving_looks += 1
        return self._leaving_looks > 1 and now - self._leaving_since >= LEAVE_SECONDS

    def _expire_at_rest(self, now: float) -> None:
        """Give memory back first, and the connection later."""
        self.blocks.known.clear()
        self.deadline = self._resting_since + self.limits.keep_alive_seconds
        if self.deadline <= now + self.deadlines.interval_seconds / 2 or now >= self._old_at:
            # Under requests would be worse: browsers fail some of those that wait for a stream then.
            self.leave()
