"""The epoll set: finds out who can read or write, and tells them.

It joins a reactor as a reader, of which it needs to know nothing else; Twisted's epoll reactor waits on it (``shared_poll``).

Three rules keep one connection's trouble from being another's:

1. What leaves a descriptor's ``ready`` as an exception ends that descriptor alone.
   Leaving ``work_off`` it would end the whole epoll set.
2. A socket that is closed while a batch of events is worked off is closed after
   the batch: its number would go to the next accepted socket, and with it the
   events that are still waiting for the dead one.
3. Whoever is told of its end (``connectionLost``) is told from here and not from
   inside its own call; ``later`` is for that.
"""

import os
import select
import socket
from collections.abc import Callable
from time import thread_time
from typing import Any, Final, Protocol

from twisted.internet.interfaces import IReadDescriptor
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import classImplements

from ingress.process.lateness import BUSY_SHARE, Lateness
from ingress.process.yielding import YieldToTraffic
from ingress.proxy.contract.burst import Burst
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.transport.epoll.pipes import Pipes
from ingress.proxy.transport.epoll.probe import Probe
from ingress.proxy.transport.epoll.shared_poll import Events, SharedPoll, poller_of
from ingress.proxy.transport.handshake_queue import HandshakeQueue

BATCH: Final = 16
"""Events that are told before what was written meanwhile is sent: enough to find most readers
awake, and few enough for upstream to begin while others are still told."""
BURST: Final = 4
"""Events at the beginning of a turn that are one."""
MAX_BATCHES: Final = 16
"""Batches of one turn; then everything else of the reactor has its own, ..."""
TURN_SECONDS: Final = 0.002
"""... and so it has once they have taken so long: those who answer or open connections by the thousand take as much as they can get."""
LONG_SECONDS: Final = 0.01
"""A turn that takes so long, or all of its batches, has it found out how long what comes now has to wait."""
LONGEST_REST_SECONDS: Final = Deadlines.interval_seconds
"""How long it is from one tick of the deadlines to the next, and so from one look to the next where nothing comes."""
STILL_SECONDS: Final = 1.0
"""A wait that takes so much longer than it should is one in which the process stood still."""

CAN_SPLICE: Final = hasattr(os, "splice")

READ: Final = select.EPOLLIN
WRITE: Final = select.EPOLLOUT
EDGE: Final = select.EPOLLET
"""Beside others: they are told once, and again only when more has happened."""
ERROR: Final = select.EPOLLERR
BROKEN: Final = ERROR | select.EPOLLHUP

_log: Final = Logger()


def is_available(reactor: object) -> bool:
    """Whether an epoll set can run in *reactor* on this system."""
    return hasattr(select, "epoll") and hasattr(reactor, "addReader")


class Descriptor(Protocol):
    """Something with a file descriptor in the epoll set."""

    __slots__ = ()

    def ready(self, events: int) -> None:
        """Act on *events*, a mask of ``READ``, ``WRITE`` and ``BROKEN``."""

    def failed(self, failure: Failure) -> None:
        """Go away: ``ready`` raised."""


class Sender(Descriptor, Protocol):
    """A descriptor that writes in batches."""

    __slots__ = ()

    def send_fresh(self) -> None:
        """Send what was written in this batch."""


