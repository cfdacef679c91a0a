"""Which cells a campaign has."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from bench.loads.catalog import GOALS, LOADS, Load, Protocol
from bench.measuring.campaign import Plan
from bench.peers.targets import TARGETS, Target


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

    def test_context(self) -> None:
        """Whom no goal is about may be left out of later rounds, too; ours and whom goals name are asked in all."""
        part = evolve(target("part", Protocol.HTTP1), most_rounds=1)
        plan = Plan((Load("x", ""),), (part, target("all", Protocol.HTTP1)), 3)
        asked = [plan.is_asked(number, plan.loads[0], part) for number in range(4)]
        self.assertEqual(asked, [True, True, False, False])
        self.assertEqual(plan.cells(), 6)
        needed = {goal.target for goal in GOALS} | {goal.reference for goal in GOALS}
        self.assertEqual({one.name for one in TARGETS if one.name in needed and one.most_rounds}, set())

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
