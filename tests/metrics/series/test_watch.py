"""What is counted about reading the API server."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.series.watch import WatchMetrics


class WatchMetricsTests(SynchronousTestCase):
    """``WatchMetrics``, family by family."""

    def setUp(self) -> None:
        self.metrics = WatchMetrics()

    def values(self, name: str) -> dict[tuple[str, ...], float]:
        """The values of one series, by its labels."""
        return {
            tuple(sample.labels.values()): sample.value
            for family in self.metrics.families()
            for sample in family.samples
            if sample.name == name
        }

    def test_nothing_without_an_api_server(self) -> None:
        """Where manifests are read there are no series about an API server."""
        self.assertEqual(list(self.metrics.families()), [])

    def test_each_reflector(self) -> None:
        """Each reflector has values of its own, by kind and namespace."""
        for namespace, events in (("one", 3), ("two", 4)):
            counts = self.metrics.reflector("Service", namespace, Clock().seconds)
            counts.events = events
            counts.objects = events - 1
            counts.reconnects = 7
            counts.decode_seconds = 0.5
            counts.relists["expired"] += 1
        self.assertEqual(
            self.values("ingress_watch_events_total"), {("Service", "one"): 3, ("Service", "two"): 4}
        )
        self.assertEqual(self.values("ingress_watch_objects"), {("Service", "one"): 2, ("Service", "two"): 3})
        self.assertEqual(self.values("ingress_watch_reconnects_total")["Service", "one"], 7)
        self.assertEqual(self.values("ingress_watch_decode_seconds_total")["Service", "one"], 0.5)
        relists = self.values("ingress_watch_relists_total")
        self.assertEqual((relists["Service", "one", "expired"], relists["Service", "one", "broken"]), (1, 0))

    def test_last_contact(self) -> None:
        """The age of the last contact is that at the time of asking; there is none before the first."""
        clock = Clock()
        counts = self.metrics.reflector("Service", "", clock.seconds)
        self.assertEqual(self.values("ingress_watch_last_contact_seconds"), {})
        counts.last_contact = clock.seconds()
        clock.advance(12)
        self.assertEqual(self.values("ingress_watch_last_contact_seconds"), {("Service", ""): 12})

    def test_handover_and_secrets(self) -> None:
        """Batches with their changes, Secrets needed, and reads by outcome have series without kind."""
        self.metrics.reflector("Service", "", Clock().seconds)
        self.metrics.handed_over(3)
        self.metrics.handed_over(4)
        self.metrics.needed("Secret", 5)
        self.metrics.read_by_name("Secret", "missing")
        self.assertEqual(self.values("ingress_watch_delta_queue_changes_count"), {(): 2})
        self.assertEqual(self.values("ingress_watch_delta_queue_changes_sum"), {(): 7})
        self.assertEqual(self.values("ingress_secrets_needed"), {(): 5})
        self.assertEqual(
            self.values("ingress_secret_reads_total"), {("ok",): 0, ("missing",): 1, ("failed",): 0}
        )
