"""A TLS connection in the epoll set: pyOpenSSL on the socket itself, without memory between them.

OpenSSL reads and writes the socket.  What it has decrypted and nobody took is invisible to epoll, so
a read goes on until OpenSSL wants more, or has had enough of whole records.  TLS turns around: a read may wait until
the socket can be written, and a write until something was read.

The server side begins with its handshake, which takes its steps when ``HandshakeQueue`` lets it.
"""

import socket
from typing import Final

from OpenSSL import SSL
from twisted.internet import error
from twisted.internet.interfaces import IAddress
from twisted.python.failure import Failure

from ingress.http.plain_request import ANSWER, is_plain_request
from ingress.proxy.contract.transport import Borrower, CopyTaker, KernelCopy, Receiver
from ingress.proxy.transport.epoll.epoll_set import EDGE, READ, WRITE, EpollSet
from ingress.proxy.transport.epoll.sockets import SocketName, hold_back
from ingress.proxy.transport.epoll.spliced import DONE
from ingress.proxy.transport.epoll.stream import StreamTransport
from ingress.tls.binding import (
    MESSAGE,
    MOST_RECORDS,
    RECORD_BYTES,
    WANT_WRITE,
    forget_errors,
    hear_messages,
    receive,
    say_goodbye,
    send,
    suit_socket,
    take_back,
)
from ingress.tls.handshake import awaits_hello
from ingress.tls.handshake_feed import HandshakeFeed
from ingress.tls.message_feed import MOST_IN_A_ROW, MessageFeed
from ingress.tls.upstream import words_of_error

_USUALLY_ALONE: Final = 4
"""Reads in a row that found one record, after which another one behind it is left to epoll to find."""
_MAX_SEND: Final = 256 * 1024
_MAX_DROPPED: Final = 256 * 1024
_GONE: Final = SSL.Connection(SSL.Context(SSL.TLS_METHOD), None)
"""Stands for the connection of a transport that has ended."""


