"""The UNIX socket at which a process can be taken over: a file that its user alone may open.

A socket has its mode before it has a name, listens before it is found, and takes the place of another in one step.  So
nobody who may not connect could at any moment, and there is always somebody to connect to.
"""

import errno
import os
import re
import socket
import stat
from contextlib import suppress
from typing import Final

from ingress.errors import StartError
from ingress.takeover.wire import is_trusted, peer_of

_CONNECT_SECONDS = 5.0
_BACKLOG = 8
_MODE = 0o600
_MOST_BYTES = 107
"""What a name may have (``sun_path`` of ``unix(7)``, without the zero at its end)."""


_DRAFT: Final = re.compile(r"\.([0-9]{1,9})\.new")


class SocketFile:
    """The socket at *path*, which is absolute; errors are ``StartError``, and name it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._folder, self._name = os.path.split(path)
        self._listening: socket.socket | None = None
        self._draft = f".{os.getpid()}.new"
        """Its name until it is published."""
        self._identity: tuple[int, int] | None = None

    def __repr__(self) -> str:
        return f"<SocketFile {self._path}>"

    def connect(self) -> socket.socket | None:
        """Return a connection to the process that serves there; None where there is none."""
        try:
            found = os.lstat(self._path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._error(error.strerror or str(error)) from error
        if not stat.S_ISSOCK(found.st_mode):
            raise self._error("is no socket")
        if found.st_uid != os.geteuid():
            raise self._error(f"belongs to another user ({found.st_uid})")
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sock.settimeout(_CONNECT_SECONDS)
        try:
            sock.connect(self._path)
            if not is_trusted(sock):
                raise self._error(f"another user ({peer_of(sock)[1]}) listens there")
        except TimeoutError:
            sock.close()
            raise self._error("the process that serves there does not answer") from None
        except (ConnectionRefusedError, FileNotFoundError):
            # Nobody listens any more: the file is left over.
            sock.close()
            return None
        except OSError as error:
            sock.close()
            if error.errno == errno.EPROTOTYPE:
                raise self._error("something else than a controller listens there") from error
            raise self._error(error.strerror or str(error)) from error
        except StartError:
            sock.close()
            raise
        return sock

    def prepare(self) -> socket.socket:
        """Listen, under a name that nobody knows, until ``publish``; return the socket."""
        if len(os.fsencode(self._path)) > _MOST_BYTES:
            raise self._error(f"is longer than the {_MOST_BYTES} bytes that the name of a socket may have")
        if os.path.isdir(self._path):
            raise self._error("is a directory")
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            # The file gets the mode of the socket (and no more than the umask lets it).
            os.fchmod(sock.fileno(), _MODE)
            folder = os.open(self._folder, os.O_PATH | os.O_DIRECTORY)
            try:
                with suppress(FileNotFoundError):
                    os.unlink(self._draft, dir_fd=folder)
                # By the number of its folder, lest the name of the draft is too long where that of the socket is not.
                sock.bind(f"/proc/self/fd/{folder}/{self._draft}")
                os.chmod(self._draft, _MODE, dir_fd=folder)
                found = os.stat(self._draft, dir_fd=folder, follow_symlinks=False)
            finally:
                os.close(folder)
            sock.listen(_BACKLOG)
        except FileNotFoundError as error:
            sock.close()
            raise self._error(f"there is no folder {self._folder}") from error
        except OSError as error:
            sock.close()
            raise self._error(error.strerror or str(error)) from error
        self._listening, self._identity = sock, (found.st_dev, found.st_ino)
        self._remove_left_drafts()
        return sock

    def publish(self) -> None:
        """Be found from now on, in place of whatever socket is there."""
        try:
            os.rename(os.path.join(self._folder, self._draft), self._path)
        except OSError as error:
            raise self._error(error.strerror or str(error)) from error

    def _remove_left_drafts(self) -> None:
        """Remove the drafts of processes of our user that were killed before they published them."""
        with suppress(OSError):
            for name in os.listdir(self._folder):
                found = _DRAFT.fullmatch(name)
                if found is not None and not _lives(int(found[1])):
                    _remove_left(os.path.join(self._folder, name))

    def remove(self) -> None:
        """Remove what is ours, whatever its name is; another's socket stays."""
        for name in (self._draft, self._name):
            path = os.path.join(self._folder, name)
            with suppress(OSError):
                found = os.lstat(path)
                if (found.st_dev, found.st_ino) == self._identity:
                    os.unlink(path)

    def _error(self, why: str) -> StartError:
        return StartError(f"--takeover {self._path}: {why}")


def _lives(process: int) -> bool:
    """Whether there is a process of that id, as far as we are shown."""
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def _remove_left(path: str) -> None:
    """Remove the socket of ours at *path* if nobody listens there; a container beside ours has other process ids."""
    with suppress(OSError):
        found = os.lstat(path)
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
            asking.setblocking(False)
            try:
                asking.connect(path)
            except ConnectionRefusedError:
                os.unlink(path)
