"""Lines of the access log on their way to a collector that speaks syslog.

All of it is for the one thread that writes, which alone waits: for a name, for a connection, for a collector that is slow; each of
these for a bounded time.  What cannot be sent then is lost, and told of by ``LinesLostError``, which counts it.  A collector that is
away is asked again by itself, at growing distances, and until then all lines are lost at once.

Sources: https://www.rfc-editor.org/rfc/rfc5424, of TCP https://www.rfc-editor.org/rfc/rfc6587#section-3.4.1 (a length before each
message), of ``rfc=3164`` https://www.rfc-editor.org/rfc/rfc3164 and what ``syslog(3)`` writes to a local socket.
"""

import os
import re
import select
import socket
from collections.abc import Callable, Sequence
from errno import ECONNREFUSED, EMSGSIZE
from time import localtime, monotonic, strftime, time
from typing import Final

from ingress.model.serving.log_destinations import SyslogAddress, SyslogTransport
from ingress.process.logs.file_output import LinesLostError
from ingress.process.timestamps import stamp_of

CONNECT_SECONDS: Final = 3.0
STALL_SECONDS: Final = 2.0
"""How long a collector may take nothing."""
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 30.0
_INFORMATION: Final = 6


def connected(address: SyslogAddress) -> socket.socket:
    """Return a socket that leads to *address* and does not wait; raises ``OSError``."""
    if address.transport is SyslogTransport.TCP:
        sock = socket.create_connection((address.host, address.port), CONNECT_SECONDS)
    elif address.transport is SyslogTransport.UNIX:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        _connect(sock, address.host)
    else:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_DGRAM)
        family, kind, protocol, _, where = found[0]
        sock = socket.socket(family, kind | socket.SOCK_CLOEXEC, protocol)
        _connect(sock, where)
    sock.setblocking(False)
    return sock


def _connect(sock: socket.socket, where: str | tuple[object, ...]) -> None:
    try:
        sock.connect(where)  # Datagrams: nobody is waited for.
    except OSError:
        sock.close()
        raise


class SyslogOutput:
    """The collector at *address*, to which *connect* leads."""

    def __init__(
        self,
        address: SyslogAddress,
        connect: Callable[[SyslogAddress], socket.socket] = connected,
        *,
        wall_clock: Callable[[], float] = time,
        steady: Callable[[], float] = monotonic,
        stall_seconds: float = STALL_SECONDS,
    ) -> None:
        self._address = address
        self._connect = connect
        self._wall_clock = wall_clock
        self._steady = steady
        self._stall_milliseconds = int(stall_seconds * 1000)
        self._host = _word(socket.gethostname())
        self._process = b"%d" % os.getpid()
        self._socket: socket.socket | None = None
        self._pause = 0.0
        self._not_before = float("-inf")

    def __repr__(self) -> str:
        return f"<SyslogOutput to {self._address.transport}:{self._address.host}>"

    def close(self) -> None:
        """Send no more."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def reopen(self) -> None:
        """Look for the collector anew, with the next lines."""
        self.close()
        self._pause, self._not_before = 0.0, float("-inf")

    def write(self, batch: bytes) -> None:
        """Send whole lines, a message for each; raises ``LinesLostError`` when some of them, or all, are lost."""
        start = self._start()
        messages = [start + line for line in batch.splitlines()]
        if self._address.transport is SyslogTransport.TCP:
            self._send_stream([b"%d %b" % (len(message), message) for message in messages])
        else:
            self._send_datagrams(messages)

    def _start(self) -> bytes:
        """Return what stands before each line."""
        address, now = self._address, self._wall_clock()
        priority, tag = address.facility * 8 + _INFORMATION, address.tag.encode()
        if address.is_old:
            # The day has a blank for its first digit; a local socket knows no host.
            when = strftime("%b %e %H:%M:%S", localtime(now)).encode()
            host = b"" if address.transport is SyslogTransport.UNIX else b" " + self._host
            return b"<%d>%b%b %b[%b]: " % (priority, when, host, tag, self._process)
        when = stamp_of(int(now * 1000))
        return b"<%d>1 %b %b %b %b access - " % (priority, when, self._host, tag, self._process)

    # Ways to the collector

    def _send_stream(self, messages: Sequence[bytes]) -> None:
        at = 0
        for _ in range(2):
            # A second time for a collector that was started anew meanwhile.
            sock = self._open(len(messages) - at)
            sent = 0 if _is_over(sock) else self._send_all(sock, b"".join(messages[at:]))
            while at < len(messages) and sent >= len(messages[at]):
                sent -= len(messages[at])
                at += 1
            if at == len(messages):
                self._pause = 0.0
                return
            self.close()
        self._rest()
        raise LinesLostError(len(messages) - at, _stalled())

    def _send_all(self, sock: socket.socket, octets: bytes) -> int:
        """Send *octets*; return how many of them the kernel has taken."""
        view = memoryview(octets)
        while view:
            try:
                view = view[sock.send(view) :]
            except BlockingIOError:
                if not self._has_room(sock):
                    break
            except OSError:
                break
        return len(octets) - len(view)

    def _send_datagrams(self, messages: Sequence[bytes]) -> None:
        lost, why = 0, OSError()
        for at, message in enumerate(messages):
            left = lost + len(messages) - at
            error = self._send_one(message, left)
            if error is not None and self._address.transport is SyslogTransport.UNIX:
                if error.errno != EMSGSIZE:
                    # The socket of a collector that has ended; the next one has another.
                    self.close()
                    error = self._send_one(message, left)
            elif error is not None and error.errno == ECONNREFUSED:
                # So the host says of a datagram before.
                lost, why = lost + 1, error
                error = self._send_one(message, left)
            if error is not None:
                lost, why = lost + 1, error
        if lost:
            raise LinesLostError(lost, why)
        self._pause = 0.0

    def _send_one(self, message: bytes, left: int) -> OSError | None:
        """Send one datagram; return why that cannot be.  Raises ``LinesLostError`` for all that are *left* where there is no use in going on."""
        sock = self._open(left)
        try:
            try:
                sock.send(message)
            except BlockingIOError:
                if not self._has_room(sock):
                    raise LinesLostError(left, _stalled()) from None
                sock.send(message)
        except LinesLostError:
            raise
        except OSError as error:
            return error
        return None

    def _has_room(self, sock: socket.socket) -> bool:
        poll = select.poll()
        poll.register(sock, select.POLLOUT)
        return bool(poll.poll(self._stall_milliseconds))

    def _open(self, lines: int) -> socket.socket:
        """Return the socket; raises ``LinesLostError`` for so many *lines* where there is none."""
        if self._socket is None:
            if self._steady() < self._not_before:
                raise LinesLostError(lines, OSError(0, "the collector is away"))
            try:
                self._socket = self._connect(self._address)
            except OSError as error:
                self._rest()
                raise LinesLostError(lines, error) from error
        return self._socket

    def _rest(self) -> None:
        """Leave the collector alone for a while."""
        self._pause = min(max(FIRST_PAUSE_SECONDS, self._pause * 2), LONGEST_PAUSE_SECONDS)
        self._not_before = self._steady() + self._pause


def _stalled() -> OSError:
    return OSError(0, "the collector takes nothing")


def _word(text: str) -> bytes:
    """Return *text* as one word of plain ASCII."""
    return re.sub(rb"[^\x21-\x7e]", b"-", text.encode()[:255]) or b"-"


def _is_over(sock: socket.socket) -> bool:
    """Whether the collector has ended the connection: what is sent then is taken by the kernel, and by nobody else."""
    try:
        return not sock.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
