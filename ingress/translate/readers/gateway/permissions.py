"""Who may refer to whom: objects of the same namespace, and those that a ReferenceGrant permits.

Source: ``ReferenceGrant`` of ``gateway.networking.k8s.io/v1``.
"""

from operator import is_
from typing import Final

from ingress.model.objects import ObjectKey
from ingress.model.stepwise import Stepwise
from ingress.translate.readers.gateway.grants import ReferenceGrant

_Target = tuple[str, str, str]
"""Group, kind and name; the name is empty for all of the kind."""


AT_ONCE: Final = 100
"""Grants that are looked at in one step."""
MOST_ENTRIES: Final = 16
"""How many sources, and how many targets, a grant may have (``MaxItems`` of the API); further ones grant nothing."""


class Permissions:
    """What *grants* permit, once all of them were entered; looked up in a step for each grant to who refers."""

    __slots__ = ("_grants", "_targets")

    def __init__(self, grants: tuple[ReferenceGrant, ...]) -> None:
        self._grants = grants
        # By the namespace of what is referred to, and who refers.  Grants of many sources share their targets.
        self._targets: dict[tuple[str, str, str, str], list[frozenset[_Target]]] = {}

    @classmethod
    def following(cls, before: "Permissions", grants: tuple[ReferenceGrant, ...]) -> "Stepwise[Permissions]":
        """Return what *grants* permit, step by step; that is *before* where these are the same."""
        if len(grants) == len(before._grants) and all(map(is_, grants, before._grants)):
            return before
        made = cls(grants)
        for number, grant in enumerate(grants, 1):
            made._enter(grant)
            if not number % AT_ONCE:
                yield
        return made

    def _enter(self, grant: ReferenceGrant) -> None:
        targets = frozenset((one.group, one.kind, one.name) for one in grant.targets[:MOST_ENTRIES])
        for source in dict.fromkeys(grant.sources[:MOST_ENTRIES]):
            at = (grant.key.namespace, source.group, source.kind, source.namespace)
            self._targets.setdefault(at, []).append(targets)

    def permits(
        self, group: str, kind: str, namespace: str, to_group: str, to_kind: str, to: ObjectKey
    ) -> bool:
        """Whether an object of *group*, *kind* and *namespace* may refer to *to*, of *to_group* and *to_kind*."""
        if to.namespace == namespace:
            return True
        named, all_of_kind = (to_group, to_kind, to.name), (to_group, to_kind, "")
        return any(
            named in targets or all_of_kind in targets
            for targets in self._targets.get((to.namespace, group, kind, namespace), ())
        )


NO_PERMISSIONS: Final = Permissions(())
