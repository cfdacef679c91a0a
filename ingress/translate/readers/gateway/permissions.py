"""Who may refer to whom: objects of the same namespace, and those that a ReferenceGrant permits.

Source: ``ReferenceGrant`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Iterable

from ingress.model.objects import ObjectKey
from ingress.translate.readers.gateway.grants import ReferenceGrant

_Target = tuple[str, str, str]
"""Group, kind and name; the name is empty for all of the kind."""


class Permissions:
    """What ReferenceGrants permit, looked up in a step for each grant to who refers."""

    __slots__ = ("_targets",)

    def __init__(self, grants: Iterable[ReferenceGrant]) -> None:
        # By the namespace of what is referred to, and who refers.  Grants of many sources share their targets.
        self._targets: dict[tuple[str, str, str, str], list[frozenset[_Target]]] = {}
        for grant in grants:
            targets = frozenset((one.group, one.kind, one.name) for one in grant.targets)
            for source in dict.fromkeys(grant.sources):
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
