"""One decoded line of a watch, or one entry of a list, as a value.  Pure.

Sources: ``WatchEvent`` and ``ListMeta`` of ``meta/v1``; the annotation that ends the initial
events of a streaming list is ``k8s.io/initial-events-end`` (KEP-3157).  Resource versions are whole numbers
that grow, which all API servers have had and KEP-5504 promises; for us they are texts, of which one may be before another.
"""

from sys import intern
from typing import Any

from attrs import field

from ingress.cluster.api.api_status import error_from_status
from ingress.cluster.json_text import decoded
from ingress.errors import KubernetesError
from ingress.model.cluster.objects import ObjectKey
from ingress.model.frozen import frozen

NOT_JSON = "what came is not JSON"
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class BrokenStreamError(Exception):
    """What was received is not what the API sends; the place in the stream is lost."""


@frozen
class ObjectEvent:
    """An object as it is now, or (*deleted*) as it last was.

    *key* is None when the object has no usable name: it cannot be told apart, but the stream
    goes on behind it.
    """

    key: ObjectKey | None
    resource_version: str
    deleted: bool
    raw: dict[str, Any]
    size: int = field(default=0, eq=False)
    """The bytes of the text that it came in; 0 where others were in that, too."""


@frozen
class Bookmark:
    """Nothing changed up to *resource_version*; *ends_initial_events* closes a streaming list."""

    resource_version: str
    ends_initial_events: bool


@frozen
class ErrorEvent:
    """The API server ends the watch, and says why."""

    error: KubernetesError


@frozen
class ListPage:
    """One page of a list; *next_page* is the token to ask for the next one, empty on the last."""

    resource_version: str
    next_page: str
    objects: tuple[ObjectEvent, ...]


def is_before(version: str, other: str) -> bool:
    """Whether *version* is an older one than *other*; not where one of them is no number."""
    numbers = all(one.isascii() and one.isdigit() for one in (version, other))
    return numbers and (len(version), version) < (len(other), other)


def event_from_json(line: object, size: int = 0) -> ObjectEvent | Bookmark | ErrorEvent:
    """Read one decoded line of a watch, which had *size* bytes.  Raises ``BrokenStreamError``."""
    if not isinstance(line, dict):
        raise BrokenStreamError("a watch event is not an object")
    event_type = line.get("type")
    raw = line.get("object")
    if event_type == "ERROR":
        return ErrorEvent(error_from_status(raw))
    if event_type not in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK"):
        raise BrokenStreamError("a watch event of an unknown type")
    if event_type == "BOOKMARK":
        metadata = _metadata(raw)
        annotations = metadata.get("annotations")
        ends = isinstance(annotations, dict) and annotations.get(_INITIAL_EVENTS_END) == "true"
        return Bookmark(_resource_version(metadata), ends)
    return _object_event(raw, size, deleted=event_type == "DELETED")


def page_from_json(page: object) -> ListPage:
    """Read one decoded page of a list; ``items: null`` is an empty one.  Raises ``BrokenStreamError``."""
    metadata = _metadata(page)
    assert isinstance(page, dict)
    entries = page.get("items")
    if entries is None:
        entries = []
    if not isinstance(entries, list):
        raise BrokenStreamError("the items of a list are not a list")
    next_page = metadata.get("continue")
    return ListPage(
        _resource_version(metadata),
        next_page if isinstance(next_page, str) else "",
        tuple(map(object_from_json, entries)),
    )


def object_from_json(raw: object, size: int = 0) -> ObjectEvent:
    """Read one decoded entry of a list, which had *size* bytes.  Raises ``BrokenStreamError``."""
    return _object_event(raw, size, deleted=False)


def _object_event(raw: object, size: int, *, deleted: bool) -> ObjectEvent:
    metadata = _metadata(raw)
    assert isinstance(raw, dict)
    name = metadata.get("name")
    namespace = metadata.get("namespace")
    key = None
    if isinstance(name, str) and name:
        key = ObjectKey(intern(namespace) if type(namespace) is str else "", name)
    return ObjectEvent(key, _resource_version(metadata), deleted, raw, size)


def _metadata(raw: object) -> dict[str, Any]:
    metadata = raw.get("metadata") if isinstance(raw, dict) else None
    if not isinstance(metadata, dict):
        raise BrokenStreamError("an object without metadata")
    return metadata


def _resource_version(metadata: dict[str, Any]) -> str:
    version = metadata.get("resourceVersion")
    if not isinstance(version, str) or not version:
        raise BrokenStreamError("an object without a resource version")
    return version


def decoded_or_broken(text: bytes) -> object:
    """Decode JSON; raise ``BrokenStreamError`` where it is none."""
    try:
        return decoded(text)
    except ValueError:
        raise BrokenStreamError(NOT_JSON) from None
