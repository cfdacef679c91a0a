"""The fork server: a small process that makes workers.

It is forked from the parent before that has a thread or runs its reactor, and never has either itself, so that what it forks is
whole.  It follows the same snapshots as the workers: a new one begins with all tables, in memory that both share until one of
them writes to it.  So it does with what TLS sessions are resumed by, which is made here and goes nowhere else.

    wait ──▶ FEED: keep the snapshot, say TOOK
         ──▶ FORK: a worker for the channel that came along, say FORKED
         ──▶ a child ended: say ENDED
         ──▶ the parent is gone: end, once all workers have, of which none that hangs may keep the ports from the next parent
"""

import gc
import os
import select
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Final, NoReturn

from twisted.logger import Logger

from ingress.process.framing import Frame, FrameReader, frame_to_bytes
from ingress.tls.bases import InheritedTls
from ingress.workers.feed.follower import Follower
from ingress.workers.feed.looks import Looks
from ingress.workers.forking.fresh_process import drop_descriptors, ignore_signals, log_to
from ingress.workers.messages import Kind
from ingress.workers.supervising import STOP_SECONDS
from ingress.workers.telling.log_lines import line_sender

_READ_BYTES: Final = 1 << 18
_MOST_DESCRIPTORS: Final = 16

Run = Callable[[socket.socket, int, Follower, InheritedTls], None]
"""What a worker does in its process until it ends: its channel, its number, the content of its first snapshot, and what all workers
have inherited."""

_LOOK_SECONDS: Final = 3600.0
"""Where nobody asks for anything, it is looked so often for ticket keys that are used no more."""

_LEAVING_LOOK_SECONDS: Final = 0.1
"""How often workers are looked at whose parent is gone."""

log = Logger()


def fork_fork_server(
    run: Run, follower: Follower, keeps_ports: Callable[[int], bool]
) -> tuple[int, socket.socket]:
    """Fork it; return its process id and the parent's end of its channel.

    *run* is what workers do, *follower* has nothing yet, and *keeps_ports* says of a worker, by its number, that it hangs and has not left the ports.
    """
    others = [one.name for one in threading.enumerate() if one is not threading.current_thread()]
    if others:
        log.warn(
            "Workers are forked while other threads run ({threads}), of which they have none; what these hold stays locked there",
            threads=", ".join(others),
        )
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    # What lives now lives on in all children: whoever walked through it there would copy it.
    gc.collect()
    gc.freeze()
    pid = os.fork()
    if pid == 0:
        _never_return(lambda: ForkServer(theirs, run, follower, keeps_ports).serve())
    theirs.close()
    return pid, ours


def _never_return(call: Callable[[], None]) -> NoReturn:
    """Have the process end after *call*, whatever it raises, without what the parent would do at its own end."""
    status = 1
    try:
        call()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        log.failure("A process of its own failed, which is a bug")
    finally:
        os._exit(status)


