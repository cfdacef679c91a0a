"""Handshakes, of which OpenSSL is given a few records at a time.

On the socket itself OpenSSL reads for as long as records come that end no message.  A ClientHello may have 128 KiB, the certificates of an
endpoint 100, and each octet a record of its own (RFC 8446 section 5.1): that keeps everybody else waiting for a second.  So until the handshake is over OpenSSL reads
memory, which it is given whole records in, and what follows the last of these is left in the socket.  Then it gets the
socket.

A server gives it that as soon as it has answered a hello, unless it has asked for another one, or for a certificate: no other message of a client has more than
two kilobytes.  So of a usual handshake the hello alone goes this way, which takes some hundredths of its time.
"""

import socket
from typing import Final

from OpenSSL import SSL

from ingress.tls.binding import (
    RECORD_BYTES,
    WANT_READ,
    WANT_WRITE,
    asks_for_certificate,
    hear,
    put_on_socket,
    step,
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
_RANDOM: Final = _HEADER + 6
_RANDOM_END: Final = _RANDOM + 32
"""... and where that begins and ends in what a server says first."""


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
    _is_client = False
    _begins = False
    _must_speak = False
    """Whether something is to be said before anything is heard: our hello, or what the socket did not take."""
    _unsent = b""
    _is_over = False
    """Whether the handshake is over but for what is still to be sent."""
    _has_socket = False
    """Whether OpenSSL reads and writes the socket by now."""
    _records = 0
    _heard = b""
    """What OpenSSL was given last, which is to be kept."""

    def __init__(self, connection: SSL.Connection, sock: socket.socket, begins: bool = False) -> None:
        self._connection = connection
        self._sock = sock
        if begins:
            self._is_client = self._begins = self._must_speak = True

    def __repr__(self) -> str:
        return f"<HandshakeFeed of {self._connection!r} after {self._records} records>"

    def step(self) -> int:
        """Take a step; return ``WANT_READ`` or ``WANT_WRITE`` for what it waits for now, and 0 when the handshake is over.

        Raises ``SSL.Error`` where the handshake fails; the alert that OpenSSL tells the peer so by is sent, if it takes that.
        """
        connection, sock = self._connection, self._sock
        if self._has_socket:
            return step(connection)
        if self._must_speak:
            return self._speak()
        self.is_amid = has_more = False
        try:
            received = sock.recv(_USUAL, _PEEK)
        except (BlockingIOError, InterruptedError):
            return WANT_READ
        except OSError:
            received = b""
        size = len(received)
        if size > _HEADER and size - _HEADER == received[3] << 8 | received[4]:
            # One record that came alone, as a hello does.
            self._records += 1
            self._heard = received
            awaited, said, fault = hear(connection, received)
            sock.recv(size)
        elif size:
            awaited, said, fault, has_more = self._hear_some(received)
        else:
            return self.hear_end()
        is_sent = not said or self._send(said)
        if fault is not None:
            try:
                raise fault
            finally:
                # Else it would hold this call, which holds it.
                del fault
        if not awaited:
            self._is_over = True
            return self._end() if is_sent else WANT_WRITE
        if self._records >= MOST_RECORDS:
            raise SSL.Error([("SSL routines", "", "too many records in a handshake")])
        if not is_sent:
            return WANT_WRITE
        if said and not has_more and self._is_rest_small(said):
            self._end()
        return WANT_READ

    def _speak(self) -> int:
        """Say what is to be said before anything is heard."""
        if self._begins:
            self._begins = False
            _, self._unsent, fault = hear(self._connection, b"")
            if fault is not None:
                try:
                    raise fault
                finally:
                    del fault
        if not self._send(self._unsent):
            return WANT_WRITE
        return self._end() if self._is_over else WANT_READ

    def _hear_some(self, received: bytes) -> tuple[int, bytes, SSL.Error | None, bool]:
        """Have OpenSSL take the whole records of *received*, which lies in the socket, up to the end of the handshake.

        Return what it waits for, what it says and how it failed, and whether anything is left in the socket.
        """
        if len(received) == _USUAL and end_of_record(received, 0) > _USUAL:
            received = self._sock.recv(_LARGEST, _PEEK)
        awaited, said, fault = WANT_READ, b"", None
        at, size = 0, len(received)
        left = min(RECORDS_AT_ONCE, MOST_RECORDS - self._records)
        while left and awaited and fault is None and (end := end_of_record(received, at)) <= size:
            left -= 1
            self._records += 1
            self._heard = received[at:end]
            awaited, more, fault = hear(self._connection, self._heard)
            said += more
            at = end
        if at:
            self._sock.recv(at)
        self.is_amid = at < size < end_of_record(received, at)
        return awaited, said, fault, at < size

    def _is_rest_small(self, said: bytes) -> bool:
        """Whether no message that may still come in the handshake is large, once *said* was sent."""
        if self._is_client or said[_RANDOM:_RANDOM_END] == _RETRY:
            return False
        return not asks_for_certificate(self._connection)

    def hear_end(self) -> int:
        """Take a step on the socket, of which OpenSSL finds out, and says, how it has ended."""
        self.is_amid = False
        self._end()
        return step(self._connection)

    def _send(self, octets: bytes) -> bool:
        """Send *octets*; return whether the socket takes all of it, or nothing ever again."""
        try:
            sent = self._sock.send(octets)
            while sent < len(octets):
                octets = octets[sent:]
                sent = self._sock.send(octets)
        except (BlockingIOError, InterruptedError):
            self._unsent = octets
            self._must_speak = True
            return False
        except OSError:
            # Who reads nothing any more may have said why.
            pass
        if self._must_speak:
            self._unsent, self._must_speak = b"", False
        return True

    def _end(self) -> int:
        """Give OpenSSL the socket; return 0."""
        put_on_socket(self._connection, self._sock)
        self._has_socket = True
        self._heard = b""
        return 0
