"""How objects of a kind are written at an API server: their place, and what that takes."""

from enum import StrEnum

from ingress.model.frozen import frozen

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
"""A patch in which null removes a field and a list replaces a list (RFC 7396)."""


@frozen
class KindWrite:
    """How one kind is written: the objects themselves, or only their *subresource*.

    *verbs* are those of the Kubernetes authorization rules, *media_type* that of a patch.
    """

    group: str
    version: str
    plural: str
    verbs: tuple[str, ...]
    subresource: str = ""
    media_type: str = MERGE_PATCH

    @property
    def resource(self) -> str:
        """What authorization rules call it."""
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural

    def path(self, namespace: str, name: str = "") -> str:
        """The path of the collection in *namespace* (empty for a kind without), or of one object or its subresource."""
        root = ("/apis", self.group, self.version) if self.group else ("/api", self.version)
        place = ("namespaces", namespace) if namespace else ()
        return "/".join(part for part in (*root, *place, self.plural, name, self.subresource) if part)


class StatusField(StrEnum):
    """The part of a status that is ours to write, by its path."""

    ADDRESSES = "status.loadBalancer.ingress"
    """Where the traffic goes, as for Ingress."""
    CONDITIONS = "status.conditions"
    """What became of the object, as Gateway API has it: a list in which others may have entries, too."""
