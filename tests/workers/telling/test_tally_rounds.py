"""When a parent asks its workers what they counted."""

from collections.abc import Collection, Mapping

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.workers.telling.tally_rounds import APART_SECONDS, PATIENCE_SECONDS, TallyRounds


class TallyRoundsTests(SynchronousTestCase):
    """``TallyRounds``, with workers and a clock that the test has."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.workers = {1, 2}
        self.asked: list[dict[int, Deferred[bytes]]] = []
        self.rounds = TallyRounds(self.clock, self.ask)

    def ask(self, owing: Collection[int]) -> Mapping[int, Deferred[bytes]]:
        self.asked.append({life: Deferred() for life in sorted(self.workers - set(owing))})
        return dict(self.asked[-1])

    def answer_all(self) -> None:
        for answer in self.asked[-1].values():
            answer.callback(b"")

    def begin(self) -> Deferred[None]:
        """Somebody asks, and his round begins."""
        told = self.rounds.told()
        self.clock.advance(APART_SECONDS)
        return told

    def test_all_tell(self) -> None:
        """Who asks is told as soon as all workers have told."""
        told = self.begin()
        self.asked[0][1].callback(b"")
        self.assertNoResult(told)
        self.asked[0][2].callback(b"")
        self.successResultOf(told)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_no_workers(self) -> None:
        """Without workers nobody is waited for."""
        self.workers = set()
        self.successResultOf(self.begin())

    def test_hung(self) -> None:
        """A worker that does not tell is waited for for a moment, once; then it is not asked until it has told."""
        told = self.begin()
        self.asked[0][1].callback(b"")
        self.clock.advance(PATIENCE_SECONDS)
        self.successResultOf(told)
        for _ in range(3):
            told = self.begin()
            self.assertEqual(list(self.asked[-1]), [1])
            self.answer_all()
            self.successResultOf(told)
        # It wakes up.
        self.asked[0][2].callback(b"")
        self.begin()
        self.assertEqual(list(self.asked[-1]), [1, 2])

    def test_ends_meanwhile(self) -> None:
        """A worker that ends is waited for no longer."""
        told = self.begin()
        self.asked[0][1].callback(b"")
        self.asked[0][2].errback(RuntimeError("gone"))
        self.successResultOf(told)

    def test_gone_already(self) -> None:
        """Nor is one that is gone when it is asked."""
        failed: Deferred[bytes] = Deferred()
        failed.errback(RuntimeError("gone"))
        waits: Deferred[bytes] = Deferred()
        answers = {1: failed, 2: waits}
        self.rounds = TallyRounds(self.clock, lambda owing: answers)
        told = self.begin()
        self.assertNoResult(told)
        waits.callback(b"")
        self.successResultOf(told)

    def test_together(self) -> None:
        """However many ask at once, workers are asked once."""
        many = [self.rounds.told() for _ in range(50)]
        self.clock.advance(0)
        self.assertEqual(len(self.asked), 1)
        self.answer_all()
        for told in many:
            self.successResultOf(told)

    def test_meanwhile(self) -> None:
        """Who asks while a round is under way gets the next one, which has what was counted until he asked."""
        first = self.begin()
        second = self.rounds.told()
        self.answer_all()
        self.successResultOf(first)
        self.assertNoResult(second)
        self.clock.advance(APART_SECONDS)
        self.assertEqual(len(self.asked), 2)
        self.answer_all()
        self.successResultOf(second)

    def test_often(self) -> None:
        """Five who ask each 100 ms, with a worker that tells at once, have each worker asked ten times a second at most."""
        step = 0.01
        for number in range(200):
            if number % 10 == 0:
                for _ in range(5):
                    self.rounds.told()
            self.clock.advance(step)
            if self.asked and not all(answer.called for answer in self.asked[-1].values()):
                self.answer_all()
        self.assertLessEqual(len(self.asked), 21)
        self.assertGreaterEqual(len(self.asked), 18)

    def test_longest(self) -> None:
        """Nobody waits for longer than the round under way, the time between, and his own round."""
        self.begin()
        waits = self.rounds.told()
        self.clock.pump([0.01] * 60)
        self.successResultOf(waits)
        self.assertLess(2 * PATIENCE_SECONDS + APART_SECONDS, 0.61)

    def test_cancelled(self) -> None:
        """Who leaves is forgotten, and others get theirs."""
        leaves, stays = self.rounds.told(), self.rounds.told()
        leaves.cancel()
        self.failureResultOf(leaves, CancelledError)
        self.clock.advance(0)
        self.answer_all()
        self.successResultOf(stays)
        late = self.begin()
        late.cancel()
        self.failureResultOf(late, CancelledError)
        self.answer_all()

    def test_late_answer(self) -> None:
        """An answer that comes in a later round does not end that."""
        self.begin()
        self.clock.advance(PATIENCE_SECONDS)
        self.workers = {3}
        told = self.begin()
        for answer in self.asked[0].values():
            answer.callback(b"")
        self.assertNoResult(told)
        self.asked[1][3].callback(b"")
        self.successResultOf(told)
