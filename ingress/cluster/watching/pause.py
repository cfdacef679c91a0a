"""The wait between two turns of a thread, which its end cuts short, and news sometimes.

After an outage each reflector waits for its own turn, up to a minute.  The first one that
gets an answer tells the others, so that the whole is up to date when the quickest is.

Threads: ``rest`` is for the one thread that waits, everything else for any.
"""

from threading import Event


class Pause:
    """Waits, for the end in any case, and for news where the waiting thread asks for that."""

    def __init__(self) -> None:
        self._ended = Event()
        self._roused = Event()

    @property
    def is_over(self) -> bool:
        """Whether the end has come."""
        return self._ended.is_set()

    def rest(self, seconds: float, *, lightly: bool = False) -> None:
        """Wait; *lightly* also ends by news, or at once by news that came since the last rest."""
        (self._roused if lightly else self._ended).wait(seconds)
        self._roused.clear()

    def rouse(self) -> None:
        """Bring news."""
        self._roused.set()

    def end(self) -> None:
        """Let no wait last any longer."""
        self._ended.set()
        self._roused.set()
