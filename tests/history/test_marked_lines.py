"""Lines of the log that tell of a change have its mark: one row for each part that is easily had alone."""

from collections.abc import Callable
from random import Random
from typing import Any

from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.outage import Outage
from ingress.history.problem_log import SETTLE_SECONDS, ProblemLog
from ingress.metrics.metrics import Metrics
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.observability.changes_and_failures import Mark
from ingress.model.upstream.backends import BackendReference, Endpoint
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.upstream.rotation import Rotations
from ingress.routing.balancing.health import FAILURES

ONE, TWO = Endpoint("10.0.4.9", 8080), Endpoint("10.0.4.10", 8080)


class MarkedLineTests(SynchronousTestCase):
    """What is marked, in order."""

    def marks(self, act: Callable[[], Any]) -> list[Mark]:
        """Return the marks of the lines that *act* has written."""
        with capturedLogs() as events:
            act()
        return [event["change"] for event in events if event.get("change") is not None]

    def test_ejection(self) -> None:
        """An endpoint that cannot be connected to, and is back, is one state that begins and is over."""
        clock = Clock()
        deadlines = Deadlines(clock, clock.seconds)
        rotation = Rotations(clock, deadlines, Metrics(), Random(1)).make(
            BackendReference("shop", "web", 80), (ONE, TWO)
        )

        def act() -> None:
            for _ in range(FAILURES):
                rotation.unreachable(ONE)
            rotation.reached(ONE)

        out, back = self.marks(act)
        self.assertEqual(
            (out.verb, out.object, out.is_trouble, out.is_over), ("ejected", "shop/web", True, False)
        )
        self.assertEqual((back.verb, back.is_trouble, back.is_over), ("returned", False, True))
        self.assertEqual(out.state, back.state)
        self.assertIn(str(ONE), out.state)

    def test_outage(self) -> None:
        """An API server that answers nobody is told as a change once, and that it is back once."""
        clock = Clock()
        outage = Outage(clock.seconds)

        def act() -> None:
            outage.lost("Ingress", "refused", holds=True)
            clock.advance(61)
            outage.lost("Ingress", "refused", holds=True)
            outage.regained("Ingress")

        self.assertEqual([mark.verb for mark in self.marks(act)], ["silent", "back"])

    def test_problem(self) -> None:
        """A problem that lasts, and is solved, is two changes of its object; a note is none."""
        clock = Clock()
        log = ProblemLog(clock)
        problem = Problem("Ingress", "shop", "web", Reason.SERVICE_NOT_FOUND, "there is no Service")
        note = Problem("Ingress", "shop", "web", Reason.ANNOTATION_NOTE, "nothing changes")

        def act() -> None:
            log.changed((problem, note), ())
            clock.advance(SETTLE_SECONDS)
            log.changed((), (problem, note))

        came, solved = self.marks(act)
        self.assertEqual((came.verb, came.object, came.is_trouble), ("came", "shop/web", True))
        self.assertEqual((solved.verb, solved.is_trouble), ("solved", False))
