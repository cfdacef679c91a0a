"""The series about the admin port: who was refused there, and why."""

from collections import Counter
from collections.abc import Iterator
from enum import Enum

from prometheus_client.core import CounterMetricFamily, Metric


class AdminRefusal(Enum):
    """Why a request for a page was refused."""

    UNKNOWN_HOST = "unknown-host"
    """It was asked by a name that is not known."""
    CROSS_ORIGIN = "cross-origin"
    """A page of another origin asked."""
    NO_TOKEN = "no-token"
    WRONG_TOKEN = "wrong-token"
    TOO_MANY = "too-many"
    """Too many wrong tokens came from there, so that none was looked at."""


class AdminMetrics:
    """Counts of one process."""

    def __init__(self) -> None:
        self._refused: Counter[AdminRefusal] = Counter()

    def refused(self, why: AdminRefusal) -> None:
        """Count a request that was refused."""
        self._refused[why] += 1

    def families(self) -> Iterator[Metric]:
        """Yield the series."""
        refused = CounterMetricFamily(
            "ingress_admin_refused",
            "Requests for pages of the admin port that were refused, by reason.",
            labels=("reason",),
        )
        for why in AdminRefusal:
            refused.add_metric((why.value,), self._refused[why])
        yield refused
