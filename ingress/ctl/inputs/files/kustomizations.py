"""Kustomizations as their files have them: what each refers to, which are to be built, and whether that needs the network.

Source: the fields of ``kustomize.config.k8s.io`` (Kustomization ``v1beta1``, Component ``v1alpha1``).
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ingress.cluster.manifests.documents import DocumentError, read_events, read_yaml
from ingress.ctl.inputs.files.folders import KUSTOMIZATIONS
from ingress.model.frozen import frozen
from ingress.object_fields import RawObject, is_object

_GROUP: Final = "kustomize.config.k8s.io/"
_MOST_BYTES: Final = 4 * 2**20
_MOST_TOLD: Final = 200
_PARTS: Final = ("resources", "bases", "components")
_PLUGINS: Final = ("generators", "transformers", "validators")
_SETTINGS: Final = ("configurations", "crds")
_PATCHES: Final = ("patches", "patchesJson6902", "replacements")
_GENERATORS: Final = ("configMapGenerator", "secretGenerator")
_WITH_PATHS: Final = ("path", "files", "envs", "env")
_BY_LOWER_CASE: Final = {
    name.lower(): name
    for name in (
        *_PARTS,
        *_PLUGINS,
        *_SETTINGS,
        *_PATCHES,
        *_GENERATORS,
        *_WITH_PATHS,
        "patchesStrategicMerge",
        "openapi",
    )
}
"""How names of fields are written that have paths in them: kustomize takes them in any case."""
_HARMLESS: Final = frozenset(
    {
        "apiVersion",
        "buildMetadata",
        "configurations",
        "crds",
        "images",
        "kind",
        "metadata",
        "openapi",
        "replicas",
        "resources",
        "sortOptions",
        "validators",
    }
)
"""The fields that leave objects as they stand in their files, as far as they matter here."""
# What kustomize takes for the address of a repository or of a page, even where a folder of that name is here.
_ADDRESS: Final = re.compile(r"(?i)git::|gh:|github\.com[/:]|[a-z][a-z0-9+.-]*://|[^/]*@[^/]*")
# What it gets from a server where a file is named.
_FETCHED: Final = re.compile(r"(?i)(?:[^=\s]*=)?https?://")


@frozen
class Kustomization:
    """One kustomization: its *file*, and the paths in it, as they are written there.

    *parts* are what it is built of: files, or folders with a kustomization.  *besides* are files that change or check these.
    """

    file: str
    parts: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()
    is_component: bool = False
    is_changing: bool = False
    """Whether its parts come out otherwise than they stand in their files."""
    plugins: tuple[str, ...] = ()
    """What makes, changes or checks objects besides: texts of objects, files with such, and folders that come to such."""

    @property
    def folder(self) -> str:
        """Where it lies, and what its paths begin at."""
        return os.path.dirname(self.file)

    def remote(self) -> str | None:
        """Return what kustomize would look for in a network, or may; None where all is here."""
        for path in self.parts:
            if _ADDRESS.match(path) or not os.path.exists(os.path.join(self.folder, path)):
                return f"{path[:_MOST_TOLD]}, which is not here"
        for path in self.besides:
            if _ADDRESS.match(path):
                return f"{path[:_MOST_TOLD]}, which is not here"
        return next((why for plugin in self.plugins if (why := self._remote_of(plugin))), None)

    def _remote_of(self, plugin: str) -> str | None:
        """Return what a plugin would look for: it has paths of its own, in fields that only it knows."""
        text = plugin
        if "\n" not in plugin:
            shown = plugin[:_MOST_TOLD]
            if _ADDRESS.match(plugin):
                return f"{shown}, which is not here"
            path = os.path.join(self.folder, plugin)
            if os.path.isdir(path):
                return f"the folder of plugins {shown}, of which nobody knows before what they refer to"
            try:
                text = _text(path)
            except (OSError, ValueError):
                return f"the plugin {shown}, which cannot be read"
        try:
            _refuse_tags(text)
            found = [one for document in read_yaml(text) for one in _all_texts(document.value)]
        except DocumentError:
            return "a plugin that is not understood"
        address = next((one for one in found if _FETCHED.match(one)), None)
        return f"{address[:_MOST_TOLD]}, which is not here" if address else None


@frozen
class NotAKustomization:
    """A file of that name that is none: *problem* says why, with its line, where it is meant to be one."""

    file: str
    line: int = 0
    problem: str = ""


def read_kustomization(path: str) -> Kustomization | NotAKustomization:
    """Read a kustomization; never raises."""
    try:
        text = _text(path)
        _refuse_tags(text)
        documents = [document for document in read_yaml(text) if document.value is not None]
    except DocumentError as error:
        return NotAKustomization(path, error.line, error.reason)
    except UnicodeDecodeError:
        return NotAKustomization(path, 1, "is not UTF-8 text")
    except OSError as error:
        return NotAKustomization(path, 0, f"cannot be read: {error.strerror or error}")
    except ValueError as error:
        return NotAKustomization(path, 0, str(error))
    raw = documents[0].value if len(documents) == 1 else None
    if not is_object(raw):
        return NotAKustomization(path)
    version, kind = raw.get("apiVersion", _GROUP), raw.get("kind", "Kustomization")
    is_meant = isinstance(version, str) and version.startswith(_GROUP)
    if not is_meant or kind not in ("Kustomization", "Component"):
        return NotAKustomization(path)
    for name in _names(raw):
        meant = _BY_LOWER_CASE.get(name.lower(), name)
        if name != meant:
            return NotAKustomization(path, 0, f"{name[:_MOST_TOLD]} is written {meant}")
    parts = tuple(path for field in _PARTS for path in _texts(raw.get(field)))
    return Kustomization(
        path,
        parts,
        tuple(_besides(raw)),
        kind == "Component",
        not _HARMLESS.issuperset(raw),
        tuple(text for field in _PLUGINS for text in _texts(raw.get(field))),
    )


def _text(path: str) -> str:
    """Return the text of a file; raises ``OSError``, and ``ValueError`` where it is none, is large or is not UTF-8."""
    if not os.path.isfile(path):
        raise ValueError("is no file")
    with open(path, "rb") as stream:
        content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"is larger than {_MOST_BYTES // 2**20} MiB")
    return content.decode("utf-8-sig")


def _refuse_tags(text: str) -> None:
    """Raise ``DocumentError`` for a tag: there, kustomize may read another text than the one that is written."""
    if "!" not in text:
        return
    events: Iterator[Any] = read_events(text)
    for event in events:
        if getattr(event, "tag", None) is not None:
            raise DocumentError(event.start_mark.line + 1, "has a tag, which is not read here")


def _names(raw: RawObject) -> Iterator[str]:
    """Yield the names of the fields of *raw*, and of the objects in its lists."""
    yield from raw
    for value in raw.values():
        for entry in _objects(value if isinstance(value, list) else [value]):
            yield from entry


def _all_texts(value: object) -> Iterator[str]:
    """Yield all texts in *value*, however deep."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            waiting += one
        elif is_object(one):
            waiting += one.values()


