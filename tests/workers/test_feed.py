"""Snapshots in pieces: what follows them has what was published, whatever came between, and only what is different travels."""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from attrs import evolve, frozen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.guards import GuardMissing
from ingress.annotations.operator_filters import InstalledFilter, OperatorFilter, operator_filter
from ingress.annotations.redirects import HttpsRedirect
from ingress.filters import Filter, FilterSpec, Phase, Services
from ingress.model.backends import BackendReference, BackendState, Endpoint
from ingress.model.balancing import Algorithm
from ingress.model.limits import Limits, Timeouts
from ingress.model.listeners import Listener
from ingress.model.objects import ClusterObject
from ingress.model.serving import ServingSettings
from ingress.model.shared_map import SharedMap
from ingress.routing import table as table_module
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from ingress.routing.variants import RequestCondition, Said, Variant, WeightedBackend
from ingress.translate.options import TranslateOptions
from ingress.translate.self_check import differences
from ingress.translate.snapshot import NOTHING_ATTACHED, Snapshot
from ingress.translate.snapshot_bytes import SnapshotError
from ingress.translate.translate import translate
from ingress.workers.feed.follower import Follower
from ingress.workers.feed.sending import pieces
from tests.readers.gateway.route_cluster import (
    GATEWAY_CLASS,
    INFRA,
    GatewayCluster,
    gateway,
    listener,
    route,
    rule,
    service,
)
from tests.translate import following, golden
from tests.translate.test_incremental import Event, histories
from tests.translate.test_properties import NOW, all_options, clusters
from tests.workers.sent import sent

ROOT = Path(__file__).resolve().parents[2]
HEALTH = list(HealthCheck)
WEB, CANARY = BackendReference("demo", "web", 80), BackendReference("demo", "canary", 80)
ENDPOINTS = tuple(Endpoint(f"10.0.{number // 256}.{number % 256}", 80) for number in range(3000))


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


def travelling(snapshot: Snapshot) -> Snapshot:
    """Return *snapshot* with what travels of it."""
    return evolve(snapshot, problems=(), attached=NOTHING_ATTACHED)


@cache
def fixtures() -> tuple[Snapshot, ...]:
    """Translate all fixtures."""
    return tuple(
        translate(golden.state_of_case(case), golden.options_of_case(case), golden.NOW)
        for case in golden.cases()
    )


def table_of(routes: Iterable[Route]) -> RouteTable:
    """Return a table of *routes*, host by host, as translation makes it."""
    by_host: dict[str, list[Route]] = {}
    for one in routes:
        by_host.setdefault(one.host, []).append(one)
    return RouteTable().patched({host: HostRoutes(tuple(some)) for host, some in by_host.items()})


def of_routes(*routes: Route) -> Snapshot:
    """Return a snapshot of routes alone."""
    return Snapshot(table=table_of(routes))


def a_route(host: str, path: str = "/", backend: BackendReference = WEB, *filters: FilterSpec) -> Route:
    """Return a route."""
    return Route(host, path, Match.PREFIX, None, backend, filters=filters)


def wide(hosts: int, routes: int = 1) -> Snapshot:
    """Return a snapshot of so many hosts, each with so many routes and one backend."""
    return Snapshot(
        table=table_of(a_route(f"{host}.test", f"/{n}") for host in range(hosts) for n in range(routes)),
        backends=SharedMap({WEB._replace(port=host): BackendState(ENDPOINTS[:2]) for host in range(hosts)}),
    )


class FeedCase(SynchronousTestCase):
    """A follower, and what it is told."""

    def setUp(self) -> None:
        self.follower = Follower([HELLO])
        self.has: Snapshot | None = None
        """What it was told last."""

    def tell(self, snapshot: Snapshot) -> list[bytes]:
        """Tell it of *snapshot*, and compare; return the pieces."""
        told = list(pieces(self.has, snapshot))
        complete = [self.follower.take(piece) for piece in told]
        self.assertEqual(complete, [False] * (len(told) - 1) + [True])
        self.assertEqual(differences(self.follower.snapshot, travelling(snapshot)), ())
        self.assertEqual(self.follower.snapshot.serving, snapshot.serving)
        self.assertEqual(self.follower.snapshot.listeners, snapshot.listeners)
        self.has = snapshot
        return told


