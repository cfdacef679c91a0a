"""The metadata of the objects in the store, in little memory.  Reactor thread only.

Nearly every Ingress and Service has one, and of most it is nothing but a uid.  Of routes of the Gateway API it is their
status besides, in one tuple in place of two.
"""

from collections.abc import Iterator, Mapping

from ingress.model.object_meta import ObjectMeta, SeenStatus
from ingress.model.objects import Kind, ObjectId, ObjectKey

_Seen = tuple[str, str, bytes | None, int, str]
"""The uid, the writer, and the fields of ``SeenStatus``."""


class ObjectMetas(Mapping[ObjectId, ObjectMeta]):
    """A mapping that changes by ``put``."""

    def __init__(self) -> None:
        # By kind first, so that the keys are those that the objects have themselves.
        self._known: dict[Kind, dict[ObjectKey, str | _Seen | ObjectMeta]] = {}

    def put(self, object_id: ObjectId, meta: ObjectMeta | None) -> bool:
        """Keep *meta*, or forget the object; return whether that changes anything."""
        kind, key = object_id
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = {}
        if meta is None:
            return known.pop(key, None) is not None
        kept = _packed(meta)
        if known.get(key) == kept:
            return False
        known[key] = kept
        return True

    def __getitem__(self, object_id: ObjectId) -> ObjectMeta:
        kind, key = object_id
        kept = self._known[kind][key]
        return _unpacked(kept)

    def __iter__(self) -> Iterator[ObjectId]:
        return ((kind, key) for kind, known in self._known.items() for key in known)

    def __len__(self) -> int:
        return sum(map(len, self._known.values()))


_NO_MORE = ObjectMeta()[1:]


def _packed(meta: ObjectMeta) -> str | _Seen | ObjectMeta:
    if meta[1:] == _NO_MORE:
        return meta.uid
    if meta.seen is not None and not meta.addresses and not meta.external_ips:
        return meta.uid, meta.writer, *meta.seen
    return meta


def _unpacked(kept: str | _Seen | ObjectMeta) -> ObjectMeta:
    if isinstance(kept, str):
        return ObjectMeta(kept)
    if isinstance(kept, ObjectMeta):
        return kept
    uid, writer, text, generation, version = kept
    return ObjectMeta(uid, writer=writer, seen=SeenStatus(text, generation, version))
