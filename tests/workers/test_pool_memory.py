"""The memory that a pool of workers asks for."""

from errno import ENOMEM
from os import strerror

from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from ingress.errors import StartError
from ingress.process.shared.limit_memory import LimitMemory
from ingress.settings import Settings
from ingress.workers import pool
from ingress.workers.pool import WorkerPool
from tests.fakes.serving import logged_to


class MemoryTests(SynchronousTestCase):
    """Where there is none."""

    def test_none_left(self) -> None:
        """Memory that cannot be had ends the start in one line."""

        def refuse(workers: int) -> LimitMemory:
            raise OSError(ENOMEM, strerror(ENOMEM))

        self.patch(pool, "LimitMemory", refuse)
        self.patch(pool, "can_be_renewed", lambda reactor: True)
        reactor = MemoryReactorClock()
        settings = Settings(serving=logged_to(self.mktemp()))
        told = self.assertRaises(
            StartError, WorkerPool, settings, reactor, 2, lambda told: None, tuple, lambda error: None
        )
        self.assertEqual(
            str(told), "--workers cannot have the memory that workers share: Cannot allocate memory"
        )
