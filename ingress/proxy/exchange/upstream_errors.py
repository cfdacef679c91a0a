"""Upstream trouble in the log: told at once, then not again for a while.

A backend without endpoints fails every request that it gets.  One line says so;
the same for the same backend waits ``QUIET_SECONDS`` and then says how many
there were, so that a log shows trouble and is not drowned in it.
"""

from typing import ClassVar

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ingress.proxy.exchange.log_suffix import log_suffix, shown_id

QUIET_SECONDS = 10.0
_MAX_KNOWN = 1024


class UpstreamErrorLog:
    """Logs each sort of trouble at most once in ``QUIET_SECONDS``."""

    log: ClassVar[Logger] = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._known: dict[tuple[object, str], tuple[float, int]] = {}
        """When each was told last, and how often it came since."""

    def __len__(self) -> int:
        """How many sorts are remembered."""
        return len(self._known)

    def warn(
        self, status: int, host: bytes, path: bytes, subject: object, why: str, request: bytes = b""
    ) -> None:
        """Log that a request for *host* and *path* ended with *status*; *subject* is what failed, *request* its id."""
        now = self._clock.seconds()
        # What an endpoint said may be quoted, and be something else each time; it is the same trouble.
        sort = why.partition("'")[0]
        told, untold = self._known.get((subject, sort), (float("-inf"), 0))
        if now - told < QUIET_SECONDS:
            self._known[subject, sort] = told, untold + 1
            return
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[subject, sort] = now, 0
        self.log.warn(
            "{status} for {host}{path}: {subject}: {why}{again}",
            status=status,
            host=host.decode("latin-1"),
            path=ascii(path.decode("latin-1"))[1:-1],
            subject=str(subject),
            why=why,
            again=log_suffix(request, untold),
            request=shown_id(request),
        )
