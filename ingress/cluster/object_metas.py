"""The metadata of the objects in the store, in little memory.  Reactor thread only.

Nearly every Ingress and Service has one, and of most it is nothing but a uid.
"""

from collections.abc import Iterator, Mapping

from ingress.model.object_meta import ObjectMeta
from ingress.model.objects import Kind, ObjectId, ObjectKey


class ObjectMetas(Mapping[ObjectId, ObjectMeta]):
    """A mapping that changes by ``put``."""

    def __init__(self) -> None:
        # By kind first, so that the keys are those that the objects have themselves.
        self._known: dict[Kind, dict[ObjectKey, str | ObjectMeta]] = {}

    def put(self, object_id: ObjectId, meta: ObjectMeta | None) -> bool:
        """Keep *meta*, or forget the object; return whether that changes anything."""
        kind, key = object_id
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = {}
        if meta is None:
            return known.pop(key, None) is not None
        kept = meta.uid if meta[1:] == _NO_MORE else meta
        if known.get(key) == kept:
            return False
        known[key] = kept
        return True

    def __getitem__(self, object_id: ObjectId) -> ObjectMeta:
        kind, key = object_id
        kept = self._known[kind][key]
        return ObjectMeta(kept) if isinstance(kept, str) else kept

    def __iter__(self) -> Iterator[ObjectId]:
        return ((kind, key) for kind, known in self._known.items() for key in known)

    def __len__(self) -> int:
        return sum(map(len, self._known.values()))


_NO_MORE = ObjectMeta()[1:]
