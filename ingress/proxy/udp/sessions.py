"""All sessions of UDP of a process: how many there may be, when they are over, and what they keep.

One look a second ends those that were idle for too long (``deadlines``), some at a time; there is no timer for each.
"""

import socket
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import ClassVar, Final, Protocol

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ingress.model.exchanges.records import Record
from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.deadlines import NEVER
from ingress.proxy.contract.limits import MAX_HELD
from ingress.proxy.dispatch.site import ProxySite
from ingress.proxy.exchange.context import ExchangeContext
from ingress.proxy.transport.datagrams import NO_DESCRIPTOR, Sockets, connect_datagrams
from ingress.proxy.transport.resolving import Dial, is_own_address
from ingress.proxy.udp.eviction_order import EvictionOrder

AT_ONCE: Final = 100
"""Sessions that are ended in one turn; each costs some hundredths of a millisecond."""
LEAVING_SECONDS: Final = 5.0
"""How long a session may be idle once the process is about to end."""
MAX_KEPT: Final = 4 << 20
"""Bytes of datagrams that are kept in case their endpoints refuse them; those that were kept longest are given up."""
MAX_KEPT_OF_ONE: Final = MAX_HELD
"""The same of one session: any one datagram, at least."""
MOST_FINDING: Final = 200
"""Sessions for which the address of an endpoint is looked for, those among them that are over by then: all of them may be told in one turn."""
TELL_SECONDS: Final = 60.0

FindAddress = Callable[[Endpoint, Dial, Callable[[str], None], float], None]
"""Finds an IP address of an endpoint that has a name: dials one after the other within so many seconds, or calls back once with the reason why not."""


class Session(Protocol):
    """A session, as far as it is one among others."""

    last: float
    answers: int

    def end(self, status: int, why: str) -> None:
        """End it."""

    def let_go(self) -> None:
        """Keep none of its datagrams any more."""


