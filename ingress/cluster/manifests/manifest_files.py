"""The content of a manifest file: from its text to projections of the objects in it.

Pure: it opens no file and knows no directory.  Objects of kinds that are not read
are passed over in silence, for most real files are full of Deployments.  What looks
like an object of ours and is not becomes a problem of the file, with its line.
"""

import re
from collections.abc import Iterable
from typing import Final, Protocol

from attrs import evolve

from ingress.cluster.kinds import KINDS, ObjectKinds
from ingress.cluster.manifests.documents import Document, DocumentError, read_json, read_yaml
from ingress.cluster.projecting.project import SERVICE_NAME_LABEL, project
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Projection, Secret
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.secrets import ALL_KEYS, TLS_KEYS
from ingress.model.frozen import frozen
from ingress.object_fields import RawObject, is_object, shape_of
from ingress.translate.readers.reader import KindRead

DEFAULT_NAMESPACE = "default"
"""Where an object of a manifest belongs that names no namespace, as for ``kubectl apply``."""

MAX_LIST_DEPTH = 8
"""How deep lists of objects may stand in lists."""


@frozen
class ManifestObject:
    """An object of a manifest: where it stands, and what it gave."""

    id: ObjectId
    projection: Projection
    line: int


@frozen
class ManifestContent:
    """What a manifest file says.

    *objects* are in file order and may name one object twice.  *is_broken* says that the
    text could not be read to its end: then there are no objects, and *problems* say why.
    """

    objects: tuple[ManifestObject, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_broken: bool = False


class Onlooker(Protocol):
    """Who sees the raw objects of a manifest besides, while they are read."""

    def saw(self, object_id: ObjectId, raw: RawObject) -> None:
        """Be shown an object of a kind that is read."""

    def saw_other(self, raw: RawObject, line: int) -> None:
        """Be shown an object of any other kind, which is passed over."""

    def passes_over(self, raw: object) -> bool:
        """Whether *raw*, which is no Kubernetes object, is to be told to nobody."""


UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
"""What texts begin with that are UTF-16."""
_LINE: Final = re.compile(r"line ([0-9]{1,9}): ")


def line_told(problem: Problem) -> int:
    """Return the line that a problem of a manifest is about, 0 where it names none."""
    found = _LINE.match(problem.message) if problem.kind == Kind.MANIFEST else None
    return int(found[1]) if found else 0


def without_line(problem: Problem) -> Problem:
    """Return *problem* without the line that a manifest's begins with."""
    if problem.kind != Kind.MANIFEST:
        return problem
    return evolve(problem, message=_LINE.sub("", problem.message, count=1))


def broken_content(source_name: str, message: str) -> ManifestContent:
    """Return the content of a file that cannot be read, with the reason why."""
    return ManifestContent((), (_problem(source_name, message, Reason.MALFORMED_MANIFEST),), True)


def read_manifest(
    content: bytes,
    source_name: str,
    annotations_prefix: str,
    kinds: ObjectKinds = KINDS,
    namespace: str = DEFAULT_NAMESPACE,
    onlooker: Onlooker | None = None,
) -> ManifestContent:
    """Read the bytes of a manifest file, UTF-8 text; never raises.

    *namespace* is that of objects which name none.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        hint = ", but UTF-16, as PowerShell writes it; save it as UTF-8" if content[:2] in UTF_16 else " text"
        return broken_content(source_name, f"line {line}: is not UTF-8{hint}")
    return read_manifest_text(text, source_name, annotations_prefix, kinds, namespace, onlooker)


def read_manifest_text(
    text: str,
    source_name: str,
    annotations_prefix: str,
    kinds: ObjectKinds = KINDS,
    namespace: str = DEFAULT_NAMESPACE,
    onlooker: Onlooker | None = None,
) -> ManifestContent:
    """Read the text of a manifest file, YAML or JSON; *source_name* is for messages.  Never raises."""

    def content_of(documents: Iterable[Document]) -> ManifestContent:
        reading = _Reading(source_name, annotations_prefix, kinds, namespace, onlooker)
        for document in documents:
            reading.document(document)
        return ManifestContent(tuple(reading.objects), tuple(reading.problems))

    try:
        if is_json(text):
            try:
                return content_of(read_json(text))
            except DocumentError:
                if source_name.lower().endswith(".json"):
                    raise
        return content_of(read_yaml(text))
    except DocumentError as error:
        return broken_content(source_name, f"line {error.line}: {error.reason}{_hint(text, error)}")


_TABLE: Final = re.compile("NAME(?:SPACE)? ")
_VALUE: Final = re.compile(r"(?:^|[:,-] +|[\[{,] *)(\*(?![\w-])|[@`%])")
"""A text that begins with a sign by which YAML means something else."""


def is_json(text: str) -> bool:
    """Whether *text* may be JSON, whose own decoder is many times faster than that of YAML, though it is YAML too."""
    return text.lstrip().startswith(("{", "["))


_KUSTOMIZATION = "Kustomization"
_KUSTOMIZE_GROUP = "kustomize.config.k8s.io/"
_OVERLAYING = frozenset(
    {
        "bases",
        "components",
        "namePrefix",
        "nameSuffix",
        "patches",
        "patchesJson6902",
        "patchesStrategicMerge",
        "replacements",
        "vars",
    }
)
"""The fields of a kustomization by which its resources come out other than they stand in their files."""


def _is_kustomization_file(source_name: str) -> bool:
    """Whether a file of that name is one of kustomize, which may leave out what it is."""
    return source_name.rpartition("/")[2] in ("kustomization.yaml", "kustomization.yml", "Kustomization")


def _hint(text: str, error: DocumentError) -> str:
    """Say what makes *text* no YAML, where that is a habit; empty otherwise."""
    position = text.find("{{")
    if position >= 0:
        line = text.count("\n", 0, position) + 1
        return f"; line {line} holds {{{{: a template must be rendered first, as with 'helm template'"
    lines = text.split("\n", error.line)
    written = lines[error.line - 1].lstrip(" ") if 0 < error.line <= len(lines) else ""
    if written.startswith("\t"):
        return "; the line is indented by a tab, and YAML is by spaces"
    value = _VALUE.search(written)
    return f"; what begins with {value[1]} has to stand in quotes" if value is not None else ""


def _project(read: KindRead, raw: RawObject, annotations_prefix: str) -> tuple[ObjectKey | None, Projection]:
    """Project an object; of a Secret all keys, for nobody has said yet which are needed."""
    key, projection = project(read, raw, annotations_prefix, ALL_KEYS)
    if isinstance(projection.value, Secret):
        projection = evolve(projection, value=evolve(projection.value, asked=TLS_KEYS))
    return key, projection


def _problem(source_name: str, message: str, reason: Reason, field: str = "") -> Problem:
    return Problem(Kind.MANIFEST, "", source_name, reason, message, field)


class _Reading:
    """Gathers the objects and problems of one file."""

    def __init__(
        self,
        source_name: str,
        annotations_prefix: str,
        kinds: ObjectKinds,
        namespace: str,
        onlooker: Onlooker | None,
    ) -> None:
        self._source_name = source_name
        self._annotations_prefix = annotations_prefix
        self._kinds = kinds
        self._namespace = namespace
        self._onlooker = onlooker
        self.objects: list[ManifestObject] = []
        self.problems: list[Problem] = []

    def document(self, document: Document) -> None:
        if document.value is None:
            return
        known = len(self.objects) + len(self.problems)
        self._object(document.value, document, 0)
        if len(self.objects) + len(self.problems) > known:
            for line, name in document.repeated:
                self._report(line, f"the field {name!r} stands twice; its last value is used")

    def _report(self, line: int, message: str, field: str = "") -> None:
        message = f"line {line}: {message}"
        self.problems.append(_problem(self._source_name, message, Reason.MALFORMED_OBJECT, field))

    def _object(self, raw: object, document: Document, depth: int) -> None:
        line = document.line_of(raw)
        if not is_object(raw):
            if self._is_passed_over(raw):
                return
            hint = ""
            if isinstance(raw, str) and _TABLE.match(raw) is not None:
                hint = ": a table, as kubectl prints it; have it print YAML by --output=yaml"
            elif isinstance(raw, list) and any(is_object(entry) and "kind" in entry for entry in raw):
                hint = " of them; write them as documents of their own, as jq has them by '.items[]'"
            self._report(line, f"an object is wanted, but this is {shape_of(raw)}{hint}")
            return
        version, kind_name = raw.get("apiVersion"), raw.get("kind")
        if kind_name is None and version is None and _is_kustomization_file(self._source_name):
            self._kustomization(raw)
            return
        if not isinstance(version, str) or not isinstance(kind_name, str):
            if self._is_passed_over(raw):
                return
            self._report(line, "is no Kubernetes object: apiVersion and kind must both be there, as text")
            return
        read = self._kinds.written_as(version, kind_name)
        if read is not None:
            self._projected(read, raw, line)
        elif kind_name.endswith("List"):
            entry_kind = kind_name.removesuffix("List")
            if (version, kind_name) == ("v1", "List") or self._kinds.written_as(version, entry_kind):
                self._list(raw, version, entry_kind, document, depth)
        elif kind_name == _KUSTOMIZATION and version.startswith(_KUSTOMIZE_GROUP):
            self._kustomization(raw)
        elif kind_name in self._kinds and version.rpartition("/")[0] in self._kinds.groups:
            meant = self._kinds[Kind(kind_name)].api_version
            self._report(
                line,
                f"apiVersion {version!r} has no kind {kind_name} that can be read; write {meant}",
                "apiVersion",
            )
        else:
            if self._onlooker is not None:
                self._onlooker.saw_other(raw, line)
            self._slip(version, kind_name, line)

    def _slip(self, version: str, kind_name: str, line: int) -> None:
        """Tell of a kind that is passed over and hardly meant so."""
        meant = self._kinds.meant_by(version, kind_name)
        if meant is None:
            return
        if meant.kind == kind_name:
            told = f"apiVersion {version!r} is none of kind {kind_name}; write {meant.api_version}"
            self._report(line, told, "apiVersion")
        else:
            self._report(line, f"there is no kind {kind_name!r}; write {meant.kind}", "kind")

    def _is_passed_over(self, raw: object) -> bool:
        return self._onlooker is not None and self._onlooker.passes_over(raw)

    def _kustomization(self, raw: RawObject) -> None:
        """Tell of an overlay of kustomize; a kustomization that only lists resources leaves these as they are."""
        changing = sorted(_OVERLAYING.intersection(key for key in raw if isinstance(key, str)))
        if changing:
            message = (
                f"the kustomization has {', '.join(changing)}, so the files beside it are no whole objects, or not the ones"
                " that are meant; build it first, as with 'kubectl kustomize DIRECTORY', and have the result read"
            )
            self.problems.append(_problem(self._source_name, message, Reason.UNRENDERED_MANIFEST))

    def _list(self, raw: RawObject, version: str, entry_kind: str, document: Document, depth: int) -> None:
        entries = raw.get("items")
        if entries is None:
            return
        if not isinstance(entries, list):
            self._report(document.line_of(raw), f"must be a list, but is {shape_of(entries)}", "items")
            return
        if depth >= MAX_LIST_DEPTH:
            self._report(document.line_of(raw), "lists stand too deep in lists", "items")
            return
        for entry in entries:
            if entry_kind and is_object(entry) and "kind" not in entry and "apiVersion" not in entry:
                # The objects of a typed list leave out what the list says for all of them.
                read = self._kinds.written_as(version, entry_kind)
                if read is not None:
                    self._projected(read, {**entry, "apiVersion": version}, document.line_of(entry))
                    continue
            self._object(entry, document, depth + 1)

    def _projected(self, read: KindRead, raw: RawObject, line: int) -> None:
        kind = read.kind
        metadata = raw.get("metadata")
        if metadata is None:
            metadata = {}
        if is_object(metadata) and metadata.get("namespace") in (None, ""):
            raw = {**raw, "metadata": {**metadata, "namespace": self._namespace}}
        key, projection = _project(read, raw, self._annotations_prefix)
        if key is None:
            for problem in projection.problems:
                name = f" {problem.name}" if problem.name else ""
                where = f"{problem.field} " if problem.field else ""
                self._report(line, f"{kind}{name}: {where}{problem.message}")
            return
        if kind is Kind.ENDPOINT_SLICE and projection.value is None and not projection.problems:
            message = f"has no label {SERVICE_NAME_LABEL}, so it belongs to no Service"
            reason = Reason.MALFORMED_OBJECT
            problem = Problem(kind, key.namespace, key.name, reason, message, "metadata.labels")
            projection = evolve(projection, problems=(problem,))
        if self._onlooker is not None:
            self._onlooker.saw((kind, key), raw)
        self.objects.append(ManifestObject((kind, key), projection, line))
