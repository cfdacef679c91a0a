"""Messages of the handshake that come behind it, of which OpenSSL is given a little at a time.

A client of TLS 1.2 may say another hello, which is refused, a server of TLS 1.3 sends tickets (RFC 8446 section 4.6.1), and either side of that new keys
(section 4.6.3).  The first two may have 128 KiB, and each
octet a record of its own: OpenSSL on the socket would read all of them in one call, which takes a third of a second.  So where the body of a
message begins the connection is put on memory (``binding.hear_messages``), and stays there until the message is over.  A
usual one is in one record, and over at once.

Nothing else can be sent meanwhile: OpenSSL wants to read first, as it does on a socket.
"""

import socket
from typing import Any, Final

from OpenSSL import SSL

from ingress.tls.binding import (
    WANT_READ,
    WANT_WRITE,
    put_on_socket,
    read_message,
    turned,
    written,
)

OCTETS_AT_ONCE: Final = 1024
"""Some forty records of an octet; then others have their turn."""
MOST_OCTETS: Final = 256 * 1024
"""In the records of one message: twice what the largest has, of which nobody cuts records that are half header."""
MOST_IN_A_ROW: Final = 64
"""Messages of either side with no content of either between them: 32 times new keys that are answered by new ones, as BoringSSL has it.

OpenSSL takes any number.  Nobody needs new keys before 2^24 records (RFC 8446 section 5.5), and a server sends a few tickets at once.
"""


class MessageFeed:
    """The rest of a message that *connection* on *sock* has met just now (``binding.MESSAGE``)."""

    is_amid = False
    """As of a ``HandshakeFeed``: what is here is read, be it a part of a record."""

    def __init__(self, connection: SSL.Connection, sock: socket.socket) -> None:
        self._connection = connection
        self._sock = sock
        self._octets = 0
        self._unsent = b""
        self.is_over = False
        """Whether the connection is on its socket again."""
        memory, self.messages, self._has_rest = turned()
        """How many messages, our answers among them, came to their end by what was read last."""
        self._input: Any = memory[0]
        self._output: Any = memory[1]

    def __repr__(self) -> str:
        return f"<MessageFeed of {self._connection!r} after {self._octets} octets>"

    def step(self) -> int:
        """Send what the socket has not taken yet; return what is waited for then, ``WANT_READ`` or ``WANT_WRITE``, and 0 if the message is over.

        Who reads nothing for now writes all the same, and would be told over and over that the socket takes it.  Raises ``SSL.Error`` where
        nothing can be sent any more.
        """
        if self._unsent:
            fault = self.settle()
            if isinstance(fault, SSL.WantWriteError):
                return WANT_WRITE
            if fault is not None:
                raise fault
        return 0 if self.is_over else WANT_READ

    def settle(self) -> SSL.Error | None:
        """Send what was said to the peer, that it is refused another handshake or has new keys; give OpenSSL the socket if the message is over.

        Return the error that says that it waits for the socket to take that, or why that cannot be.
        """
        unsent = self._unsent + written(self._output)
        try:
            while unsent:
                unsent = unsent[self._sock.send(unsent) :]
        except (BlockingIOError, InterruptedError):
            self._unsent = unsent
            return SSL.WantWriteError()
        except OSError as problem:
            self._end()
            return SSL.SysCallError(problem.errno, str(problem.strerror))
        self._unsent = b""
        if not self._has_rest:
            self._end()
        return None

    def read_on(self) -> SSL.Error | None:
        """Have some more of the message read; return what ``settle`` does, or how the message has failed.  What comes behind it is there to be received."""
        self.messages = 0
        if self._unsent:
            fault = self.settle()
            if fault is not None or self.is_over:
                return fault
        try:
            octets = self._sock.recv(OCTETS_AT_ONCE, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            octets = b""
        if not octets:
            # OpenSSL finds out, and says, how it has ended.
            self._end()
            return None
        fault, left, self.messages, self._has_rest = read_message(self._connection, self._input, octets)
        if left < len(octets):
            self._sock.recv(len(octets) - left)
        self._octets += len(octets) - left
        if self._octets > MOST_OCTETS and self._has_rest and fault is None:
            fault = SSL.Error([("SSL routines", "", "too many records in a message")])
        unsent = self.settle()
        return fault or unsent

    def _end(self) -> None:
        self.is_over = True
        put_on_socket(self._connection, self._sock)