class ContentTests(FeedCase):
    """All that may be in a snapshot."""

    def test_fixtures(self) -> None:
        """What every fixture becomes travels, each made of the one before."""
        for snapshot in fixtures():
            self.tell(snapshot)

    def test_what_does_not_travel(self) -> None:
        """Problems, and how many routes are attached where, are for the control plane alone."""
        cluster = GatewayCluster()
        http = gateway_objects("http", ("a.test",))
        routes = gateway_objects("routes", ("a.test",))
        snapshot = cluster.write("base", GATEWAY_CLASS, *http, *routes)
        self.assertTrue(snapshot.problems and snapshot.attached)
        found = sent(snapshot)
        self.assertFalse(found.problems or found.attached)

    def test_another_process(self) -> None:
        """A process whose texts have other hashes finds everything, and what it writes is read back equal here."""
        some = [one for one in fixtures() if one.table.count > 3 and one.backends][:3]
        self.assertEqual(len(some), 3)
        for seed, snapshot in zip(("1", "2", "3"), some, strict=True):
            done = subprocess.run(
                [sys.executable, "-m", "tests.workers.reread"],
                input="\n".join(piece.hex() for piece in pieces(None, snapshot)),
                capture_output=True,
                check=True,
                text=True,
                cwd=ROOT,
                env={**os.environ, "PYTHONHASHSEED": seed},
            )
            follower = Follower()
            complete = [follower.take(bytes.fromhex(line)) for line in done.stdout.split()]
            self.assertTrue(complete[-1])
            self.assertEqual(differences(follower.snapshot, travelling(snapshot)), ())

    def test_variants(self) -> None:
        """Variants, weights and filters of all places travel, too."""
        condition = RequestCondition(Said.HEADER, b"x-canary", frozenset({b"always"}))
        entries = (WeightedBackend(WEB, 9), WeightedBackend(CANARY, 1, (GuardMissing(),)))
        found = evolve(a_route("a.test", "/", WEB, HttpsRedirect()), weighted=entries)
        found = evolve(found, variants=(Variant((condition,), entries, (GuardMissing(),)),))
        table = RouteTable().patched({"a.test": HostRoutes((found,), (GuardMissing(),))})
        read = sent(Snapshot(table=table)).table
        self.assertEqual(read.routes, (found,))
        self.assertEqual(read.host_filters(b"a.test"), (GuardMissing(),))

    def test_serving(self) -> None:
        """What the proxy goes by besides travels when it is another, and is the same object as long as it is not."""
        serving = ServingSettings(
            Limits(head_seconds=3.0, upstream=Timeouts(1.0, 2.0, 3.0)),
            Algorithm.EWMA,
            not_found_page=b"\xff<p>",
            trusted_proxies=("10.0.0.0/8",),
        )
        self.tell(Snapshot(serving=serving, listeners=(Listener("tcp:80"),), replicas=3))
        found = self.follower.snapshot
        self.tell(Snapshot(serving=evolve(serving), listeners=(Listener("tcp:80"),), replicas=4))
        self.assertIs(self.follower.snapshot.serving, found.serving)
        self.assertIs(self.follower.snapshot.listeners, found.listeners)

    def test_filters_of_the_operator(self) -> None:
        """They travel as name and arguments, and the reader makes its own of these, once for all that are equal."""
        spec = operator_filter(HELLO, "you")
        told = self.tell(of_routes(a_route("a.test", "/", WEB, spec)))
        self.assertNotIn(b"Hello", b"".join(told))
        self.tell(of_routes(a_route("a.test", "/", WEB, spec), a_route("b.test", "/", WEB, spec)))
        (found,), (other,) = (one.filters for one in self.follower.snapshot.table.routes)
        self.assertEqual(found, spec)
        assert isinstance(found, OperatorFilter)
        self.assertEqual(found.spec, Hello("you"))
        self.assertIs(found, other)

    def test_filters_that_are_not_allowed(self) -> None:
        """Who does not have a filter cannot read what needs it, and is told which it is."""
        snapshot = of_routes(a_route("", "/", WEB, operator_filter(HELLO, "you")))
        error = self.assertRaises(SnapshotError, sent, snapshot)
        self.assertEqual(str(error), "filter hello is not installed here")

    def test_filters_that_refuse(self) -> None:
        """A filter that refuses here what it took before closes its routes, for it may have been a guard; all else is served."""

        def refuses(arguments: str) -> Hello:
            raise ValueError("not today")

        with capturedLogs() as logged:
            found = sent(
                of_routes(
                    a_route("a.test", "/", WEB, operator_filter(HELLO, "you")), a_route("b.test", "/", WEB)
                ),
                InstalledFilter("hello", refuses),
            )
        self.assertEqual([one.filters for one in found.table.routes], [(GuardMissing(),), ()])
        (event,) = logged
        self.assertIn("hello=you is refused by filter hello: not today", formatEvent(event))

    def test_what_is_no_plain_data(self) -> None:
        """A spec that is foreign is not written, and the message names its class."""
        error = self.assertRaises(SnapshotError, sent, of_routes(a_route("", "/", WEB, Hello())))
        self.assertIn(f"{Hello.__module__}.Hello is no plain data", str(error))


