"""What an input knows of a cluster: whether an object that is not in it is missing, or only not shown."""

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import field

from ingress.model.cluster.objects import Kind, ObjectId
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.translate.absent_secrets import FORBIDDEN_REASONS

MISSING: Final[Mapping[Reason, tuple[Kind, ...]]] = {
    Reason.SERVICE_NOT_FOUND: (Kind.SERVICE,),
    Reason.SERVICE_PORT_NOT_FOUND: (Kind.SERVICE,),
    Reason.SECRET_NOT_FOUND: (Kind.SECRET,),
    Reason.CONFIG_MAP_NOT_FOUND: (Kind.CONFIG_MAP,),
}
"""The reasons that speak of absence, and the kinds of what is absent."""

HIDDEN: Final[Mapping[Reason, Kind]] = {reason: kind for kind, reason in FORBIDDEN_REASONS.items()}
"""The reasons that speak of what this reader may not read, which says nothing of what the controller may."""


@frozen
class Coverage:
    """The kinds of which all objects of a namespace are known.

    Manifests are taken to have all Services of a namespace as soon as they have one of it; an API server has told of all
    of a kind unless it was forbidden to.
    """

    whole: frozenset[Kind] = frozenset()
    """Kinds of which all objects are known, of whatever namespace."""
    namespaces: Mapping[Kind, frozenset[str]] = field(factory=dict)
    """Of other kinds: the namespaces of which all are known."""

    def knows(self, kind: Kind, namespace: str) -> bool:
        """Whether an object of *kind* in *namespace* that the input does not have does not exist."""
        return kind in self.whole or namespace in self.namespaces.get(kind, ())

    def unknown(self, problem: Problem) -> Kind | None:
        """Return the kind for want of which *problem* cannot be told; None where it can be."""
        hidden = HIDDEN.get(problem.reason)
        if hidden is not None:
            return hidden
        kinds = MISSING.get(problem.reason, ())
        return next((kind for kind in kinds if not self.knows(kind, problem.looked_in)), None)


def covered_by(objects: Iterable[ObjectId]) -> Coverage:
    """Return what is known by manifests that hold *objects*."""
    namespaces: dict[Kind, set[str]] = {}
    for kind, key in objects:
        namespaces.setdefault(kind, set()).add(key.namespace)
    return Coverage(namespaces={kind: frozenset(some) for kind, some in namespaces.items()})
