"""What a snapshot alone has is let go in steps, by whoever has it last."""

import gc
from collections.abc import Iterator
from typing import cast
from weakref import ref

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.changes.replaced_values import replaced
from ingress.filters import FilterSpec
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.shared_map import SharedMap
from ingress.model.stepwise import Stepwise, let_go
from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from ingress.translate.snapshot import Snapshot
from tests.fakes.counting import longest_step

COUNT = 3000
OWNER = Owner(Kind.INGRESS, ObjectKey("demo", "web"))


def backend(number: int) -> BackendReference:
    return BackendReference("demo", f"s{number}", 80)


class Told(str):
    """A text of which is known how long it lives."""


class Spec:
    """A filter's spec, as far as anybody looks at it here, of which that is known, too."""


def snapshot(path: str, count: int = COUNT) -> Snapshot:
    """Return one with so many hosts, and as many backends."""
    route = Route("", path, Match.PREFIX, OWNER, backend(0))
    hosts = {
        f"h{one}.test": HostRoutes((evolve(route, host=f"h{one}.test", filters=(cast(FilterSpec, Spec()),)),))
        for one in range(count)
    }
    states = {backend(one): BackendState((), Told(one)) for one in range(count)}
    return Snapshot(RouteTable().patched(hosts), SharedMap(states))


class LettingGoTests(SynchronousTestCase):
    """A snapshot after another."""

    def gone(self, snapshots: list[Snapshot]) -> Stepwise[None]:
        before, after = snapshots
        found = yield from replaced(before, after)
        del before
        snapshots.clear()
        yield
        yield from let_go(found)

    def test_little_at_a_time(self) -> None:
        """No step frees more than a few hundred routes and backends of thousands."""
        snapshots = [snapshot("/a"), snapshot("/b")]
        before = snapshots[0]
        lives: list[ref[object]] = [ref(one.filters[0]) for one in before.routes()]
        lives += [ref(one.reason) for one in before.backends.values()]
        after = snapshots[1]
        del before
        steps = self.gone(snapshots)
        most, left = 0, len(lives)
        for _ in steps:
            now = sum(one() is not None for one in lives)
            most, left = max(most, left - now), now
        self.assertLess(most, 300)
        self.assertLess(sum(one() is not None for one in lives), 300)
        self.assertEqual(after.route_count, COUNT)

    def test_steps(self) -> None:
        """Nor does it take long to find them."""
        self.assertLess(longest_step(self.steps(2 * COUNT)), 1.2 * longest_step(self.steps(COUNT)))

    def test_same_anew(self) -> None:
        """Nor to find that there are none, where all was put together anew of the same."""
        found = []
        for count in (COUNT, 2 * COUNT):
            before = snapshot("/a", count)
            hosts = dict(before.table.by_host())
            after = Snapshot(RouteTable().patched(hosts), SharedMap(dict(before.backends)))
            found.append(longest_step(replaced(before, after)))
        self.assertLess(found[1], 1.2 * found[0])

    def steps(self, count: int) -> Iterator[None]:
        return replaced(snapshot("/a", count), snapshot("/b", count))

    def test_what_is_kept(self) -> None:
        """Hosts that are as they were stay where they are."""
        before = snapshot("/a")
        after = evolve(before, table=before.table.patched({"h7.test": None}))
        steps = replaced(before, after)
        found: list[object] = []
        try:
            while True:
                next(steps)
        except StopIteration as end:
            found = end.value
        gc.collect()
        self.assertEqual([one.host for one in found if isinstance(one, Route)], ["h7.test"])
