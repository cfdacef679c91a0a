"""Tests for ``ingress.cluster.api.contact``."""

from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.contact import Contact
from ingress.errors import KubernetesError


class ContactTests(SynchronousTestCase):
    """Log lines about the connection."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.contact = Contact("Service", self.clock.seconds)

    def test_refused_and_regained(self) -> None:
        """What this part is refused is a warning that names it and the cause; its end says for how long."""
        with capturedLogs() as events:
            self.contact.regained()
            self.contact.failed(KubernetesError(403, "Forbidden", "no"))
            self.clock.advance(5)
            self.contact.regained()
            self.contact.regained()
        lost, regained = events
        self.assertEqual(lost["log_level"], LogLevel.warn)
        self.assertIn("Service: the API server cannot be read", formatEvent(lost))
        self.assertIn("403 Forbidden: no", formatEvent(lost))
        self.assertIn("answers again after 5.0 s", formatEvent(regained))

    def test_the_same_cause_is_said_once_a_minute(self) -> None:
        """A lasting cause is said once a minute, a new one at once."""
        with capturedLogs() as events:
            for _ in range(9):
                self.contact.failed(KubernetesError(404, "NotFound", "no"))
                self.clock.advance(10)
            self.contact.failed(KubernetesError(403, "Forbidden", "no"))
        self.assertEqual(
            [event["cause"] for event in events],
            ["404 NotFound: no", "404 NotFound: no", "403 Forbidden: no"],
        )

    def test_single_objects(self) -> None:
        """The same error about many objects is said once a minute, whatever its words, and is no loss of contact, whoever is answered meanwhile."""
        with capturedLogs() as events:
            for number in range(9):
                error = KubernetesError(422, f"Invalid{number % 3}", f"t{number}")
                self.contact.failed(error, f"shop/t{number}")
                self.assertFalse(self.contact.regained())
            self.clock.advance(61)
            self.contact.failed(KubernetesError(422, "Invalid", "again"), "shop/t0")
        self.assertEqual(
            [event["cause"] for event in events],
            ["shop/t0: 422 Invalid0: t0", "shop/t0: 422 Invalid: again"],
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
            contact.lost("403 Forbidden")
        self.assertEqual(
            formatEvent(events[0]),
            "election: the API server does not answer, nobody leads: 403 Forbidden",
        )

    def test_troubles(self) -> None:
        """Trouble within a stream is said once a minute and is no loss of contact."""
        with capturedLogs() as events:
            self.contact.troubled("it ended at once")
            self.contact.troubled("it ended at once")
            self.contact.regained()
        self.assertEqual(len(events), 1)

    def test_aside(self) -> None:
        """What a program of somebody else wrote is told by whoever ran it, and not where others get to read it, as the history of changes."""
        with capturedLogs() as events:
            self.contact.failed(KubernetesError(0, "NoCredentials", "it failed", aside="its words"))
        self.assertIn("it failed", formatEvent(events[0]))
        self.assertNotIn("its words", formatEvent(events[0]))
        self.assertEqual(self.contact.trouble, "it failed")
