"""Kustomizations as their files have them: what each refers to, which are to be built, and whether that needs the network.

Source: the fields of ``kustomize.config.k8s.io`` (Kustomization ``v1beta1``, Component ``v1alpha1``).
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from attrs import frozen

from ingress.cluster.manifests.documents import DocumentError, read_yaml
from ingress.ctl.inputs.folders import KUSTOMIZATIONS
from ingress.fields import RawObject, is_object

_GROUP: Final = "kustomize.config.k8s.io/"
_MOST_BYTES: Final = 4 * 2**20
_PARTS: Final = ("resources", "bases", "components")
_PLUGINS: Final = ("generators", "transformers", "validators", "configurations", "crds")
_PATCHES: Final = ("patches", "patchesJson6902", "replacements")
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

    @property
    def folder(self) -> str:
        """Where it lies, and what its paths begin at."""
        return os.path.dirname(self.file)

    def remote(self) -> str | None:
        """Return the first of its paths that is not here, and which kustomize would look for in a network."""
        for path in self.parts:
            if _ADDRESS.match(path) or not os.path.exists(os.path.join(self.folder, path)):
                return path
        return next((path for path in self.besides if _ADDRESS.match(path)), None)


@frozen
class NotAKustomization:
    """A file of that name that is none: *problem* says why, with its line, where it is meant to be one."""

    file: str
    line: int = 0
    problem: str = ""


def read_kustomization(path: str) -> Kustomization | NotAKustomization:
    """Read a kustomization; never raises."""
    try:
        with open(path, "rb") as stream:
            text = stream.read(_MOST_BYTES).decode("utf-8-sig")
        documents = [document for document in read_yaml(text) if document.value is not None]
    except DocumentError as error:
        return NotAKustomization(path, error.line, error.reason)
    except UnicodeDecodeError:
        return NotAKustomization(path, 1, "is not UTF-8 text")
    except OSError as error:
        return NotAKustomization(path, 0, f"cannot be read: {error.strerror or error}")
    raw = documents[0].value if len(documents) == 1 else None
    if not is_object(raw):
        return NotAKustomization(path)
    version, kind = raw.get("apiVersion", _GROUP), raw.get("kind", "Kustomization")
    is_meant = isinstance(version, str) and version.startswith(_GROUP)
    if not is_meant or kind not in ("Kustomization", "Component"):
        return NotAKustomization(path)
    parts = tuple(path for field in _PARTS for path in _texts(raw.get(field)))
    return Kustomization(
        path, parts, tuple(_besides(raw)), kind == "Component", not _HARMLESS.issuperset(raw)
    )


def _besides(raw: RawObject) -> Iterator[str]:
    for field in _PLUGINS:
        yield from _texts(raw.get(field))
    # A patch may stand here itself.
    yield from (path for path in _texts(raw.get("patchesStrategicMerge")) if "\n" not in path)
    for field in _PATCHES:
        yield from (path for entry in _objects(raw.get(field)) for path in _texts([entry.get("path")]))
    yield from (path for entry in _objects([raw.get("openapi")]) for path in _texts([entry.get("path")]))
    for field in ("configMapGenerator", "secretGenerator"):
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
    """What of it is not here."""
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
    remote = next((path for one in below if (path := one.remote())), None)
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
        for part in one.parts:
            if _ADDRESS.match(part):
                continue
            folder = os.path.normpath(os.path.join(one.folder, part))
            for name in KUSTOMIZATIONS:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    found = self.in_file(path)
                    if isinstance(found, Kustomization):
                        yield found
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
