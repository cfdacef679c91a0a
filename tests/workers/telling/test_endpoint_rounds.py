"""When a parent asks its workers how their endpoints are."""

from collections.abc import Collection, Mapping

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.observability.endpoint_states import EndpointsSeen, PoolRow, rows_to_bytes
from ingress.model.stepwise import finished
from ingress.workers.telling.endpoint_rounds import PATIENCE_SECONDS, Answering, EndpointRounds
from ingress.workers.worker_link import WorkerGoneError

TOLD = finished(rows_to_bytes([PoolRow("10.0.0.1:80", 2, 1)]))


class EndpointRoundsTests(SynchronousTestCase):
    """``EndpointRounds``, with two workers and a clock that the test has."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.workers = {11: 0, 12: 1}
        self.asked: list[dict[int, Deferred[bytes]]] = []
        self.look = EndpointRounds(self.clock, self.ask)

    def ask(self, owing: Collection[int]) -> Mapping[int, Answering]:
        self.asked.append({life: Deferred() for life in self.workers if life not in owing})
        return {life: Answering(slot, self.asked[-1].get(life)) for life, slot in self.workers.items()}

    def seen(self, look: Deferred[EndpointsSeen]) -> EndpointsSeen:
        """Let time pass that merging takes, and return what *look* came to."""
        self.clock.pump([0, 0, 0])
        return self.successResultOf(look)

    def test_all_answer(self) -> None:
        """Who looks gets the sum as soon as all have answered."""
        look = self.look()
        for answer in self.asked[0].values():
            answer.callback(TOLD)
        seen = self.seen(look)
        self.assertEqual((seen.pool, seen.left_out), ({"10.0.0.1:80": (4, 2)}, []))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_hung(self) -> None:
        """Who does not answer within a second is left out and named, and is asked nothing more until it has answered."""
        look = self.look()
        self.asked[0][11].callback(TOLD)
        self.clock.advance(PATIENCE_SECONDS)
        seen = self.seen(look)
        self.assertEqual((seen.pool, seen.left_out), ({"10.0.0.1:80": (2, 1)}, [1]))
        look = self.look()
        self.assertEqual(list(self.asked[1]), [11])
        self.asked[1][11].callback(TOLD)
        self.assertEqual(self.seen(look).left_out, [1])
        # It wakes up.
        self.asked[0][12].callback(TOLD)
        self.look()
        self.assertEqual(list(self.asked[2]), [11, 12])

    def test_ends(self) -> None:
        """A worker that ends while it is asked is left out, and the one in its place is asked."""
        look = self.look()
        self.asked[0][11].callback(TOLD)
        self.asked[0][12].errback(WorkerGoneError("worker 1 ended"))
        self.assertEqual(self.seen(look).left_out, [1])
        del self.workers[12]
        self.workers[13] = 1
        self.look()
        self.assertEqual(list(self.asked[1]), [11, 13])

    def test_no_workers(self) -> None:
        """While there are none nobody is waited for."""
        self.workers = {}
        self.assertEqual(self.seen(self.look()).pool, {})