class TLSTransport(StreamTransport):
    """One TLS connection: with *peer* the server side, without it a client side whose handshake is done."""

    __slots__ = (
        "_alone",
        "_borrower",
        "_connection",
        "_fault",
        "_feed",
        "_is_shaking",
        "_is_unheard",
        "_messages",
        "_owes_goodbye",
        "_read_at_look",
        "_read_needs_write",
        "_write_needs_read",
    )

    def __init__(
        self,
        epoll_set: EpollSet,
        sock: socket.socket,
        receiver: Receiver,
        peer: IAddress | SocketName | None,
        connection: SSL.Connection,
        port: int = 0,
    ) -> None:
        super().__init__(epoll_set, sock, receiver, peer, port)
        suit_socket(connection, accepts=peer is not None)
        self._connection = connection
        self._borrower: Borrower | None = None
        """The receiver, if it takes what came without a copy."""
        self._fault = ""
        """What follows what was read last, and is the end."""
        self._alone = 0 if peer is None else _USUALLY_ALONE
        """How many reads in a row that found anything have found one record, which is how a request comes, ..."""
        self._read_at_look = 0
        """... and at which look of the epoll set that was which looked for no other."""
        self._read_needs_write = False
        self._write_needs_read = False
        self._is_shaking = peer is not None
        """Whether the handshake of the server side is not over, ..."""
        self._feed: HandshakeFeed | MessageFeed | None = (
            None if peer is None else HandshakeFeed(connection, sock)
        )
        """... whose steps this takes; or, of either side, what reads the rest of a message of the handshake that comes behind it."""
        self._messages = 0
        """How many such messages have come since there was content of either side."""
        self._is_unheard = False
        """Whether the peer may have refused our certificate, which in TLS 1.3 it does when the handshake is over for us."""
        self._owes_goodbye = False
        """Whether the end of our side waits for the socket to take it."""
        if peer is None:
            hear_messages(connection)
        else:
            epoll_set.handshakes.begin(self)

    @property
    def tls(self) -> SSL.Connection:
        """OpenSSL's side of it."""
        return self._connection

    @property
    def has_said_nothing(self) -> bool:
        """Whether not a byte has come, or not a whole hello."""
        if not awaits_hello(self._connection):
            return False
        return self.is_quiet or (self._feed is not None and self._feed.is_amid)

    def ready(self, events: int) -> None:
        """Act on what the epoll set found, for reading or writing as OpenSSL needs it."""
        if events == READ and self._reading and not self._read_ended and not self.is_over:
            self._read()
            return
        if events & WRITE and self._read_needs_write:
            self._read_needs_write = False
            events |= READ
        if events & WRITE and events & ~WRITE:
            # What the peer said last may be why it takes nothing more.
            super().ready(events & ~WRITE)
            events = WRITE
        super().ready(events)

    def _has_unread(self) -> bool:
        return self._connection.pending() > 0 or super()._has_unread()

    def _wants_read(self) -> bool:
        # While OpenSSL has to send something before it reads on, what has come would be told of over and over.
        if self._read_needs_write:
            return False
        # Nor is anything sent amid a message whose rest has to be read, though nobody wants what is behind it.
        return super()._wants_read() or (self._write_needs_read and not self._is_shaking and bool(self._out))

    def _wants_write(self) -> bool:
        if self._read_needs_write or self._owes_goodbye:
            return True
        return bool(self._out) and not self._write_needs_read

    # The handshake

    def park(self) -> None:
        """Read nothing: it is the turn of others."""
        self._reading = False
        self.update()

    def unpark(self) -> None:
        """Take the step that had to wait."""
        if not self.is_over:
            self._reading = True
            self.update()
            self._step()

    def _step(self) -> None:
        """Take one step of the handshake; when it was the last, read on."""
        try:
            assert isinstance(self._feed, HandshakeFeed)
            awaited = self._feed.step()
            if self._feed.is_amid and self.has_left:
                awaited = self._feed.hear_end()
        except SSL.Error as problem:
            forget_errors()
            self._refused(problem)
            return
        if awaited == WANT_WRITE:
            # Until something can be sent nothing is read, and who waits so is not to be told over and over what has come.
            self._trigger = EDGE
            self._read_needs_write = True
            self.update()
        elif awaited:
            trigger = EDGE if self._feed.is_amid else 0
            if trigger != self._trigger:
                # The rest of a record would be told of over and over.
                self._trigger = trigger
                self.update()
        else:
            self._is_shaking, self._feed = False, None
            hear_messages(self._connection)
            self._epoll_set.handshakes.end(self)
            if self._trigger:
                self._trigger = 0
                self.update()
            self.receiver.handshakeCompleted()
            if not self.is_over:
                # What came with the last flight is in OpenSSL's hands, where epoll cannot see it.
                self._read()

    def _refused(self, problem: SSL.Error) -> None:
        """The handshake failed, and OpenSSL has sent its alert."""
        if is_plain_request(self._drop_unread()):
            try:
                self._sock.send(ANSWER)
            except OSError:
                pass  # Who is gone needs no answer.
        self._end(Failure(error.ConnectionLost(f"TLS: {problem}")))

    def _drop_unread(self) -> bytes:
        """Read what has come, unless it is much: a socket that is closed with it is reset, and our last words lost."""
        try:
            return self._sock.recv(_MAX_DROPPED)
        except OSError:
            return b""

    def _end(self, reason: Failure) -> None:
        if self._is_shaking:
            self._epoll_set.handshakes.end(self)
        if not self.is_over:
            self._borrower = None
            super()._end(reason)
            self._epoll_set.later(self._let_go)

    def _let_go(self) -> None:
        """Release OpenSSL's connection once nobody asks for it any more: what follows a burst may tell of its requests."""
        burst = self._epoll_set.burst
        if burst.is_on:
            burst.calls.append(self._release)
        else:
            self._release()

    def _release(self) -> None:
        """Give OpenSSL's memory back now: the garbage collector sees one small object, and is in no hurry."""
        self._connection, self._feed = _GONE, None

    # Reading and writing

    def _read(self) -> None:
        if self._is_shaking:
            if self._epoll_set.handshakes.may_step(self):
                self._step()
            return
        try:
            received = self._receive()
        except OSError as problem:
            self._drop_unread()
            self._end(self._write_failure or Failure(error.ConnectionLost(str(problem))))
            return
        if received:
            self._messages = 0
            if isinstance(received, bytes):
                self.receiver.dataReceived(received)
            else:
                self._lend(received)
        elif received is not None:
            self._end_of_input()

    def _lend(self, received: memoryview) -> None:
        try:
            assert self._borrower is not None
            self._borrower.memoryReceived(received)
        finally:
            take_back()

    def _receive(self) -> bytes | memoryview | None:
        """Return what came, empty at the peer's end, None when there is nothing yet."""
        if self._fault:
            raise ConnectionError(self._fault)
        if self._write_needs_read:
            self._write_needs_read = False
            self._epoll_set.later(self._send_again, self)
        received: bytes | memoryview = b""
        records = 0
        message = self._feed
        fault = None if message is None else self._read_on(message)
        if self._feed is None and fault is None:
            if not self._reading:
                return None
            is_alone = self._alone >= _USUALLY_ALONE
            if is_alone and self._epoll_set.looks - self._read_at_look <= 1:
                # It has more to say than it used to: an answer, and what that brings about, takes longer.
                is_alone = False
                self._alone = 0
            # To find that there is nothing more takes as long as a small request does in Python.
            received, records, fault = receive(
                self._connection, 1 if is_alone else MOST_RECORDS, self._borrower is not None
            )
            if is_alone and records:
                self._read_at_look = self._epoll_set.looks
                if len(received) == RECORD_BYTES:
                    self._alone = 0
                return received
        if fault is MESSAGE:
            if records:
                self._messages = 0
            self._feed = MessageFeed(self._connection, self._sock)
            fault = self._counted(self._feed, self._feed.settle())
            if self._feed.is_over:
                self._feed = None
        ended = fault is not None and not isinstance(fault, SSL.WantWriteError)
        if fault is not None and not ended:
            self._read_needs_write = True
            self.update()
        elif fault is not None and not isinstance(fault, SSL.ZeroReturnError):
            forget_errors()
            self._fault = words_of_error(fault)
            if not records:
                raise ConnectionError(self._fault)
        if not records:
            return b"" if ended else None
        self._alone = self._alone + 1 if records == 1 else 0
        if ended:
            # epoll does not know what OpenSSL has to tell.
            self._epoll_set.later(self._read_more, self)
        return received

    def _read_on(self, message: HandshakeFeed | MessageFeed) -> SSL.Error | None:
        """Read more of *message*, be it that nobody wants what is behind it; return what stands in the way."""
        assert isinstance(message, MessageFeed), "the handshake is over"
        fault = self._counted(message, message.read_on())
        if message.is_over:
            self._feed = None
        return fault

    def _counted(self, message: MessageFeed, fault: SSL.Error | None) -> SSL.Error | None:
        """Return *fault*, or that too many messages have come."""
        self._messages += message.messages
        if self._messages > MOST_IN_A_ROW:
            return SSL.Error([("SSL routines", "", "too many messages of the handshake in a row")])
        return fault

    def _read_more(self) -> None:
        if self._reading and not self._read_ended and not self.is_over:
            self._read()

    def _send_again(self) -> None:
        if not self.is_over:
            self.update()
            self._flush()

    def resumeProducing(self) -> None:
        """Read again, first what OpenSSL has already."""
        super().resumeProducing()
        if not self.is_over and self._ending is None:
            self._epoll_set.later(self._read_more, self)

    def _end_of_input(self) -> None:
        if self._was_accepted:
            super()._end_of_input()
        else:
            # An endpoint's ``close_notify`` is its end, as it was before TLS 1.3.
            self._end(DONE)

    def _send(self, octets: bytes | memoryview) -> None:
        if self._ending is not None and len(octets) <= RECORD_BYTES:
            # These are the last ones: they, the goodbye and the end of the connection go in one packet.
            hold_back(self._sock)
        try:
            sent = self._encrypt(octets)
        except OSError as problem:
            self.send_failed(problem)
            return
        if sent != len(octets):
            self._let_wait(memoryview(octets)[sent:])

    def _send_waiting(self) -> int:
        return self._encrypt(self._out[0])

    def _encrypt(self, octets: bytes | memoryview) -> int:
        """Send all of *octets*, or its beginning if it is long; return how much that was: 0 while the socket does not take it all.

        What it has taken of it then OpenSSL remembers, and it is to be given the same bytes again.
        """
        if self._is_unheard and self.has_left and self._wants_read():
            # First what it said: after a write that fails, OpenSSL reads nothing any more.
            return 0
        try:
            if self._feed is not None:
                # What is written before the handshake is over waits for the rest of it.
                awaited = self._feed.step()
                if awaited:
                    self._write_needs_read = awaited != WANT_WRITE
                    return 0
                if not self._is_shaking:
                    self._feed = None
            sent = send(
                self._connection, octets if len(octets) <= _MAX_SEND else memoryview(octets)[:_MAX_SEND]
            )
            # Who only receives may have keys renewed for what it is sent.
            self._messages = 0
            return sent
        except SSL.WantWriteError:
            return 0
        except SSL.WantReadError:
            self._write_needs_read = True
        except SSL.Error as problem:
            forget_errors()
            raise ConnectionError(words_of_error(problem)) from None
        return 0

    def _say_goodbye(self) -> None:
        say_goodbye(self._connection)
        super()._say_goodbye()

    def _shut_down(self) -> None:
        self._owes_goodbye = not say_goodbye(self._connection)
        if self._owes_goodbye:
            self.update()
        else:
            super()._shut_down()
            if not self.is_over:
                self.update()

    def deliver_to(self, receiver: Receiver) -> None:
        """Tell *receiver* whatever happens from now on, which borrows nothing yet."""
        self._borrower = None
        super().deliver_to(receiver)

    def lend_to(self, borrower: Borrower) -> None:
        """Have *borrower* take from OpenSSL's memory what is more than a record."""
        if not self.is_over:
            self._borrower = borrower

    def splice_from(self, copy: KernelCopy) -> bool:
        """Never: what is sent must be encrypted first."""
        return False

    def copy_into(self, copy: KernelCopy, taker: CopyTaker) -> None:
        """Never: what comes must be decrypted first."""