def _besides(raw: RawObject) -> Iterator[str]:
    for field in _SETTINGS:
        yield from _texts(raw.get(field))
    yield from (path for field in _PLUGINS for path in _texts(raw.get(field)) if "\n" not in path)
    # A patch may stand here itself.
    yield from (path for path in _texts(raw.get("patchesStrategicMerge")) if "\n" not in path)
    for field in _PATCHES:
        yield from (path for entry in _objects(raw.get(field)) for path in _texts([entry.get("path")]))
    yield from (path for entry in _objects([raw.get("openapi")]) for path in _texts([entry.get("path")]))
    for field in _GENERATORS:
        for entry in _objects(raw.get(field)):
            for named in ("files", "envs"):
                yield from (path.rpartition("=")[2] for path in _texts(entry.get(named)))
            yield from _texts([entry.get("env")])


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, list):
        yield from (entry for entry in value if isinstance(entry, str) and entry)


def _objects(value: object) -> Iterator[RawObject]:
    if isinstance(value, list):
        yield from (entry for entry in value if is_object(entry))


FileIdentity = tuple[int, int]
"""Device and inode: the same file under whatever name."""


def identity_of(path: str) -> FileIdentity | None:
    """Return what the file at *path* is; None where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


@frozen
class Build:
    """A kustomization to be built, and all that goes into it."""

    kustomization: Kustomization
    remote: str | None = None
    """What of it is not here, or may not be, and that it is so."""
    resources: frozenset[FileIdentity] = frozenset()
    """The files that come out of it, with those of all kustomizations that it is built of."""
    files: tuple[str, ...] = ()
    """Their paths."""
    is_changing: bool = False
    """Whether any of them come out otherwise than they stand in their files."""


@frozen
class Plan:
    """What is to be built, and which files are no objects by themselves."""

    builds: tuple[Build, ...] = ()
    besides: frozenset[FileIdentity] = frozenset()
    faults: tuple[NotAKustomization, ...] = ()
    others: tuple[str, ...] = ()
    """Files that are called kustomizations and are something else."""


def plan(found: Mapping[str, str], named: Iterable[str]) -> Plan:
    """Return what to build of the kustomizations *found*, by their folders.

    Those of the folders *named* are, and of the others those that none refers to; what refers to itself in a circle is, once.
    """
    known = _Known()
    others = [one for one in map(known.in_file, found.values()) if isinstance(one, NotAKustomization)]
    here = [one for one in map(known.in_file, found.values()) if isinstance(one, Kustomization)]
    referred = {part.file for one in here for part in known.parts(one)}
    asked = {found[folder] for folder in named if folder in found}
    roots = [one for one in here if one.file in asked or (one.file not in referred and not one.is_component)]
    reached = {one.file for root in roots for one in known.below(root)}
    for one in here:
        if one.file not in reached and not one.is_component:
            roots.append(one)
            reached.update(each.file for each in known.below(one))
    return Plan(
        tuple(_build(root, known) for root in sorted(roots, key=lambda one: one.file)),
        frozenset(
            identity
            for one in known.all()
            for path in one.besides
            if (identity := identity_of(os.path.join(one.folder, path)))
        ),
        tuple(one for one in others if one.problem),
        tuple(one.file for one in others if not one.problem),
    )


def _build(root: Kustomization, known: "_Known") -> Build:
    below = list(known.below(root))
    remote = next((why for one in below if (why := one.remote() or known.unknown_in(one))), None)
    paths = [os.path.normpath(os.path.join(one.folder, path)) for one in below for path in one.parts]
    files = tuple(path for path in paths if os.path.isfile(path))
    resources = frozenset(identity for path in files if (identity := identity_of(path)))
    return Build(root, remote, resources, files, any(one.is_changing for one in below))


class _Known:
    """The kustomizations read so far, each once, under whatever name it is found."""

    def __init__(self) -> None:
        self._read: dict[FileIdentity, Kustomization | NotAKustomization] = {}

    def all(self) -> Iterator[Kustomization]:
        return (one for one in self._read.values() if isinstance(one, Kustomization))

    def in_file(self, path: str) -> Kustomization | NotAKustomization:
        identity = identity_of(path)
        if identity is None:
            return NotAKustomization(path)
        if identity not in self._read:
            self._read[identity] = read_kustomization(path)
        return self._read[identity]

    def parts(self, one: Kustomization) -> Iterator[Kustomization]:
        """Yield the kustomizations that *one* is built of."""
        return (found for found in self._in_parts(one) if isinstance(found, Kustomization))

    def unknown_in(self, one: Kustomization) -> str | None:
        """Return what *one* is built of and is not understood here, while kustomize may."""
        for found in self._in_parts(one):
            if isinstance(found, NotAKustomization):
                return f"{found.file}, which is not understood"
        return None

    def _in_parts(self, one: Kustomization) -> Iterator[Kustomization | NotAKustomization]:
        for part in one.parts:
            if _ADDRESS.match(part):
                continue
            folder = os.path.normpath(os.path.join(one.folder, part))
            for name in KUSTOMIZATIONS:
                path = os.path.join(folder, name)
                if os.path.exists(path):
                    yield self.in_file(path)
                    break

    def below(self, root: Kustomization) -> Iterator[Kustomization]:
        """Yield *root* and all that it is built of, each once."""
        seen: set[str] = set()
        waiting = [root]
        while waiting:
            one = waiting.pop()
            if one.file in seen:
                continue
            seen.add(one.file)
            yield one
            waiting += self.parts(one)
