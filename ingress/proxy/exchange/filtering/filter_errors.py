"""Filters that fail: each failure is counted, and told in the log once, and then not again for a while.

A filter that raises for one request most likely does for the next; a traceback for each would drown the log.
"""

from typing import ClassVar

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.metrics.series.filters import FilterMetrics
from ingress.proxy.exchange.log_suffix import log_suffix, shown_id

QUIET_SECONDS = 10.0
_MAX_KNOWN = 1024


class FilterErrorLog:
    """Logs each sort of failure of each filter at most once in ``QUIET_SECONDS``."""

    log: ClassVar[Logger] = Logger()

    def __init__(self, clock: IReactorTime, metrics: FilterMetrics) -> None:
        self._clock = clock
        self._metrics = metrics
        self._known: dict[tuple[str, type[BaseException]], tuple[float, int]] = {}
        """When each was told last, and how often it came since."""

    def raised(self, name: str, error: BaseException, request: bytes = b"") -> None:
        """A hook of filter *name* raised *error* for the request of this id."""
        self._metrics.failed(name)
        now = self._clock.seconds()
        sort = name, type(error)
        told, untold = self._known.get(sort, (float("-inf"), 0))
        if now - told < QUIET_SECONDS:
            self._known[sort] = told, untold + 1
            return
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[sort] = now, 0
        self.log.failure(
            "Filter {filter} failed, and its request with it{again}",
            Failure(error),
            filter=name,
            again=log_suffix(request, untold),
            request=shown_id(request),
        )

    def late(self, name: str) -> None:
        """A decision of filter *name* did not come in time; the log says so where it tells of the answer."""
        self._metrics.failed(name)
