"""Which cells a campaign has."""

from twisted.trial.unittest import SynchronousTestCase

from bench.campaign import Plan
from bench.loads import LOADS, Load, Protocol
from bench.targets import TARGETS, Target


def target(name: str, *protocols: Protocol) -> Target:
    """A target that is asked in *protocols*."""
    return Target(name, name, "", lambda site: [], protocols=frozenset(protocols))


class PlanTests(SynchronousTestCase):
    """Rounds and cells."""

    def test_fewer_rounds(self) -> None:
        """A load may be left out of later rounds; it is warmed up as all are."""
        usual, slow = Load("usual", ""), Load("slow", "", most_rounds=2)
        plan = Plan((usual, slow), (target("x", Protocol.HTTP1),), 3)
        found = [plan.loads_of_round(number) for number in range(4)]
        self.assertEqual(found, [[usual, slow], [usual, slow], [usual, slow], [usual]])
        self.assertEqual(plan.cells(), 7)

    def test_protocols(self) -> None:
        """Who is not asked in a protocol has no cells of its loads."""
        loads = (Load("old", ""), Load("new", "", protocol=Protocol.HTTP2))
        both, old = target("both", Protocol.HTTP1, Protocol.HTTP2), target("old", Protocol.HTTP1)
        self.assertEqual(Plan(loads, (both, old), 1).cells(), 6)

    def test_comparable(self) -> None:
        """Ours is compared with nginx, HAProxy, Go and Envoy in every protocol."""
        for name in ("ours", "nginx", "haproxy", "go", "envoy"):
            (found,) = (one for one in TARGETS if one.name == name)
            self.assertEqual(found.protocols, frozenset(Protocol))

    def test_requests_of_a_connection(self) -> None:
        """No connection of HTTP/2 gets more requests than nginx and ours serve on one by default."""
        for load in LOADS:
            if load.protocol is not Protocol.HTTP1 and load.connections > 1:
                self.assertLess(load.requests / load.connections, 1000, load.name)
