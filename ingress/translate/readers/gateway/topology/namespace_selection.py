"""Which namespaces a listener, or a Gateway, takes routes or ListenerSets from.

Source: ``RouteNamespaces`` and ``ListenerNamespaces`` of ``gateway.networking.k8s.io/v1``, ``metav1.LabelSelector``.
"""

from collections.abc import Mapping
from typing import Final

from ingress.annotations.contract.values import quoted
from ingress.model.cluster.objects import ObjectKey
from ingress.translate.readers.gateway.objects.gateways import AllowedNamespaces
from ingress.translate.readers.gateway.objects.grants import Namespace

_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_OPERATORS: Final = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})
ROUTES_FROM: Final = frozenset({"All", "Same", "Selector", "None"})


def fault_of(allowed: AllowedNamespaces) -> tuple[str, str] | None:
    """Return what of *allowed* cannot be honored, as a field of it and a clause; None where all can."""
    if allowed.scope not in ROUTES_FROM:
        return "from", f"is {quoted(allowed.scope)}; it may be All, Same, Selector or None"
    if allowed.scope == "Selector":
        for one in allowed.selector.requirements:
            if one.operator not in _OPERATORS:
                return "selector", f"has the operator {quoted(one.operator)}, which there is not"
    return None


class NamespaceSelection:
    """Says who is allowed, by the labels of *namespaces*; remembers it.

    A namespace that is not known has the label that the API server gives to each: its name.
    """

    __slots__ = ("_known", "_namespaces")

    def __init__(self, namespaces: Mapping[ObjectKey, Namespace]) -> None:
        self._namespaces = namespaces
        # By identity, since a selector may be long; what it stands for is kept beside.
        self._known: dict[tuple[int, str], tuple[AllowedNamespaces, bool]] = {}

    def allows(self, allowed: AllowedNamespaces, own: str, namespace: str) -> bool:
        """Whether *allowed*, said by an object of the namespace *own*, takes objects of *namespace*."""
        if allowed.scope == "All":
            return True
        if allowed.scope == "Same":
            return own == namespace
        if allowed.scope != "Selector":
            return False
        known = self._known.get((id(allowed), namespace))
        if known is not None:
            return known[1]
        value = self._namespaces.get(ObjectKey("", namespace))
        is_met = allowed.selector.is_met(dict(((_NAME_LABEL, namespace),) if value is None else value.labels))
        self._known[id(allowed), namespace] = allowed, is_met
        return is_met
