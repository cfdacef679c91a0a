"""What the command line chooses, and what is refused in one line."""

from twisted.trial.unittest import SynchronousTestCase

from bench.loads.catalog import LOADS
from bench.peers.targets import TARGETS
from bench.setup.choosing import chosen
from bench.setup.errors import BenchError


class ChosenTests(SynchronousTestCase):
    """Loads and targets by name."""

    def test_all(self) -> None:
        """Without names, everything is measured."""
        self.assertEqual(chosen(None, LOADS, False), LOADS)

    def test_quick(self) -> None:
        """The quick run has the two small GETs, for ours, plain and compiled, nginx and Go."""
        self.assertEqual([load.name for load in chosen(None, LOADS, True)], ["get-repeating", "get-unique"])
        self.assertEqual(
            {one.name for one in chosen(None, TARGETS, True)}, {"ours", "ours-compiled", "nginx", "go"}
        )

    def test_named(self) -> None:
        """Names choose, in the order of the table, also what is not quick."""
        found = chosen("latency,post-1k", LOADS, True)
        self.assertEqual([load.name for load in found], ["post-1k", "latency"])

    def test_unknown(self) -> None:
        """An unknown name is refused with the names that there are."""
        error = self.assertRaises(BenchError, chosen, "ours,apache", TARGETS, False)
        self.assertIn("'apache'", str(error))
        self.assertIn("nginx", str(error))
