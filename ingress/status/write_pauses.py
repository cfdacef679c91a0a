"""How long what was written is left alone.  Pure, but for the clock it is given.

Two controllers that write the same object, each what it wants, would go on for ever.  So there is a pause after each write,
longer each time that the same is to be shown, and what is new is shown after the shortest pause all the same.  What is about
another desired state of the object is no answer to what was written, and does not wait.
"""

from collections.abc import Callable, Hashable
from math import inf
from typing import Generic, TypeVar

from ingress.cluster.api.backoff import Backoff
from ingress.model.frozen import frozen

_K = TypeVar("_K", bound=Hashable)

SHORTEST_SECONDS = 1.0
LONGEST_SECONDS = 30.0
FORGOTTEN_SECONDS = 120.0
"""How long after its end a pause makes the next one longer."""


@frozen
class _Pause:
    """After a write of what *shows* something *about* a desired state, at a time *since*; the same is not written again before *until*."""

    shows: Hashable
    about: Hashable
    backoff: Backoff
    since: float
    until: float


class WritePauses(Generic[_K]):
    """The pauses of what was written lately.  *steady* returns seconds, *random* a number in [0, 1)."""

    def __init__(self, steady: Callable[[], float], random: Callable[[], float]) -> None:
        self._steady = steady
        self._random = random
        self._pauses: dict[_K, _Pause] = {}

    def __len__(self) -> int:
        return len(self._pauses)

    def begin(self, key: _K, shows: Hashable, about: Hashable = None, at_least: float = 0.0) -> None:
        """Have *key* pause, for *at_least* so many seconds, after a write of what *shows* something *about* a desired state."""
        pause = self._pauses.get(key)
        if pause is not None and pause.shows == shows:
            backoff = pause.backoff
        else:
            backoff = Backoff(
                self._steady,
                self._random,
                first_seconds=SHORTEST_SECONDS,
                ceiling_seconds=LONGEST_SECONDS,
                forget_after_seconds=FORGOTTEN_SECONDS,
            )
        now = self._steady()
        self._pauses[key] = _Pause(shows, about, backoff, now, now + backoff.failed(at_least))

    def ends(self, key: _K, shows: Hashable, about: Hashable = None) -> float:
        """Return until when *key* pauses if it is to show this *about* a desired state; a time before all times when it does not."""
        pause = self._pauses.get(key)
        if pause is None or pause.about != about:
            return -inf
        return pause.until if pause.shows == shows else pause.since + SHORTEST_SECONDS

    def forget(self, key: _K) -> None:
        """Forget the pause of *key*."""
        self._pauses.pop(key, None)

    def forget_old(self) -> None:
        """Forget the pauses that make no next one longer."""
        now = self._steady()
        self._pauses = {
            key: pause for key, pause in self._pauses.items() if now - pause.until < FORGOTTEN_SECONDS
        }

    def clear(self) -> None:
        """Forget all."""
        self._pauses = {}
