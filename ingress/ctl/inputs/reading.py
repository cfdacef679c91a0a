"""One manifest as a command wants it: its objects, the labels of route objects, and whether it is a template."""

from collections.abc import Mapping
from typing import Final

from attrs import Factory, evolve, frozen

from ingress.annotations.unknown_names import OF_INGRESS_NGINX
from ingress.cluster.kinds import KINDS
from ingress.cluster.manifests.manifest_files import ManifestContent, line_told, read_manifest
from ingress.ctl.inputs.looks import is_template_before
from ingress.fields import RawObject, is_object
from ingress.model.objects import Kind, ObjectId

_ROUTES: Final = frozenset(row.read.kind for row in KINDS.routes)
_NO_TEXTS: Final[Mapping[str, str]] = {}


@frozen
class Reading:
    """What came of one text."""

    content: ManifestContent
    labels: Mapping[ObjectId, Mapping[str, str]] = Factory(dict)
    strays: Mapping[ObjectId, Mapping[str, str]] = Factory(dict)
    """The annotations of route objects that are called as those of ingress-nginx are, behind another prefix."""
    is_template: bool = False
    """Whether it, or an object in it, has to be rendered first; such objects are not in *content*."""


def read_text(content: bytes, name: str, prefix: str, namespace: str, *, is_found: bool) -> Reading:
    """Read the text of a manifest; never raises.

    What is no object of Kubernetes, and a template, is passed over where the text *is_found* and nobody has named it.
    *namespace* is that of objects which name none.
    """
    beside = _Beside(prefix, is_found, b"{{" in content)
    read = read_manifest(content, name, prefix, namespace=namespace, onlooker=beside)
    if (
        is_found
        and read.is_broken
        and any(is_template_before(content, line_told(problem)) for problem in read.problems)
    ):
        return Reading(ManifestContent(), is_template=True)
    if beside.templates:
        read = evolve(read, objects=tuple(one for one in read.objects if one.id not in beside.templates))
    return Reading(read, beside.labels, beside.strays, bool(beside.templates))


class _Beside:
    """Looks at raw objects for what translation does not need; an ``Onlooker``."""

    def __init__(self, prefix: str, is_found: bool, may_have_templates: bool) -> None:
        self._below = prefix + "/"
        self._is_found = is_found
        self._may_have_templates = may_have_templates and is_found
        self.labels: dict[ObjectId, Mapping[str, str]] = {}
        self.strays: dict[ObjectId, Mapping[str, str]] = {}
        self.templates: set[ObjectId] = set()

    def saw(self, object_id: ObjectId, raw: RawObject) -> None:
        """Keep the labels of a route object, and look whether it has been rendered."""
        if object_id[0] not in _ROUTES:
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
        if self._may_have_templates and "{{" in str(raw.get("spec")):
            self.templates.add(object_id)

    def passes_over(self, raw: object) -> bool:
        """Pass over what only lies in a folder, unless it says to be of a kind that is read."""
        if not self._is_found:
            return False
        kind = raw.get("kind") if is_object(raw) else None
        return not isinstance(kind, str) or Kind(kind) not in KINDS


def _texts(raw: RawObject, field: str) -> Mapping[str, str]:
    """Return the texts by name that *field* of the metadata of *raw* has."""
    metadata = raw.get("metadata")
    found = metadata.get(field) if is_object(metadata) else None
    if not is_object(found):
        return _NO_TEXTS
    return {name: value for name, value in found.items() if isinstance(name, str) and isinstance(value, str)}
