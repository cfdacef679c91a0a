"""Tests for ``ingress.history.rings``."""

from datetime import UTC, datetime
from itertools import pairwise
from random import Random

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.history.rings import MOST_CHANGES, MOST_FAILURES, Ring, Rings
from ingress.model.observability.changes_and_failures import Change, ChangeSort, Failure

NOW = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
CHANGE = Change(NOW, ChangeSort.LISTENER, "opened", "tcp:80 is open")
FAILURE = Failure(NOW, "no-route", 404, "no route is for this host", "GET", "shop.test", "/", 0.001)
RARE = evolve(FAILURE, cause="unavailable", status=503, ingress="shop/web", backend="shop/web:80")


class RingTests(SynchronousTestCase):
    """A ring of changes, and one of failures."""

    def setUp(self) -> None:
        self.rings = Rings()

    def test_numbers(self) -> None:
        """Entries are numbered from 1 in the order in which they came, be the clock set in between or not."""
        changes = self.rings.changes
        self.assertEqual((changes.last, changes.since()), (0, []))
        for year in (2026, 1970, 2040):
            changes.add(evolve(CHANGE, at=NOW.replace(year=year)))
        self.assertEqual(
            [(one.number, one.at.year) for one in changes.since()], [(1, 2026), (2, 1970), (3, 2040)]
        )
        self.assertEqual(changes.last, 3)

    def test_since(self) -> None:
        """Who has seen all up to a number gets what came after it, and of very much the newest."""
        changes = self.rings.changes
        for _ in range(10):
            changes.add(CHANGE)
        numbers = {
            (since, most): [one.number for one in changes.since(since, most)]
            for since, most in ((7, None), (10, None), (99, None), (0, 3), (8, 3))
        }
        self.assertEqual(
            numbers,
            {(7, None): [8, 9, 10], (10, None): [], (99, None): [], (0, 3): [8, 9, 10], (8, 3): [9, 10]},
        )

    def test_bounds(self) -> None:
        """However many there are, so many are kept, and of changes the newest."""
        for _ in range(3 * MOST_CHANGES):
            self.rings.changes.add(CHANGE)
            self.rings.failures.add(FAILURE)
        kept = [one.number for one in self.rings.changes.since()]
        self.assertEqual(kept, [*range(2 * MOST_CHANGES + 1, 3 * MOST_CHANGES + 1)])
        self.assertEqual((len(self.rings.changes), len(self.rings.failures)), (MOST_CHANGES, MOST_FAILURES))

    def test_flood(self) -> None:
        """A flood of one sort drives no failure of another sort out."""
        failures = self.rings.failures
        failures.add(RARE)
        for number in range(5 * MOST_FAILURES):
            failures.add(evolve(FAILURE, host=f"{number}.test"))
        failures.add(evolve(RARE, cause="cut"))
        kept = failures.since()
        self.assertEqual(kept[0].cause, "unavailable")
        self.assertEqual(kept[-1].cause, "cut")
        self.assertEqual(len(kept), MOST_FAILURES)

    def test_any_history(self) -> None:
        """Whatever comes, numbers grow, nothing is kept beyond the bound, and no sort with fewest entries loses one while another has more."""
        for seed in range(20):
            random = Random(seed)
            ring: Ring[Failure] = Ring(12, lambda failure: failure.likeness)
            for _ in range(200):
                before = ring.since()
                ring.add(evolve(FAILURE, status=400 + min(int(random.expovariate(0.5)), 20)))
                after = ring.since()
                gone = {one.number for one in before} - {one.number for one in after}
                self.assertEqual(len(gone), 1 if len(before) == 12 else 0)
                self.assertTrue(all(one.number < two.number for one, two in pairwise(after)))
                counts = {
                    status: sum(one.status == status for one in before)
                    for status in {one.status for one in before}
                }
                for one in before:
                    if one.number in gone:
                        self.assertEqual(counts[one.status], max(counts.values()))

    def test_followers(self) -> None:
        """Who follows is told of each entry with its number, until it stops; to stop twice is no fault."""
        seen: list[int] = []
        others: list[int] = []
        stop = self.rings.changes.follow(lambda change: seen.append(change.number))
        self.rings.changes.follow(lambda change: others.append(change.number))
        self.rings.changes.add(CHANGE)
        stop()
        stop()
        self.rings.changes.add(CHANGE)
        self.assertEqual((seen, others), ([1], [1, 2]))

    def test_stop_while_told(self) -> None:
        """A follower may stop while it is told, and others hear all the same."""
        seen: list[str] = []

        def once(change: Change) -> None:
            seen.append("once")
            stop()

        stop = self.rings.changes.follow(once)
        self.rings.changes.follow(lambda change: seen.append("always"))
        self.rings.changes.add(CHANGE)
        self.rings.changes.add(CHANGE)
        self.assertEqual(seen, ["once", "always", "always"])
