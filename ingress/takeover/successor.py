"""The same program started anew, by the process that it is to take over.

It has one end of a pair of sockets by inheritance, so nobody else can speak to either.  Until it has spoken on that, its standard
error is a pipe to us: whatever keeps it from starting, be it an option, a module that is missing or the interpreter, is told there,
and its last line is the reason that our log gets.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

from twisted.internet.interfaces import IReadDescriptor
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.errors import StartError
from ingress.model.frozen import frozen
from ingress.takeover.messages import printable
from ingress.takeover.wire import is_trusted

VARIABLE: Final = "TXINGRESS_TAKEOVER"
"""The environment variable with the two descriptors that a successor inherits: its socket, and its real standard error."""

_MOST_BYTES = 8192
_LOOK_SECONDS = 0.2
_LOOKS = 50


@frozen
class Command:
    """How this process was started."""

    executable: str
    arguments: tuple[str, ...]
    directory: str

    def __str__(self) -> str:
        return " ".join(self.arguments[:3])


def this_command() -> Command:
    """Return how this process was started; to be called before it changes its directory."""
    try:
        directory = os.getcwd()
    except OSError:
        directory = "/"
    arguments = (sys.executable, *sys.orig_argv[1:])
    return Command(sys.executable, arguments, directory)


@implementer(IReadDescriptor)
class Successor:
    """A process that *command* starts; *connection* is its end of a pair, which it inherits.

    It has *environment* besides our own.  Raises ``OSError``.
    """

    def __init__(
        self,
        reactor: Any,
        command: Command,
        connection: socket.socket,
        environment: Mapping[str, str],
    ) -> None:
        self._reactor = reactor
        self._said = b""
        self._is_reading = True
        # A directory that is gone is no reason to serve no more; what is named from there is not found, and told.
        directory = command.directory if os.access(command.directory, os.X_OK) else "/"
        self._errors, theirs = os.pipe()
        try:
            real = os.dup(2)
        except OSError:
            real = os.open(os.devnull, os.O_WRONLY)
        inherited = (connection.fileno(), real)
        try:
            self._running = subprocess.Popen(
                command.arguments,
                executable=command.executable,
                cwd=directory,
                env={
                    **os.environ,
                    **environment,
                    VARIABLE: ",".join(map(str, inherited)),
                },
                stderr=theirs,
                pass_fds=inherited,
            )
        except OSError:
            os.close(self._errors)
            raise
        finally:
            os.close(theirs)
            os.close(real)
        os.set_blocking(self._errors, False)
        reactor.addReader(self)

    @property
    def process(self) -> int:
        """The id of the process that was started."""
        return self._running.pid

    def fileno(self) -> int:
        """The descriptor, for the reactor."""
        return self._errors if self._is_reading else -1

    def logPrefix(self) -> str:
        """Who logs, for the reactor."""
        return "takeover"

    def doRead(self) -> None:
        """Take what it says on standard error."""
        try:
            said = os.read(self._errors, _MOST_BYTES)
        except BlockingIOError:
            return
        if said:
            self._said = (self._said + said)[-_MOST_BYTES:]
        else:
            self._stop_reading()

    def connectionLost(self, reason: Failure) -> None:
        """The reactor ends."""
        self._stop_reading()

    def reason(self) -> str:
        """Return the last line that it said; empty where it said nothing."""
        if self._is_reading:
            self.doRead()
        lines = [line for line in self._said.decode("utf-8", "replace").splitlines() if line.strip()]
        status = self._running.poll()
        if lines:
            return printable(lines[-1]).removeprefix("ingress: ")
        if status is None:
            return ""
        return f"it was killed by signal {-status}" if status < 0 else f"it ended with status {status}"

    def kill(self) -> None:
        """End it at once, as far as it is still the process that was started."""
        self._running.kill()

    def forget(self, looks: int = _LOOKS) -> None:
        """Read no more of it, and see to it that nothing of it is left once it has ended."""
        self._stop_reading()
        if self._running.poll() is None and looks:
            self._reactor.callLater(_LOOK_SECONDS, self.forget, looks - 1)

    def _stop_reading(self) -> None:
        if self._is_reading:
            self._reactor.removeReader(self)
            self._is_reading = False
            os.close(self._errors)


class Inherited:
    """What a successor has of the process that started it."""

    def __init__(self, sock: socket.socket, errors: int) -> None:
        self.sock = sock
        self._errors: int | None = errors

    def speak_for_itself(self) -> None:
        """Have standard error where it was for the process before us."""
        if self._errors is not None:
            os.dup2(self._errors, 2)
            os.close(self._errors)
            self._errors = None


def inherited_from(environment: MutableMapping[str, str]) -> Inherited | None:
    """Return what *environment* tells of, and have it tell nobody else; None where we are no successor.  Raises ``StartError``."""
    text = environment.pop(VARIABLE, None)
    if text is None:
        return None
    wrong = StartError(f"{VARIABLE} is for processes that are started by another one, at SIGUSR2")
    try:
        connection, errors = map(int, text.split(","))
        os.set_inheritable(connection, False)
        os.set_inheritable(errors, False)
        sock = socket.socket(fileno=connection)
    except (ValueError, OSError, OverflowError):
        raise wrong from None
    if (sock.family, sock.type) != (socket.AF_UNIX, socket.SOCK_SEQPACKET) or not is_trusted(sock):
        sock.detach()
        raise wrong
    return Inherited(sock, errors)
