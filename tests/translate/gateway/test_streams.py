"""Which route has the streams of one host of a listener."""

from __future__ import annotations

from collections.abc import Iterable

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import DEFAULTS
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.network.streams import StreamSort
from ingress.model.stepwise import finished
from ingress.model.upstream.backends import BackendReference
from ingress.routing.streams import StreamRoute
from ingress.routing.variants import WeightedBackend
from ingress.translate.claims import ParsedObject
from ingress.translate.gateway.claims import GatewayClaims, StreamClaim, StreamLead
from ingress.translate.gateway.streams import AT_ONCE, decide_stream

TABLE = "gateway *:443"


def asking(name: str, created: str, *hosts: str, lead: bool = True) -> ParsedObject:
    """Return an object that leads the streams of *hosts* to the Service of its own name, or is a listener that has them."""
    owner = Owner(Kind("TLSRoute"), ObjectKey("demo", name), created)
    backend = BackendReference("demo", name, 443)
    leads = StreamLead(
        "spec.rules[0]", (WeightedBackend(backend),), (("spec.rules[0].backendRefs[0]", backend),)
    )
    claims = tuple(
        StreamClaim(TABLE, host, StreamSort.PASSTHROUGH, "spec.parentRefs[0]", leads if lead else None)
        for host in hosts
    )
    return ParsedObject(owner, None, (), (), None, DEFAULTS, (), gateway=GatewayClaims(streams=claims))


def decide(
    table: str, host: str, claiming: Iterable[ParsedObject]
) -> tuple[StreamRoute | None, tuple[Problem, ...]]:
    """Return what ``decide_stream`` finds."""
    return finished(decide_stream(table, host, claiming))


class DecideTests(SynchronousTestCase):
    """``decide_stream``."""

    def test_oldest(self) -> None:
        """The oldest route has the streams, whatever the order; the others are told where they attach, by whose name."""
        old, young = asking("z", "2026-01-01", "a.test"), asking("a", "2026-01-02", "a.test", "b.test")
        for all_parsed in ((old, young), (young, old)):
            route, problems = decide(TABLE, "a.test", all_parsed)
            assert route is not None
            self.assertEqual((route.owner, route.backend.name), (old.owner, "z"))
            [told] = problems
            self.assertEqual(
                (told.name, told.reason, told.field), ("a", Reason.LISTENER_CONFLICT, "spec.parentRefs[0]")
            )
            self.assertIn("demo/z", told.message)
        route, problems = decide(TABLE, "b.test", (old, young))
        assert route is not None
        self.assertEqual((route.owner, problems), (young.owner, ()))

    def test_very_many(self) -> None:
        """However many want the same, some are looked at in one step, and the same one has it."""
        many = [asking(f"r{number:05}", f"2026-01-{number % 28 + 1:02}", "a.test") for number in range(5000)]
        deciding = decide_stream(TABLE, "a.test", many)
        steps = 0
        while True:
            try:
                next(deciding)
            except StopIteration as end:
                route, problems = end.value
                break
            steps += 1
        self.assertGreaterEqual(steps, 3 * 5000 // AT_ONCE - 3)
        self.assertEqual((route.backend.name, len(problems)), ("r00000", 4999))

    def test_equally_old(self) -> None:
        """Of equally old ones the first by namespace and name has them."""
        one, two = asking("a", "", "a.test"), asking("b", "", "a.test")
        route, _ = decide(TABLE, "a.test", (two, one))
        assert route is not None
        self.assertEqual(route.owner, one.owner)

    def test_listener_alone(self) -> None:
        """A listener has its host without any route, and then its streams lead nowhere."""
        listener = asking("listener", "", "a.test", lead=False)
        route, problems = decide(TABLE, "a.test", (listener,))
        assert route is not None
        self.assertEqual((route.owner, route.weighted, problems), (None, (), ()))
        route, _ = decide(TABLE, "a.test", (listener, asking("r", "2026", "a.test")))
        assert route is not None
        self.assertEqual(route.backend.name, "r")

    def test_nobody(self) -> None:
        """Who says nothing of streams has none, and another table is another matter."""
        nothing = ParsedObject(
            Owner(Kind("HTTPRoute"), ObjectKey("demo", "x")), None, (), (), None, DEFAULTS, ()
        )
        self.assertEqual(decide(TABLE, "a.test", (nothing,)), (None, ()))
        self.assertEqual(decide("gateway *:1", "a.test", (asking("r", "", "a.test"),)), (None, ()))

    def test_named_once(self) -> None:
        """Backends are named once, however many hosts lead to them."""
        parsed = asking("r", "", "a.test", "b.test", "c.test")
        self.assertEqual(len(list(parsed.gateway.named_backends())), 1)
        self.assertEqual(set(parsed.gateway.hosts_in(TABLE)), {"a.test", "b.test", "c.test"})
