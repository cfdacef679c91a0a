"""How objects of a kind are written at an API server: their place, and what that takes."""

from enum import StrEnum

from ingress.model.frozen import frozen

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
"""A patch in which null removes a field and a list replaces a list (RFC 7396)."""
APPLY_PATCH = "application/apply-patch+yaml"
"""All that a field manager wants of an object, in JSON; what it wanted before and does not any more, goes."""


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


ADDRESSES_FIELD = "addresses"
"""The field of a document that shows where an object is reached."""


class StatusField(StrEnum):
    """What of a status is ours to write."""

    ADDRESSES = "addresses"
    """``status.loadBalancer.ingress``: where the traffic goes, as for Ingress."""
    DOCUMENT = "document"
    """What became of the object, as kinds of the Gateway API say it: see ``StatusShape``."""


@frozen
class ListShape:
    """A list of a status whose entries have conditions of their own, such as ``listeners`` or ``parents``.

    *identity* has the fields by which entries are told apart.  Of a *shared* list only those entries are ours whose
    ``controllerName`` we are; it is required, so that none is an empty list.  *types* are those of our conditions in
    them, *most* is how many entries the API allows.
    """

    name: str
    identity: tuple[str, ...]
    types: frozenset[str]
    most: int
    is_shared: bool = False


@frozen
class StatusShape:
    """Which parts of the status of a kind are ours.

    *types* are those of our conditions in ``conditions``, where others may have some, too; *lists* have entries with
    conditions of their own; *fields* are values that we write as a whole.
    """

    types: frozenset[str] = frozenset()
    lists: tuple[ListShape, ...] = ()
    fields: tuple[str, ...] = ()
