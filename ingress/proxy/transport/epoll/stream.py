"""A plain TCP connection in the epoll set, downstream or upstream.

It is a ``Transport``, and behaves as Twisted's do where its receiver can see it: what is
written leaves in order; ``loseConnection`` sends the rest first; ``abortConnection`` does not and
resets; a receiver is told to pause when more than ``HIGH_WATER`` bytes wait and to resume when few do; one
that half-closes learns of the peer's end by ``readConnectionLost``.

States, by what is set: open; *ending* (the rest is sent, nothing is read); *ended*
(``connectionLost`` was or is about to be called; every call is void).
"""

import socket
from collections import deque
from functools import partial
from itertools import islice
from typing import Final

from twisted.internet import error
from twisted.internet.interfaces import IAddress
from twisted.python.failure import Failure

from ingress.proxy.contract.reads import FULL_READ
from ingress.proxy.contract.transport import Borrower, CopyTaker, Hearer, KernelCopy, Receiver, Speaker
from ingress.proxy.transport.epoll.epoll_set import BROKEN, ERROR, READ, WRITE, EpollSet, Sender
from ingress.proxy.transport.epoll.memory_copy import MemoryCopy
from ingress.proxy.transport.epoll.sockets import (
    SocketName,
    end_writing,
    has_unread,
    reset_on_close,
    tell_end,
)
from ingress.proxy.transport.epoll.splice import Splice
from ingress.proxy.transport.epoll.spliced import DONE, SplicedSocket
from ingress.proxy.transport.socket_facts import in_kernel

HIGH_WATER: Final = 64 * 1024
"""Bytes that wait to be sent before the receiver is told to pause."""
LOW_WATER: Final = 16 * 1024
_SMALL_READ: Final = FULL_READ
_LARGE_READ: Final = 32 * 1024
"""Larger ones would wait for slow peers, and cost twice the processor time: they leave its caches."""
_MAX_PIECES: Final = 32
_SMALL: Final = 1024
"""Pieces that wait are put together up to this size: those of an octet each would take two hundred times as much."""
_WITH_END: Final = getattr(socket, "MSG_MORE", 0)
"""Have the kernel keep what is less than a packet, which then goes with the end."""
_NOTHING: Final[deque[memoryview]] = deque()
"""What waits on a connection at rest; never changed, and no byte of any connection's own."""


