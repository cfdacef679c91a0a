"""How the wait of another client beside a fault is judged."""

from twisted.trial.unittest import SynchronousTestCase

from bench.disruptions.faults.beside import check_p99
from bench.disruptions.faults.checks import Checks, Verdict
from bench.disruptions.faults.visitors import Probe


def _probe(milliseconds: float) -> Probe:
    probe = Probe(0)
    probe.latencies = [milliseconds / 1000] * 10
    return probe


class CheckTests(SynchronousTestCase):
    """The p99 beside a fault, and the one at rest."""

    def test_judged_by_rest(self) -> None:
        """Three times the p99 at rest are allowed, or five milliseconds; nobody answered is too long."""
        for rest, beside, verdict in (
            (2.0, 5.9, Verdict.PASSED),
            (2.0, 6.1, Verdict.FAILED),
            (0.5, 4.9, Verdict.PASSED),
            (0.5, 5.1, Verdict.FAILED),
        ):
            checks = Checks()
            check_p99(checks, _probe(rest), _probe(beside))
            self.assertIs(checks.verdict, verdict, (rest, beside))
        checks = Checks()
        check_p99(checks, _probe(2.0), Probe(0))
        self.assertIs(checks.verdict, Verdict.FAILED)
