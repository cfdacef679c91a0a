"""What is different between two snapshots."""

from pathlib import Path
from typing import ClassVar

from attrs import evolve, frozen
from hypothesis import HealthCheck, given, settings
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.guards import GuardMissing
from ingress.annotations.operator_filters import InstalledFilter
from ingress.filters import Filter, Phase, Services
from ingress.model.backends import BackendReference
from ingress.model.limits import Limits
from ingress.model.objects import ClusterObject
from ingress.model.serving import ServingSettings
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from ingress.translate.options import TranslateOptions
from ingress.translate.snapshot import Snapshot
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
