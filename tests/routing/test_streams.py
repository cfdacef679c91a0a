"""The streams of a table: which host decides about a name, and which backend gets a stream."""

from __future__ import annotations

from random import Random

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.network.streams import StreamSort
from ingress.model.upstream.backends import BackendReference
from ingress.routing.streams import NO_STREAMS, NOWHERE, StreamRoute, StreamTable
from ingress.routing.variants import WeightedBackend

OWNER = Owner(Kind("TLSRoute"), ObjectKey("demo", "route"))


def backend(name: str, weight: int = 1) -> WeightedBackend:
    """Return a share for the Service *name*."""
    return WeightedBackend(BackendReference("demo", name, 443), weight)


def route(host: str, sort: StreamSort = StreamSort.PASSTHROUGH) -> StreamRoute:
    """Return a route of *host* whose backend has its name."""
    return StreamRoute(host, sort, OWNER, (backend(host),))


def requests(host: str) -> StreamRoute:
    """Return a host whose requests are served."""
    return StreamRoute(host, StreamSort.REQUESTS, OWNER)


class FindTests(SynchronousTestCase):
    """``StreamTable.find``."""

    def found(self, table: StreamTable, *names: str) -> list[str | None]:
        """Return the hosts of the routes that *names* find; None where requests are served."""
        routes = [table.find(name.encode()) for name in names]
        return [None if one is None else "nowhere" if one is NOWHERE else one.host for one in routes]

    def test_specificity(self) -> None:
        """An exact host decides before a longer wildcard, that before a shorter one, and that before all names."""
        hosts = ("a.b.test", "*.b.test", "*.test", "")
        names = ("a.b.test", "c.b.test", "d.c.b.test", "b.test", "test", "")
        wanted = ["a.b.test", "*.b.test", "*.b.test", "*.test", "", ""]
        self.assertEqual(self.found(StreamTable(map(route, hosts)), *names), wanted)
        self.assertEqual(self.found(StreamTable(map(route, reversed(hosts))), *names), wanted)

    def test_requests(self) -> None:
        """A host of requests keeps its names from less specific streams, and the other way around."""
        table = StreamTable(
            [route("*.test"), requests("www.test"), requests("*.shop.test"), route("a.shop.test")]
        )
        names = ("x.test", "www.test", "y.www.test", "b.shop.test", "a.shop.test")
        self.assertEqual(self.found(table, *names), ["*.test", None, "*.test", None, "a.shop.test"])

    def test_unknown(self) -> None:
        """A name that nobody has leads nowhere, unless requests are served beside the streams."""
        table = StreamTable([route("a.test")])
        self.assertEqual(self.found(table, "b.test", ""), ["nowhere", "nowhere"])
        table = table.patched({"c.test": requests("c.test")})
        self.assertEqual(self.found(table, "b.test", ""), [None, None])

    def test_patched(self) -> None:
        """A successor has the changes alone, knows whether names decide anything, and its predecessor stays as it was."""
        self.assertFalse(NO_STREAMS.has_names)
        self.assertIs(NO_STREAMS.patched({}), NO_STREAMS)
        one = NO_STREAMS.patched({"a.test": route("a.test"), "b.test": requests("b.test")})
        two = one.patched({"a.test": None})
        tcp = two.patched({"": route("", StreamSort.TCP), "b.test": None})
        self.assertEqual([each.has_names for each in (one, two, tcp)], [True, False, False])
        self.assertEqual([len(each) for each in (one, two, tcp)], [2, 1, 1])
        self.assertEqual(self.found(one, "a.test"), ["a.test"])
        self.assertEqual(tcp.get(""), route("", StreamSort.TCP))
        # Put again, it counts once.
        again = one.patched({"a.test": route("a.test", StreamSort.TERMINATED)}).patched({"a.test": None})
        self.assertFalse(again.has_names)


class DrawTests(SynchronousTestCase):
    """``StreamRoute.draw``."""

    def test_shares(self) -> None:
        """Backends get streams by their weights; one backend is not drawn at all."""
        random = Random(5).random
        both = StreamRoute("", StreamSort.TCP, OWNER, (backend("one", 70), backend("two", 30)))
        drawn = [both.draw(random).name for _ in range(1000)]
        self.assertEqual(set(drawn), {"one", "two"})
        self.assertTrue(650 < drawn.count("one") < 750)

        def never() -> float:
            raise AssertionError("asked")

        self.assertEqual(route("a.test").draw(never).name, "a.test")
