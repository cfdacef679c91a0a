"""Selectors of labels among raw objects.  Pure.

Source: ``metav1.LabelSelector``.
"""

from collections.abc import Iterator, Mapping

from ingress.model.cluster.label_selectors import LabelRequirement, LabelSelector
from ingress.object_fields import RawObject, is_object


def selector_of(raw: RawObject) -> LabelSelector:
    """Return the selector that *raw* is; what has another shape than the API's asks for nothing."""
    wanted, expressions = raw.get("matchLabels"), raw.get("matchExpressions")
    requirements = [
        LabelRequirement(name, "In", (value,))
        for name, value in (wanted.items() if is_object(wanted) else ())
        if isinstance(name, str) and isinstance(value, str)
    ]
    requirements += (
        LabelRequirement(str(one.get("key")), str(one.get("operator")), tuple(_texts(one.get("values"))))
        for one in (expressions if isinstance(expressions, list) else ())
        if is_object(one)
    )
    return LabelSelector(tuple(requirements))


def selects(selector: RawObject, labels: Mapping[str, object]) -> bool:
    """Whether *selector* selects a pod that has *labels*; an empty one selects nothing that is meant."""
    found = selector_of(selector)
    return bool(found.requirements) and found.is_met(known_labels(labels))


def known_labels(labels: Mapping[str, object]) -> dict[str, str]:
    """Return those of *labels* whose values are texts."""
    return {name: value for name, value in labels.items() if isinstance(value, str)}


def _texts(values: object) -> Iterator[str]:
    if isinstance(values, list):
        yield from (one for one in values if isinstance(one, str))
