"""One connection of two processes in a takeover: messages with descriptors, in the reactor."""

import errno
import os
import socket
import struct
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.interfaces import IDelayedCall, IReadDescriptor, IReadWriteDescriptor
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.takeover.messages import MOST_BYTES, MOST_SOCKETS, Message, MessageError, decoded, encoded

_CREDENTIALS = struct.Struct("3i")
_NO_ROOM = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
_REST_SECONDS = 1.0
"""Until who waits is accepted, where there was no descriptor left for that."""


def peer_of(sock: socket.socket) -> tuple[int, int]:
    """Return process id and user id of the other side of a UNIX socket, when it connected or listened."""
    found = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(found)
    return process, user


def is_trusted(sock: socket.socket) -> bool:
    """Whether the other side of a UNIX socket is of our own user."""
    return peer_of(sock)[1] == os.geteuid()


@implementer(IReadWriteDescriptor)
class Wire:
    """Sends and receives messages on *sock*, of type ``SOCK_SEQPACKET``, which is the wire's own.

    *heard* is told of each message with the sockets that came with it, *misread* why something is no message,
    *ended* that the other side is gone.
    """

    def __init__(
        self,
        reactor: Any,
        sock: socket.socket,
        heard: Callable[[Message, Sequence[socket.socket]], None],
        misread: Callable[[str], None],
        ended: Callable[[], None],
    ) -> None:
        self._reactor = reactor
        self._sock = sock
        self._heard = heard
        self._misread = misread
        self._ended = ended
        self._waiting: deque[tuple[bytes, list[int]]] = deque()
        self._is_open = True
        self._was_reset = False
        sock.setblocking(False)
        reactor.addReader(self)

    def __repr__(self) -> str:
        return f"<Wire {'open' if self._is_open else 'closed'}>"

    def fileno(self) -> int:
        """The descriptor, for the reactor."""
        return self._sock.fileno()

    def logPrefix(self) -> str:
        """Who logs, for the reactor."""
        return "takeover"

    def send(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        """Send *message*; copies of *descriptors* go with it."""
        if not self._is_open:
            return
        self._waiting.append((encoded(message), [os.dup(one) for one in descriptors]))
        self.doWrite()

    def doWrite(self) -> None:
        """Send what the kernel takes."""
        while self._waiting:
            octets, descriptors = self._waiting[0]
            try:
                socket.send_fds(self._sock, [octets], descriptors)
            except BlockingIOError:
                self._reactor.addWriter(self)
                return
            except OSError:
                # It is gone, which is read, too.
                self._forget_waiting()
                break
            self._waiting.popleft()
            _close(descriptors)
        self._reactor.removeWriter(self)

    def doRead(self) -> None:
        """Take one message."""
        try:
            octets, descriptors, flags, _ = socket.recv_fds(
                self._sock, MOST_BYTES + 1, MOST_SOCKETS, socket.MSG_CMSG_CLOEXEC
            )
        except BlockingIOError:
            return
        except ConnectionResetError:
            # It left without reading all that we said.  What it said before comes next, then the end.
            if not self._was_reset:
                self._was_reset = True
                return
            octets, descriptors, flags = b"", [], 0
        except OSError:
            octets, descriptors, flags = b"", [], 0
        if not octets:
            _close(descriptors)
            self.close()
            self._ended()
            return
        if flags & (socket.MSG_CTRUNC | socket.MSG_TRUNC):
            _close(descriptors)
            self._misread("a part of its message is missing")
            return
        try:
            message = decoded(octets)
        except MessageError as error:
            _close(descriptors)
            self._misread(str(error))
            return
        sockets: list[socket.socket] = []
        try:
            for one in descriptors:
                sockets.append(socket.socket(fileno=one))
        except OSError:
            _close(descriptors[len(sockets) :])
            for sock in sockets:
                sock.close()
            self._misread("what came with its message is no socket")
            return
        self._heard(message, sockets)

    def connectionLost(self, reason: Failure) -> None:
        """The reactor ends."""
        self.close()

    def close(self) -> None:
        """Send and hear nothing more."""
        if self._is_open:
            self._is_open = False
            self._reactor.removeReader(self)
            self._reactor.removeWriter(self)
            self._forget_waiting()
            self._sock.close()

    def _forget_waiting(self) -> None:
        for _, descriptors in self._waiting:
            _close(descriptors)
        self._waiting.clear()


@implementer(IReadDescriptor)
class Door:
    """Accepts connections on *sock*, which listens; *came* gets each."""

    def __init__(self, reactor: Any, sock: socket.socket, came: Callable[[socket.socket], None]) -> None:
        self._reactor = reactor
        self._sock = sock
        self._came = came
        self._rest: IDelayedCall | None = None
        sock.setblocking(False)
        reactor.addReader(self)

    def fileno(self) -> int:
        """The descriptor, for the reactor."""
        return self._sock.fileno()

    def logPrefix(self) -> str:
        """Who logs, for the reactor."""
        return "takeover"

    def doRead(self) -> None:
        """Accept one."""
        try:
            sock, _ = self._sock.accept()
        except OSError as error:
            # Where it is not the visitor that has gone again, whoever waits would be found at once, and again.
            if error.errno in _NO_ROOM:
                self._reactor.removeReader(self)
                self._rest = self._reactor.callLater(_REST_SECONDS, self._reactor.addReader, self)
            return
        self._came(sock)

    def connectionLost(self, reason: Failure) -> None:
        """The reactor ends."""
        self.close()

    def close(self) -> None:
        """Accept no more."""
        if self._rest is not None and self._rest.active():
            self._rest.cancel()
        self._reactor.removeReader(self)
        self._sock.close()


def _close(descriptors: Sequence[int]) -> None:
    for one in descriptors:
        os.close(one)
