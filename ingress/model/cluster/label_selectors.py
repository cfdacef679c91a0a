"""What labels have to be like.

Source: ``metav1.LabelSelector``.
"""

from collections.abc import Mapping
from typing import Final

from ingress.model.frozen import frozen


@frozen(weakref_slot=False)
class LabelRequirement:
    """An entry of ``matchExpressions``; one of ``matchLabels`` is ``In`` one value."""

    key: str
    operator: str
    """``In``, ``NotIn``, ``Exists`` or ``DoesNotExist``, or whatever else was written."""
    values: tuple[str, ...] = ()

    def is_met(self, labels: Mapping[str, str]) -> bool:
        """Whether *labels* are like that; none are by an operator that there is not."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case _:
                return False


@frozen(weakref_slot=False)
class LabelSelector:
    """Labels that have to meet all *requirements*; none at all is met by any."""

    requirements: tuple[LabelRequirement, ...] = ()

    def is_met(self, labels: Mapping[str, str]) -> bool:
        """Whether *labels* meet all of it."""
        return all(one.is_met(labels) for one in self.requirements)


ANY_LABELS: Final = LabelSelector()
