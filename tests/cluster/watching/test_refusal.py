"""Tests for ``ingress.cluster.watching.refusal``."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.watching.refusal import PROBLEM_SECONDS, Refusal
from ingress.errors import KubernetesError
from ingress.model.cluster.objects import Batch, Kind, ObjectKey
from ingress.model.cluster.problems import Problem, Reason

FORBIDDEN = KubernetesError(403, "Forbidden", "services is forbidden")
WATCH = (Kind.WATCH, ObjectKey("shop", "Service"))


class RefusalTests(SynchronousTestCase):
    """A watch that is refused."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.refusal = Refusal(Kind.SERVICE, "shop", self.clock.seconds, lambda: 0.999, first_seconds=0.8)

    def problem(self, changes: Batch) -> Problem:
        (projection,) = changes.values()
        assert projection is not None
        (problem,) = projection.problems
        return problem

    def test_problem(self) -> None:
        """Refused for a minute it is a problem, told once, of the watch and for the operator; an answer takes it back."""
        told = []
        for _ in range(30):
            told.append(self.refusal.refused(FORBIDDEN))
            self.clock.advance(10)
        self.assertEqual([bool(one) for one in told].index(True), PROBLEM_SECONDS / 10)
        self.assertEqual(len([one for one in told if one]), 1)
        problem = self.problem(told[6])
        self.assertEqual(
            str(problem),
            "Watch shop/Service: the API server refuses it, so that what is known grows old: "
            "403 Forbidden: services is forbidden (WatchRefused)",
        )
        self.assertEqual((problem.reason, problem.is_the_operators), (Reason.WATCH_REFUSED, True))
        self.assertEqual(self.refusal.answered(), {WATCH: None})
        self.assertEqual((self.refusal.answered(), self.refusal.since), ({}, None))

    def test_another_sort(self) -> None:
        """When it comes to be refused for another reason, that is told in its place; other words alone are not."""
        for error in (FORBIDDEN, FORBIDDEN):
            told = self.refusal.refused(error)
            self.clock.advance(61)
        self.assertIn("403", self.problem(told).message)
        self.assertEqual(self.refusal.refused(KubernetesError(403, "Forbidden", "at 12:01")), {})
        self.assertIn("500", self.problem(self.refusal.refused(KubernetesError(500, "x", "etcd"))).message)

    def test_answers_between(self) -> None:
        """Refusals with answers between them are no problem."""
        for _ in range(30):
            self.assertEqual(self.refusal.refused(FORBIDDEN), {})
            self.clock.advance(59)
            self.assertEqual(self.refusal.answered(), {})

    def test_delays(self) -> None:
        """What is forbidden is asked for again within half a minute, however long it has been."""
        delays = [self.refusal.forbidden() for _ in range(20)]
        self.assertLessEqual(max(delays), 30.0)
        self.assertTrue(self.refusal.is_lasting)
        self.assertEqual(self.refusal.forbidden(77.0), 77.0)
        self.refusal.permitted()
        self.assertFalse(self.refusal.is_lasting)
