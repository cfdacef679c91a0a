"""What a process exports: each series with its labels."""

import re
from collections.abc import Iterator
from typing import Final

from prometheus_client.core import Metric

from ingress.metrics.metrics import Metrics
from ingress.metrics.series.process import ProcessMetrics
from tests.monitoring.files import REPOSITORY

PAGE: Final = REPOSITORY / "docs" / "metrics.md"
_ROW: Final = re.compile(r"^\| `([a-z0-9_]+)` \| ([a-z]+) \| ([^|]*)\|", re.MULTILINE)
_WORKER: Final = "worker"


def exported() -> dict[str, frozenset[str]]:
    """Return the labels of each series by its name, as ``docs/metrics.md`` has them, which another test keeps in step with the code."""
    found: dict[str, frozenset[str]] = {}
    for name, kind, cell in _ROW.findall(PAGE.read_text("utf-8")):
        found |= dict.fromkeys(_names(name, kind), frozenset(re.findall(r"`(\w+)`", cell)))
        if kind == "histogram":
            found[f"{name}_bucket"] |= {"le"}
    for family in ProcessMetrics().families():
        if family is not None:
            # With workers each has a row of its own, besides the parent's.
            found |= dict.fromkeys({sample.name for sample in family.samples}, frozenset((_WORKER,)))
    return found


def of_families() -> Iterator[Metric]:
    """Yield the families of a process that does nothing yet."""
    return iter(Metrics().families())


def _names(name: str, kind: str) -> tuple[str, ...]:
    """Return what the samples are called of a row, whose counters have their ending already."""
    if kind == "histogram":
        return f"{name}_bucket", f"{name}_count", f"{name}_sum"
    return (f"{name}_count", f"{name}_sum") if kind == "summary" else (name,)
