"""Tests for ``ingress.status.write_pauses``."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.status.write_pauses import FORGOTTEN_SECONDS, LONGEST_SECONDS, SHORTEST_SECONDS, WritePauses


class WritePausesTests(SynchronousTestCase):
    """How long something is left alone."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.pauses: WritePauses[str] = WritePauses(self.clock.seconds, lambda: 0.0)

    def seconds(self, shows: str) -> float:
        """How long the key has still to pause before it may show this; 0 for not at all."""
        return max(0.0, self.pauses.ends("key", shows) - self.clock.seconds())

    def test_none(self) -> None:
        """What was never written does not pause."""
        self.assertEqual(self.seconds("a"), 0)

    def test_longer_each_time(self) -> None:
        """The same pauses longer each time, up to a bound."""
        found = []
        for _ in range(8):
            self.pauses.begin("key", "a")
            found.append(self.seconds("a"))
            self.clock.advance(found[-1])
        self.assertEqual(found, sorted(found))
        self.assertEqual(found[0], SHORTEST_SECONDS)
        self.assertEqual(found[-1], LONGEST_SECONDS)

    def test_something_new(self) -> None:
        """However long the same pauses, something else is shown after the shortest pause."""
        for _ in range(8):
            self.pauses.begin("key", "a")
        self.assertEqual((self.seconds("a"), self.seconds("b")), (LONGEST_SECONDS, SHORTEST_SECONDS))
        self.pauses.begin("key", "b")
        self.assertEqual(self.seconds("b"), SHORTEST_SECONDS)

    def test_another_desired_state(self) -> None:
        """What is about another desired state does not pause, whatever it is to show; it begins a pause of its own."""
        self.pauses.begin("key", "a", 1)
        for shows in ("a", "b"):
            self.assertLess(self.pauses.ends("key", shows, 2), self.clock.seconds())
        self.pauses.begin("key", "a", 2)
        self.assertGreater(self.pauses.ends("key", "a", 2), self.clock.seconds())

    def test_at_least(self) -> None:
        """Whoever asks for a longer pause gets it."""
        self.pauses.begin("key", "a", at_least=17.0)
        self.assertEqual(self.seconds("a"), 17.0)

    def test_forgotten(self) -> None:
        """A pause that ended long ago is forgotten, and so is one that is not wanted any more."""
        self.pauses.begin("key", "a")
        self.pauses.begin("other", "a")
        self.pauses.forget("other")
        self.assertEqual(len(self.pauses), 1)
        self.clock.advance(SHORTEST_SECONDS + FORGOTTEN_SECONDS - 1)
        self.pauses.forget_old()
        self.assertEqual(len(self.pauses), 1)
        self.clock.advance(2)
        self.pauses.forget_old()
        self.assertEqual(len(self.pauses), 0)
        self.pauses.begin("key", "a")
        self.pauses.clear()
        self.assertEqual(self.seconds("a"), 0)
