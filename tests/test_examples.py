"""How much is tried of what can be tried without end."""

from twisted.trial.unittest import SynchronousTestCase

from tests.properties import FEW, examples, turns


class ShareTests(SynchronousTestCase):
    """``INGRESS_EXAMPLES``."""

    def test_none(self) -> None:
        """With a share of 0 a few examples are tried, and one of a hundred places that are alike."""
        self.assertEqual(examples(300, 0.0), FEW)
        self.assertEqual(examples(10, 0.0), 10)
        self.assertEqual(turns(0.0), 100)

    def test_some(self) -> None:
        """Otherwise as many as the share says."""
        self.assertEqual((examples(300, 0.34), turns(0.34)), (102, 3))
        self.assertEqual((examples(300, 10.0), turns(10.0)), (3000, 1))
