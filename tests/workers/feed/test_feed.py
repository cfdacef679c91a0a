"""Snapshots in pieces: what follows them has what was published, whatever came between."""

import os
import subprocess
import sys
from enum import Enum
from random import Random
from typing import Any

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.logger import capturedLogs, formatEvent

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.operator_filters import InstalledFilter, OperatorFilter, operator_filter
from ingress.annotations.redirects.https_redirect import HttpsRedirect
from ingress.model.cluster.objects import ClusterObject
from ingress.model.network.listeners import Listener
from ingress.model.serving.limits import Limits, Timeouts
from ingress.model.serving.serving_settings import ServingSettings
from ingress.model.shared_map import SharedMap
from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.model.upstream.balancing import Algorithm
from ingress.routing.table import HostRoutes, RouteTable
from ingress.routing.variants import RequestCondition, Said, Variant, WeightedBackend
from ingress.translate.options import TranslateOptions
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from ingress.workers.feed import snapshot_bytes
from ingress.workers.feed.follower import Follower
from ingress.workers.feed.sending import pieces
from ingress.workers.feed.snapshot_bytes import SnapshotError
from tests.translate import following, golden
from tests.translate.readers.gateway.route_cluster import (
    GATEWAY_CLASS,
    INFRA,
    GatewayCluster,
    gateway,
    listener,
    route,
    rule,
    service,
)
from tests.translate.test_incremental import Event, histories
from tests.translate.test_properties import NOW, all_options, clusters
from tests.workers.feed.feed_case import (
    CANARY,
    ENDPOINTS,
    HEALTH,
    HELLO,
    ROOT,
    WEB,
    FeedCase,
    Hello,
    a_route,
    fixtures,
    of_routes,
    travelling,
)
from tests.workers.sent import sent


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
        self.tell(
            Snapshot(
                serving=serving, listeners=(Listener("tcp:80"),), replicas=3, replica_addresses=("10.0.0.1",)
            )
        )
        found = self.follower.snapshot
        self.tell(
            Snapshot(
                serving=evolve(serving),
                listeners=(Listener("tcp:80"),),
                replicas=4,
                replica_addresses=("10.0.0.2",),
            )
        )
        self.assertIs(self.follower.snapshot.serving, found.serving)
        self.assertIs(self.follower.snapshot.listeners, found.listeners)

    def test_words_that_are_few(self) -> None:
        """Members of an enumeration travel also where Python by itself writes them as attributes of their class, as 3.11.2 does."""
        self.patch(snapshot_bytes, "_reducers", {})
        self.patch(Enum, "__reduce_ex__", lambda one, protocol: (getattr, (type(one), one.name)))
        self.assertIs(
            sent(Snapshot(serving=ServingSettings(load_balance=Algorithm.EWMA))).serving.load_balance,
            Algorithm.EWMA,
        )

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
        for turn in range(12):
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
