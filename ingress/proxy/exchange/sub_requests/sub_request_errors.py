"""Sub-requests without an answer in the log: told at once, then not again for a while.

What a service that is away costs shows at each request of its routes; one line in a while says why.
"""

from collections.abc import Callable
from typing import ClassVar

from twisted.logger import Logger

QUIET_SECONDS = 10.0
MAX_KNOWN = 1024


class SubRequestErrorLog:
    """Logs what is the matter with each service at most once in ``QUIET_SECONDS``."""

    log: ClassVar[Logger] = Logger()

    def __init__(self, seconds: Callable[[], float]) -> None:
        """*seconds* are of a clock that nobody sets."""
        self._seconds = seconds
        self._known: dict[str, tuple[float, int]] = {}
        """When each was told last, and how often it came since."""

    def warn(self, service: str, why: str) -> None:
        """There is no answer of *service*, a host with its port, because of *why*."""
        now = self._seconds()
        told, untold = self._known.get(service, (float("-inf"), 0))
        if now - told < QUIET_SECONDS:
            self._known[service] = told, untold + 1
            return
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known[service] = now, 0
        self.log.warn(
            "No answer of {service} to a filter: {why}{again}",
            service=ascii(service)[1:-1],
            why=why,
            again=f" ({untold} more since it was last told)" if untold else "",
        )
