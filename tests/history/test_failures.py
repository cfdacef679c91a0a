"""Tests for ``ingress.history.failures``."""

from datetime import UTC, datetime

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.history.failures import MOST_A_SECOND, MOST_OF_A_SORT, Failures, failure_of
from ingress.history.rings import Rings
from ingress.model.cluster.objects import ObjectKey
from ingress.model.exchanges.causes import Cause
from ingress.model.exchanges.records import AttemptRecord, Record
from ingress.model.observability.changes_and_failures import (
    MOST_ATTEMPTS,
    MOST_CHARACTERS,
    FailedAttempt,
    Failure,
)
from ingress.model.observability.traces import TraceContext
from ingress.model.upstream.backends import BackendReference, Endpoint
from tests.fakes.records import record_of

NOW = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
FIRST, SECOND = Endpoint("10.0.4.9", 8080), Endpoint("fd00::9", 8080)
FAILED: Record = record_of(
    ObjectKey("shop", "web"), 504, 3.5, host=b"shop.test", target=b"/cart?token=secret", method=b"POST"
)._replace(
    id=b"4f00",
    cause=Cause.GATEWAY_TIMEOUT,
    reason="no answer within 3 s",
    backend=BackendReference("shop", "web", 80),
    attempts=(
        AttemptRecord(FIRST, "no connection could be made", 0.0, 0.5, -1.0, 0.5),
        AttemptRecord(SECOND, "upstream was silent for too long, from the start", 0.5, 3.5, 0.75, 3.5, True),
    ),
    trace=TraceContext("a" * 32, "b" * 16, True),
)


class FailureOfTests(SynchronousTestCase):
    """What of a record is kept."""

    def test_all_of_it(self) -> None:
        """Everything that explains it: route, backend, reason, and each endpoint with outcome and times; nothing that is personal."""
        self.assertEqual(
            failure_of(FAILED, NOW),
            Failure(
                NOW,
                "gateway-timeout",
                504,
                "no answer within 3 s",
                "POST",
                "shop.test",
                "/cart",
                3.5,
                "shop/web",
                "shop/web:80",
                attempts=(
                    FailedAttempt("10.0.4.9:8080", "no connection could be made", 0.0, 0.5),
                    FailedAttempt(
                        "[fd00::9]:8080",
                        "upstream was silent for too long, from the start",
                        0.5,
                        3.0,
                        0.75,
                        is_reused=True,
                    ),
                ),
                protocol="HTTP/1.1",
                trace="a" * 32,
            ),
        )
        self.assertNotIn("secret", repr(failure_of(FAILED, NOW)))
        self.assertNotIn("192.0.2.1", repr(failure_of(FAILED, NOW)))

    def test_queries(self) -> None:
        """Where the operator has it so, id, query and client are there, too."""
        failure = failure_of(FAILED, NOW, shows_queries=True)
        self.assertEqual((failure.id, failure.query, failure.client), ("4f00", "token=secret", "192.0.2.1"))

    def test_hostile(self) -> None:
        """Whatever a client sends, each text is short and has no control character."""
        hostile = bytes(range(256)) * 300
        failure = failure_of(
            FAILED._replace(
                host=hostile,
                target=hostile + b"?" + hostile,
                method=hostile,
                id=hostile,
                reason=hostile.decode("latin-1"),
                attempts=FAILED.attempts * 50,
            ),
            NOW,
            shows_queries=True,
        )
        for text in (failure.host, failure.path, failure.query, failure.method, failure.id, failure.reason):
            assert text is not None
            self.assertLessEqual(len(text), MOST_CHARACTERS)
            self.assertTrue(text.isprintable())
        self.assertEqual((len(failure.attempts), failure.more_attempts), (MOST_ATTEMPTS, 100 - MOST_ATTEMPTS))


class FailuresTests(SynchronousTestCase):
    """The listener of records."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.ring = Rings().failures
        self.failures = Failures(self.ring, self.clock.seconds, lambda: NOW)

    def test_no_failure(self) -> None:
        """What has no cause is none, be its status an endpoint's 404."""
        self.failures.ended(record_of(status=404))
        self.assertEqual(self.ring.last, 0)

    def test_flood(self) -> None:
        """Of a flood so many a second are kept, of one sort fewer, so that another one has room; the rest is counted."""
        for _ in range(1000):
            self.failures.ended(FAILED)
        self.failures.ended(FAILED._replace(cause=Cause.CUT))
        self.assertEqual(self.ring.last, MOST_OF_A_SORT + 1)
        self.assertEqual(self.ring.left_out, 1000 - MOST_OF_A_SORT)
        for number in range(1000):
            self.failures.ended(FAILED._replace(status=number))
        self.assertEqual(self.ring.last, MOST_A_SECOND)
        self.clock.advance(1)
        self.failures.ended(FAILED)
        self.assertEqual(self.ring.last, MOST_A_SECOND + 1)

    def test_memory(self) -> None:
        """However long it goes on, there is nothing besides the bounds."""
        for number in range(5_000):
            self.failures.ended(FAILED._replace(status=number % 700, owner=ObjectKey("shop", str(number))))
            if not number % 300:
                self.clock.advance(1)
        self.assertLessEqual(len(self.failures._sorts), MOST_A_SECOND)
        self.assertLessEqual(len(self.ring), 500)
        self.assertLessEqual(len(self.ring._sorts), 500)
