"""When it is looked again at what was in use."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.workers.feed.looks import PAUSES, Looks


class LooksTests(SynchronousTestCase):
    """``Looks``, by a clock of whole seconds."""

    def test_pauses(self) -> None:
        """After what was replaced last there is a look after each pause, and then none."""
        looks = Looks()
        self.assertFalse(looks.is_due(5.0))
        looks.begin(5.0)
        now, found = 5.0, []
        while looks.at is not None:
            self.assertFalse(looks.is_due(looks.at - 0.001))
            found.append(looks.at - now)
            now = looks.at
            self.assertTrue(looks.is_due(now))
        self.assertEqual(found, [*PAUSES])

    def test_anew(self) -> None:
        """Something else that is replaced has it looked soon again, and puts off nothing."""
        looks = Looks()
        looks.begin(0.0)
        looks.begin(0.5)
        self.assertEqual(looks.at, PAUSES[0])
        self.assertTrue(looks.is_due(PAUSES[0]))
        self.assertEqual(looks.at, PAUSES[0] + PAUSES[1])
        looks.begin(2.0)
        self.assertEqual(looks.at, 2.0 + PAUSES[0])

    def test_missed(self) -> None:
        """A look that was due long ago is not taken for one that comes soon."""
        looks = Looks()
        looks.begin(0.0)
        looks.begin(100.0)
        self.assertEqual(looks.at, 100.0 + PAUSES[0])
