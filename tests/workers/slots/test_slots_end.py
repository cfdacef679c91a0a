"""The end of slots whose processes hang."""

from __future__ import annotations

from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from ingress.workers.forking.fork_server_link import ForkServerLink
from ingress.workers.supervising import (
    FORK_SERVER_LOOKS,
    LATE_LOOK_SECONDS,
    LOOK_SECONDS,
    STOP_SECONDS,
)
from tests.workers.slots.slots_case import slots_of


class _HungWorker:
    """Does nothing that it is asked for."""

    life, pid, is_gone, is_hung = 1, 4711, False, True

    def ask(self, name: str, payload: bytes = b"") -> Deferred[bytes]:
        """Wait for ever."""
        return Deferred()


class _HungForkServer:
    """Does nothing either; notes what becomes of it."""

    has = None
    """It never takes the snapshot that was sent to it."""

    def __init__(self) -> None:
        self.is_open = True
        self.noted: list[str] = []
        self.ended: Deferred[None] = Deferred()
        self.told = 0

    def start(self) -> None:
        """Be talked to."""

    def advance(self) -> None:
        """Be sent what is current."""

    def kill(self, life: int, pid: int | None) -> None:
        """Be asked to kill a worker, or see how the parent does."""
        self.noted.append(f"kill {pid}")

    def kill_itself(self) -> None:
        """Be killed."""
        self.noted.append("kill itself")

    def close(self) -> Deferred[None]:
        """Be told that nobody asks for anything any more."""
        self.noted.append("close")
        return self.ended


class HungCase(SynchronousTestCase):
    """Slots with a fork server that was stopped."""

    def setUp(self) -> None:
        self.reactor = MemoryReactorClock()
        self.slots = slots_of(self.reactor)
        self.fork_server = _HungForkServer()
        self.slots.fork_server = cast(ForkServerLink, self.fork_server)
        self.workers: Any = self.slots.workers

    def noted(self, seconds: float) -> list[str]:
        """Return what became of the fork server in some more seconds."""
        self.fork_server.noted.clear()
        self.reactor.advance(seconds)
        return list(self.fork_server.noted)


class LookTests(HungCase):
    """How soon that is found."""

    def setUp(self) -> None:
        super().setUp()
        self.slots.start()

    def looked(self, count: int) -> list[str]:
        """Return what became of the fork server in so many more looks."""
        found = []
        for _ in range(count):
            found += self.noted(LOOK_SECONDS)
        return found

    def test_asked_for_a_worker(self) -> None:
        """It is found half a minute after it was asked for a worker, though it has not even taken the snapshot that this is to begin with."""
        self.assertEqual(self.looked(FORK_SERVER_LOOKS), [])
        self.slots.fork(0)
        self.assertEqual(self.looked(FORK_SERVER_LOOKS - 1), [])
        self.fork_server.told += 1
        self.assertEqual(self.looked(FORK_SERVER_LOOKS), [])
        self.assertEqual(self.looked(1), ["kill itself"])

    def test_once(self) -> None:
        """It is killed once, which is told once, however long the process goes on without it; and one that has ended does not hang."""
        self.slots.fork(0)
        self.assertEqual(self.looked(2 * FORK_SERVER_LOOKS), ["kill itself"])
        self.fork_server.told += 1
        self.fork_server.is_open = False
        self.assertEqual(self.looked(2 * FORK_SERVER_LOOKS), [])

    def test_asked_to_kill_a_worker(self) -> None:
        """So it is where it was to kill a worker that hangs."""
        self.workers[0] = _HungWorker()
        self.assertEqual(self.looked(FORK_SERVER_LOOKS - 1), [])
        self.assertEqual(self.looked(1), ["kill itself"])

    def test_parent_was_away(self) -> None:
        """Looks that come late, as the parent was stopped itself, say nothing."""
        self.slots.fork(0)
        for _ in range(2 * FORK_SERVER_LOOKS):
            self.assertEqual(self.noted(2 * LATE_LOOK_SECONDS), [])


class EndTests(HungCase):
    """The end, with a fork server that was stopped."""

    def stop(self) -> Deferred[None]:
        """Begin the end."""
        return Deferred.fromCoroutine(self.slots.stop())

    def test_hung_worker(self) -> None:
        """A worker that hangs is killed by the fork server, and where that hangs, too, both are by the parent."""
        self.workers[0] = _HungWorker()
        stopped = self.stop()
        self.assertEqual(self.noted(STOP_SECONDS), ["kill 4711"])
        self.assertEqual(self.noted(STOP_SECONDS), ["kill itself", "kill 4711"])
        self.workers.clear()
        self.slots._wake()
        self.fork_server.ended.callback(None)
        self.successResultOf(stopped)

    def test_hung_fork_server(self) -> None:
        """It is not left behind, stopped for ever."""
        stopped = self.stop()
        self.assertEqual(self.noted(STOP_SECONDS), ["kill itself"])
        self.successResultOf(stopped)