class HistoryTests(FeedCase):
    """Whatever happens in a cluster."""

    @settings(deadline=None, derandomize=True, max_examples=30, suppress_health_check=HEALTH)
    @given(clusters, all_options, histories, st.integers(0, 5))
    def test_ingresses(
        self, first: list[ClusterObject], options: TranslateOptions, history: list[Event], skipped: int
    ) -> None:
        """After each event, after all but some of them, and from a snapshot of another history, all are the same."""
        self.setUp()
        cluster = following.Follower(options, first)
        slow = FeedCase()
        slow.setUp()
        slow.tell(translate(golden.state_of(list(reversed(first[1:]))), TranslateOptions(), NOW))
        self.tell(cluster.settle())
        for number, event in enumerate(history):
            cluster.now = event.now or cluster.now
            cluster.change(event.batch)
            snapshot = cluster.settle()
            self.tell(snapshot)
            if number >= skipped:
                slow.tell(snapshot)
        self.tell(cluster.expected())

    @settings(deadline=None, derandomize=True, max_examples=25, suppress_health_check=HEALTH)
    @given(clusters, st.lists(st.tuples(all_options, st.sampled_from(["", "10.0.0.0/8"])), max_size=4))
    def test_options(self, objects: list[ClusterObject], several: list[tuple[TranslateOptions, str]]) -> None:
        """Options change, those of translation and those of the proxy."""
        self.setUp()
        for options, trusted in several:
            snapshot = translate(golden.state_of(objects), options, NOW)
            self.tell(
                evolve(snapshot, serving=ServingSettings(trusted_proxies=(trusted,) if trusted else ()))
            )

    @settings(deadline=None, derandomize=True, max_examples=25, suppress_health_check=HEALTH)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["http", "tls", "tcp", "more", "routes", "streams"]),
                st.sampled_from([(), ("a.test",), ("*.test", "b.test"), ("b.a.test",)]),
                st.booleans(),
            ),
            max_size=10,
        )
    )
    def test_gateways(self, steps: list[tuple[str, tuple[str, ...], bool]]) -> None:
        """Tables of Gateways come, change and go, and streams do."""
        self.setUp()
        skipping = FeedCase()
        skipping.setUp()
        cluster = GatewayCluster(listeners=(Listener("tcp:80", is_required=True),))
        self.tell(cluster.write("base", GATEWAY_CLASS, service("web"), service("other")))
        for name, hosts, is_told in steps:
            snapshot = cluster.write(name, *gateway_objects(name, hosts))
            self.tell(snapshot)
            if is_told:
                skipping.tell(snapshot)

    def test_random_tables(self) -> None:
        """Large tables of which random parts come, change and go, made of each other or of nothing."""
        random = Random(1)
        hosts = [f"{number}.test" for number in range(300)]
        table, backends = RouteTable(), SharedMap[BackendReference, BackendState]()
        for turn in range(30):
            some = random.sample(hosts, random.choice((1, 3, 200)))
            table = table.patched({host: _some_host(random, host) for host in some})
            changes: dict[BackendReference, BackendState | None] = {}
            for port in random.sample(range(100), random.choice((1, 50))):
                start, count = random.randrange(900), random.choice((0, 1, 2, 150, 1500))
                changes[WEB._replace(port=port)] = random.choice(
                    (None, BackendState(ENDPOINTS[start : start + count], "" if count else "none"))
                )
            backends = backends.patched({key: one for key, one in changes.items() if one or key in backends})
            if turn % 10 == 9:
                table = RouteTable().patched(dict(table.by_host()))
                backends = SharedMap(dict(backends))
            self.tell(Snapshot(table=table, backends=backends))


