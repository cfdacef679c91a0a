"""Who may refer to whom: objects of the same namespace, and those that a ReferenceGrant permits.

Source: ``ReferenceGrant`` of ``gateway.networking.k8s.io/v1``.
"""

from operator import is_
from typing import Final

from ingress.model.cluster.objects import ObjectKey
from ingress.model.stepwise import Stepwise
from ingress.translate.readers.gateway.objects.grants import ReferenceGrant

_Referring = tuple[str, str, str, str]
"""The namespace of what is referred to; group, kind and namespace of who refers."""
_Kind = tuple[str, str, str]
"""Namespace, group and kind of what is referred to."""
_ALL_OF_KIND: Final = ""

AT_ONCE: Final = 50
"""Grants that are looked at in one step."""
MOST_ENTRIES: Final = 16
"""How many sources, and how many targets, a grant may have (``MaxItems`` of the API); further ones grant nothing."""


class Permissions:
    """What *grants* permit, once all of them were entered.

    Both sides know their grants by number, so that neither sources times targets of a grant have to be kept, nor all grants be
    looked through to find one: what it takes to look all targets up is in proportion to what the grants name.
    """

    __slots__ = ("_grants", "_known", "_sources", "_targets")

    def __init__(self, grants: tuple[ReferenceGrant, ...]) -> None:
        self._grants = grants
        self._sources: dict[_Referring, set[int]] = {}
        # By name; nearly all are in one grant.
        self._targets: dict[_Kind, dict[str, int | set[int]]] = {}
        # Whether all of a kind is permitted, which is asked for each of its names.
        self._known: dict[tuple[_Referring, _Kind], bool] = {}

    @classmethod
    def following(cls, before: "Permissions", grants: tuple[ReferenceGrant, ...]) -> "Stepwise[Permissions]":
        """Return what *grants* permit, step by step; that is *before* where these are the same."""
        if len(grants) == len(before._grants) and all(map(is_, grants, before._grants)):
            return before
        made = cls(grants)
        for number, grant in enumerate(grants, 1):
            made._enter(number, grant)
            if not number % AT_ONCE:
                yield
        return made

    def _enter(self, number: int, grant: ReferenceGrant) -> None:
        namespace = grant.key.namespace
        for source in grant.sources[:MOST_ENTRIES]:
            at = (namespace, source.group, source.kind, source.namespace)
            self._sources.setdefault(at, set()).add(number)
        for one in grant.targets[:MOST_ENTRIES]:
            names = self._targets.setdefault((namespace, one.group, one.kind), {})
            before = names.setdefault(one.name, number)
            if isinstance(before, set):
                before.add(number)
            elif before != number:
                names[one.name] = {before, number}

    def permits(
        self, group: str, kind: str, namespace: str, to_group: str, to_kind: str, to: ObjectKey
    ) -> bool:
        """Whether an object of *group*, *kind* and *namespace* may refer to *to*, of *to_group* and *to_kind*."""
        if to.namespace == namespace:
            return True
        at, of_kind = (to.namespace, group, kind, namespace), (to.namespace, to_group, to_kind)
        sources, names = self._sources.get(at), self._targets.get(of_kind)
        if sources is None or names is None:
            return False
        is_all_permitted = self._known.get((at, of_kind))
        if is_all_permitted is None:
            is_all_permitted = _have_common(sources, names.get(_ALL_OF_KIND))
            self._known[at, of_kind] = is_all_permitted
        return is_all_permitted or _have_common(sources, names.get(to.name))


def _have_common(sources: set[int], targets: int | set[int] | None) -> bool:
    """Whether a grant is among both."""
    if isinstance(targets, set):
        return not sources.isdisjoint(targets)
    return targets in sources


NO_PERMISSIONS: Final = Permissions(())
