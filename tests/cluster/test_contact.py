"""Tests for ``ingress.cluster.contact``."""

from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.contact import Contact


class ContactTests(SynchronousTestCase):
    """Log lines about the connection."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.contact = Contact("Service", self.clock.seconds)

    def test_lost_and_regained(self) -> None:
        """Losing contact is a warning that names kind and cause; regaining it says for how long."""
        with capturedLogs() as events:
            self.contact.regained()
            self.contact.lost("Connection refused")
            self.clock.advance(5)
            self.contact.regained()
            self.contact.regained()
        lost, regained = events
        self.assertEqual(lost["log_level"], LogLevel.warn)
        self.assertIn("Service: the API server cannot be read", formatEvent(lost))
        self.assertIn("Connection refused", formatEvent(lost))
        self.assertIn("answers again after 5.0 s", formatEvent(regained))

    def test_the_same_cause_is_said_once_a_minute(self) -> None:
        """A lasting cause is said once a minute, a new one at once."""
        with capturedLogs() as events:
            for _ in range(9):
                self.contact.lost("Connection refused")
                self.clock.advance(10)
            self.contact.lost("403 Forbidden")
        self.assertEqual(
            [event["cause"] for event in events],
            ["Connection refused", "Connection refused", "403 Forbidden"],
        )

    def test_troubles(self) -> None:
        """Trouble within a stream is said once a minute and is no loss of contact."""
        with capturedLogs() as events:
            self.contact.troubled("it ended at once")
            self.contact.troubled("it ended at once")
            self.contact.regained()
        self.assertEqual(len(events), 1)
