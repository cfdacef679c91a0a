"""What many listeners, routes and policies of Gateways cost: in proportion to their number, and little at a time; counted in calls."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.object_meta import Address
from ingress.model.cluster.objects import ObjectKey
from ingress.model.stepwise import finished
from ingress.translate.readers.gateway.statuses.reported import REPORTED_GATEWAYS, REPORTED_HTTP_ROUTES
from ingress.translate.reports import Attached, ReportedKind, ReportFacts, report_of
from tests.fakes.counting import calls
from tests.translate.readers.gateway.route_cluster import (
    GATEWAY_CLASS,
    INFRA,
    NOW,
    GatewayCluster,
    gateway,
    listener,
    route,
    rule,
    service,
)

Objects = list[dict[str, Any]]
Make = Callable[[int], tuple[Objects, Objects]]
"""Makes what is there of so many, and what comes beside it."""

MOST = 2.2
"""How much more the double may cost: some of it is a sort, and tables grow."""
IN_A_STEP = 90
"""Calls of the longest step for each more."""
YOUNGER = "2026-05-01T00:00:00Z"
API = "gateway.networking.k8s.io"


def parents(count: int) -> Objects:
    return [{"name": f"g{number}", "namespace": INFRA} for number in range(count)]


def ports(count: int, hostname: str = "", **more: Any) -> Objects:
    """Return Gateways with so many listeners in all, each on a port of its own."""
    names = range(count)
    return [
        gateway(
            f"g{at}",
            *(
                listener(f"l{number}", hostname, 2000 + number, **more)
                for number in names[at * 64 : (at + 1) * 64]
            ),
        )
        for at in range(-(-count // 64))
    ]


def one_route(count: int, kind: str = "HTTPRoute", **more: Any) -> tuple[Objects, Objects]:
    """A route at listeners of so many ports."""
    made = ports(count, **more)
    return made, [route("r", rule("web"), hostnames=["a.test"], parents=parents(len(made)), kind=kind)]


def passed_through(count: int) -> tuple[Objects, Objects]:
    return one_route(count, "TLSRoute", protocol="TLS", tls={"mode": "Passthrough"})


def labels(count: int) -> tuple[Objects, Objects]:
    """A route whose hostnames have so many labels, at 16 ports that have wildcards of few."""
    two = [
        listener(f"{name}{at}", f"*.{name}.test", 2000 + at) for at in range(16) for name in ("other", "same")
    ]
    hosts = [f"h{number}.{'a.' * count}same.test" for number in range(8)]
    return [gateway("g0", *two)], [route("r", rule("web"), hostnames=hosts, parents=parents(1))]


def of_both_kinds(count: int, routes: int) -> tuple[Objects, Objects]:
    """Routes of kinds that exclude each other at so many ports, and an HTTPRoute for a host of its own."""
    old = [
        route(f"h{number}", rule("web"), hostnames=[f"{number}.test"], parents=parents(1))
        for number in range(routes)
    ]
    young = [
        route(
            f"k{number}",
            rule("web"),
            hostnames=[f"{number}.test"],
            parents=parents(1),
            kind="GRPCRoute",
            created=YOUNGER,
        )
        for number in range(routes)
    ]
    return [*ports(count), *old, *young], [
        route("r", rule("web"), hostnames=["new.test"], parents=parents(1))
    ]


def policies(count: int) -> tuple[Objects, Objects]:
    """So many policies for the same Services."""
    spec = {
        "targetRefs": [{"group": "", "kind": "Service", "name": f"s{number}"} for number in range(4)],
        "validation": {"hostname": "a.test", "wellKnownCACertificates": "System"},
    }
    return [gateway("g0")], [
        {
            "apiVersion": f"{API}/v1",
            "kind": "BackendTLSPolicy",
            "metadata": {"name": f"p{number}", "namespace": INFRA},
            "spec": spec,
        }
        for number in range(count)
    ]


CASES: Mapping[str, Make] = {
    "ports of a route": one_route,
    "ports of streams": passed_through,
    "labels": labels,
    "ports with both kinds": lambda count: of_both_kinds(count, 10),
    "routes of both kinds": lambda count: of_both_kinds(2, count),
    "policies": policies,
}


class GrowthTests(SynchronousTestCase):
    """Nothing is done for each with all of the others."""

    def test_calls(self) -> None:
        """What comes and goes costs twice as many calls where there is twice as much."""
        for name, make in CASES.items():
            list(self.costs(make(8)))
            for few, many in zip(self.costs(make(16)), self.costs(make(32)), strict=True):
                self.assertLess(sum(many), MOST * sum(few), f"{name}: {sum(few)} and {sum(many)} calls")

    def test_steps(self) -> None:
        """The longest step grows little with each more."""
        for name, make in CASES.items():
            list(self.costs(make(8)))
            for few, many in zip(self.costs(make(16)), self.costs(make(48)), strict=True):
                each = (max(many) - max(few)) / 32
                self.assertLess(each, IN_A_STEP, f"{name}: {each} calls for each more")

    def costs(self, made: tuple[Objects, Objects]) -> Iterator[list[int]]:
        """Yield the calls of each step when the second objects come beside the first, and when they go."""
        there, coming = made
        cluster = GatewayCluster()
        cluster.note("there", GATEWAY_CLASS, service("web"), *there)
        cluster.take()
        for objects in (coming, []):
            cluster.note("coming", *objects)
            steps = cluster.translation.round(cluster.store.state(), NOW)
            found: list[int] = []
            is_over = False

            def step(steps: Iterator[None] = steps) -> None:
                nonlocal is_over
                is_over = next(steps, steps) is steps

            while not is_over:
                found.append(calls(step))
            yield found
            finished(cluster.translation.problem_news())


class StatusGrowthTests(SynchronousTestCase):
    """The status of one object does not cost what all that belongs to it costs together."""

    def cost(self, reported: ReportedKind, name: str, *objects: dict[str, Any]) -> int:
        """Return the calls that the status of an object takes."""
        cluster = GatewayCluster()
        cluster.note("all", GATEWAY_CLASS, service("web"), *objects)
        cluster.take()
        snapshot = cluster.translation.snapshot
        assert snapshot is not None
        facts = ReportFacts(
            ObjectKey(INFRA, name),
            cluster.store.state(),
            cluster.options,
            (),
            (Address("192.0.2.1"),),
            Attached(snapshot.attached),
        )
        report_of(reported, facts)
        return calls(lambda: report_of(reported, facts))

    def test_listener_sets(self) -> None:
        """Of the ListenerSets of a Gateway no more is found out than how many are valid, whatever listeners they have."""

        def of(sets: int, listeners: int) -> int:
            main = gateway("g0", listener("own", "own.test", 443))
            main["spec"]["allowedListeners"] = {"namespaces": {"from": "All"}}
            made = [
                {
                    "apiVersion": f"{API}/v1",
                    "kind": "ListenerSet",
                    "metadata": {"name": f"s{number}", "namespace": INFRA},
                    "spec": {
                        "parentRef": {"group": API, "kind": "Gateway", "name": "g0"},
                        "listeners": [
                            listener(f"l{at}", f"h{at}.s{number}.test", 443, protocol="HTTPS", tls=tls)
                            for at in range(listeners)
                        ],
                    },
                }
                for number in range(sets)
            ]
            return self.cost(REPORTED_GATEWAYS, "g0", main, *made)

        tls = {"certificateRefs": [{"name": "mine"}]}
        self.assertLess(of(20, 16), of(20, 4) + 20 * 12 * 5)
        self.assertLess(of(40, 4), MOST * of(20, 4))

    def test_parents(self) -> None:
        """A route at twice as many listeners has a status that takes twice as long to make."""

        def of(count: int) -> int:
            made = ports(count, "*.test")
            one = route("r", rule("web"), hostnames=["a.b.c.test"], parents=parents(len(made)))
            return self.cost(REPORTED_HTTP_ROUTES, "r", *made, one)

        self.assertLess(of(256), MOST * of(128))
