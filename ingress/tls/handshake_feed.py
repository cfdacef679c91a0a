"""Handshakes, of which OpenSSL is given a few records at a time.

On the socket itself OpenSSL reads for as long as records come that end no message.  A ClientHello may have 128 KiB, the certificates of an
endpoint 100, and each octet a record of its own (RFC 8446 section 5.1): that keeps everybody else waiting for a second.  So until the handshake is over OpenSSL reads
memory, which it is given whole records in, and what follows the last of these is left in the socket.  Then it gets the
socket.

A server gives it that as soon as it has answered a hello, unless it has asked for another one, or for a certificate: no other message of a client has more than
two kilobytes.  So of a usual handshake the hello alone goes this way, which takes some hundredths of its time.
"""

import socket
from typing import Any, Final

from OpenSSL import SSL

from ingress.tls.binding import (
    RECORD_BYTES,
    WANT_READ,
    WANT_WRITE,
    asks_for_certificate,
    feed,
    put_on_memory,
    put_on_socket,
    step,
    written,
)

RECORDS_AT_ONCE: Final = 32
"""Then others have their turn."""
MOST_RECORDS: Final = 1024
"""In one handshake.  Who cuts records for a small memory has some 512 bytes in each (RFC 6066 section 4): that is four times what OpenSSL takes of
a message."""

_HEADER: Final = 5
_EXPANSION: Final = 2048
"""By which a record may be larger than its content (RFC 5246 section 6.2.3)."""
_USUAL: Final = 4096
_LARGEST: Final = _HEADER + RECORD_BYTES + _EXPANSION
_PEEK: Final = socket.MSG_PEEK
_RETRY: Final = bytes.fromhex("CF21AD74E59A6111BE1D8C021E65B891C2A211167ABB8C5E079E09E2C8A8339C")
"""The random value of a ServerHello that asks for another hello (RFC 8446 section 4.1.3), ..."""
_RANDOM: Final = slice(_HEADER + 6, _HEADER + 6 + len(_RETRY))
"""... and where that lies in what a server says first."""


def end_of_record(octets: bytes, at: int) -> int:
    """Return where the record ends that begins at *at*, be it that it is not all here; of what is no record, where a header would end."""
    end = at + _HEADER
    if len(octets) < end or not 20 <= octets[at] <= 23 or octets[at + 1] != 3:
        return end
    size = octets[at + 3] << 8 | octets[at + 4]
    # What is too long is refused by its header.
    return end if size > RECORD_BYTES + _EXPANSION else end + size


class HandshakeFeed:
    """Takes the steps of the handshake of *connection* on *sock*, which does not block; *begins* says that it is ours to say hello."""

    # What most handshakes never change stands here, and costs each of them nothing.
    is_amid = False
    """Whether a part of a record lies in the socket, which tells of that for as long as it is asked."""
    _begins = False
    _is_client = False
    _is_over = False
    """Whether the handshake is over but for what is still to be sent."""
    _records = 0
    _unsent = b""
    _input: Any
    """What OpenSSL reads; None once it has the socket."""

    def __init__(self, connection: SSL.Connection, sock: socket.socket, begins: bool = False) -> None:
        self._connection = connection
        self._sock = sock
        self._input, self._output = put_on_memory(connection)
        if begins:
            self._begins = self._is_client = True

    def __repr__(self) -> str:
        return f"<HandshakeFeed of {self._connection!r} after {self._records} records>"

    def step(self) -> int:
        """Take a step; return ``WANT_READ`` or ``WANT_WRITE`` for what it waits for now, and 0 when the handshake is over.

        Raises ``SSL.Error`` where the handshake fails; the alert that tells the peer so is sent, if it takes that.
        """
        if self._input is None:
            return step(self._connection)
        self.is_amid = False
        if self._unsent and not self._send(self._unsent):
            return WANT_WRITE
        if self._is_over:
            return self._end()
        if self._begins:
            self._begins = False
            step(self._connection)
            return WANT_READ if self._send(written(self._output)) else WANT_WRITE
        try:
            received = self._sock.recv(_USUAL, _PEEK)
            if len(received) == _USUAL and end_of_record(received, 0) > _USUAL:
                received = self._sock.recv(_LARGEST, _PEEK)
        except (BlockingIOError, InterruptedError):
            return WANT_READ
        except OSError:
            received = b""
        if not received:
            # OpenSSL finds out, and says, how it has ended.
            self._end()
            return step(self._connection)
        at = 0
        try:
            is_one = end_of_record(received, 0) == len(received)
            at = self._take_one(received) if is_one else self._take(received)
        finally:
            # What fails has written an alert.
            flight = written(self._output)
            is_sent = self._send(flight)
        if self._is_over:
            return self._end() if is_sent else WANT_WRITE
        if at < len(received):
            self.is_amid = end_of_record(received, at) > len(received)
        elif flight and is_sent and self._is_rest_small(flight):
            self._end()
        return WANT_READ if is_sent else WANT_WRITE

    def _is_rest_small(self, flight: bytes) -> bool:
        """Whether no message that may still come in the handshake is large, once *flight* was sent."""
        return (
            not self._is_client and flight[_RANDOM] != _RETRY and not asks_for_certificate(self._connection)
        )

    def hear_end(self) -> int:
        """Take a step on the socket: the peer has ended behind a part of a record, and OpenSSL says what that is."""
        self.is_amid = False
        self._end()
        return step(self._connection)

    def _take(self, received: bytes) -> int:
        """Have OpenSSL take the whole records of *received*, which lies in the socket, up to the end of the handshake; return where they end."""
        connection, memory, at = self._connection, self._input, 0
        left = min(RECORDS_AT_ONCE, MOST_RECORDS - self._records)
        try:
            while left and (end := end_of_record(received, at)) <= len(received):
                left -= 1
                self._records += 1
                feed(memory, received[at:end])
                at = end
                if not step(connection):
                    self._is_over = True
                    break
        finally:
            if at:
                self._sock.recv(at)
        self._count()
        return at

    def _take_one(self, received: bytes) -> int:
        """Have OpenSSL take *received*, which is one whole record, as a hello usually is; return where it ends."""
        self._records += 1
        try:
            feed(self._input, received)
            self._is_over = not step(self._connection)
        finally:
            self._sock.recv(len(received))
        self._count()
        return len(received)

    def _count(self) -> None:
        if self._records == MOST_RECORDS and not self._is_over:
            raise SSL.Error([("SSL routines", "", "too many records in a handshake")])

    def _send(self, octets: bytes) -> bool:
        """Send *octets*; return whether the socket takes all of it, or nothing ever again."""
        try:
            while octets:
                octets = octets[self._sock.send(octets) :]
        except (BlockingIOError, InterruptedError):
            self._unsent = octets
            return False
        except OSError:
            # Who reads nothing any more may have said why.
            pass
        self._unsent = b""
        return True

    def _end(self) -> int:
        """Give OpenSSL the socket; return 0."""
        self._input = self._output = None
        put_on_socket(self._connection, self._sock)
        return 0
