"""What commands want to know of a route object besides what translation needs: its labels, annotations behind another prefix, and fields that there are not."""

from collections.abc import Mapping
from typing import Final

from ingress.annotations.unknown_names import OF_INGRESS_NGINX
from ingress.cluster.kinds import KINDS
from ingress.ctl.inputs.unknown_fields import UnknownField, unknown_fields
from ingress.model.cluster.objects import Kind, ObjectId
from ingress.object_fields import RawObject, is_object

ROUTE_KINDS: Final = frozenset(row.read.kind for row in KINDS.routes)
_NO_TEXTS: Final[Mapping[str, str]] = {}


class Beside:
    """Gathers that of raw objects; *prefix* is that of the annotations that are honored."""

    def __init__(self, prefix: str) -> None:
        self._below = prefix + "/"
        self.labels: dict[ObjectId, Mapping[str, str]] = {}
        self.strays: dict[ObjectId, Mapping[str, str]] = {}
        """Annotations that are called as those of ingress-nginx are, behind another prefix."""
        self.unknown: dict[ObjectId, tuple[UnknownField, ...]] = {}
        """Of Ingresses: fields that there are not."""

    def saw(self, object_id: ObjectId, raw: RawObject) -> None:
        """Keep what *raw*, a route object or any other, says."""
        if object_id[0] not in ROUTE_KINDS:
            return
        labels = _texts(raw, "labels")
        if labels:
            self.labels[object_id] = labels
        strays = {
            name: value
            for name, value in _texts(raw, "annotations").items()
            if not name.startswith(self._below) and name.rpartition("/")[2] in OF_INGRESS_NGINX
        }
        if strays:
            self.strays[object_id] = strays
        unknown = unknown_fields(raw) if object_id[0] == Kind.INGRESS else ()
        if unknown:
            self.unknown[object_id] = unknown


def _texts(raw: RawObject, field: str) -> Mapping[str, str]:
    """Return the texts by name that *field* of the metadata of *raw* has."""
    metadata = raw.get("metadata")
    found = metadata.get(field) if is_object(metadata) else None
    if not is_object(found):
        return _NO_TEXTS
    return {name: value for name, value in found.items() if isinstance(name, str) and isinstance(value, str)}