class EpollSet:
    """All sockets of the data path, in *reactor*."""

    def __init__(
        self,
        reactor: Any,
        can_splice: bool = CAN_SPLICE,
        yielding: YieldToTraffic | None = None,
        epoll: select.epoll | None = None,
    ) -> None:
        """*can_splice* says whether bodies may go from socket to socket inside the kernel.

        Threads that ask *yielding* let the epoll set go first.  *epoll* is the kernel's side, a new one if not given.
        """
        self._yielding = yielding or YieldToTraffic()
        # Until somebody listens, there is no traffic to wait for; and perhaps nobody asks.
        self._is_followed = yielding is None
        self.can_splice = can_splice
        self._reactor = reactor
        self._epoll = select.epoll() if epoll is None else epoll
        self._descriptors: dict[int, Descriptor] = {}
        self.in_batch = False
        """Whether events are being told: what is written meanwhile is sent afterwards."""
        self._marked: list[Sender] = []
        self._marked_for_turn: list[Sender] = []
        self._closing: list[socket.socket] = []
        self._later: list[tuple[Callable[[], None], Descriptor | None]] = []
        self.burst = Burst()
        """On in turns that begin with several events, until all is sent that was written."""
        self._is_called_later = False
        self._is_running = self._is_closed = False
        self._shared_poll: SharedPoll | None = None
        """By which it has joined the reactor, if not as a reader."""
        self.pipes = Pipes()
        self.handshakes = HandshakeQueue(reactor, self.call_in_batch, hears_turns=True)
        """The handshakes of all listeners here."""
        self.looks = 0
        """How often it was looked what is ready."""
        self._ended = 0.0
        """When its last turn was over, or it was looked and there was nothing to do."""
        self._looked_at = self._worked = 0.0
        """When it was last looked how much of the processor's time this thread has had, and how much it was; that costs a call of the kernel."""
        self._probe = Probe(self, READ)
        self.spares_memory = False
        """Whether receivers are told to pause as soon as anything waits to be sent, since memory is short."""
        self.stood_still: Callable[[], None] | None = None
        """Called when the process stood still, before what came meanwhile is told."""
        self.lateness: Lateness = self._probe.lateness
        """How late it is."""

    def start(self) -> None:
        """Join the reactor."""
        self._is_running = True
        poller = poller_of(self._reactor)
        if poller is None:
            self._reactor.addReader(self)
            return
        shared = self._shared_poll = SharedPoll(
            self._reactor, poller, self._epoll, BATCH, self.work_off, self.found_nothing
        )
        self._epoll.register(shared.fileno(), READ)
        self._descriptors[shared.fileno()] = shared
        shared.join()

    def stop(self) -> None:
        """Leave the reactor for good.  Sockets that are still here end with the process."""
        if self._is_running:
            self._is_running = False
            self._is_closed = True
            self._yielding.leave()
            if self._shared_poll is None:
                self._reactor.removeReader(self)
            else:
                self._shared_poll.leave()
                self._shared_poll = None
            self._probe.close()
            self._descriptors.clear()
            self._epoll.close()
            self.pipes.close()

    def seconds(self) -> float:
        """Return the reactor's time."""
        now: float = self._reactor.seconds()
        return now

    # For transports and ports

    def add(self, descriptor: Descriptor, fileno: int, events: int) -> None:
        """Tell *descriptor* of *events* on *fileno* from now on."""
        if not self._is_followed:
            self._is_followed = True
            self._yielding.follow(self._epoll.fileno())
        self._epoll.register(fileno, events)
        self._descriptors[fileno] = descriptor

    def change(self, fileno: int, events: int) -> None:
        """Tell of other events than so far."""
        if fileno in self._descriptors:
            self._epoll.modify(fileno, events)

    def remove(self, fileno: int) -> None:
        """Tell of nothing any more, not even of what is known already."""
        if self._descriptors.pop(fileno, None) is not None:
            self._epoll.unregister(fileno)

    def close(self, sock: socket.socket) -> None:
        """Close a socket that was removed, as soon as its number may be used again."""
        if self.in_batch:
            self._closing.append(sock)
        else:
            sock.close()

    def mark(self, sender: Sender) -> None:
        """Have *sender* send when all events of this batch have been told.

        Sent one after the other, the answers of a batch find their readers awake but for
        the first one; waking them up each time is what a send costs most.
        """
        self._marked.append(sender)

    def mark_for_turn(self, sender: Sender) -> None:
        """Have *sender* send when all batches of this turn have been told."""
        self._marked_for_turn.append(sender)

    def later(self, call: Callable[[], None], of: Descriptor | None = None) -> None:
        """Call back when the present call is over: after this batch, or in the next reactor turn.

        What the call raises ends *of*, if that is given.
        """
        self._later.append((call, of))
        if not self.in_batch:
            self._call_soon()

    def call_in_batch(self, call: Callable[[], None]) -> None:
        """Call as if for an event: what is written meanwhile is sent together, now."""
        if self.in_batch:
            call()
            return
        self._later.append((call, None))
        self._end_turn()

    def _call_soon(self) -> None:
        if not self._is_called_later:
            self._is_called_later = True
            self._reactor.callLater(0, self._call_later)

    def call_after(self, seconds: float, call: Callable[[], None]) -> Any:
        """Call back after *seconds*, by the reactor's clock."""
        return self._reactor.callLater(seconds, call)

    def fail(self, descriptor: Descriptor | None) -> None:
        """Log the exception at hand and have *descriptor*, and nobody else, go away."""
        failure = Failure()
        _log.failure("A connection failed, which is a bug; it is the only one that ends", failure)
        if descriptor is not None:
            descriptor.failed(failure)

    def _call_later(self) -> None:
        self._is_called_later = False
        self._end_turn()

    # IReadDescriptor

    def fileno(self) -> int:
        """The epoll set is a file descriptor itself, readable when it has events."""
        return self._epoll.fileno()

    def logPrefix(self) -> str:
        """Name the epoll set in Twisted's log."""
        return "epoll set"

    def doRead(self) -> None:
        """Work off the events there are."""
        self.work_off(self._epoll.poll(0, BATCH))

    def connectionLost(self, reason: Failure) -> None:
        """The reactor is going away."""

    # A turn

    def work_off(self, events: Events) -> bool:
        """Work off *events*, and of a burst what follows, batch by batch; return whether there may be more for the next turn."""
        self.looks += 1
        yielding = self._yielding
        yielding.is_serving = True
        seconds = self._reactor.seconds
        began = seconds()
        if began - self._ended >= LONG_SECONDS:
            # Nobody who rested wants to pay for a call.
            worked = thread_time()
            if worked - self._worked >= BUSY_SHARE * (began - self._looked_at):
                self.lateness.was_away(began - self._ended, began)
            self._worked, self._looked_at = worked, began
            if began - self._ended > LONGEST_REST_SECONDS + STILL_SECONDS and self.stood_still is not None:
                self.stood_still()
        if self.handshakes.has_stepped:
            self.handshakes.new_turn()
        batches = 1
        burst = self.burst
        count = len(events)
        burst.is_on = count >= BURST
        has_ended = self._work(events, count < BATCH)
        # What is ready by now goes before what was put off.
        while (
            (count >= BATCH or (count > 1 and burst.calls and not has_ended))
            and batches < MAX_BATCHES
            and not self._is_closed
            and seconds() - began < TURN_SECONDS
        ):
            batches += 1
            self.looks += 1
            events = self._epoll.poll(0, BATCH)
            count = len(events)
            has_ended = self._work(events, count < BATCH)
        is_full = count >= BATCH
        if self._marked_for_turn:
            if has_ended:
                self._call_soon()
            else:
                self._end_turn()
        if burst.is_on:
            burst.end()
        # As in ``found_nothing``, which would be a call for each turn.
        now = self._ended = seconds()
        if now - self._looked_at >= LONG_SECONDS:
            self._worked, self._looked_at = thread_time(), now
        if (is_full or now - began >= LONG_SECONDS) and not self._is_closed:
            self._probe.send(now)
        yielding.is_serving = False
        return is_full

    def found_nothing(self, waited: float) -> bool:
        """Take note that nobody has anything to say, whatever else this thread does: who comes later has not waited for that.

        It was *waited* for so many seconds at most.  Returns whether much more have gone by since the last turn: the process stood still.
        """
        before = self._ended
        now: float = self._reactor.seconds()
        self._ended = now
        if now - self._looked_at >= LONG_SECONDS:
            # Else what was done before would pass for what is done in a rest that follows.
            self._worked, self._looked_at = thread_time(), now
        if now - before <= waited + STILL_SECONDS:
            return False
        if self.stood_still is not None:
            self.stood_still()
        return True

    def _work(self, events: Events, may_end: bool) -> bool:
        """Tell of *events*, and send what was written meanwhile.

        If the turn *may_end* with this batch, and something was gathered for its end, that is sent, too; return whether it was.
        """
        has_ended = False
        self.in_batch = True
        descriptors = self._descriptors
        try:
            for fileno, mask in events:
                descriptor = descriptors.get(fileno)
                if descriptor is not None:
                    try:
                        descriptor.ready(mask)
                    except Exception:
                        self.fail(descriptor)
            while True:
                if self._marked:
                    self._send_marked()
                if self._later:
                    calls, self._later = self._later, []
                    for call, of in calls:
                        try:
                            call()
                        except Exception:
                            self.fail(of)
                    if self._marked:
                        self._send_marked()
                if has_ended or not may_end or not self._marked_for_turn:
                    break
                # What that brings about, such as an end, follows as after any batch.
                has_ended = True
                self._marked, self._marked_for_turn = self._marked_for_turn, self._marked
        finally:
            self.in_batch = False
            closing, self._closing = self._closing, []
            for sock in closing:
                sock.close()
            if self._later:
                self._call_soon()
        return has_ended

    def _end_turn(self) -> None:
        """Work off what is to follow, and send what was gathered."""
        self._work([], True)
        if self._marked_for_turn:
            self._call_soon()

    def _send_marked(self) -> None:
        while self._marked:
            marked, self._marked = self._marked, []
            for sender in marked:
                try:
                    sender.send_fresh()
                except Exception:
                    self.fail(sender)


# And no decorator, which would leave the class as it is where this is compiled.
classImplements(EpollSet, IReadDescriptor)
