"""The fork server as its parent knows it: what it has of the snapshots, whom it is to fork and to kill, and when it ends."""

import os
import signal
import socket
from collections.abc import Callable
from typing import Any, Final

from twisted.internet.defer import Deferred

from ingress.process.control_channel import ControlChannel
from ingress.process.framing import Frame
from ingress.workers.feed.feeding import Fed, Feed, Numbered
from ingress.workers.feed.follower import Follower
from ingress.workers.forking.fork_server import Run, fork_fork_server
from ingress.workers.messages import Kind
from ingress.workers.telling.log_lines import tell_line

REAP_SECONDS: Final = 0.01
"""Between looks for the end of a process whose channel has ended."""


class ForkServerLink:
    """The parent's side.

    *progressed* is called when a snapshot was sent completely, *forked* is told a life and its process id, *ended* a life with its
    status, or None where it could not be forked, and *gone* is called when the fork server ended.
    """

    def __init__(
        self,
        reactor: Any,
        feed: Feed,
        progressed: Callable[[], None],
        forked: Callable[[int, int], None],
        ended: Callable[[int, int | None], None],
        gone: Callable[[], None],
    ) -> None:
        self._reactor = reactor
        self._feed = feed
        self._progressed = progressed
        self._forked = forked
        self._ended = ended
        self._gone = gone
        self._channel = ControlChannel(reactor, self._came, self._channel_ended)
        self._made: tuple[int, socket.socket] | None = None
        self._fed: Fed | None = None
        self._reaped: Deferred[None] = Deferred()
        self._is_killed = self._is_reaped = False
        self.told = 0
        """How often it has said anything."""

    def prepare(self, run: Run, follower: Follower, keeps_ports: Callable[[int], bool]) -> None:
        """Fork it; to be called before the reactor runs, and before there is any thread.

        *run* is what workers do, and *keeps_ports* says of one, by its number, that it hangs and has not left the ports.
        """
        self._made = fork_fork_server(run, follower, keeps_ports)

    def start(self) -> None:
        """Talk to it from now on."""
        assert self._made is not None, "there was no fork before the reactor ran"
        self._channel.open(self._made[1])
        self._fed = Fed(self._feed, self._channel, Numbered(), self._progressed, self._reactor.seconds)

    @property
    def pid(self) -> int | None:
        """Its process id; None before the fork, and at its end."""
        return self._made[0] if self._made is not None and self.is_open else None

    @property
    def is_open(self) -> bool:
        """Whether it can be asked for anything."""
        return self._channel.is_open

    @property
    def has(self) -> Numbered | None:
        """The snapshot that a worker begins with which is forked now; None while one is on its way, or nobody can be forked."""
        fed = self._fed
        return None if fed is None or fed.is_amid or not self.is_open else fed.sent

    def advance(self) -> None:
        """Send it what is current, if it is time for that."""
        if self._fed is not None:
            self._fed.advance()

    def fork(self, life: int, number: int, channel: socket.socket) -> None:
        """Have worker *number* forked, with its end of a *channel*, which is closed here."""
        self._channel.send(Frame(Kind.FORK, life, b"%d" % number, 1), [channel])
        channel.close()

    def kill(self, life: int, pid: int | None) -> None:
        """Kill the worker of this *life*, which has not ended as far as is known."""
        if self.is_open and not self._is_killed:
            # It reaps its children, and so knows whether the process id is still that of the worker.
            self._channel.send(Frame(Kind.KILL, life))
        elif pid is not None:
            _kill(pid)

    def kill_itself(self) -> None:
        """Kill the fork server, since it hangs."""
        if self._made is not None and not self._is_reaped:
            self._is_killed = True
            _kill(self._made[0])

    def close(self) -> Deferred[None]:
        """Have it end; fires when it has."""
        if self.is_open:
            self._channel.close()
        elif self._made is not None and self._fed is None:
            # Nobody ever talked to it.
            self._made[1].close()
            self._reap()
        elif self._made is None:
            self._reaped.callback(None)
        return self._reaped

    def _came(self, frame: Frame, descriptors: tuple[int, ...]) -> bool:
        self.told += 1
        if frame.kind == Kind.TOOK and self._fed is not None:
            self._fed.took(frame.number)
        elif frame.kind == Kind.LOG:
            tell_line(frame.payload, "fork server")
        elif frame.kind == Kind.FORKED:
            self._channel.forget(frame.number)
            self._forked(frame.number, int(frame.payload))
        elif frame.kind == Kind.ENDED:
            self._channel.forget(frame.number)
            self._ended(frame.number, int(frame.payload) if frame.payload else None)
        return False

    def _channel_ended(self) -> None:
        if self._fed is not None:
            # While workers serve on, of which each may have another snapshot.
            self._fed.end()
        self._reap()
        self._gone()

    def _reap(self) -> None:
        assert self._made is not None
        try:
            self._is_reaped = os.waitpid(self._made[0], os.WNOHANG)[0] != 0
        except ChildProcessError:
            self._is_reaped = True  # By whoever reaps all children of this process.
        if self._is_reaped:
            self._reaped.callback(None)
        else:
            self._reactor.callLater(REAP_SECONDS, self._reap)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # It ended, just now.
