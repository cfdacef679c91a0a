"""The end of slots whose processes hang."""

from __future__ import annotations

from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from ingress.workers.forking.fork_server_link import ForkServerLink
from ingress.workers.supervising import STOP_SECONDS
from tests.workers.slots.slots_case import slots_of


class _HungWorker:
    """Does nothing that it is asked for."""

    life, pid, is_gone = 1, 4711, False

    def ask(self, name: str, payload: bytes = b"") -> Deferred[bytes]:
        """Wait for ever."""
        return Deferred()


class _HungForkServer:
    """Does nothing either; notes what becomes of it."""

    def __init__(self) -> None:
        self.noted: list[str] = []
        self.ended: Deferred[None] = Deferred()

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


class EndTests(SynchronousTestCase):
    """Slots with a fork server that was stopped."""

    def setUp(self) -> None:
        self.reactor = MemoryReactorClock()
        self.slots = slots_of(self.reactor)
        self.fork_server = _HungForkServer()
        self.slots.fork_server = cast(ForkServerLink, self.fork_server)
        self.workers: Any = self.slots.workers

    def stop(self) -> Deferred[None]:
        """Begin the end."""
        return Deferred.fromCoroutine(self.slots.stop())

    def noted(self, seconds: float) -> list[str]:
        """Return what became of the fork server in some more seconds."""
        self.fork_server.noted.clear()
        self.reactor.advance(seconds)
        return list(self.fork_server.noted)

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
