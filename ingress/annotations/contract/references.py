"""What annotations name besides Services: Secrets and ConfigMaps, and what of these was found.

A family says which it needs (``Family.references``); translation finds them, tells of those that it does not find,
and hands what there is to the filters of the family (``RouteFacts.found``).
"""

from collections.abc import Mapping
from itertools import islice
from typing import Final

from attrs import field

from ingress.model.cluster.objects import ConfigMap, Kind, ObjectKey, Secret
from ingress.model.cluster.secrets import ALL_KEYS
from ingress.model.frozen import frozen

NOWHERE: Final = ObjectKey("", "")
"""Stands for the object of whoever refers to something as the operator."""


@frozen
class Reference:
    """A Secret or a ConfigMap that *annotation* names."""

    kind: Kind
    key: ObjectKey
    annotation: str
    """Without its prefix."""
    keys: frozenset[str] = ALL_KEYS
    """Which keys of its data are needed; those of a ConfigMap are always had."""
    without: str = "it has no effect"
    """What becomes of whoever refers to it where it is not found; the rest of a sentence."""
    is_operators: bool = False
    """Whether only the operator can have named it: then it may be in any namespace."""

    def is_in_reach(self, asking: ObjectKey) -> bool:
        """Whether the object *asking* may refer to it: to its own namespace, or as the operator."""
        return self.is_operators or self.key.namespace == asking.namespace


@frozen
class Found:
    """The content of what an object refers to; what is missing, forbidden or out of reach is not here."""

    _secrets: Mapping[ObjectKey, Mapping[str, bytes]] = field(factory=dict, repr=False)
    _config_maps: Mapping[ObjectKey, Mapping[str, str]] = field(factory=dict, repr=False)

    def secret(self, reference: Reference) -> Mapping[str, bytes] | None:
        """Return the data of a Secret, as far as any reference to it needs it; None where it was not found."""
        return self._secrets.get(reference.key)

    def config_map(self, reference: Reference) -> Mapping[str, str] | None:
        """Return the data of a ConfigMap, None where it was not found."""
        return self._config_maps.get(reference.key)

    def has(self, reference: Reference) -> bool:
        """Whether what *reference* names was found."""
        return reference.key in (self._config_maps if reference.kind is Kind.CONFIG_MAP else self._secrets)


NOTHING_FOUND: Final = Found()


def found_of(objects: "Mapping[Reference, Secret | ConfigMap]") -> Found:
    """Return what *objects* have of what is needed of them."""
    secrets: dict[ObjectKey, dict[str, bytes]] = {}
    config_maps: dict[ObjectKey, Mapping[str, str]] = {}
    for reference, one in objects.items():
        if isinstance(one, ConfigMap):
            config_maps[one.key] = one.content
            continue
        wanted = one.content.keys() if reference.keys >= ALL_KEYS else reference.keys & one.content.keys()
        secrets.setdefault(one.key, {}).update({name: one.content[name] for name in wanted})
    return Found(secrets, config_maps) if secrets or config_maps else NOTHING_FOUND


def first_entries(content: Mapping[str, str], most: int) -> list[tuple[str, str]]:
    """Return the first *most* entries of a ConfigMap, by name.

    Where it has more, which may be hundreds of thousands, they are taken as they come: a ConfigMap has them in their order.
    """
    return sorted(content.items()) if len(content) <= most else list(islice(content.items(), most))
