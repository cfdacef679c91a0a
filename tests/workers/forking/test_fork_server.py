"""The fork server, as its parent sees it: what it forks, and what it tells of that."""

from __future__ import annotations

import errno
import mmap
import os
import select
import signal
import socket
from collections import deque

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.serving.serving_settings import ServingSettings
from ingress.model.shared_map import SharedMap
from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.process.framing import Frame, FrameReader, frame_to_bytes
from ingress.tls.bases import InheritedTls
from ingress.translate.snapshot import Snapshot
from ingress.workers.feed import looks
from ingress.workers.feed.follower import Follower
from ingress.workers.feed.sending import pieces
from ingress.workers.forking import fork_server
from ingress.workers.forking.fork_server import fork_fork_server
from ingress.workers.messages import Kind
from tests.workers.sent import many_hosts


class ForkServerTests(SynchronousTestCase):
    """A real one, whose workers say a word and do what they are told to."""

    def setUp(self) -> None:
        self.keeping_ports = mmap.mmap(-1, 2)
        """Whether the first two workers do, as each process can say."""
        self.begin()
        self.addCleanup(self.end)
        self.reader = FrameReader()
        self.frames: deque[Frame] = deque()

    def begin(self) -> None:
        """Fork it."""
        self.pid, self.channel = fork_fork_server(
            self.be_worker, Follower(), lambda number: self.keeping_ports[number] != 0
        )
        self.channel.settimeout(60)

    def end(self) -> None:
        """End it as a parent does that ends: without a word."""
        if self.channel.fileno() >= 0:
            self.channel.close()
            os.waitpid(self.pid, 0)

    def be_worker(self, channel: socket.socket, number: int, follower: Follower, tls: InheritedTls) -> None:
        """In a worker: say who we are, then end as we are told to, or with the channel."""
        channel.setblocking(True)
        channel.sendall(b"worker %d" % number)
        told = channel.recv(100)
        if told:
            raise SystemExit(int(told))

    def fork(self, life: int, number: int) -> socket.socket:
        """Have worker *number* forked; return our end of its channel."""
        ours, theirs = socket.socketpair()
        ours.settimeout(60)
        self.addCleanup(ours.close)
        socket.send_fds(
            self.channel, [frame_to_bytes(Frame(Kind.FORK, life, b"%d" % number, 1))], [theirs.fileno()]
        )
        theirs.close()
        return ours

    def told(self, kind: Kind) -> Frame:
        """Return the next frame, which has to be of this *kind*."""
        while not self.frames:
            self.frames.extend(self.reader.take(self.channel.recv(65_536)))
        frame = self.frames.popleft()
        self.assertEqual(frame.kind, kind, frame)
        return frame

    def test_forked(self) -> None:
        """It forks for whoever is asked for, says the process id, and with which status it ended."""
        channel = self.fork(5, 1)
        forked = self.told(Kind.FORKED)
        self.assertEqual(forked.number, 5)
        self.assertEqual(channel.recv(100), b"worker 1")
        channel.send(b"3")
        self.assertEqual(self.told(Kind.ENDED), Frame(Kind.ENDED, 5, b"3"))
        self.assertEqual(channel.recv(100), b"")

    def be_tidy(self, channel: socket.socket, number: int, follower: Follower, tls: InheritedTls) -> None:
        """In a worker: say whether there is something to be let go."""
        channel.sendall(b"more" if follower.let_go_some() else b"none")

    def test_lets_go(self) -> None:
        """What was replaced is let go while nothing comes, so that no worker begins with it."""
        self.end()
        self.patch(self, "be_worker", self.be_tidy)
        self.begin()
        before = None
        for number, path in enumerate(("/a", "/b"), 1):
            after = many_hosts(3000, path)
            for piece in pieces(before, after):
                self.channel.sendall(frame_to_bytes(Frame(Kind.FEED, number, piece)))
            self.assertEqual(self.told(Kind.TOOK).number, number)
            before = after
        found = b"more"
        for life in range(100):
            channel = self.fork(life, 0)
            self.assertEqual(self.told(Kind.FORKED).number, life)
            found = channel.recv(100)
            self.assertEqual(self.told(Kind.ENDED).number, life)
            if found == b"none":
                break
        self.assertEqual(found, b"none")

    def say_remembered(
        self, channel: socket.socket, number: int, follower: Follower, tls: InheritedTls
    ) -> None:
        """In a worker: say how many values are remembered."""
        channel.sendall(b"%d" % follower.remembered)

    def test_lets_go_of_what_was_in_use(self) -> None:
        """What was still in use when it was replaced goes soon, too, though others ask for something all the time."""
        self.end()
        self.patch(self, "be_worker", self.say_remembered)
        self.patch(looks, "PAUSES", (0.05, 0.05))
        self.begin()

        def backends(name: str, count: int) -> Snapshot:
            keys = (BackendReference("demo", f"{name}{one}", 80) for one in range(count))
            return Snapshot(backends=SharedMap(dict.fromkeys(keys, BackendState())))

        before = None
        for number, after in enumerate((backends("web", 20), backends("a", 1), backends("b", 1)), 1):
            for piece in pieces(before, after):
                self.channel.sendall(frame_to_bytes(Frame(Kind.FEED, number, piece)))
            self.assertEqual(self.told(Kind.TOOK).number, number)
            before = after
        found: list[int] = []
        for life in range(200):
            channel = self.fork(life, 0)
            self.assertEqual(self.told(Kind.FORKED).number, life)
            found.append(int(channel.recv(100)))
            self.assertEqual(self.told(Kind.ENDED).number, life)
            if found[-1] < 20:
                break
        self.assertLess(found[-1], 20, found)

    def test_killed(self) -> None:
        """It kills by life, whom it did fork; and its channel ends with it, however many others there are."""
        channels = [self.fork(life, life) for life in range(3)]
        for life in range(3):
            self.assertEqual(self.told(Kind.FORKED).number, life)
        self.assertEqual({channel.recv(100) for channel in channels}, {b"worker 0", b"worker 1", b"worker 2"})
        for life in (2, 0, 77):
            self.channel.sendall(frame_to_bytes(Frame(Kind.KILL, life)))
        ended = {self.told(Kind.ENDED).number for _ in range(2)}
        self.assertEqual(ended, {0, 2})
        self.assertEqual([channels[life].recv(100) for life in (0, 2)], [b"", b""])
        channels[1].send(b"0")
        self.assertEqual(self.told(Kind.ENDED), Frame(Kind.ENDED, 1, b"0"))

    def test_no_process(self) -> None:
        """Where there may be no further process it says so, has nothing left of the channel, and lives."""
        fork = os.fork
        forks: list[int] = []

        def once() -> int:
            if forks:
                raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
            forks.append(1)
            return fork()

        self.end()
        self.patch(os, "fork", once)
        self.begin()
        for life in range(2):
            channel = self.fork(life, 0)
            self.assertIn(b"could not be forked: Resource temporarily", self.told(Kind.LOG).payload)
            self.assertEqual(self.told(Kind.ENDED), Frame(Kind.ENDED, life))
            self.assertEqual(channel.recv(100), b"")

    def has_ended(self) -> bool:
        """Whether it has, as is seen within a moment."""
        return select.select([self.pidfd], [], [], 0.1)[0] != []

    def test_parent_is_gone(self) -> None:
        """Without a parent it stays until its workers have ended, and kills at once who hangs, whose ports the next one wants."""
        channels = [self.fork(life, life) for life in range(2)]
        for channel in channels:
            self.told(Kind.FORKED)
            channel.recv(100)
        self.pidfd = os.pidfd_open(self.pid)
        self.addCleanup(os.close, self.pidfd)
        self.channel.shutdown(socket.SHUT_RDWR)
        self.assertFalse(self.has_ended())
        self.keeping_ports[1] = 1
        self.assertEqual(channels[1].recv(100), b"")
        self.assertFalse(self.has_ended())
        channels[0].send(b"0")
        self.assertEqual(channels[0].recv(100), b"")
        self.end()

    def test_parent_is_gone_for_long(self) -> None:
        """Who is left behind the grace is killed."""
        self.end()
        self.patch(fork_server, "STOP_SECONDS", -ServingSettings().shutdown_grace_seconds)
        self.begin()
        channel = self.fork(1, 1)
        self.told(Kind.FORKED)
        self.assertEqual(channel.recv(100), b"worker 1")
        self.end()
        self.assertEqual(channel.recv(100), b"")

    def test_signals(self) -> None:
        """Signals that reach a whole group of processes do nothing to it."""
        channel = self.fork(1, 1)
        self.told(Kind.FORKED)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2):
            os.kill(self.pid, number)
        channel.send(b"0")
        self.assertEqual(self.told(Kind.ENDED), Frame(Kind.ENDED, 1, b"0"))
