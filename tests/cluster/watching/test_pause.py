"""Tests for ``ingress.cluster.watching.pause``."""

from collections.abc import Callable
from threading import Thread

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.watching.pause import Pause


class PauseTests(SynchronousTestCase):
    """What cuts a wait short; none of these waits for its minute."""

    def outlasts(self, wait: Callable[[], None], cut: Callable[[], None]) -> bool:
        """Return whether *wait*, in a thread, goes on after *cut*."""
        thread = Thread(target=wait, daemon=True)
        thread.start()
        cut()
        thread.join(5)
        return thread.is_alive()

    def test_news(self) -> None:
        """News ends a light wait, and that one alone."""
        pause = Pause()
        self.assertFalse(self.outlasts(lambda: pause.rest(60, lightly=True), pause.rouse))
        pause.rouse()
        pause.rest(0)
        self.assertFalse(pause.is_over)

    def test_news_before(self) -> None:
        """News from before a light wait ends it at once."""
        pause = Pause()
        pause.rouse()
        pause.rest(60, lightly=True)

    def test_end(self) -> None:
        """The end cuts short every wait, also those to come."""
        for lightly in (False, True):
            pause = Pause()
            self.assertFalse(self.outlasts(lambda p=pause, x=lightly: p.rest(60, lightly=x), pause.end))  # type: ignore[misc]
            self.assertTrue(pause.is_over)
        pause.rest(60)
