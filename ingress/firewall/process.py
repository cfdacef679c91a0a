"""A firewall process as the operating system has it: how it is started, what it says besides, and how it ends.

It is another program (``exec``), which has neither memory nor descriptors of this one, and of the environment nothing but where the
package lies.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final

from twisted.internet import abstract, fdesc
from twisted.internet.main import CONNECTION_DONE

from ingress.errors import StartError
from ingress.firewall.messages import MOST_FRAME_BYTES
from ingress.firewall.pool import Firewall
from ingress.firewall.rule_log import RuleLog
from ingress.model.exchanges.firewall import FirewallPlan
from ingress.process.control_channel import Bounds, ControlChannel
from ingress.process.framing import Frame

PROGRAM: Final = "ingress.firewall.main"
MOST_SAID_BYTES: Final = 64 * 1024
"""Of one line that it writes; what is longer is cut."""
MOST_LAST_READS: Final = 16
REAP_SECONDS: Final = 0.01
LEAVING_SECONDS: Final = 0.5
"""How long one may go on whose channel has ended, be it that it talks nonsense or that it is not needed any more."""
_CHECK_SECONDS: Final = 60.0
_BOUNDS: Final = Bounds(MOST_FRAME_BYTES, 0)


def command_of(plan: FirewallPlan, descriptor: int, program: str = PROGRAM) -> list[str]:
    """Return what starts a firewall process whose channel is *descriptor*."""
    words = (descriptor, plan.seconds, plan.memory_bytes)
    return [sys.executable, "-P", "-m", program, *map(str, words)]


def environment() -> dict[str, str]:
    """Return all that a firewall process gets of the environment: where this package is found."""
    return {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if os.path.isabs(path)),
        "LC_ALL": "C.UTF-8",
    }


def check_installed() -> None:
    """Have a process look for the library and the core rules; raises ``StartError`` with what is missing."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", PROGRAM, "--check"],
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_CHECK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise StartError(f"--firewall-processes: no firewall process can be started: {failure}") from None
    if done.returncode:
        said = (done.stdout or done.stderr).decode("utf-8", "replace").strip().splitlines()
        why = said[-1] if said else f"its process ended with status {done.returncode}"
        raise StartError(f"--firewall-processes: {why}")


class _Said(abstract.FileDescriptor):
    """Reads what a process writes to its standard output and error, line by line."""

    def __init__(self, reactor: Any, descriptor: int, tell: Callable[[bytes], None]) -> None:
        super().__init__(reactor)
        self._descriptor = descriptor
        self._tell = tell
        self._rest = b""
        self._is_cut = False
        fdesc.setNonBlocking(descriptor)
        self.connected = True
        self.startReading()

    def fileno(self) -> int:
        """Return the number of the pipe's end."""
        return self._descriptor

    def doRead(self) -> Any:
        """Take what came."""
        return fdesc.readFromFD(self._descriptor, self._came)

    def _came(self, octets: bytes) -> None:
        *lines, self._rest = (self._rest + octets).split(b"\n")
        for line in lines:
            if not self._is_cut and line:
                self._tell(line[:MOST_SAID_BYTES])
            self._is_cut = False
        if len(self._rest) > MOST_SAID_BYTES:
            if not self._is_cut:
                self._tell(self._rest[:MOST_SAID_BYTES])
            self._rest, self._is_cut = b"", True

    def finish(self) -> None:
        """Take what is left: the process is gone."""
        if self._descriptor < 0:
            return
        for _ in range(MOST_LAST_READS):
            try:
                octets = os.read(self._descriptor, MOST_SAID_BYTES)
            except BlockingIOError:
                break  # Somebody else has the pipe, and says nothing now.
            if not octets:
                break
            self._came(octets)
        self.stopReading()
        self.connectionLost(CONNECTION_DONE)

    def connectionLost(self, reason: Any) -> None:
        """There is nobody left who could write."""
        super().connectionLost(reason)
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class StartedProcess:
    """One process; satisfies ``ingress.firewall.pool.Link``.

    *came* is told each frame, *ended* once how it ended, *said* each line that it writes.  Raises ``OSError``.
    """

    def __init__(
        self,
        reactor: Any,
        plan: FirewallPlan,
        came: Callable[[Frame], None],
        ended: Callable[[str], None],
        said: Callable[[bytes], None],
        program: str = PROGRAM,
    ) -> None:
        self._reactor = reactor
        self._frame_came = came
        self._ended = ended
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            reading, writing = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
        except OSError:
            ours.close()
            theirs.close()
            raise
        try:
            self._process = subprocess.Popen(
                command_of(plan, theirs.fileno(), program),
                env=environment(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                pass_fds=(theirs.fileno(),),
            )
        except OSError:
            ours.close()
            os.close(reading)
            raise
        finally:
            theirs.close()
            os.close(writing)
        self.pid: Final = self._process.pid
        self._said = _Said(reactor, reading, said)
        self._channel = ControlChannel(
            reactor, self._came, self._gone, f"firewall process {self.pid}", _BOUNDS
        )
        self._channel.open(ours)

    @property
    def is_open(self) -> bool:
        """Whether anybody reads what is sent."""
        return self._channel.is_open

    def send(self, frame: Frame, rest: bytes = b"") -> None:
        """Send *frame*, with *rest* as the end of its payload."""
        self._channel.send(frame, rest=rest)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def close(self) -> None:
        """Have it end when it has done what was sent."""
        self._channel.close()

    def _came(self, frame: Frame, descriptors: tuple[int, ...]) -> bool:
        self._frame_came(frame)
        return False

    def _gone(self) -> None:
        self._reap(self._reactor.seconds() + LEAVING_SECONDS)

    def _reap(self, deadline: float) -> None:
        status = self._process.poll()
        if status is None:
            if self._reactor.seconds() > deadline:
                self._process.kill()
            self._reactor.callLater(REAP_SECONDS, self._reap, deadline)
            return
        self._said.finish()
        self._ended(f"signal {-status}" if status < 0 else f"status {status}")


def firewall_of(
    plan: FirewallPlan, reactor: Any, count: Callable[[str], object], program: str = PROGRAM
) -> Firewall:
    """Return the firewall that is to be started by *plan*; without processes it judges nothing."""
    telling = RuleLog(reactor.seconds)

    def start(came: Callable[[Frame], None], ended: Callable[[str], None]) -> StartedProcess:
        return StartedProcess(reactor, plan, came, ended, telling.said, program)

    return Firewall(reactor, plan, start, count, telling)
