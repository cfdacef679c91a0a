"""Snapshots as bytes, and what is different between two of them."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

from attrs import evolve, frozen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.guards import GuardMissing
from ingress.annotations.operator_filters import InstalledFilter, OperatorFilter, operator_filter
from ingress.annotations.redirects import HttpsRedirect
from ingress.filters import Filter, Phase, Services
from ingress.model.backends import BackendReference
from ingress.model.balancing import Algorithm
from ingress.model.limits import Limits, Timeouts
from ingress.model.objects import ClusterObject
from ingress.model.serving import ServingSettings
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from ingress.routing.variants import RequestCondition, Said, Variant, WeightedBackend
from ingress.translate.options import TranslateOptions
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from ingress.translate.snapshot_bytes import FORMAT, SnapshotError, snapshot_from_bytes, snapshot_to_bytes
from ingress.translate.snapshot_changes import SnapshotChanges, changes
from ingress.translate.translate import translate
from tests.translate import golden
from tests.translate.test_client_authentication import ingress
from tests.translate.test_properties import NOW, all_options, clusters

ROOT = Path(__file__).resolve().parents[2]
WEB, CANARY = BackendReference("demo", "web", 80), BackendReference("demo", "canary", 80)


@frozen
class Hello:
    """A spec of a package that is not ours."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "hello"
    text: str = ""

    def describe(self) -> str:
        """Say hello."""
        return f"says {self.text}"

    def make(self, services: Services) -> Filter:
        """Make a filter that does nothing."""
        return Filter()


HELLO = InstalledFilter("hello", Hello)


def snapshots() -> list[Snapshot]:
    """Translate all fixtures."""
    found = []
    for case in golden.cases():
        found.append(translate(golden.state_of_case(case), golden.options_of_case(case), golden.NOW))
    return found


def of_routes(*routes: Route) -> Snapshot:
    """Return a snapshot of routes alone."""
    return Snapshot(table=RouteTable(routes))


