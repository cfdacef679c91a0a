"""What a splice asks of its ends, without sockets of its own."""

from __future__ import annotations

import errno
import os
import socket
from unittest.mock import Mock

from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.contract.limits import PIPE_BYTES
from ingress.proxy.contract.transport import KernelCopy
from ingress.proxy.transport.epoll.pipes import LEAST_SHARE, MOST_MOVED, Pipes
from ingress.proxy.transport.epoll.splice import Splice, why_no_splice


class FakeEnd:
    """An end whose updates are counted."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.is_sending = False
        self.updates = 0
        self.said: list[str] = []

    def fileno(self) -> int:
        """The number of the socket."""
        return self.sock.fileno()

    def update(self) -> None:
        """Count."""
        self.updates += 1

    def splice_over(self, splice: Splice) -> None:
        """Note it."""
        self.said.append("over")

    def splice_ended(self) -> None:
        """Note it."""
        self.said.append("ended")

    def splice_failed(self, problem: OSError | None) -> None:
        """Note it."""
        self.said.append("failed")

    def send_failed(self, problem: OSError) -> None:
        """Note it."""
        self.said.append("send failed")


class SpliceTests(SynchronousTestCase):
    """Between two pairs of sockets."""

    def setUp(self) -> None:
        self.far_source, near_source = socket.socketpair()
        near_target, self.far_target = socket.socketpair()
        for sock in (self.far_source, near_source, near_target, self.far_target):
            sock.setblocking(False)
            self.addCleanup(sock.close)
        self.source, self.target = FakeEnd(near_source), FakeEnd(near_target)
        self.moved: list[int] = []
        self.pipes = Pipes()
        self.addCleanup(self.pipes.close)

    def splice(self, count: int, to_end: bool) -> Splice:
        """Make a splice."""
        transport: object = None
        copy = KernelCopy(transport, count, self.moved.append, self.fail, to_end)  # type: ignore[arg-type]
        pipe = self.pipes.take()
        assert pipe is not None
        return Splice(self.source, self.target, copy, pipe)

    def test_waits_for_what_the_target_sends(self) -> None:
        """While the target has bytes of its own to send, nothing is asked of the source; then all moves."""
        splice = self.splice(10, to_end=True)
        self.far_source.send(b"abc")
        self.target.is_sending = True
        splice.pump()
        self.assertFalse(splice.wants_read)
        self.assertEqual((self.source.updates, self.moved), (1, []))
        self.target.is_sending = False
        splice.pump()
        self.assertTrue(splice.wants_read)
        self.assertEqual(self.far_target.recv(10), b"abc")
        self.assertEqual(self.moved, [3])
        splice.close()

    def test_regular_end(self) -> None:
        """Where the source may end, its end comes behind its last byte, and is no failure."""
        splice = self.splice(10, to_end=True)
        self.far_source.send(b"abc")
        self.far_source.close()
        splice.pump()
        self.assertEqual(self.far_target.recv(10), b"abc")
        self.assertEqual(self.moved, [3])
        self.assertEqual(self.source.said, ["over", "ended"])
        self.assertEqual(self.target.said, ["over"])

    def test_early_end(self) -> None:
        """Where it may not, it is one."""
        splice = self.splice(10, to_end=False)
        self.far_source.close()
        splice.pump()
        self.assertEqual(self.source.said, ["failed"])
        splice.close()

    def test_share(self) -> None:
        """Where both ends are as fast as can be, a turn ends with a pipe's share of it; the more there are, the smaller that is."""
        self.patch(os, "splice", lambda _source, _target, count, flags: count)
        shares = []
        for others in (0, 1, 2, 60):
            taken = [pipe for _ in range(others) if (pipe := self.pipes.take())]
            splice = self.splice(2 * MOST_MOVED, to_end=False)
            self.moved.clear()
            splice.pump()
            shares.append(sum(self.moved))
            splice.close()
            for pipe in taken:
                pipe.give_back(is_empty=True)
        self.assertEqual(shares[0], MOST_MOVED)
        self.assertEqual(shares[1], MOST_MOVED // 2)
        self.assertLess(shares[2] - MOST_MOVED // 3, PIPE_BYTES)
        self.assertEqual(shares[3], LEAST_SHARE)


class TriedTests(SynchronousTestCase):
    """Whether this system has any use of splices."""

    def test_works(self) -> None:
        """Where bytes go from a socket through a pipe into another one, it has; nothing is left open."""
        before = os.listdir("/proc/self/fd")
        self.assertEqual(why_no_splice(), "")
        self.assertEqual(len(os.listdir("/proc/self/fd")), len(before))

    def test_refused(self) -> None:
        """The reason is the system's, be the call refused, unknown, or none for sockets."""
        for number in (errno.EPERM, errno.ENOSYS, errno.EINVAL):

            def refuse(*_: object, number: int = number, **__: object) -> int:
                raise OSError(number, os.strerror(number))

            self.patch(os, "splice", refuse)
            self.assertEqual(why_no_splice(), os.strerror(number))

    def test_not_tried(self) -> None:
        """Where the system has no descriptor to spare, or no sockets of this family, nothing was refused; nothing is left open."""
        before = len(os.listdir("/proc/self/fd"))
        for owner, name in ((socket, "socketpair"), (os, "pipe2")):
            lacking = self.patch(
                owner, name, Mock(side_effect=OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
            )
            self.assertEqual(why_no_splice(), "")
            lacking.restore()
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)
