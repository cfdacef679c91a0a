"""Tests for ``ingress.cluster.api.outage``."""

from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.contact import Contact
from ingress.cluster.api.outage import Outage
from ingress.errors import KubernetesError

REFUSED = KubernetesError(0, "Unreachable", "Connection refused")
BUSY = KubernetesError(503, "ServiceUnavailable", "starting")
KINDS = ("Ingress", "IngressClass", "Service", "EndpointSlice", "Secret")


class OutageTests(SynchronousTestCase):
    """An API server that is away."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.outage = Outage(self.clock.seconds)
        self.kinds = [self.contact(name, holds=True) for name in KINDS]
        self.seldom = [self.contact(name) for name in ("election", "Secret by name", "Events")]

    def contact(self, name: str, *, holds: bool = False) -> Contact:
        return Contact(name, self.clock.seconds, outage=self.outage, holds=holds)

    def test_one_line_each(self) -> None:
        """However many lose contact, for whatever cause and how often, it is one line, and one at the end."""
        with capturedLogs() as events:
            for error in (REFUSED, BUSY, REFUSED):
                for one in (*self.kinds, *self.seldom):
                    one.failed(error)
                    self.clock.advance(0.5)
            for one in self.kinds:
                self.assertTrue(one.regained())
            for one in self.seldom:
                self.assertFalse(one.regained())
        self.assertEqual(
            [formatEvent(event) for event in events],
            [
                "The API server does not answer, what is known stays in force (Ingress): Connection refused",
                "The API server answers again after 12.0 s",
            ],
        )
        self.assertEqual([event["log_level"] for event in events], [LogLevel.warn, LogLevel.info])

    def test_lasting(self) -> None:
        """While it lasts, it is said again once a minute, with all who are concerned."""
        with capturedLogs() as events:
            for _ in range(15):
                for one in self.kinds:
                    one.failed(REFUSED)
                self.clock.advance(10)
        self.assertEqual(len(events), 3)
        self.assertIn(
            "since 60.0 s, what is known stays in force (EndpointSlice, Ingress,", formatEvent(events[1])
        )

    def test_who_asks_seldom(self) -> None:
        """Somebody who asks seldom has an outage of its own when all others have contact."""
        with capturedLogs() as events:
            self.seldom[0].failed(REFUSED)
            self.seldom[0].regained()
        self.assertEqual(len(events), 2)

    def test_again_and_again(self) -> None:
        """An API server that comes and goes many times a minute is one pair of lines a minute."""
        with capturedLogs() as events:
            for _ in range(100):
                for one in self.kinds:
                    one.failed(REFUSED)
                for one in self.kinds:
                    one.regained()
                self.clock.advance(1)
        self.assertEqual(len(events), 4)

    def test_refused_meanwhile(self) -> None:
        """Who is answered, if only by a refusal, has contact, and says what it is refused by itself."""
        with capturedLogs() as events:
            for one in self.kinds:
                one.failed(REFUSED)
            for one in self.kinds:
                one.failed(KubernetesError(403, "Forbidden", "no"))
        self.assertIn("The API server answers again after 0.0 s", [formatEvent(event) for event in events])
        self.assertEqual(len(events), 2 + len(KINDS))

    def test_same_words(self) -> None:
        """What one kind says of a broken stream or a new list, others do not repeat for a minute."""
        with capturedLogs() as events:
            for one in self.kinds:
                one.troubled("it ended at once")
                one.listed_again(5, "the resource version expired")
            self.clock.advance(61)
            self.kinds[0].troubled("it ended at once")
        self.assertEqual(len(events), 3)
