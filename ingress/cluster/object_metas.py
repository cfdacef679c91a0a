"""The metadata of the objects in the store, in little memory.  Reactor thread only.

Nearly every Ingress and Service has one, and of most it is nothing but a uid, which is kept as the number that a UUID
is, in half of the memory that its text takes.  Of routes of the Gateway API it is their
status besides, in one tuple in place of two.
"""

import re
from collections.abc import Iterator, Mapping

from ingress.model.cluster.object_meta import ObjectMeta, SeenStatus
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey

_Seen = tuple[str, str, bytes | None, int, str]
"""The uid, the writer, and the fields of ``SeenStatus``."""


class ObjectMetas(Mapping[ObjectId, ObjectMeta]):
    """A mapping that changes by ``put``."""

    def __init__(self) -> None:
        # By kind first, so that the keys are those that the objects have themselves.
        self._known: dict[Kind, dict[ObjectKey, int | str | _Seen | ObjectMeta]] = {}

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
_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _packed(meta: ObjectMeta) -> int | str | _Seen | ObjectMeta:
    if meta[1:] == _NO_MORE:
        return _packed_uid(meta.uid)
    if meta.seen is not None and not meta.addresses and not meta.external_ips:
        return meta.uid, meta.writer, *meta.seen
    return meta


def _packed_uid(uid: str) -> int | str:
    """Return the number of a UUID as an API server writes it; a uid may be any text, and any other stays what it is."""
    if _UUID.fullmatch(uid) is None:
        return uid
    return int(uid.replace("-", ""), 16)


def _uid_of(number: int) -> str:
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _unpacked(kept: int | str | _Seen | ObjectMeta) -> ObjectMeta:
    if isinstance(kept, int):
        return ObjectMeta(_uid_of(kept))
    if isinstance(kept, str):
        return ObjectMeta(kept)
    if isinstance(kept, ObjectMeta):
        return kept
    uid, writer, text, generation, version = kept
    return ObjectMeta(uid, writer=writer, seen=SeenStatus(text, generation, version))
