"""A pool of workers that has no descriptor left."""

from typing import cast

from twisted.internet.testing import MemoryReactorClock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from ingress.settings import Settings
from ingress.workers import pool
from ingress.workers.feed.feeding import Numbered
from ingress.workers.forking.fork_server_link import ForkServerLink
from ingress.workers.pool import WorkerPool
from ingress.workers.slots.supervising import FIRST_PAUSE_SECONDS
from tests.fakes.serving import logged_to


class _ForkServer:
    """Can always fork."""

    has = Numbered()

    def advance(self) -> None:
        """Nothing is to be sent."""


class DescriptorTests(SynchronousTestCase):
    """Visitors of the admin port, say, have all of them."""

    def setUp(self) -> None:
        self.patch(pool, "can_be_renewed", lambda reactor: True)
        self.room = False
        self.patch(pool, "has_room", lambda count: self.room)
        self.reactor = MemoryReactorClock()
        settings = Settings(serving=logged_to(self.mktemp()))
        self.pool = WorkerPool(settings, self.reactor, 2, lambda told: None, tuple, lambda error: None)
        self.forked: list[int] = []
        self.patch(self.pool, "_fork_server", cast(ForkServerLink, _ForkServer()))
        self.patch(self.pool, "_fork_now", lambda number, has: self.forked.append(number))

    def test_tried_again(self) -> None:
        """A worker for which there is none is not given up: it is started once there is, and a line says why it is late."""
        with capturedLogs() as lines:
            self.pool._fork(1)
        self.assertEqual(len(lines), 1)
        self.reactor.advance(FIRST_PAUSE_SECONDS)
        self.assertEqual(self.forked, [])
        self.room = True
        self.reactor.advance(FIRST_PAUSE_SECONDS)
        self.assertEqual(self.forked, [1])
        self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_end(self) -> None:
        """Nobody is started any more at the end of the process."""
        self.pool._fork(1)
        self.successResultOf(self.pool_closed())
        self.room = True
        self.reactor.advance(10 * FIRST_PAUSE_SECONDS)
        self.assertEqual(self.forked, [])

    async def pool_closed(self) -> None:
        await self.pool.close()
