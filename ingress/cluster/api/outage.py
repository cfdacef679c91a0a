"""What is said of an API server that is away: one line for all who ask it, and one when it is back.

Everybody who loses contact tells so here, at whatever moment it notices.  The first one's cause is
said; what the others meet is the same outage.  It is over when all reflectors are answered again,
which is soon after the first one is, since that rouses the others; whoever asks seldom does not hold
up the end of it.

Threads: any, for every method.
"""

from collections.abc import Callable
from threading import Lock

from twisted.logger import Logger

from ingress.model.observability.changes_and_failures import ChangeSort, Mark

log = Logger()

_REPEAT_SECONDS = 60.0
_NAMED = 8
_SILENT = Mark(ChangeSort.WATCH, "silent", is_trouble=True)
_BACK = Mark(ChangeSort.WATCH, "back")


class Outage:
    """Follows who has lost contact; *clock* returns monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = Lock()
        # Everybody who has lost contact, with whether the outage lasts as long as that.
        self._lost: dict[str, bool] = {}
        self._since = 0.0
        self._told_at: float | None = None
        self._over_at: float | None = None
        self._is_told = False
        self._said: dict[str, float] = {}

    def lost(self, name: str, cause: str, *, holds: bool) -> None:
        """Note that *name* has no contact; with *holds*, until it has, the outage is not over."""
        with self._lock:
            now = self._clock()
            if not self._lost:
                self._since = now
                self._is_told = False
            self._lost[name] = holds
            if self._told_at is not None and now - self._told_at < _REPEAT_SECONDS:
                return
            self._told_at = now
            is_first, self._is_told = not self._is_told, True
            names = sorted(self._lost)
            since = round(now - self._since, 1)
        log.warn(
            "The API server does not answer{since}, what is known stays in force ({names}): {cause}",
            since=f" since {since} s" if since else "",
            names=", ".join(names[:_NAMED]) + (" and others" if len(names) > _NAMED else ""),
            cause=cause,
            change=_SILENT if is_first else None,
        )

    def regained(self, name: str) -> bool:
        """Note that *name* has contact; return whether it had lost it."""
        with self._lock:
            if self._lost.pop(name, None) is None:
                return False
            if any(self._lost.values()):
                return True
            self._lost.clear()
            self._over_at = self._clock()
            is_told, self._is_told = self._is_told, False
            seconds = round(self._clock() - self._since, 1)
        if is_told:
            log.info("The API server answers again after {seconds} s", seconds=seconds, change=_BACK)
        return True

    @property
    def is_recent(self) -> bool:
        """Whether there is an outage, or was one a moment ago, which explains much."""
        with self._lock:
            return bool(self._lost) or (
                self._over_at is not None and self._clock() - self._over_at < _REPEAT_SECONDS
            )

    def is_news(self, text: str) -> bool:
        """Whether nobody has said *text* for a minute; whoever asks says it now."""
        with self._lock:
            now = self._clock()
            self._said = {said: at for said, at in self._said.items() if now - at < _REPEAT_SECONDS}
            if text in self._said:
                return False
            self._said[text] = now
            return True
