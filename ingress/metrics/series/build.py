"""The series that says which version of this runs, and on what.

``Metrics`` shows it with its own; whoever knows the versions says them.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric

LABELS: Final = ("version", "code", "python", "twisted", "openssl")
_UNKNOWN: Final[Mapping[str, str]] = MappingProxyType({})


class BuildMetrics:
    """One series, which is always 1."""

    def __init__(self) -> None:
        self.versions: Mapping[str, str] = _UNKNOWN
        """By the names of ``LABELS``; what is not there is shown as empty."""

    def families(self) -> Iterable[Metric]:
        """Yield the series."""
        family = GaugeMetricFamily(
            "ingress_build_info",
            "1, with the versions of what runs in its labels, and whether it is `compiled` code or `plain`.",
            labels=LABELS,
        )
        family.add_metric([self.versions.get(label, "") for label in LABELS], 1)
        yield family
