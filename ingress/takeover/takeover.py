"""Both sides of takeovers in one process: first it may take over from another one, later another one takes over from it.

Without a path, and without another process that started this one, nothing is waited for; another process may still be
started from here.
"""

import socket
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from twisted.logger import Logger

from ingress.errors import StartError
from ingress.process.pid_file import PidFile
from ingress.takeover.giver import Giver, Serving
from ingress.takeover.handed_sockets import HandedSockets
from ingress.takeover.socket_file import SocketFile
from ingress.takeover.successor import Command, Inherited
from ingress.takeover.taker import Starting, Taker


class Process(Serving, Starting, Protocol):
    """What takes over, and is taken over."""

    def renew(self) -> str:
        """Have the processes that serve below this one followed by new ones; say why not, if that cannot be."""


class Takeover:
    """Takes over from the process at *path*, or from the one that started this one, and lets the next one take over.

    *command* starts the program anew; *environment* returns what that has in its environment besides our own.
    *is_first* says that this is process 1, with which all others end.
    """

    log = Logger()

    def __init__(
        self,
        reactor: Any,
        path: str | None = None,
        inherited: Inherited | None = None,
        pid_file: PidFile | None = None,
        command: Command | None = None,
        environment: Callable[[], Mapping[str, str]] = dict,
        *,
        is_first: bool = False,
    ) -> None:
        self._reactor = reactor
        self._file = None if path is None else SocketFile(path)
        self._inherited = inherited
        self._pid_file = pid_file or PidFile(None)
        self._command = command
        self._environment = environment
        self._is_first = is_first
        self._sockets = HandedSockets()
        self._taker: Taker | None = None
        self._giver: Giver | None = None
        self._door: socket.socket | None = None
        self._process: Process | None = None

    def __repr__(self) -> str:
        return f"<Takeover {self._file}, {self._taker}, {self._giver}>"

    # Taking over

    @property
    def is_following(self) -> bool:
        """Whether another process serves, and reports, whose place this one is to take."""
        return self._taker is not None and self._taker.is_following

    def prepare(self) -> None:
        """Speak for ourselves; to be called before other processes are made of this one."""
        if self._inherited is not None:
            self._inherited.speak_for_itself()

    async def begin(self, process: Process) -> None:
        """Get the sockets of the process before us, where there is one.  Raises ``StartError``."""
        self._process = process
        sock: socket.socket | None = None
        if self._inherited is not None:
            sock = self._inherited.sock
        elif self._file is not None:
            sock = self._file.connect()
        if sock is not None:
            self._taker = Taker(self._reactor, sock, process, self._sockets, self._took)
        if self._file is not None:
            self._door = self._file.prepare()
        self._pid_file.check(None if self._taker is None else self._taker.process)
        if self._taker is not None:
            await self._taker.begin()

    def take(self, description: str) -> socket.socket | None:
        """Return the socket that was got for a listener of this description; None where it is to be bound."""
        return self._sockets.take(description)

    def bound_to(self) -> dict[str, tuple[str, int]]:
        """Return address and TCP port of the sockets that were got, by the descriptions that they had."""
        return self._sockets.bound_to()

    def serves(self) -> None:
        """Have *process* report, once the process before it does not: it accepts connections."""
        self._sockets.close()
        assert self._process is not None, "begin() comes first"
        if self._taker is not None:
            self._taker.serves()
        else:
            self._took()
            self._process.report("")

    def failed(self, why: str) -> None:
        """Tell the process before us that this one ends."""
        self._sockets.close()
        if self._taker is not None:
            self._taker.stop(why)

    def _took(self) -> None:
        """Be the one that the next process takes over from."""
        try:
            self._pid_file.write()
        except OSError as error:
            self.log.error("The file with the process id cannot be written: {why}", why=error.strerror)
        if self._file is not None and self._door is not None:
            try:
                self._file.publish()
            except StartError as error:
                self.log.error("Nobody can take over from this process: {why}", why=str(error))
            else:
                self._giving().open(self._door)
                self._door = None

    # Being taken over

    def start_successor(self) -> None:
        """Start the program anew, to take over from this process; what keeps it from that is logged."""
        if self._is_first:
            self._renew()
        elif self._command is None or not self._command.executable:
            self.log.error("No new process is started: it is not known how this one was")
        elif self._process is not None:
            self._giving().start_successor(self._command, self._environment())

    def _renew(self) -> None:
        process = self._process
        why_not = "it does not serve yet" if process is None else process.why_not() or process.renew()
        if why_not:
            self.log.error(
                "Process 1 cannot be replaced, since all others end with it, nor what is below it: {why}",
                why=why_not,
            )

    def stop(self) -> bool:
        """Let nobody take over any more; return whether a new process is about to, which goes on by itself then."""
        goes_on = self._giver is not None and self._giver.stop()
        self.failed("it was asked to stop")
        if self._door is not None:
            self._door.close()
        if self._file is not None:
            # Where another process listens there by now, that stays.
            self._file.remove()
        return goes_on

    def left(self) -> None:
        """Learn that another process has taken over."""
        self._pid_file.leave()

    def _giving(self) -> Giver:
        if self._giver is None:
            assert self._process is not None, "begin() comes first"
            self._giver = Giver(self._reactor, self._process)
        return self._giver
