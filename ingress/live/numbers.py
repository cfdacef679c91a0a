"""The numbers of the whole house at the moment, from what is counted.  Pure: whoever reads the counters says when."""

from collections.abc import Iterable
from typing import Final

from ingress.live.counted import Counted
from ingress.live.windows import Window, differences
from ingress.metrics.exchanges.histograms import quantile

HISTORY: Final = 120
"""For how many seconds requests a second are remembered."""
FAILURE_SECONDS: Final = 300.0
LEAST_SECONDS: Final = 0.1
"""What is nearer to the look before says nothing of requests a second."""
TIME_SECONDS: Final = 60.0
"""Of how long quantiles are."""


class Numbers:
    """Takes what is counted once a second."""

    def __init__(self) -> None:
        self._read: Window[Counted] = Window(FAILURE_SECONDS)
        self._history: Window[float] = Window(HISTORY)
        self._earlier: list[tuple[float, str]] = []
        """Failures of before: when, in seconds of the clock, and their cause."""

    def begin(self, at: float, counted: Counted, earlier: Iterable[tuple[float, str]]) -> None:
        """Begin at *at*, when *counted* is what there is; *earlier* are the failures that are remembered, with their causes."""
        self._read.clear()
        self._history.clear()
        self._read.add(at, counted)
        self._earlier = [one for one in earlier if at - FAILURE_SECONDS < one[0] <= at]

    def take(self, at: float, counted: Counted) -> dict[str, object]:
        """Return the numbers at *at*."""
        last_at, last = self._read.last()
        self._read.add(at, counted)
        since = at - last_at
        per_second = _rate(counted.requests, last.requests, since)
        if since >= LEAST_SECONDS:
            self._history.add(at, round(per_second, 1))
        _, minute = self._read.first(TIME_SECONDS)
        times = differences(counted.durations, minute.durations)
        upstream = differences(counted.upstream_durations, minute.upstream_durations)
        return {
            "perSecond": round(per_second, 1),
            "failures": self._failures(at, counted),
            "p50": _shown(quantile(times, 0.5)),
            "p99": _shown(quantile(times, 0.99)),
            "upstreamP50": _shown(quantile(upstream, 0.5)),
            "upstreamP99": _shown(quantile(upstream, 0.99)),
            "clients": counted.clients,
            "endpointConnections": counted.endpoint_connections,
            "ejected": counted.ejected,
            "streams": counted.streams,
            "udpSessions": counted.udp_sessions,
            "datagramsPerSecond": round(_rate(counted.datagrams, last.datagrams, since), 1),
            "droppedPerSecond": round(_rate(counted.dropped, last.dropped, since), 1),
        }

    def history(self) -> list[float]:
        """Return the requests of each of the last seconds that somebody has looked, the oldest first."""
        return self._history.values()

    def _failures(self, at: float, counted: Counted) -> dict[str, int]:
        _, before = self._read.first(FAILURE_SECONDS)
        found = {
            cause: more
            for cause, number in counted.failures.items()
            if (more := number - before.failures.get(cause, 0)) > 0
        }
        if self._earlier:
            self._earlier = [one for one in self._earlier if one[0] > at - FAILURE_SECONDS]
            for _, cause in self._earlier:
                found[cause] = found.get(cause, 0) + 1
        return found


def _rate(now: int, before: int, seconds: float) -> float:
    """Return how many more there are a second; 0 where the look before was just now."""
    return max(0, now - before) / seconds if seconds >= LEAST_SECONDS else 0.0


def _shown(seconds: float | None) -> float | None:
    return None if seconds is None else float(f"{seconds:.3g}")
