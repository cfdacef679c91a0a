"""The series about the admission webhook: what came of reviews."""

from collections import Counter
from collections.abc import Iterator
from enum import Enum

from prometheus_client.core import CounterMetricFamily, Metric


class ReviewOutcome(Enum):
    """What came of a review."""

    WARNED = "warned"
    """The Ingress has problems, and whoever applies it was told."""
    CLEAN = "clean"
    """The Ingress is ours and has none."""
    FOREIGN = "foreign"
    """It is about something else than an Ingress of ours."""
    UNREAD = "unread"
    """It was not looked at: too much to do, too large an object, or not synced yet."""


class AdmissionMetrics:
    """Counts of one process."""

    def __init__(self) -> None:
        self._reviews: Counter[ReviewOutcome] = Counter()

    def reviewed(self, outcome: ReviewOutcome) -> None:
        """Count a review that was answered."""
        self._reviews[outcome] += 1

    def families(self) -> Iterator[Metric]:
        """Yield the series."""
        reviews = CounterMetricFamily(
            "ingress_admission_reviews",
            "Reviews of the admission webhook that were answered, by what came of them.",
            labels=("outcome",),
        )
        for outcome in ReviewOutcome:
            reviews.add_metric((outcome.value,), self._reviews[outcome])
        yield reviews
