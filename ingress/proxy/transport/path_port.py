"""A listener on a UNIX socket of the file system: its name is taken over from who listens there no more.

Twisted's lock beside the socket names a process id, which in a container is the same one after a restart, so that process 1 would
wait for itself; and a listener that failed would leave it behind.  Whether somebody listens is what the socket itself says.
"""

import os
import socket
import stat
from contextlib import suppress
from typing import Any

from twisted.internet import tcp, unix
from twisted.internet.address import UNIXAddress
from twisted.python.failure import Failure

_Identity = tuple[int, int]


class PathPort(unix.Port):
    """Twisted's port, without a lock; it removes no socket of somebody who listens, neither at its beginning nor at its end."""

    _identity: _Identity | None = None

    def __init__(self, address: Any, factory: Any, backlog: int, mode: int, reactor: Any) -> None:
        super().__init__(address, factory, backlog, mode, reactor)
        # The path; None for a name in no file system.  The attribute that Twisted has for it is another one in 26.4.
        name = UNIXAddress(address).name
        self._file = None if name is None or name.startswith(b"\0") else name

    def startListening(self) -> None:
        """Listen; raises ``CannotListenError`` where somebody else does."""
        if self._file is not None:
            _remove_leftover(self._file)
        super().startListening()
        self._identity = _socket_at(self._file)

    def connectionLost(self, reason: Failure) -> None:
        """Be closed."""
        path = self._file
        # Who removed the name may have begun to listen by it meanwhile.
        if path is not None and self._identity is not None and _socket_at(path) == self._identity:
            os.unlink(path)
        tcp.Port.connectionLost(self, reason)


def _socket_at(path: bytes | None) -> _Identity | None:
    """Return what tells the socket at *path* from others; None where there is none."""
    if path is None:
        return None
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISSOCK(found.st_mode) else None


def _remove_leftover(path: bytes) -> None:
    """Remove the socket at *path* if nobody listens there; what else is there, binding to it will tell."""
    if _socket_at(path) is None:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        # Who is behind with accepting does not keep us waiting, and is somebody.
        asking.setblocking(False)
        with suppress(OSError):
            try:
                asking.connect(path)
            except ConnectionRefusedError:
                os.unlink(path)