class UdpSessions:
    """The sessions of all ports; *most* at a time.  *sockets* tells what comes, *find_address* finds those of names."""

    log: ClassVar[Logger] = Logger()

    def __init__(
        self,
        site: ProxySite,
        sockets: Sockets,
        find_address: FindAddress,
        most: int,
        open_socket: Callable[[str, int], socket.socket] = connect_datagrams,
        is_own: Callable[[str], bool] = is_own_address,
    ) -> None:
        self.context: ExchangeContext = site.context
        self.sockets = sockets
        self.metrics = site.context.metrics.udp
        self._is_own = is_own
        self._listed: tuple[str, ...] = ()
        self.replicas: frozenset[str] = frozenset()
        """Addresses of the other replicas of this controller, as far as they are known."""
        self.ports: Counter[int] = Counter()
        """The ports that are open, each as often as it is, at addresses of both families: what comes from one of them was sent by ourselves."""
        self._site = site
        self._find_address = find_address
        self._finding: set[object] = set()
        self._open_socket = open_socket
        self._order: EvictionOrder[Session] = EvictionOrder(most)
        self._kept: OrderedDict[Session, int] = OrderedDict()
        """Who keeps how many bytes, the longest first."""
        self._kept_bytes = 0
        self._to_end: deque[Session] = deque()
        self._ending: IDelayedCall | None = None
        self._told = -NEVER
        self._is_draining = False
        self._is_short = False
        """Whether what is closed now gives its descriptor to what is opened next."""
        self._drained: list[Deferred[None]] = []
        self.deadline = NEVER
        """When one may have been idle for too long, for the deadlines."""

    def __repr__(self) -> str:
        return f"<UdpSessions: {len(self._order)}>"

    def __len__(self) -> int:
        return len(self._order)

    @property
    def kept_bytes(self) -> int:
        """How many bytes of datagrams are kept."""
        return self._kept_bytes

    @property
    def rest_seconds(self) -> float:
        """How long a session may be idle."""
        seconds = self.context.limits.stream_rest_seconds
        return min(seconds, LEAVING_SECONDS) if self._is_draining else seconds

    @property
    def answers_due(self) -> int:
        """How many answers end a session, for each of its client's datagrams."""
        return self.context.limits.stream_responses

    @property
    def most(self) -> int:
        """How many there may be."""
        return self._order.most

    def allow(self, most: int) -> None:
        """Have *most* at a time from now on, and none be idle for longer than the limits say now.

        Those that are too many end with the next one that begins.
        """
        self._order.most = most
        if self._order:
            self.deadline = self.context.deadlines.now

    def follow(self, replicas: tuple[str, ...]) -> None:
        """Know the addresses of the other replicas; thousands are looked at where they are others."""
        if replicas is not self._listed:
            self._listed, self.replicas = replicas, frozenset(replicas)

    # What ports tell

    def opened(self, port: int) -> None:
        """*port* is open, at one address more."""
        self.ports[port] += 1

    def closed(self, port: int) -> None:
        """*port* is closed there."""
        self.ports[port] -= 1
        if not self.ports[port]:
            del self.ports[port]

    def is_ours(self, address: str) -> bool:
        """Whether *address* is of this machine, or of another replica: whoever takes datagrams there passes them on, as we do."""
        return address in self.replicas or self._is_own(address)

    def is_of_replica(self, address: str, port: int) -> bool:
        """Whether *port* of *address* is open there as it is here: what is sent there goes to endpoints, and would come back for ever."""
        return port in self.ports and address in self.replicas

    # What sessions tell

    def begin(self, session: Session) -> None:
        """Have *session* among them; where there are too many, others give way."""
        for _ in range(AT_ONCE):
            if not self._order.is_full:
                break
            self._displace()
        self._order.add(session)
        if self.deadline == NEVER:
            self.deadline = session.last + self.rest_seconds
            self.context.deadlines.watch(self)

    def touch(self, session: Session) -> None:
        """Something came for *session*, or from it."""
        self._order.touch(session)

    def prove(self, session: Session) -> None:
        """The client of *session* has said something after it was answered."""
        self._order.prove(session)

    def over(self, session: Session, record: Record) -> None:
        """*session* has ended."""
        self._order.remove(session)
        self.forget_kept(session)
        self.tell(record)
        if not self._order:
            self._nobody_is_left()

    def tell(self, record: Record) -> None:
        """Have *record* logged, and what failed shown."""
        self._site.access_log.exchange_ended(record)
        if record.cause is not None:
            self.context.failed(record)

    def _nobody_is_left(self) -> None:
        self.deadline = NEVER
        self.context.deadlines.forget(self)
        drained, self._drained = self._drained, []
        for each in drained:
            each.callback(None)

    def _displace(self, spared: Session | None = None) -> bool:
        """End the session that gives way next; return whether there was one."""
        session = self._order.next_out()
        if session is None or session is spared:
            return False
        self.metrics.displaced += 1
        now = self.context.clock.seconds()
        if now - self._told >= TELL_SECONDS:
            self._told = now
            why = (
                "No descriptor is left for another session of UDP"
                if self._is_short
                else "There are {most} sessions of UDP, as many as may be (--max-udp-sessions)"
            )
            self.log.warn(why + ": those that were idle longest make way for others", most=self._order.most)
        session.end(200 if session.answers else 503, "made way for another session")
        return True

    def find(self, endpoint: Endpoint, dial: Dial, failed: Callable[[str], None], seconds: float) -> bool:
        """Find an IP address of *endpoint*, as ``FindAddress`` says; return False, and do nothing, where that is done for too many."""
        if len(self._finding) >= MOST_FINDING:
            return False
        ticket = object()
        self._finding.add(ticket)

        def found(address: str, left: float, failed: Callable[[str], None]) -> None:
            self._finding.discard(ticket)
            dial(address, left, failed)

        def unfound(why: str) -> None:
            self._finding.discard(ticket)
            failed(why)

        self._find_address(endpoint, found, unfound, seconds)
        return True

    def socket_to(self, address: str, port: int, session: Session) -> socket.socket:
        """Return a socket that is connected to an endpoint of *session*; raises ``OSError``."""
        try:
            return self._open_socket(address, port)
        except OSError as error:
            # Another one gives its descriptor for it.
            self._is_short = error.errno in NO_DESCRIPTOR
            try:
                if not self._is_short or not self._displace(spared=session):
                    raise
            finally:
                self._is_short = False
        return self._open_socket(address, port)

    def close(self, sock: socket.socket) -> None:
        """Close the socket of a session: at once where another one opens one in its place, which then has its number."""
        self.sockets.remove(sock.fileno())
        if self._is_short:
            sock.close()
        else:
            self.sockets.close(sock)

    def keep(self, session: Session, size: int) -> None:
        """Count *size* bytes more that *session* keeps; whoever kept longest gives up all of its own where there are too many."""
        self._kept[session] = self._kept.get(session, 0) + size
        self._kept_bytes += size
        while self._kept_bytes > MAX_KEPT:
            first = next(iter(self._kept))
            first.let_go()
            self.forget_kept(first)

    def forget_kept(self, session: Session) -> None:
        """Count that *session* keeps nothing any more."""
        self._kept_bytes -= self._kept.pop(session, 0)

    # Ends

    def expire(self) -> None:
        """Called by the deadlines: some may have been idle for too long."""
        self._end_idle()

    def abort(self) -> None:
        """End all at once: the process ends."""
        why = "the process ends" if self.context.is_cutting_off else "ended by the proxy"
        for session in self._order.all():
            session.end(200 if session.answers else 503, why)
        self._to_end.clear()
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None

    def end_all(self, sessions: Iterable[Session]) -> None:
        """End *sessions*, of a port that is closed, some at a time."""
        self._to_end.extend(sessions)
        self._end_some()

    def drain(self) -> Deferred[None]:
        """Have all end once they were answered, or were idle for a moment; fires when all have."""
        self._is_draining = True
        if not self._order:
            return succeed(None)
        self._end_idle()
        drained: Deferred[None] = Deferred()
        self._drained.append(drained)
        if not self._order:
            self._nobody_is_left()
        return drained

    def _end_idle(self) -> None:
        deadlines = self.context.deadlines
        # As the deadlines, which may be half a tick early.
        then = deadlines.now + deadlines.interval_seconds / 2 - self.rest_seconds
        for _ in range(AT_ONCE):
            session = self._order.idle_since(then)
            if session is None:
                break
            if session.answers or not self.answers_due:
                session.end(200, "")
            else:
                session.end(504, "no answer came")
        else:
            self._end_more()
        longest = self._order.longest_idle()
        self.deadline = NEVER if longest is None else max(longest + self.rest_seconds, deadlines.now)

    def _end_some(self) -> None:
        for _ in range(AT_ONCE):
            if not self._to_end:
                return
            session = self._to_end.popleft()
            session.end(200 if session.answers else 503, "the port was closed")
        self._end_more()

    def _end_more(self) -> None:
        if self._ending is None:
            self._ending = self.context.deadlines.call_after(0, self._go_on_ending)

    def _go_on_ending(self) -> None:
        self._ending = None
        self._end_some()
        self._end_idle()