def _some_host(random: Random, host: str) -> HostRoutes:
    count, start = random.choice((0, 1, 2, 60, 300)), random.randrange(3)
    filters = (GuardMissing(),) if random.random() < 0.5 else ()
    routes = tuple(a_route(host, f"/{number}", WEB, *filters) for number in range(start, start + count))
    return HostRoutes(routes, filters, random.random() < 0.5)


def gateway_objects(name: str, hosts: tuple[str, ...]) -> list[dict[str, Any] | str]:
    """Return Gateways of a sort with listeners for *hosts*, or routes for them."""
    tls = {"protocol": "TLS", "tls": {"mode": "Passthrough"}}
    made = {
        "http": [listener(f"l{number}", host, 80) for number, host in enumerate(hosts)],
        "more": [listener(f"l{number}", host, 8000 + number) for number, host in enumerate(hosts)],
        "tls": [listener(f"l{number}", host, 443, **tls) for number, host in enumerate(hosts)],
        "tcp": [listener("l", port=9300, protocol="TCP")] if hosts else [],
    }
    if name in made:
        return [gateway(name, *made[name])] if made[name] else []
    if not hosts:
        return []
    parents = {
        "routes": [{"name": one, "namespace": INFRA} for one in ("http", "more")],
        "streams": [{"name": one, "namespace": INFRA} for one in ("tls",)],
    }[name]
    kind = "HTTPRoute" if name == "routes" else "TLSRoute"
    found: list[dict[str, Any] | str] = [
        route("r", rule("web"), hostnames=hosts, parents=parents, kind=kind),
    ]
    if name == "streams":
        found.append(
            route("t", rule("other"), parents=[{"name": "tcp", "namespace": INFRA}], kind="TCPRoute")
        )
    return found


