"""What the log says about the contact of one part with the API server: little, and in time.

Losing contact and regaining it are one line each.  While it lasts, a failure is said again
when its cause is another one, and otherwise once a minute.
"""

from collections.abc import Callable
from math import inf

from twisted.logger import Logger

log = Logger()

_REPEAT_SECONDS = 60.0


class Contact:
    """Remembers whether *name* (a kind, and its namespace if only that is read) has contact.

    *consequence* goes on after "the API server" where the log tells of trouble.
    """

    def __init__(
        self,
        name: str,
        clock: Callable[[], float],
        consequence: str = "cannot be read, what is known stays in force",
    ) -> None:
        self._name = name
        self._clock = clock
        self._consequence = consequence
        self._lost_since: float | None = None
        self._said: dict[str, float] = {}
        self.trouble = ""
        """The cause of what goes wrong at the moment; empty when nothing does."""

    def lost(self, cause: str, alike: str = "", *, once: bool = False) -> None:
        """Note that the API server cannot be reached, or refuses.

        Causes of which the same *alike* is said count as one.  With *once*, this one is not said
        again until contact is regained.
        """
        self.trouble = cause
        if self._lost_since is None:
            self._lost_since = self._clock()
        if self._is_worth_saying(alike or cause, once=once):
            log.warn(
                "{name}: the API server {consequence}: {cause}",
                name=self._name,
                consequence=self._consequence,
                cause=cause,
            )

    def regained(self) -> bool:
        """Note an answer that says success; return whether contact was lost before."""
        self.trouble = ""
        if self._lost_since is None:
            return False
        seconds = round(self._clock() - self._lost_since, 1)
        self._lost_since = None
        self._said.clear()
        log.info("{name}: the API server answers again after {seconds} s", name=self._name, seconds=seconds)
        return True

    def troubled(self, cause: str) -> None:
        """Note an answer that said success and then came to nothing."""
        self.trouble = cause
        if self._is_worth_saying(cause):
            log.warn("{name}: reading starts again: {cause}", name=self._name, cause=cause)

    def _is_worth_saying(self, cause: str, *, once: bool = False) -> bool:
        now = self._clock()
        self._said = {said: at for said, at in self._said.items() if now - at < _REPEAT_SECONDS}
        if cause in self._said:
            return False
        self._said[cause] = inf if once else now
        return True