class StreamTransport(SplicedSocket, Speaker, Sender):
    """One connected socket, in the epoll set from ``start`` to its end; another ``receiver`` may take it over."""

    __slots__ = (
        "_broken",
        "_ending",
        "_epoll_set",
        "_events",
        "_fresh",
        "_fresh_size",
        "_gathers",
        "_is_full",
        "_more",
        "_out",
        "_out_size",
        "_read_ended",
        "_read_size",
        "_reading",
        "_shutting",
        "_takes_writes",
        "_tells_if_full",
        "_trigger",
        "_write_failure",
        "is_over",
        "receiver",
    )

    def __init__(
        self,
        epoll_set: EpollSet,
        sock: socket.socket,
        receiver: Receiver,
        peer: IAddress | SocketName | None = None,
        port: int = 0,
    ) -> None:
        """With *peer*, the socket was accepted, on *port* if that is given: it has TCP_NODELAY and SO_KEEPALIVE from its listener."""
        super().__init__(sock, peer, port)
        self._epoll_set = epoll_set
        self.receiver = receiver
        self._events = 0
        self._trigger = 0
        """``EDGE`` while each event is to be told of once."""
        self._reading = True
        self._read_ended = False
        self._read_size = _SMALL_READ
        self._out = _NOTHING
        self._out_size = 0
        self._fresh = b""
        """Written first in this batch of events (or turn), and sent at its end, ..."""
        self._more: list[bytes] | None = None
        """... with all that was written behind it, if anything was: this has both, ..."""
        self._fresh_size = 0
        """... and this is how much both are then."""
        self._gathers = False
        """Whether what is fresh waits for the end of the turn, not only of this batch."""
        self._is_full = False
        """Whether the receiver was told that much waits."""
        self._tells_if_full = True
        self._takes_writes = True
        """Whether what is written is sent: our side neither ends nor has ended, and could send so far."""
        self._shutting = False
        self._ending: Failure | None = None
        self.is_over = False
        self._broken = False
        self._write_failure: Failure | None = None
        """Why nothing can be sent any more, while what the peer said before is still read."""

    def __repr__(self) -> str:
        state = "ended" if self.is_over else "ending" if self._ending else "open"
        return f"<{type(self).__name__} {state} of {self.receiver!r}>"

    def start(self) -> None:
        """Enter the epoll set and tell the receiver."""
        self._events = READ | self._trigger
        self._epoll_set.add(self, self._fileno, self._events)
        self.receiver.makeConnection(self)

    # What a kind of connection does in its own way

    def _send_waiting(self) -> int:
        """Send as much as is taken of what waits; return how much that was."""
        try:
            return self._sock.sendmsg(islice(self._out, _MAX_PIECES))
        except (BlockingIOError, InterruptedError):
            return 0

    def _wants_read(self) -> bool:
        """Whether it matters that something comes."""
        return self._reading and not self._read_ended and self._takes_more

    def _wants_write(self) -> bool:
        """Whether it matters that the socket takes more."""
        return bool(self._out) or (self._splice_out is not None and self._splice_out.wants_write)

    def _say_goodbye(self) -> None:
        """End the conversation in an orderly way; everything is sent, or goes with the end (``_send``)."""
        if self._ending is not None:
            end_writing(self._sock)

    # Events

    def ready(self, events: int) -> None:
        """Act on what the epoll set found."""
        if events == READ and self._reading and not self._read_ended and not self.is_over:
            self._read()
            return
        if events & WRITE and not self.is_over:
            self._flush()
        if events & ~WRITE and not self.is_over:
            if self._wants_read():
                self._read()
            elif events & BROKEN:
                self._broke(events)

    def _broke(self, events: int) -> None:
        """The peer is gone while nobody listens, which epoll tells without being asked: it would for ever."""
        self._epoll_set.remove(self._fileno)
        self._events = 0
        self._broken = True
        # Who was accepted can be answered no more; what others said last may be an answer.
        is_void = self._was_accepted and (events & ERROR or self._write_failure)
        if is_void or (not self.splice_in and (self._out or self._read_ended or not self._has_unread())):
            self._end(Failure(error.ConnectionLost()))

    def _has_unread(self) -> bool:
        """Whether the peer said something before it went away that nobody read."""
        return has_unread(self._sock)

    def _read(self) -> None:
        if self.splice_in is not None:
            # It may be much: what others say and are told in this batch goes before it.
            self._epoll_set.later(self.splice_in.pump, self)
            return
        try:
            received = self._sock.recv(self._read_size)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as problem:
            self._end(Failure(error.ConnectionLost(str(problem))))
            return
        if received:
            size = len(received)
            if size == self._read_size:
                self._read_size = min(size + size // 2, _LARGE_READ)
            elif size < _SMALL_READ:
                self._read_size = _SMALL_READ
            hearer: Hearer = self.receiver
            hearer.dataReceived(received)
        else:
            self._end_of_input()

    def _end_of_input(self) -> None:
        if self._write_failure is not None:
            self._end(self._write_failure)
        elif self.receiver.half_closes:
            self._read_ended = True
            self.update()
            self.receiver.readConnectionLost()
        else:
            self._end(DONE)

    def _flush(self) -> None:
        try:
            while self._out:
                sent = self._send_waiting()
                if not sent:
                    break
                self._out_size -= sent
                while sent:
                    first = self._out[0]
                    if len(first) > sent:
                        self._out[0] = first[sent:]
                        break
                    sent -= len(first)
                    self._out.popleft()
        except OSError as problem:
            self.send_failed(problem)
            return
        if self._out:
            self.update()
        else:
            self._out = _NOTHING
            self._all_sent()
        if self._is_full and self._out_size <= LOW_WATER and not self.is_over:
            self._is_full = False
            if self._tells_if_full:
                self.receiver.resumeProducing()

    def send_failed(self, problem: OSError) -> None:
        """Send nothing more; last words of a peer that answers, such as an early answer, may still be there."""
        failure = Failure(error.ConnectionLost(str(problem)))
        self._out = _NOTHING
        self._out_size = 0
        is_void = self._ending is not None or self._read_ended or (self._was_accepted and not self._reading)
        if is_void or not self._has_unread():
            self._end(failure)
            return
        self._write_failure = failure
        self._takes_writes = False
        self.update()

    def _all_sent(self) -> None:
        self.update()
        if self._ending is not None:
            self._end(self._ending)
        elif self._shutting:
            self._shut_down()
        elif self._splice_out is not None:
            self._splice_out.pump()

    def failed(self, failure: Failure) -> None:
        """The receiver raised: break off, for a regular end could pass for the end of an answer."""
        reset_on_close(self._sock)
        self._end(failure)

    def update(self) -> None:
        """Ask the epoll set for exactly the events that matter now."""
        events = (READ if self._wants_read() else 0) | (WRITE if self._wants_write() else 0) | self._trigger
        if events != self._events and not self.is_over:
            if self._broken:
                self._broken = False
                self._epoll_set.add(self, self._fileno, events)
            else:
                self._epoll_set.change(self._fileno, events)
            self._events = events

    def _end(self, reason: Failure) -> None:
        """Leave the epoll set, close, and tell the receiver when the present call is over."""
        if self.is_over:
            return
        self.is_over = True
        self._takes_writes = False
        for splice in (self.splice_in, self._splice_out):
            if splice is not None:
                splice.close()
        self._out = _NOTHING
        self._out_size = 0
        self._epoll_set.remove(self._fileno)
        if self._delivery is not None:
            self._delivery.end()
        if reason is DONE:
            self._say_goodbye()
        self._epoll_set.close(self._sock)
        self._epoll_set.later(partial(tell_end, self, reason))

    # Splices

    def splice_from(self, copy: KernelCopy) -> bool:
        """Move the bytes of *copy* here inside the kernel; False where that is impossible."""
        source: object = copy.source
        if not self._epoll_set.can_splice or type(source) is not StreamTransport:
            return False
        if self.is_over or self._ending is not None or self._splice_out or source.splice_in or source.is_over:
            return False
        pipe = self._epoll_set.pipes.take(for_long=copy.to_end)
        if pipe is None:
            return False
        splice = Splice(source, self, copy, pipe)
        source.splice_in = self._splice_out = splice
        self._epoll_set.later(splice.pump, self)
        return True

    def copy_into(self, copy: KernelCopy, taker: CopyTaker) -> MemoryCopy | None:
        """Move the bytes of *copy* from here into memory of *taker*; None where that is impossible."""
        if self.is_over or self._ending is not None or self.splice_in:
            return None
        self.splice_in = MemoryCopy(self, copy, taker)
        return self.splice_in

    @property
    def unsent(self) -> int:
        """Bytes that wait for the peer, here, in a pipe or in the kernel; 0 once the kernel has all."""
        waiting = self._not_in_kernel
        return waiting + in_kernel(self._sock) if waiting else 0

    @property
    def untaken(self) -> int:
        """Bytes that the peer did not acknowledge, here, in a pipe or in the kernel."""
        return self._not_in_kernel + in_kernel(self._sock)

    @property
    def _not_in_kernel(self) -> int:
        splice = self._splice_out
        return self.queued if splice is None else self.queued + splice.unsent

    @property
    def queued(self) -> int:
        """Bytes that wait in this process."""
        return self._out_size + (len(self._fresh) if self._more is None else self._fresh_size)

    @property
    def is_sending(self) -> bool:
        """Whether written bytes still wait to be sent."""
        return bool(self._out or self._fresh)

    # Transport

    def deliver_to(self, receiver: Receiver) -> None:
        """Tell *receiver* whatever happens from now on."""
        self.receiver = receiver
        self._is_full = False

    def lend_to(self, borrower: Borrower) -> None:
        """Nothing: what the kernel reads into is the object that is received."""

    def write(self, octets: bytes) -> None:
        """Send *octets* as soon as the socket takes them: in a batch of events, at its end."""
        if not self._takes_writes or not octets:
            return
        if self._out:
            self._wait_behind(octets)
            self._tell_if_full()
        elif self._fresh:
            # Also behind a batch: what was gathered as a turn ended waits for the next one.  And put together once, not again with each answer.
            if self._more is None:
                self._more = [self._fresh, octets]
                self._fresh_size = len(self._fresh) + len(octets)
            else:
                self._more.append(octets)
                self._fresh_size += len(octets)
            if self._fresh_size > HIGH_WATER:
                self.send_fresh()
        elif not self._epoll_set.in_batch:
            self._send(octets)
        else:
            self._fresh = octets
            if self._gathers:
                self._epoll_set.mark_for_turn(self)
            else:
                self._epoll_set.mark(self)

    def write_at_once(self, octets: memoryview) -> None:
        """Send *octets*, whose memory is used again afterwards, behind what was written before."""
        self.send_fresh()
        if not self._takes_writes:
            return
        if self._out:
            self._wait_behind(bytes(octets))
        else:
            self._send(octets)
            if not self._out:
                return
            self._out[0] = memoryview(bytes(self._out[0]))
        self._tell_if_full()

    def gather_writes(self) -> None:
        """Send what is written in one turn at once: for who writes a little for many, and lets them wait for it."""
        self._gathers = True

    def send_fresh(self) -> None:
        """Send what was written in this batch, or turn; then close, if that is wanted."""
        octets = self._fresh
        if octets:
            self._fresh = b""
            if self._more is not None:
                octets = b"".join(self._more)
                self._more = None
            if not self.is_over:
                self._send(octets)
                if self._ending is not None and not self._out:
                    self._end(self._ending)

    def _send(self, octets: bytes | memoryview) -> None:
        """Send as much of *octets* as is taken at once, and let the rest wait.

        If they are the last ones, the end of the connection goes with them in one packet: each wakes the peer up, and is half of what
        sending costs.
        """
        try:
            sent = self._sock.send(octets, 0 if self._ending is None else _WITH_END)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError as problem:
            self.send_failed(problem)
            return
        if sent != len(octets):
            self._let_wait(memoryview(octets)[sent:])

    def _wait_behind(self, octets: bytes) -> None:
        """Have *octets* wait, behind what does."""
        out = self._out
        size = len(octets)
        self._out_size += size
        # The first piece may have been shown to OpenSSL, and is to be given to it again as it was.
        if size < _SMALL and len(out) > 1 and len(out[-1]) + size <= _SMALL:
            octets = b"".join((out.pop(), octets))
        out.append(memoryview(octets))

    def _let_wait(self, rest: memoryview) -> None:
        self._out = deque((rest,))
        self._out_size = len(rest)
        self.update()
        self._tell_if_full()

    def _tell_if_full(self) -> None:
        is_much = self._out_size > HIGH_WATER or self._epoll_set.spares_memory
        if is_much and self._tells_if_full and not self._is_full:
            self._is_full = True
            self.receiver.pauseProducing()

    def loseConnection(self) -> None:
        """Send what waits, then close: what was written in this batch at its end, with what others wrote."""
        self._tells_if_full = False
        if self.is_over or self._ending is not None:
            return
        self._ending = DONE
        self._takes_writes = False
        self._reading = False
        if self._out:
            self.update()
        elif not self._fresh:
            self._end(DONE)

    def loseWriteConnection(self) -> None:
        """Send what waits, then end our side only."""
        self._tells_if_full = False
        self.send_fresh()
        if self.is_over or self._ending is not None or self._shutting:
            return
        self._shutting = True
        self._takes_writes = False
        if not self._out:
            self._shut_down()

    def _shut_down(self) -> None:
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError as problem:
            self._end(Failure(error.ConnectionLost(str(problem))))

    def abortConnection(self) -> None:
        """Close at once, with a reset."""
        if not self.is_over:
            reset_on_close(self._sock)
            self._end(Failure(error.ConnectionAborted()))

    def pauseProducing(self) -> None:
        """Read nothing for now."""
        if self._reading and not self.is_over:
            self._reading = False
            # Who could not take what was read so far does not get much more of it next time.
            self._read_size = _SMALL_READ
            self.update()

    def resumeProducing(self) -> None:
        """Read again."""
        if not self._reading and not self.is_over and self._ending is None:
            self._reading = True
            self.update()
