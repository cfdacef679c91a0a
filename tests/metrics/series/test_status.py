"""What is counted about reporting to the cluster."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.series.status import EVENT_OUTCOMES, WRITE_OUTCOMES, StatusMetrics


class StatusMetricsTests(SynchronousTestCase):
    """``StatusMetrics``, family by family."""

    def setUp(self) -> None:
        self.metrics = StatusMetrics()

    def values(self, name: str) -> dict[tuple[str, ...], float]:
        """The values of one series, by its labels."""
        return {
            tuple(sample.labels.values()): sample.value
            for family in self.metrics.families()
            for sample in family.samples
            if sample.name == name
        }

    def test_nothing_without_an_election(self) -> None:
        """Where manifests are read nothing is reported, and nothing shown."""
        self.assertEqual(list(self.metrics.families()), [])

    def test_leader(self) -> None:
        """Whether we lead is shown as it is now, and each change is counted."""
        self.metrics.began()
        self.assertEqual(self.values("ingress_is_leader"), {(): 0})
        self.metrics.leading(True)
        self.assertEqual(self.values("ingress_is_leader"), {(): 1})
        self.metrics.leading(False)
        self.assertEqual(self.values("ingress_is_leader"), {(): 0})
        self.assertEqual(self.values("ingress_leader_changes_total"), {(): 2})

    def test_outcomes(self) -> None:
        """Writes and Events are counted by what became of them; every outcome is shown from the beginning."""
        self.metrics.began()
        for outcome in WRITE_OUTCOMES:
            self.metrics.status_written(outcome)
        self.metrics.event("known")
        self.metrics.lease_request_failed()
        self.assertEqual(self.values("ingress_status_writes_total"), {(one,): 1 for one in WRITE_OUTCOMES})
        self.assertEqual(
            self.values("ingress_events_total"), {(one,): one == "known" for one in EVENT_OUTCOMES}
        )
        self.assertEqual(self.values("ingress_lease_failures_total"), {(): 1})
