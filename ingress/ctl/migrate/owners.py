"""Whose an object is, by a label of it: what a report groups by, so that each team finds what is its own."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from ingress.ctl.lint.finding import ObjectReport

USUAL_LABELS: Final = ("team", "owner", "app.kubernetes.io/part-of", "app.kubernetes.io/owner", "squad")
"""The labels that are tried where none is named; of those that are used, the one that most objects have."""


def owner_label(reports: Iterable[ObjectReport], asked: Sequence[str] = ()) -> str:
    """Return the label by which *reports* are grouped: of those *asked*, else of the usual ones; empty where none is used.

    The one that most objects have; of equally many the first.
    """
    names = tuple(asked) or USUAL_LABELS
    counts = Counter(name for report in reports for name, value in report.labels if value and name in names)
    best = max(names, key=lambda name: (counts[name], -names.index(name)))
    return best if counts[best] else ""


def owner_of(report: ObjectReport, label: str) -> str:
    """Return the value of *label*, empty where the object lacks it."""
    return next((value for name, value in report.labels if name == label), "")
