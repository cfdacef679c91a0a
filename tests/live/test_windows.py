"""What differences of counters say of the last seconds and minutes."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.live.windows import Window, differences


class WindowTests(SynchronousTestCase):
    """What is kept, and from when."""

    def test_bounded(self) -> None:
        """What is older than the window goes, but for the last of it, from which differences are taken."""
        window: Window[int] = Window(10.0)
        for second in range(100):
            window.add(float(second), second)
        self.assertEqual(window.values(), list(range(89, 100)))
        self.assertEqual(window.first(10.0), (89.0, 89))

    def test_first(self) -> None:
        """The moment so many seconds ago is had, or the last before it, or the first that there is."""
        window: Window[str] = Window(100.0)
        window.add(0.0, "a")
        self.assertEqual(window.first(5.0), (0.0, "a"))
        window.add(4.0, "b")
        window.add(9.5, "c")
        window.add(10.0, "d")
        self.assertEqual(window.first(1.0), (4.0, "b"))
        self.assertEqual(window.first(0.5), (9.5, "c"))
        self.assertEqual(window.first(50.0), (0.0, "a"))
        window.clear()
        self.assertEqual(window.values(), [])


class DifferencesTests(SynchronousTestCase):
    """How much more there is."""

    def test_differences(self) -> None:
        """No counter is less than nothing, and one that was not there counts from 0."""
        self.assertEqual(differences((5, 2, 9), (3, 4, 9)), [2, 0, 0])
        self.assertEqual(differences((5, 2), ()), [5, 2])
