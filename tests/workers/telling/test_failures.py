"""Failures on their way to the parent."""

import json
from typing import Any

from attrs import evolve
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.history.failures import failure_of
from ingress.history.rings import Rings
from ingress.model.observability.changes_and_failures import Failure
from ingress.process.framing import NonsenseError
from ingress.workers.telling.failures import (
    BATCH,
    MOST_MESSAGES,
    MOST_UNSENT,
    SECONDS,
    FailureSender,
    ToldFailures,
    failures_from_bytes,
    failures_to_bytes,
)
from tests.history.test_failures import FAILED, NOW

FAILURE: Failure = failure_of(FAILED, NOW, shows_queries=True)


class WayTests(SynchronousTestCase):
    """From one end to the other."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.sent: list[bytes] = []
        self.unsent = 0
        self.sender = FailureSender(self.clock, self.sent.append, lambda: self.unsent)
        self.ring = Rings().failures
        self.told = ToldFailures(self.ring, {7: 1}.get, self.clock.seconds)

    def arrive(self) -> list[Failure]:
        """Have the parent read what was sent; return what it keeps."""
        sent, self.sent = self.sent, []
        self.sent.clear()
        for octets in sent:
            self.told.took(7, octets)
        return self.ring.since()

    def test_same(self) -> None:
        """What arrives is what was sent, with the slot of the worker."""
        plain = failure_of(FAILED, NOW)
        self.sender.add(FAILURE)
        self.sender.add(plain)
        self.assertEqual(self.sent, [])
        self.clock.advance(SECONDS)
        self.assertEqual(
            self.arrive(), [evolve(FAILURE, worker=1, number=1), evolve(plain, worker=1, number=2)]
        )

    def test_batches(self) -> None:
        """Many at once go in several messages, each of which is soon read."""
        for _ in range(2 * BATCH + 1):
            self.sender.add(FAILURE)
        self.assertEqual(len(self.sent), 2)
        self.sender.flush()
        self.sender.flush()
        self.assertEqual(len(self.sent), 3)
        self.assertEqual(len(self.arrive()), 2 * BATCH + 1)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_parent_that_does_not_read(self) -> None:
        """While the parent does not read, failures are counted and not kept; it hears the count later."""
        self.unsent = MOST_UNSENT + 1
        self.sender.left_out = 5
        for _ in range(1000):
            self.sender.add(FAILURE)
            self.clock.advance(SECONDS)
        self.assertEqual(self.sent, [])
        self.unsent = 0
        self.clock.advance(SECONDS)
        self.assertEqual(self.arrive(), [])
        self.assertEqual(self.ring.left_out, 1005)

    def test_flood_of_messages(self) -> None:
        """Of a worker that sends without end so much is read a second; the rest is counted."""
        octets = failures_to_bytes([FAILURE] * BATCH, 0)
        for _ in range(MOST_MESSAGES + 3):
            self.told.took(7, octets)
        self.assertEqual((self.ring.last, self.ring.left_out), (MOST_MESSAGES * BATCH, 3 * BATCH))
        self.clock.advance(1)
        self.told.took(7, octets)
        self.assertEqual(self.ring.last, (MOST_MESSAGES + 1) * BATCH)

    def test_nonsense(self) -> None:
        """A worker that is not itself any more puts nothing into the ring that no failure is."""
        ((good,),) = json.loads(failures_to_bytes([FAILURE], 0))[1:]
        self.assertEqual(len(failures_from_bytes(json.dumps([0, [good]]).encode(), 1)[0]), 1)
        values: tuple[Any, ...] = ({}, [[]], True, "x" * 9999, "a\nb", -2, 1e300)
        wrong: list[Any] = [
            [0, [[*good[:at], bad, *good[at + 1 :]]]] for at in range(len(good)) for bad in values
        ]
        wrong += [
            None,
            [],
            [0],
            [-1, []],
            [True, []],
            [10**12, []],
            [0, {}, 1],
            [0, [good] * (BATCH + 1)],
            [0, [good[:-1]]],
            [0, [[*good, 1]]],
            [0, "text"],
        ]
        for one in wrong:
            with self.assertRaises(NonsenseError, msg=str(one)[:300]):
                self.told.took(7, json.dumps(one).encode())
            self.clock.advance(1)
        for octets in (
            b"",
            b"\xff",
            b"[" * 100_000,
            b"[0, [[NaN]]]",
            json.dumps([0, [[float("nan"), *good[1:]]]]).encode(),
        ):
            with self.assertRaises(NonsenseError):
                self.told.took(7, octets)
        self.assertEqual(self.ring.last, 0)
