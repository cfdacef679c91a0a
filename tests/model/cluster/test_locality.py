"""Which endpoints hints make ours."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.locality import Hints, Locality, nearest
from ingress.model.stepwise import finished

A, B = Hints(("a",)), Hints(("b",))
HERE = Locality("a", "n1")


class NearestTests(SynchronousTestCase):
    """``nearest``."""

    def ours(self, *hints: Hints, locality: Locality = HERE) -> tuple[Hints, ...] | None:
        """Return those of *hints* that are ours; None where they do not count."""
        ours = finished(nearest(hints, locality))
        return None if ours is None else tuple(ours)

    def test_zone(self) -> None:
        """Endpoints for our zone are ours, whichever others they are for, too."""
        both = Hints(("b", "a"))
        self.assertEqual(self.ours(A, B, both), (A, both))

    def test_node(self) -> None:
        """Where one is for our node, it alone is ours, whatever the zones are."""
        here, near, far = Hints(("a",), ("n1",)), Hints(("a",), ("n2",)), Hints(("b",), ("n3",))
        self.assertEqual(self.ours(here, near, far), (here,))
        self.assertEqual(self.ours(near, far), (near,))
        self.assertIsNone(self.ours(far))

    def test_without_a_hint(self) -> None:
        """Where one has no hint, whoever writes them is not done, and none counts; so for nodes and zones by themselves."""
        self.assertIsNone(self.ours(A, Hints(), B))
        node, zone = Hints(("a",), ("n1",)), Hints(("a",))
        self.assertEqual(self.ours(node, zone, B), (node, zone))
        self.assertIsNone(self.ours(Hints(nodes=("n2",)), Hints(nodes=("n3",))))

    def test_nobody_here(self) -> None:
        """Where none is for us, all are."""
        self.assertIsNone(self.ours(B, Hints(("c",))))
        self.assertIsNone(self.ours())

    def test_unknown_place(self) -> None:
        """A zone or node that nobody knows is none."""
        named_nothing = Hints(("",), ("",))
        self.assertIsNone(self.ours(named_nothing, locality=Locality()))
        here = Hints(("a",), ("n1",))
        self.assertEqual(self.ours(here, B, locality=Locality("a")), (here,))
        self.assertEqual(self.ours(here, Hints((), ("n2",)), locality=Locality(node="n1")), (here,))

    def test_words(self) -> None:
        """What is known of a place is named."""
        self.assertEqual(str(HERE), "zone a and node n1")
        self.assertEqual(str(Locality("a")), "zone a")
        self.assertEqual(str(Locality()), "nowhere known")
