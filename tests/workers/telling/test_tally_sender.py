"""When a worker tells what it counts."""

from typing import Any

from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.metrics import Metrics
from ingress.metrics.totals.tallies import ROWS, tally_from_bytes
from ingress.model.cluster.objects import ObjectKey
from ingress.workers.telling.tally_sender import MOST_UNSENT, OWN_EVERY, SECONDS, TallySender
from tests.fakes.records import record_of


class TallySenderTests(SynchronousTestCase):
    """``TallySender``, with a clock that the test sets."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.metrics = Metrics()
        self.sent: list[bytes] = []
        self.unsent = 0
        self.sender = TallySender(self.clock, self.metrics, self.sent.append, lambda: self.unsent)

    def taken(self) -> list[bytes]:
        """What was sent since this was last called."""
        sent, self.sent[:] = list(self.sent), []
        return sent

    def count_ingresses(self, count: int) -> None:
        for number in range(count):
            self.metrics.exchanges.ended(record_of(ObjectKey("web", f"shop-{number}"), 200, 0.5, 1))

    def test_each_second(self) -> None:
        """What was counted is told within a second, and once; if there is nothing, nothing is told."""
        self.sender.start()
        self.metrics.attempt_repeated("stale")
        self.assertEqual(self.taken(), [])
        self.clock.advance(SECONDS)
        (octets,) = self.taken()
        ((series, number),) = tally_from_bytes(octets).summed
        self.assertEqual((series.name, number), ("ingress_attempts_repeated_total", 1))
        self.clock.advance(0)
        self.clock.advance(SECONDS)
        self.assertEqual(self.taken(), [])

    def test_own(self) -> None:
        """Memory and the like are told unasked each ten seconds."""
        self.sender.start()
        for _ in range(OWN_EVERY - 1):
            self.clock.advance(SECONDS)
        self.assertEqual(self.taken(), [])
        self.clock.advance(SECONDS)
        (octets,) = self.taken()
        names = [series.name for series, _ in tally_from_bytes(octets).own]
        self.assertIn("process_resident_memory_bytes", names)

    def test_own_when_asked(self) -> None:
        """Whoever asks gets them, too."""
        self.sender.tell()
        self.clock.advance(0)
        (octets,) = self.taken()
        self.assertTrue(tally_from_bytes(octets).own)

    def test_in_turns(self) -> None:
        """Of many Ingresses there is one tally in each turn, and who asked is told that it is over when all were sent."""
        sent_by_then: list[int] = []
        call_later = self.clock.callLater

        def noting(*arguments: Any) -> IDelayedCall:
            sent_by_then.append(len(self.sent))
            return call_later(*arguments)

        self.patch(self.clock, "callLater", noting)
        self.count_ingresses(5 * ROWS)
        told = self.sender.tell()
        self.assertNoResult(told)
        self.clock.advance(0)
        self.successResultOf(told)
        self.assertGreaterEqual(len(self.sent), 6)
        self.assertEqual(sent_by_then, list(range(1, len(self.sent) + 1)))

    def test_asked_meanwhile(self) -> None:
        """Who asks while tallies are under way gets what was counted until then, too."""
        self.count_ingresses(3 * ROWS)
        first = self.sender.tell()
        self.metrics.upstream_failed()
        second = self.sender.tell()
        answers: list[tuple[str, int]] = []

        def answered(_: None, name: str) -> None:
            answers.append((name, len(self.sent)))

        first.addCallback(answered, "first")
        second.addCallback(answered, "second")
        self.clock.advance(0)
        self.assertEqual([name for name, _ in answers], ["first", "second"])
        told_first = b"".join(self.sent[: answers[0][1]])
        told_second = b"".join(self.sent[answers[0][1] : answers[1][1]])
        self.assertNotIn(b"ingress_upstream_failures_total", told_first)
        self.assertIn(b"ingress_upstream_failures_total", told_second)

    def test_parent_that_does_not_read(self) -> None:
        """While much waits for the parent, nothing is told unasked, and nothing is lost for that."""
        self.sender.start()
        self.metrics.upstream_failed()
        self.unsent = MOST_UNSENT + 1
        self.clock.advance(SECONDS)
        self.assertEqual(self.taken(), [])
        self.unsent = 0
        self.clock.advance(SECONDS)
        self.assertIn(b"ingress_upstream_failures_total", b"".join(self.taken()))

    def test_end(self) -> None:
        """At its end a worker tells all at once, also what was under way, and no more each second."""
        self.sender.start()
        self.count_ingresses(3 * ROWS)
        told = self.sender.tell()
        self.metrics.upstream_failed()
        self.sender.finish()
        counted = sum(len(tally_from_bytes(octets).exchanges) for octets in self.sent)
        self.assertEqual(counted, 3 * ROWS)
        self.assertIn(b"ingress_upstream_failures_total", b"".join(self.taken()))
        self.metrics.upstream_failed()
        self.clock.advance(0)
        self.clock.advance(10 * SECONDS)
        self.assertEqual(self.taken(), [])
        self.successResultOf(told)


class UnaskedTests(SynchronousTestCase):
    """``TallySender`` before it was started."""

    def test_nothing(self) -> None:
        """A worker that never started to tell can end, and tells what it has."""
        sent: list[bytes] = []
        sender = TallySender(Clock(), Metrics(), sent.append, lambda: 0)
        sender.finish()
        self.assertTrue(tally_from_bytes(sent[0]).own)
