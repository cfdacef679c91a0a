"""Which listeners there are to be."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.network.listeners import Listener
from ingress.model.stepwise import finished
from ingress.translate.listeners import choose_listeners


class CommandLineTests(SynchronousTestCase):
    """Those of the command line."""

    def test_in_each_others_way(self) -> None:
        """Two with one address are both kept, so that the start fails over the second one rather than going without it."""
        given = (
            Listener("tcp:8080", is_required=True),
            Listener("tcp:8080", is_secure=True, is_required=True),
        )
        self.assertEqual(finished(choose_listeners(given, ())), (given, ()))
