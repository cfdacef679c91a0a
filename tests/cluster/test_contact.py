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

    def test_once(self) -> None:
        """A cause that is said once is not said again before contact is regained."""
        with capturedLogs() as events:
            for _ in range(3):
                self.contact.lost("403 Forbidden", once=True)
                self.clock.advance(600)
            self.contact.regained()
            self.contact.lost("403 Forbidden", once=True)
        self.assertEqual(len(events), 3)

    def test_consequence(self) -> None:
        """What the loss means is for each part to say."""
        contact = Contact("election", self.clock.seconds, "does not answer, nobody leads")
        with capturedLogs() as events:
            contact.lost("Connection refused")
        self.assertEqual(
            formatEvent(events[0]),
            "election: the API server does not answer, nobody leads: Connection refused",
        )

    def test_troubles(self) -> None:
        """Trouble within a stream is said once a minute and is no loss of contact."""
        with capturedLogs() as events:
            self.contact.troubled("it ended at once")
            self.contact.troubled("it ended at once")
            self.contact.regained()
        self.assertEqual(len(events), 1)
