"""The series about endpoints and the connections to them: who is in rotation, and what the pool has.

``Metrics`` shows these series with its own; this module reads no clock.  All of it belongs to the reactor thread.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric


class Starting(Protocol):
    """What holds endpoints back that are new."""

    def count_starting(self) -> int:
        """Return how many these are."""


def _no_connections() -> tuple[int, int]:
    return 0, 0


class EndpointMetrics:
    """Endpoints of the backends that requests went to, and connections to them."""

    def __init__(self) -> None:
        self.known = 0
        """Endpoints in all rotations, whatever their state; rotations add to it."""
        self.out = 0
        """Those of them that are ejected now; rotations add to it, too."""
        self.ejections = 0
        """Times that one was."""
        self.starting: set[Starting] = set()
        """Who holds back endpoints in rotation, since they are new; rotations say so."""
        self.connections: Callable[[], tuple[int, int]] = _no_connections
        """Counts connections for requests: those at rest, and those in use."""

    def families(self) -> Iterable[Metric]:
        """Yield the series."""
        yield CounterMetricFamily(
            "ingress_endpoint_ejections",
            "Times that an endpoint was taken out of rotation, since connections to it failed or it was silent.",
            value=self.ejections,
        )
        yield GaugeMetricFamily("ingress_endpoints_ejected", "Endpoints out of rotation now.", value=self.out)
        starting = self._count_starting()
        endpoints = GaugeMetricFamily(
            "ingress_endpoints", "Endpoints of backends that had requests, by state.", labels=("state",)
        )
        endpoints.add_metric(("in-rotation",), self.known - self.out - starting)
        endpoints.add_metric(("slow-start",), starting)
        endpoints.add_metric(("ejected",), self.out)
        yield endpoints
        idle, busy = self.connections()
        connections = GaugeMetricFamily(
            "ingress_pool_connections",
            "Connections to endpoints for requests, by whether one is under way on them.",
            labels=("state",),
        )
        connections.add_metric(("idle",), idle)
        connections.add_metric(("busy",), busy)
        yield connections

    def _count_starting(self) -> int:
        counts = {one: one.count_starting() for one in self.starting}
        self.starting.difference_update(one for one, count in counts.items() if not count)
        return sum(counts.values())