class CostTests(FeedCase):
    """What travels, and what stays the same object."""

    def test_endpoints(self) -> None:
        """Of thousands of hosts, an endpoint that comes travels alone, and all else stays the same object."""
        before = wide(3000)
        self.tell(before)
        had = self.follower.snapshot
        changed = WEB._replace(port=7)
        backends = before.backends
        assert isinstance(backends, SharedMap)
        after = evolve(before, backends=backends.patched({changed: BackendState(ENDPOINTS[:3])}))
        (piece,) = self.tell(after)
        self.assertLess(len(piece), 300)
        has = self.follower.snapshot
        self.assertIs(has.table, had.table)
        self.assertIs(has.certificates, had.certificates)
        self.assertIs(has.handshake_settings, had.handshake_settings)
        self.assertIs(has.others, had.others)
        assert isinstance(has.backends, SharedMap) and isinstance(had.backends, SharedMap)
        self.assertEqual([key for key, _ in has.backends.changes_since(had.backends)], [changed])

    def test_many_endpoints(self) -> None:
        """Of a backend with thousands of endpoints, one that goes costs no more than one of a backend with few."""
        before = Snapshot(backends=SharedMap({WEB: BackendState(ENDPOINTS)}))
        self.tell(before)
        (had,) = self.follower.snapshot.backends.values()
        told = self.tell(
            Snapshot(backends=SharedMap({WEB: BackendState(ENDPOINTS[:1500] + ENDPOINTS[1501:])}))
        )
        self.assertLess(len(b"".join(told)), 300)
        (has,) = self.follower.snapshot.backends.values()
        self.assertIs(has.endpoints[-1], had.endpoints[-1])

    def test_host(self) -> None:
        """A host that changes travels alone; of one with thousands of routes, those that are different."""
        before = wide(3, routes=2000)
        self.tell(before)
        had = self.follower.snapshot.table
        known = before.table.get("1.test")
        assert known is not None
        other = a_route("1.test", "/700", CANARY)
        routes = (*known.routes[:700], other, *known.routes[701:])
        after = Snapshot(table=before.table.patched({"1.test": HostRoutes(routes)}), backends=before.backends)
        told = self.tell(after)
        self.assertLess(len(b"".join(told)), 1200)
        has = self.follower.snapshot.table
        self.assertEqual([host for host, _ in has.changes_since(had)], ["1.test"])
        found, was = has.get("1.test"), had.get("1.test")
        assert found is not None and was is not None
        self.assertIs(found.routes[1999], was.routes[1999])

    def test_what_is_equal(self) -> None:
        """What was translated anew and came to the same travels not at all, and stays the same object."""
        self.tell(wide(1000))
        had = self.follower.snapshot
        told = self.tell(wide(1000))
        self.assertLess(len(b"".join(told)), 100)
        self.assertIs(self.follower.snapshot.table, had.table)
        self.assertIs(self.follower.snapshot.backends, had.backends)
        self.assertEqual(list(had.tables())[1:], [])

    def test_certificates(self) -> None:
        """A certificate that is renewed travels; all others are the same objects, and so are the settings of handshakes."""
        cluster = following.Follower(
            TranslateOptions(),
            [
                following.SERVICE,
                following.SLICE,
                *(following.asking(name, f"{name}.test", secret=name) for name in "ab"),
                *(following.tls_secret(name, f"{name}.test") for name in "ab"),
            ],
        )
        self.tell(cluster.settle())
        had = self.follower.snapshot
        cluster.change(following.batch(following.tls_secret("b", "b.test", "c.test")))
        told = b"".join(self.tell(cluster.settle()))
        self.assertEqual(told.count(b"PRIVATE KEY-----\n"), 2)
        has = self.follower.snapshot
        self.assertIs(has.certificates.exact["a.test"], had.certificates.exact["a.test"])
        self.assertIsNot(has.certificates.exact["b.test"], had.certificates.exact["b.test"])
        self.assertIs(has.handshake_settings, had.handshake_settings)
        self.assertIs(has.table, had.table)

    def test_pieces_are_small(self) -> None:
        """However much there is, no piece has more than so many values; a host of thousands of routes is in several."""
        for snapshot in (wide(2000), wide(2, routes=2000)):
            told = list(pieces(None, snapshot))
            self.assertGreater(len(told), 40)
            self.assertLess(max(map(len, told)), 10_000)
        endpoints = Snapshot(backends=SharedMap({WEB: BackendState(ENDPOINTS)}))
        self.assertGreater(len(list(pieces(None, endpoints))), 19)

    def test_made_before(self) -> None:
        """What workers need of all hosts is there before any is forked: neither order of paths nor counts of filters are left to them."""
        self.tell(wide(50))
        table = self.follower.snapshot.table
        self.assertIs(table.uses, table.uses)
        self.patch(table_module, "rule_path", None)
        found = table.find(b"7.test", b"/0")
        assert found is not None
        self.assertEqual(found.host, "7.test")

    def test_time_that_goes_by(self) -> None:
        """Where much is compared and nothing is different, pieces without bytes come in between, and mean nothing."""
        told = self.tell(wide(3000)) and self.tell(wide(3000))
        self.assertGreater(told.count(b""), 30)


