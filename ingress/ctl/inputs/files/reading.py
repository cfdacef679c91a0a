"""One manifest as a command wants it: its objects, the labels of route objects, and whether it is a template."""

from collections.abc import Mapping

from attrs import Factory, evolve

from ingress.cluster.kinds import KINDS
from ingress.cluster.manifests.manifest_files import ManifestContent, line_told, read_manifest
from ingress.ctl.inputs.beside import ROUTE_KINDS, Beside
from ingress.ctl.inputs.files.first_look import is_template_before
from ingress.ctl.inputs.ingress_nginx.installation import INGRESS_CLASS, NAMESPACE, SERVICE, belonging
from ingress.ctl.inputs.ingress_nginx.workloads import workload_of
from ingress.ctl.inputs.input import Place, Workload
from ingress.ctl.inputs.unknown_fields import UnknownField
from ingress.model.cluster.objects import Kind, ObjectId
from ingress.model.frozen import frozen
from ingress.object_fields import RawObject, is_object


@frozen
class Reading:
    """What came of one text."""

    content: ManifestContent
    labels: Mapping[ObjectId, Mapping[str, str]] = Factory(dict)
    strays: Mapping[ObjectId, Mapping[str, str]] = Factory(dict)
    """The annotations of route objects that are called as those of ingress-nginx are, behind another prefix."""
    unknown: Mapping[ObjectId, tuple[UnknownField, ...]] = Factory(dict)
    """The fields of Ingresses that there are not."""
    workloads: tuple[Workload, ...] = ()
    """What runs ingress-nginx."""
    around: tuple[RawObject, ...] = ()
    """What may be around it."""
    is_template: bool = False
    """Whether it, or an object in it, has to be rendered first; such objects are not in *content*."""


def read_text(content: bytes, name: str, prefix: str, namespace: str, *, is_found: bool) -> Reading:
    """Read the text of a manifest; never raises.

    What is no object of Kubernetes, and a template, is passed over where the text *is_found* and nobody has named it.
    *namespace* is that of objects which name none.
    """
    onlooker = _Onlooker(prefix, is_found, b"{{" in content, name, namespace)
    read = read_manifest(content, name, prefix, namespace=namespace, onlooker=onlooker)
    if (
        is_found
        and read.is_broken
        and any(is_template_before(content, line_told(problem)) for problem in read.problems)
    ):
        return Reading(ManifestContent(), is_template=True)
    if onlooker.templates:
        read = evolve(read, objects=tuple(one for one in read.objects if one.id not in onlooker.templates))
    beside = onlooker.beside
    return Reading(
        read,
        beside.labels,
        beside.strays,
        beside.unknown,
        tuple(onlooker.workloads),
        tuple(onlooker.around),
        bool(onlooker.templates),
    )


class _Onlooker:
    """Looks at raw objects for what translation does not need; an ``Onlooker``."""

    def __init__(
        self, prefix: str, is_found: bool, may_have_templates: bool, file: str, namespace: str
    ) -> None:
        self._is_found = is_found
        self._file = file
        self._namespace = namespace
        self._may_have_templates = may_have_templates and is_found
        self.beside = Beside(prefix)
        self.templates: set[ObjectId] = set()
        self.workloads: list[Workload] = []
        self.around: list[RawObject] = []

    def saw(self, object_id: ObjectId, raw: RawObject) -> None:
        """Keep what a route object says besides, and look whether it has been rendered."""
        self.beside.saw(object_id, raw)
        if object_id[0] in (SERVICE, INGRESS_CLASS, NAMESPACE):
            self._keep_around(raw, object_id[1].namespace)
        if self._may_have_templates and object_id[0] in ROUTE_KINDS and "{{" in str(raw.get("spec")):
            self.templates.add(object_id)

    def saw_other(self, raw: RawObject, line: int) -> None:
        """Keep what runs ingress-nginx, and what may be around it."""
        self._keep_around(raw, self._namespace)
        found = workload_of(raw, self._namespace, Place(self._file, line))
        if found is not None:
            self.workloads.append(found)

    def _keep_around(self, raw: RawObject, namespace: str) -> None:
        found = belonging(raw, namespace)
        if found is not None:
            self.around.append(found)

    def passes_over(self, raw: object) -> bool:
        """Pass over what only lies in a folder, unless it says to be of a kind that is read."""
        if not self._is_found:
            return False
        kind = raw.get("kind") if is_object(raw) else None
        return not isinstance(kind, str) or Kind(kind) not in KINDS
