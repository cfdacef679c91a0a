"""What a translation that fails costs."""

from twisted.logger import LogLevel, capturedLogs

from ingress.controller import (
    LONGEST_REST_SECONDS,
)
from ingress.history.publication_log import REPORT_SECONDS
from tests.controller.controller_case import (
    ControllerTestCase,
    batch,
    endpoint_slice,
    ingress,
    service,
)


class BugTests(ControllerTestCase):
    """A translation that fails although it must not."""

    def failures(self) -> int:
        return len(self.flushLoggedErrors(RuntimeError))

    def test_last_snapshot_stays(self) -> None:
        """It is logged as critical and counted, and nothing is published."""
        self.start_shop()
        self.store.is_broken = True
        with capturedLogs() as events:
            self.controller.changed(batch(ingress("other", "other.test")))
            self.clock.advance(REPORT_SECONDS)
        self.assertEqual([event["log_level"] for event in events], [LogLevel.critical])
        self.assertEqual(self.failures(), 1)
        self.assertEqual(self.published, [])
        self.assertIn(b"\ningress_translations_failed_total 1.0\n", self.metrics.render())

    def waiting(self) -> float:
        """For how long the oldest change waits, as Prometheus is told."""
        (line,) = (
            one for one in self.metrics.render().splitlines() if one.startswith(b"ingress_changes_waiting_")
        )
        return float(line.split()[1])

    def test_waiting(self) -> None:
        """What a bug kept from being served counts as waiting until a translation is done."""
        self.start_shop()
        self.assertEqual(self.waiting(), 0)
        self.store.is_broken = True
        self.controller.changed(batch(ingress("other", "other.test")))
        self.clock.advance(REPORT_SECONDS)
        self.clock.advance(60)
        self.assertEqual(self.waiting(), 60 + REPORT_SECONDS)
        self.store.is_broken = False
        self.controller.changed(batch(ingress("third", "third.test")))
        self.assertEqual(self.waiting(), 60 + REPORT_SECONDS)
        self.clock.advance(REPORT_SECONDS)
        self.assertEqual(self.waiting(), 0)
        self.assertEqual(self.failures(), 1)

    def test_endpoints_wait(self) -> None:
        """So do endpoints that a bug kept from being found, however often; what changes nothing waits for nothing."""
        self.start_shop()
        self.store.is_broken = True
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.clock.pump([LONGEST_REST_SECONDS] * 20)
        self.assertGreater(self.waiting(), LONGEST_REST_SECONDS)
        self.assertEqual(self.failures(), 2)
        self.store.is_broken = False
        self.controller.changed(batch(ingress("other", "other.test")))
        self.clock.advance(REPORT_SECONDS)
        self.controller.changed(batch(ingress("other", "other.test")))
        self.clock.advance(3600)
        self.assertEqual(self.waiting(), 0)

    def test_next_change(self) -> None:
        """The next change is translated as ever, together with what was missed."""
        self.start_shop()
        self.store.is_broken = True
        self.controller.changed(batch(ingress("other", "other.test")))
        self.clock.advance(REPORT_SECONDS)
        self.store.is_broken = False
        self.controller.changed(batch(ingress("third", "third.test")))
        self.clock.advance(REPORT_SECONDS)
        self.assertEqual(self.hosts(), ["other.test", "shop.test", "third.test"])
        self.assertEqual(self.failures(), 1)

    def test_first_translation(self) -> None:
        """After a first translation that failed, any change leads to the first snapshot."""
        self.store.is_broken = True
        self.start(ingress("shop", "shop.test"), service("shop"))
        self.store.is_broken = False
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.1")))
        self.clock.advance(REPORT_SECONDS)
        self.assertEqual(self.addresses(), ["10.0.0.1"])
        self.assertEqual(self.failures(), 1)

    def test_endpoints(self) -> None:
        """When only the endpoints were to be found, everything is translated anew, once."""
        self.start_shop()
        self.store.is_broken = True
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.clock.advance(0)
        self.assertEqual(self.failures(), 1)
        self.store.is_broken = False
        self.clock.advance(REPORT_SECONDS)
        self.assertEqual(self.addresses(), ["10.0.0.2"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_no_loop(self) -> None:
        """A bug that stays is met once for each change, not again and again."""
        self.start_shop()
        self.store.is_broken = True
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.clock.pump([LONGEST_REST_SECONDS] * 20)
        self.assertEqual(self.failures(), 2)
        self.assertEqual(self.clock.getDelayedCalls(), [])