class SharingTests(FeedCase):
    """Equal values."""

    def test_within_and_across(self) -> None:
        """What is equal is one object, in whatever piece and with whatever change it came."""
        self.tell(
            Snapshot(
                table=table_of(a_route(f"{n}.test", "/", WEB, HttpsRedirect()) for n in range(500)),
                backends=SharedMap({WEB: BackendState()}),
            )
        )
        self.tell(
            Snapshot(
                table=table_of(a_route(f"{n}.test", "/", WEB, HttpsRedirect()) for n in range(501)),
                backends=SharedMap({WEB: BackendState()}),
            )
        )
        routes = self.follower.snapshot.table.routes
        self.assertEqual(len(routes), 501)
        self.assertEqual(len({id(one.filters) for one in routes}), 1)
        self.assertEqual({id(one.backend) for one in routes}, {id(*self.follower.snapshot.backends)})

    def test_bounded(self) -> None:
        """Whatever comes and goes, what is remembered for it is bounded by what is there."""
        most = 0
        for turn in range(60):
            hosts = [f"{turn}-{number}.test" for number in range(300)]
            self.tell(of_routes(*(a_route(host, "/", WEB._replace(name=host)) for host in hosts)))
            most = max(most, self.follower.remembered)
        self.assertGreater(most, 600)
        self.assertLess(most, 6000)
        for _ in range(20):
            self.tell(Snapshot())
        self.assertLess(self.follower.remembered, 2001)


class MalformedTests(FeedCase):
    """Bytes that are no pieces, or not the next ones."""

    def test_other_bytes(self) -> None:
        """Bytes that break off, bytes that name anything else, and other values are refused, and nothing is called."""
        (good,) = pieces(None, of_routes(a_route("")))
        evil = (
            b"x",
            good[:-3],
            good[5:],
            good + b".",
            pickle.dumps([1]),
            pickle.dumps((1, "txingress feed 0", True)),
            pickle.dumps((99, 1)),
            pickle.dumps(("a",)),
            pickle.dumps(()),
            pickle.dumps(Path("/tmp")),
            b"cos\nsystem\n(S'exit 1'\ntR.",
            pickle.dumps((1, "txingress feed 2", True)) + pickle.dumps((19,)) + b"\x80",
        )
        for octets in evil:
            self.assertRaises(SnapshotError, self.follower.take, octets)
            self.assertEqual(self.follower.snapshot.table.count, 0)
        self.tell(of_routes(a_route("")))

    def test_out_of_order(self) -> None:
        """Pieces that are missing, that come twice, or that were made for another snapshot are refused; what is there stays."""
        first, other = wide(200), wide(300)
        self.tell(first)
        before = self.follower.snapshot
        told = list(pieces(first, other))
        self.assertGreater(len(told), 2)

        def take(*some: bytes) -> None:
            for piece in some:
                self.follower.take(piece)

        for wrong in (
            told[1:],
            [told[0], *told[2:]],
            [told[0], told[1], told[1], *told[2:]],
            list(pieces(other, wide(301))),
            list(pieces(wide(100), wide(99))),
        ):
            self.assertRaises(SnapshotError, take, *wrong)
            self.assertIs(self.follower.snapshot, before)
        self.tell(other)

    def test_begun_anew(self) -> None:
        """What was broken off leaves nothing behind for what begins anew."""
        told = list(pieces(None, wide(300)))
        self.follower.take(told[0])
        self.tell(wide(2))

    def test_every_end(self) -> None:
        """Wherever a piece breaks off, it is refused."""
        (piece,) = pieces(None, of_routes(a_route("a.test")))
        for length in range(1, len(piece)):
            self.assertRaises(SnapshotError, Follower().take, piece[:length])

    @settings(deadline=None, derandomize=True, max_examples=300, suppress_health_check=HEALTH)
    @given(st.data())
    def test_damaged_bytes(self, data: st.DataObject) -> None:
        """A byte that is another one gives some snapshot, or the one error, and nothing else."""
        (piece,) = pieces(None, wide(1))
        octets = bytearray(piece)
        octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
        follower = Follower()
        try:
            follower.take(bytes(octets))
        except SnapshotError:
            self.assertEqual(follower.snapshot.table.count, 0)
        self.assertIsInstance(follower.snapshot, Snapshot)
