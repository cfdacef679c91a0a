"""Endpoints that ended a kept connection under a request, and until when that is held against them."""

from typing import Final

from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.deadlines import NEVER, Deadlines
from ingress.proxy.contract.limits import DISTRUST_SECONDS

MAX_DISTRUSTED: Final = 1024
"""Endpoints of which that is known; of more, those are forgotten that were told first."""


class Distrust:
    """Remembers each for ``DISTRUST_SECONDS``, and no longer: an endpoint has the private key by which it is spoken to."""

    __slots__ = ("_deadlines", "deadline", "until")

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self.until: dict[Endpoint, float] = {}
        """When that is over, the first to be so before all others; always the same dictionary."""
        self.deadline = NEVER

    def tell(self, endpoint: Endpoint) -> None:
        """Take note that a kept connection to *endpoint* ended under a request."""
        self.until.pop(endpoint, None)
        if len(self.until) >= MAX_DISTRUSTED:
            del self.until[next(iter(self.until))]
        if not self.until:
            self._deadlines.watch(self)
        self.until[endpoint] = self._deadlines.now + DISTRUST_SECONDS
        self._await_next()

    def expire(self) -> None:
        """Called by the deadlines: the time of the first is over, and perhaps that of others."""
        due = self._deadlines.now + self._deadlines.interval_seconds / 2
        for endpoint in [each for each, until in self.until.items() if until <= due]:
            del self.until[endpoint]
        self._await_next()

    def abort(self) -> None:
        """Called by the deadlines when ``expire`` failed, which is a bug: forget all."""
        self.until.clear()
        self._await_next()

    def _await_next(self) -> None:
        if self.until:
            self.deadline = next(iter(self.until.values()))
        else:
            self.deadline = NEVER
            self._deadlines.forget(self)