class BytesTests(SynchronousTestCase):
    """Writing and reading."""

    def assert_same(self, found: Snapshot, snapshot: Snapshot) -> None:
        """Compare two snapshots by value."""
        self.assertEqual(differences(found, snapshot), ())
        self.assertEqual(found.problems, snapshot.problems)
        self.assertFalse(changes(snapshot, found))

    def test_fixtures(self) -> None:
        """What every fixture becomes is read back equal."""
        for snapshot in snapshots():
            self.assert_same(snapshot_from_bytes(snapshot_to_bytes(snapshot)), snapshot)

    @settings(deadline=None, derandomize=True, max_examples=40, suppress_health_check=list(HealthCheck))
    @given(clusters, all_options)
    def test_random_clusters(self, objects: list[ClusterObject], options: TranslateOptions) -> None:
        """So is whatever else clusters become."""
        snapshot = translate(golden.state_of(objects), options, NOW)
        self.assert_same(snapshot_from_bytes(snapshot_to_bytes(snapshot)), snapshot)

    def test_another_process(self) -> None:
        """A process whose texts have other hashes finds everything, and what it writes is read back equal here."""
        wide = [one for one in snapshots() if one.table.count > 3 and one.backends][:3]
        self.assertEqual(len(wide), 3)
        for seed, snapshot in zip(("1", "2", "3"), wide, strict=True):
            done = subprocess.run(
                [sys.executable, "-m", "tests.translate.reread"],
                input=snapshot_to_bytes(snapshot),
                capture_output=True,
                check=True,
                cwd=ROOT,
                env={**os.environ, "PYTHONHASHSEED": seed},
            )
            self.assert_same(snapshot_from_bytes(done.stdout), snapshot)

    def test_variants(self) -> None:
        """Variants, weights and filters of all places travel, too."""
        condition = RequestCondition(Said.HEADER, b"x-canary", frozenset({b"always"}))
        entries = (WeightedBackend(WEB, 9), WeightedBackend(CANARY, 1, (GuardMissing(),)))
        route = Route("a.test", "/", Match.PREFIX, None, WEB, filters=(HttpsRedirect(),), weighted=entries)
        route = evolve(route, variants=(Variant((condition,), entries, (GuardMissing(),)),))
        table = RouteTable().patched({"a.test": HostRoutes((route,), (GuardMissing(),))})
        found = snapshot_from_bytes(snapshot_to_bytes(Snapshot(table=table)))
        self.assertEqual(found.table.routes, (route,))
        self.assertEqual(found.table.host_filters(b"a.test"), (GuardMissing(),))

    def test_serving(self) -> None:
        """What the proxy goes by besides travels with the rest."""
        serving = ServingSettings(
            Limits(head_seconds=3.0, upstream=Timeouts(1.0, 2.0, 3.0)),
            Algorithm.EWMA,
            not_found_page=b"\xff<p>",
            trusted_proxies=("10.0.0.0/8",),
        )
        found = snapshot_from_bytes(snapshot_to_bytes(Snapshot(serving=serving)))
        self.assertEqual(found.serving, serving)

    def test_what_is_shared_stays_shared(self) -> None:
        """Equal parts that were one object are one object again: of thousands of routes many share them."""
        filters = (HttpsRedirect(),)
        some = [Route("a.test", path, Match.PREFIX, None, WEB, filters=filters) for path in ("/a", "/b")]
        one, two = snapshot_from_bytes(snapshot_to_bytes(of_routes(*some))).table.routes
        self.assertIs(one.filters, two.filters)
        self.assertIs(one.backend, two.backend)

    def test_filters_of_the_operator(self) -> None:
        """They travel as name and arguments, and the reader makes its own of these."""
        spec = operator_filter(HELLO, "you")
        octets = snapshot_to_bytes(of_routes(Route("", "/", Match.PREFIX, None, WEB, filters=(spec,))))
        self.assertNotIn(b"Hello", octets)
        (route,) = snapshot_from_bytes(octets, {"hello": HELLO}).table.routes
        (found,) = route.filters
        self.assertEqual(found, spec)
        assert isinstance(found, OperatorFilter)
        self.assertEqual(found.spec, Hello("you"))

    def test_filters_that_are_not_installed(self) -> None:
        """Who does not have a filter cannot read what needs it, and is told which it is."""
        spec = operator_filter(HELLO, "you")
        octets = snapshot_to_bytes(of_routes(Route("", "/", Match.PREFIX, None, WEB, filters=(spec,))))
        error = self.assertRaises(SnapshotError, snapshot_from_bytes, octets)
        self.assertEqual(str(error), "filter hello is not installed here")

        def refuses(arguments: str) -> Hello:
            raise ValueError("not today")

        error = self.assertRaises(
            SnapshotError, snapshot_from_bytes, octets, {"hello": InstalledFilter("hello", refuses)}
        )
        self.assertIn("not today", str(error))

    def test_what_is_no_plain_data(self) -> None:
        """A spec that is foreign is not written, and the message names its class."""
        snapshot = of_routes(Route("", "/", Match.PREFIX, None, WEB, filters=(Hello(),)))
        error = self.assertRaises(SnapshotError, snapshot_to_bytes, snapshot)
        self.assertIn(f"{Hello.__module__}.Hello is no plain data", str(error))

    def test_bytes_that_are_none(self) -> None:
        """Other bytes, bytes that break off, and bytes that name anything else are refused, and nothing is called."""
        good = snapshot_to_bytes(of_routes(Route("", "/", Match.PREFIX, None, WEB)))
        evil = FORMAT + pickle.dumps(Path("/tmp"))
        system = FORMAT + b"cos\nsystem\n(S'exit 1'\ntR."
        for octets in (b"", b"x", good[:-3], good[len(FORMAT) :], FORMAT + pickle.dumps([1]), evil, system):
            self.assertRaises(SnapshotError, snapshot_from_bytes, octets)

    @settings(deadline=None, derandomize=True, max_examples=200, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def test_damaged_bytes(self, data: st.DataObject) -> None:
        """A byte that is another one gives some snapshot, or the one error, and nothing else."""
        octets = bytearray(snapshot_to_bytes(of_routes(Route("a.test", "/", Match.PREFIX, None, WEB))))
        octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
        try:
            found = snapshot_from_bytes(bytes(octets))
        except SnapshotError:
            return
        self.assertIsInstance(found, Snapshot)


class ChangesTests(SynchronousTestCase):
    """What came, went and changed."""

    def snapshot(self, *objects: ClusterObject) -> Snapshot:
        """Translate these objects."""
        return translate(golden.state_of([*objects]), TranslateOptions(), NOW)

    def test_nothing(self) -> None:
        """Two translations of the same are not different."""
        one, two = (self.snapshot(ingress("a", "/")) for _ in range(2))
        self.assertEqual(changes(one, two), SnapshotChanges())
        self.assertFalse(changes(one, two))

    def test_routes(self) -> None:
        """A path that came, one that went, and one that leads elsewhere, each by host, path and match."""
        key = ("a.test", "/", Match.PREFIX, "")
        before = self.snapshot(ingress("a", "/", "/old"))
        found = changes(before, self.snapshot(ingress("a", "/", "/new", proxy_body_size="8m"))).routes
        self.assertEqual(found.came, {("a.test", "/new", Match.PREFIX, "")})
        self.assertEqual(found.went, {("a.test", "/old", Match.PREFIX, "")})
        self.assertEqual(found.changed, {key})

    def test_filters(self) -> None:
        """Filters come and go by host."""
        plain, guarded = (
            self.snapshot(ingress("a", "/")),
            self.snapshot(ingress("a", "/", modsecurity_snippet="SecRuleEngine On")),
        )
        self.assertEqual(changes(plain, guarded).filters.came, {("a.test", GuardMissing())})
        self.assertEqual(changes(guarded, plain).filters.went, {("a.test", GuardMissing())})
        self.assertFalse(changes(guarded, plain).filters.changed)

    def test_hosts_and_backends(self) -> None:
        """Backends and the settings of handshakes are named as the snapshot names them."""
        found = changes(Snapshot(), self.snapshot(ingress("a", "/")))
        self.assertEqual(found.backends.came, {WEB})
        self.assertEqual(found.handshake_settings.came, {"a.test"})

    def test_certificates(self) -> None:
        """Certificates are named by their hosts, and the default by nothing."""
        tables = [one.certificates for one in snapshots() if one.certificates.exact]
        tables += [evolve(one, default=next(iter(one.exact.values()))[0]) for one in tables[:1]]
        self.assertTrue(any(one.wildcard for one in tables))
        for table in tables:
            whole, without = Snapshot(certificates=table), Snapshot()
            found = changes(without, whole).certificates
            hosts = {*table.exact, *(f"*{suffix}" for suffix in table.wildcard)}
            self.assertEqual(found.came, hosts | ({""} if table.default is not None else set()))
            self.assertEqual(changes(whole, without).certificates.went, found.came)

    def test_serving(self) -> None:
        """What the proxy goes by besides is different by fields."""
        one = Snapshot(serving=ServingSettings(Limits(head_seconds=3.0), slow_start_seconds=1.0))
        found = changes(Snapshot(), one)
        self.assertEqual(found.serving.changed, {"limits.head_seconds", "slow_start_seconds"})
        self.assertEqual(found, SnapshotChanges(serving=found.serving))
        self.assertTrue(found)

    def test_only_what_is_different_is_looked_at(self) -> None:
        """Of a table that was made of the one before, hosts that are shared are not compared."""
        before = RouteTable(Route(f"{n}.test", "/", Match.PREFIX, None, WEB) for n in range(500))
        compared = Route("0.test", "/", Match.PREFIX, None, CANARY)
        after = before.patched({"0.test": HostRoutes((compared,))})
        found = changes(Snapshot(table=before), Snapshot(table=after))
        self.assertEqual(found.routes.changed, {("0.test", "/", Match.PREFIX, "")})
        self.assertEqual(len(dict(after.changes_since(before))), 1)

    @settings(deadline=None, derandomize=True, max_examples=40, suppress_health_check=list(HealthCheck))
    @given(clusters, clusters, all_options)
    def test_random_clusters(
        self, some: list[ClusterObject], others: list[ClusterObject], options: TranslateOptions
    ) -> None:
        """What is said of the routes is what a comparison of all of them says, and there and back are opposites."""
        old, new = (translate(golden.state_of(one), options, NOW) for one in (some, others))
        before, after = ({route.key: route for route in one.table.routes} for one in (old, new))
        there, back = changes(old, new), changes(new, old)
        self.assertEqual(there.routes.came, after.keys() - before.keys())
        self.assertEqual(there.routes.went, before.keys() - after.keys())
        both = before.keys() & after.keys()
        self.assertEqual(there.routes.changed, {key for key in both if before[key] != after[key]})
        for name in ("routes", "filters", "backends", "certificates", "handshake_settings"):
            one, other = getattr(there, name), getattr(back, name)
            self.assertEqual((one.came, one.went, one.changed), (other.went, other.came, other.changed))
