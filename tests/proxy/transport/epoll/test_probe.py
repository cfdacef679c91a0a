"""Tests for the probe of an epoll set, on real sockets."""

from __future__ import annotations

import errno
import os
import socket
from unittest.mock import patch

from twisted.internet.task import Clock

from ingress.proxy.transport.epoll.epoll_set import BATCH, LONG_SECONDS
from tests.proxy.transport.epoll.test_epoll_set import BatchCase
from tests.proxy.transport.recorder import Recorder


class Slow(Recorder):
    """Takes its time with what comes."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        super().__init__()
        self._clock = clock
        self._seconds = seconds

    def dataReceived(self, received: bytes) -> None:
        self._clock.advance(self._seconds)
        super().dataReceived(received)


class ProbeTests(BatchCase):
    """When a probe is sent, and what it finds."""

    def speak(self, count: int, seconds: float) -> list[socket.socket]:
        """Have *count* connections say something, which takes *seconds* each."""
        far_ends = []
        for _ in range(count):
            _, far = self.connect(Slow(self.reactor, seconds))
            far.sendall(b"x")
            far_ends.append(far)
        self.wait()
        return far_ends

    def late(self) -> float:
        """How late the epoll set knows that it is."""
        return self.epoll_set.lateness.seconds(self.reactor.seconds())

    def test_little_to_do(self) -> None:
        """A turn that is short sends no probe, and has no descriptor for one."""
        before = len(os.listdir("/proc/self/fd"))
        ends = self.speak(3, 0.0)
        descriptors = len(os.listdir("/proc/self/fd"))
        self.epoll_set.doRead()
        self.reactor.advance(1.0)
        self.assertEqual(self.late(), 0.0)
        self.assertEqual(len(os.listdir("/proc/self/fd")), descriptors)
        self.assertEqual(descriptors, before + 2 * len(ends))

    def test_behind_what_waits(self) -> None:
        """A probe comes back once all that waited before it had its turn, and so says how long something waits."""
        self.speak(6 * BATCH + 4, LONG_SECONDS)
        self.epoll_set.doRead()
        self.assertEqual(self.late(), 0.0)
        for _ in range(6):
            self.epoll_set.doRead()
        self.assertAlmostEqual(self.late(), (5 * BATCH + 4) * LONG_SECONDS)
        self.assertTrue(self.epoll_set.lateness.is_late(self.reactor.seconds()))

    def test_long_turn(self) -> None:
        """One that takes long sends a probe, however little there was to do."""
        self.speak(1, 10 * LONG_SECONDS)
        self.epoll_set.doRead()
        self.reactor.advance(1.0)
        self.assertAlmostEqual(self.late(), 1.0)
        self.epoll_set.doRead()
        self.reactor.advance(1.0)
        self.assertEqual(self.late(), 0.0)

    def test_away(self) -> None:
        """Who worked between two turns is late by that; who rested is not."""
        with patch("ingress.proxy.transport.epoll.epoll_set.thread_time") as worked:
            worked.return_value = 0.0
            self.reactor.advance(100.0)
            self.epoll_set.doRead()
            worked.return_value = 0.2
            self.reactor.advance(30.0)
            self.epoll_set.doRead()
            self.assertEqual(self.late(), 0.0)
            worked.return_value = 0.45
            self.reactor.advance(0.3)
            self.epoll_set.doRead()
            self.assertAlmostEqual(self.late(), 0.3)

    def test_rest_after_work(self) -> None:
        """Who rested is not late, however much was done in turns before; who worked after them is."""
        rested = 0.0
        with patch("ingress.proxy.transport.epoll.epoll_set.thread_time") as worked:
            worked.side_effect = lambda: self.reactor.seconds() - rested
            _, far = self.connect(Slow(self.reactor, LONG_SECONDS / 2))
            for is_rest in (True, False):
                for _ in range(100):
                    far.sendall(b"x")
                    self.wait()
                    self.epoll_set.doRead()
                self.assertEqual(self.late(), 0.0)
                rested += 0.3 if is_rest else 0.0
                self.reactor.advance(0.3)
                self.epoll_set.doRead()
                self.assertAlmostEqual(self.late(), 0.0 if is_rest else 0.3)

    def test_work_between_looks(self) -> None:
        """Who comes after a look that found nothing has not waited for what was done before it; who comes behind all of the work has."""
        with patch("ingress.proxy.transport.epoll.epoll_set.thread_time", side_effect=self.reactor.seconds):
            _, far = self.connect(Recorder())
            for is_looked in (True, False):
                far.sendall(b"x")
                self.wait()
                self.epoll_set.doRead()
                for _ in range(30):
                    self.reactor.advance(LONG_SECONDS)
                    if is_looked:
                        self.epoll_set.found_nothing(0)
                far.sendall(b"x")
                self.wait()
                self.epoll_set.doRead()
                self.assertAlmostEqual(self.late(), 0.0 if is_looked else 30 * LONG_SECONDS)

    def test_no_descriptor(self) -> None:
        """Where there is no descriptor for a probe, the turn goes on without one."""
        self.speak(1, 10 * LONG_SECONDS)
        with patch("os.eventfd", side_effect=OSError(errno.EMFILE, "too many open files")):
            self.epoll_set.doRead()
        self.reactor.advance(1.0)
        self.assertEqual(self.late(), 0.0)

    def test_stop(self) -> None:
        """An epoll set that stops leaves no descriptor of its probe behind."""
        before = len(os.listdir("/proc/self/fd"))
        ends = self.speak(1, 10 * LONG_SECONDS)
        self.epoll_set.doRead()
        self.assertEqual(len(os.listdir("/proc/self/fd")), before + 2 * len(ends) + 1)
        self.epoll_set.stop()
        # Nor one of its own.
        self.assertEqual(len(os.listdir("/proc/self/fd")), before - 1 + 2 * len(ends))
