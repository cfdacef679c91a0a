"""What is told when the memory that workers count clients in is full."""

from collections.abc import Callable
from typing import Final

from twisted.logger import Logger

TELL_SECONDS: Final = 60.0


class Crowding:
    """Tells that the memory is full: *count* is called each time, and the log has a line once a minute."""

    log = Logger()

    def __init__(self, seconds: Callable[[], float], count: Callable[[str, str], object]) -> None:
        self._seconds = seconds
        self._count = count
        self._told_at: float | None = None

    def __call__(self, name: str) -> None:
        """What filter *name* has counted longest ago, or counts now, has no place."""
        self._count(name, "crowded")
        now = self._seconds()
        if self._told_at is None or now - self._told_at >= TELL_SECONDS:
            self._told_at = now
            self.log.warn(
                "Clients with limits are more than workers can count together ({name}): some begin anew, "
                "or are counted by one worker alone",
                name=name,
            )
