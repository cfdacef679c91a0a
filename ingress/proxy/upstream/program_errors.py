"""What programs behind FastCGI write to STDERR, in the log, where their owners look for it: some of it, and never all that one can write.

Nothing of it ever reaches a client.
"""

from typing import ClassVar, Final

from twisted.logger import Logger

from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.deadlines import Deadlines

MOST_AT_ONCE: Final = 20
"""Lines that may come at once of an endpoint, ..."""
SECONDS_FOR_ANOTHER: Final = 0.5
"""... and how soon one more may come."""
MOST_KNOWN: Final = 1024
"""Endpoints of which that is remembered."""
MOST_CHARACTERS: Final = 1024
"""Of a line."""


class ProgramErrorLog:
    """Logs what programs complain of, each endpoint as fast as it may: one that is loud drowns no other."""

    __slots__ = ("_deadlines", "_known")

    log: ClassVar[Logger] = Logger()

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._known: dict[Endpoint, tuple[float, int]] = {}
        """When all that was told of one will be forgotten, to which each line adds ``SECONDS_FOR_ANOTHER``; and how many were not told since."""

    def tell(self, endpoint: Endpoint, method: bytes, target: bytes, request_id: bytes, said: bytes) -> None:
        """Log what the program at *endpoint* *said* about the request for *target*, unless too much was told a moment ago."""
        now = self._deadlines.now
        free_at, untold = self._known.get(endpoint, (now, 0))
        if free_at - now > (MOST_AT_ONCE - 1) * SECONDS_FOR_ANOTHER:
            self._known[endpoint] = free_at, untold + 1
            return
        if len(self._known) >= MOST_KNOWN and endpoint not in self._known:
            self._known.clear()
        self._known[endpoint] = max(free_at, now) + SECONDS_FOR_ANOTHER, 0
        again = f" ({untold} more were not told)" if untold else ""
        self.log.warn(
            "FastCGI at {endpoint} complains of {method} {target} (request {request}): {said}{again}",
            endpoint=str(endpoint),
            method=method.decode("latin-1"),
            target=_line(target),
            request=request_id.decode("latin-1"),
            said=_line(said.strip()),
            again=again,
        )


def _line(octets: bytes) -> str:
    """Return *octets* as part of a line of the log: without controls, and not too long."""
    text = octets[:MOST_CHARACTERS].decode("utf-8", "replace")
    shown = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
    return shown if len(octets) <= MOST_CHARACTERS else f"{shown}…"