class ForkServer:
    """The process, at its end *sock* of the channel."""

    def __init__(
        self, sock: socket.socket, run: Run, follower: Follower, keeps_ports: Callable[[int], bool]
    ) -> None:
        self._sock = sock
        self._run = run
        self._follower = follower
        self._keeps_ports = keeps_ports
        self._frames = FrameReader()
        self._descriptors: deque[int] = deque()
        self._lives: dict[int, int] = {}
        """Lives of workers by process id."""
        self._numbers: dict[int, int] = {}
        """Their numbers, by the same."""
        self._waking, self._woken = socket.socketpair()
        self._tls = InheritedTls()
        self._looks = Looks()

    def serve(self) -> None:
        """Do what is asked for until nobody asks any more, and no worker is left."""
        ignore_signals()
        kept = {one.fileno() for one in (self._sock, self._waking, self._woken)}
        drop_descriptors(kept)
        log_to(line_sender(lambda line: self._tell(Kind.LOG, 0, line)))
        # Nothing here leaves cycles behind, and a walk would copy what is shared with the workers.
        gc.disable()
        self._waking.setblocking(False)
        self._woken.setblocking(False)
        signal.set_wakeup_fd(self._waking.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        events = select.poll()
        events.register(self._sock, select.POLLIN)
        events.register(self._woken, select.POLLIN)
        has_more = False
        while True:
            ready = dict(events.poll(0 if has_more else self._rest_seconds() * 1000))
            if ready or has_more:
                # Where nothing has come, there is time for what is in no snapshot any more.
                has_more = bool(ready) or self._follower.let_go_some()
            if self._looks.is_due(monotonic()):
                has_more = self._follower.look_again() or has_more
            # Who is forked later is not to have the keys of former times.
            self._tls.row.take()
            if self._woken.fileno() in ready:
                self._woken.recv(_READ_BYTES)
                self._reap()
            if self._sock.fileno() in ready and not self._receive():
                events.unregister(self._sock)
                self._sock.close()
                self._outlive_workers(events)
                return

    def _rest_seconds(self) -> float:
        """Return how long there is nothing to do but for whoever asks."""
        at = self._looks.at
        return _LOOK_SECONDS if at is None else min(_LOOK_SECONDS, max(0.0, at - monotonic()))

    def _outlive_workers(self, events: select.poll) -> None:
        """Wait for the end of all workers, which have their grace; kill who hangs, and whoever is left then."""
        grace = self._follower.snapshot.serving.shutdown_grace_seconds
        deadline = monotonic() + grace + STOP_SECONDS
        while self._lives and monotonic() < deadline:
            if events.poll(_LEAVING_LOOK_SECONDS * 1000):
                self._woken.recv(_READ_BYTES)
            self._reap()
            for pid, number in self._numbers.items():
                if self._keeps_ports(number):
                    os.kill(pid, signal.SIGKILL)
        for pid in self._lives:
            os.kill(pid, signal.SIGKILL)

    def _receive(self) -> bool:
        """Act on what came; return whether there is still somebody who asks."""
        octets, descriptors, _, _ = socket.recv_fds(self._sock, _READ_BYTES, _MOST_DESCRIPTORS)
        self._descriptors.extend(descriptors)
        for frame in self._frames.take(octets):
            if frame.kind == Kind.FEED:
                self._feed(frame)
            elif frame.kind == Kind.FORK:
                self._fork(frame.number, frame.payload, self._descriptors.popleft())
            elif frame.kind == Kind.KILL:
                self._kill(frame.number)
        return bool(octets)

    def _feed(self, frame: Frame) -> None:
        if self._follower.take(frame.payload):
            self._looks.begin(monotonic())
            self._tell(Kind.TOOK, frame.number)

    def _fork(self, life: int, number: bytes, descriptor: int) -> None:
        channel = socket.socket(fileno=descriptor)
        gc.freeze()
        try:
            pid = os.fork()
        except OSError as error:
            # The parent finds the channel ended, and asks again.
            log.error("Worker {number} could not be forked: {why}", number=int(number), why=error.strerror)
            channel.close()
            self._tell(Kind.ENDED, life)
            return
        if pid == 0:
            _never_return(lambda: self._become(channel, int(number)))
        channel.close()
        self._lives[pid] = life
        self._numbers[pid] = int(number)
        self._tell(Kind.FORKED, life, b"%d" % pid)

    def _become(self, channel: socket.socket, number: int) -> None:
        """In a child: leave the fork server behind, and be worker *number*."""
        ignore_signals()
        for sock in (self._sock, self._waking, self._woken):
            sock.close()
        # Those of workers to come: whoever holds one keeps their parent from seeing them end.
        for descriptor in self._descriptors:
            os.close(descriptor)
        gc.enable()
        self._run(channel, number, self._follower, self._tls)

    def _kill(self, life: int) -> None:
        for pid, one in self._lives.items():
            if one == life:
                # It is not reaped yet, so the number is still its own.
                os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._numbers.pop(pid, None)
            life = self._lives.pop(pid, None)
            if life is not None:
                self._tell(Kind.ENDED, life, b"%d" % os.waitstatus_to_exitcode(status))

    def _tell(self, kind: Kind, number: int, payload: bytes = b"") -> None:
        try:
            self._sock.sendall(frame_to_bytes(Frame(kind, number, payload)))
        except OSError:
            return  # The parent is gone, as the next turn finds out.
