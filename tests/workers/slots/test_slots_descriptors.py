"""Slots of workers where no descriptor is left."""

from typing import cast

from twisted.internet.testing import MemoryReactorClock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from ingress.workers.feed.feeding import Numbered
from ingress.workers.forking.fork_server_link import ForkServerLink
from ingress.workers.slots import slots
from ingress.workers.supervising import FIRST_PAUSE_SECONDS
from tests.workers.slots.slots_case import slots_of


class _ForkServer:
    """Can always fork."""

    has = Numbered()

    def advance(self) -> None:
        """Nothing is to be sent."""


class DescriptorTests(SynchronousTestCase):
    """Visitors of the admin port, say, have all of them."""

    def setUp(self) -> None:
        self.room = False
        self.patch(slots, "has_room", lambda count: self.room)
        self.reactor = MemoryReactorClock()
        self.slots = slots_of(self.reactor)
        self.forked: list[int] = []
        self.slots.fork_server = cast(ForkServerLink, _ForkServer())
        self.patch(self.slots, "_fork_now", lambda number, has: self.forked.append(number))

    def test_tried_again(self) -> None:
        """A worker for which there is none is not given up: it is started once there is, and a line says why it is late."""
        with capturedLogs() as lines:
            self.slots.fork(1)
        self.assertEqual(len(lines), 1)
        self.reactor.advance(FIRST_PAUSE_SECONDS)
        self.assertEqual(self.forked, [])
        self.room = True
        self.reactor.advance(FIRST_PAUSE_SECONDS)
        self.assertEqual(self.forked, [1])
        self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_end(self) -> None:
        """Nobody is started any more at the end of the process."""
        self.slots.fork(1)
        self.slots.close()
        self.room = True
        self.reactor.advance(10 * FIRST_PAUSE_SECONDS)
        self.assertEqual(self.forked, [])
