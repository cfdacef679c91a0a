"""What lies in the folders of a repository: files that may be manifests, Helm charts, kustomizations.

Only names are looked at, and of charts whether their templates make route objects at all.  What is hidden, and what others
have brought along, is passed over.  Links to folders are not followed: what they lead to inside is found there, and what
lies outside was not asked about.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import Final

from attrs import Factory, define

from ingress.cluster.manifests.manifest_listing import SUFFIXES, display_name
from ingress.ctl.inputs.input import Unread
from ingress.translate.readers.route_kinds import ROUTE_KINDS

CHART: Final = "Chart.yaml"
KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
OTHERS: Final = frozenset(
    {
        "__pycache__",
        "bower_components",
        "node_modules",
        "site-packages",
        "third_party",
        "vendor",
        "venv",
    }
)
"""Folders of what others wrote, which is brought along and not applied."""

MOST_FILES: Final = 50_000
MOST_ENTRIES: Final = 1_000_000
MOST_DEPTH: Final = 32
_MOST_TEMPLATE_BYTES: Final = 1_000_000
_ROUTES: Final = re.compile("|".join(row.read.kind for row in ROUTE_KINDS).encode(), re.IGNORECASE)
_DEPENDENCIES: Final = re.compile(rb"^dependencies\s*:", re.MULTILINE)


@define
class Contents:
    """What was found below folders, in order of paths."""

    files: list[str] = Factory(list)
    """Those whose names say that they may be manifests."""
    kustomizations: dict[str, str] = Factory(dict)
    """By folder: its kustomization, which is not among the files."""
    unread: list[Unread] = Factory(list)


def unrendered_chart(folder: str) -> Unread:
    """Return what there is to say of a Helm chart."""
    name = _name(folder)
    return Unread(
        name,
        f"is a Helm chart: render it first, as with helm template {name} | ingressctl lint -",
        may_have_routes=True,
    )


def _name(folder: str) -> str:
    return display_name(folder or os.curdir)


def plain_folder(path: str) -> str:
    """Return *path* as the beginning of the paths below it; the current folder is none."""
    return "" if os.path.normpath(path) == os.curdir else path


def chart_of(path: str) -> str | None:
    """Return the folder of the chart of which *path*, a file or a folder, is a template; None if it is of none."""
    path = os.path.abspath(path)
    while path != os.path.dirname(path):
        folder, name = os.path.split(path)
        if name == "templates" and os.path.isfile(os.path.join(folder, CHART)):
            return os.path.relpath(folder)
        path = folder
    return None


def look_through(folder: str, contents: Contents, found: Callable[[int], None]) -> None:
    """Add to *contents* what lies below *folder*; *found* is told how many files there are, now and then."""
    _Walk(contents, found).enter(folder, 0)


class _Walk:
    def __init__(self, contents: Contents, found: Callable[[int], None]) -> None:
        self._contents = contents
        self._found = found
        self._entries = 0
        self._is_full = False

    def enter(self, folder: str, depth: int) -> None:
        contents = self._contents
        try:
            with os.scandir(folder or os.curdir) as entries:
                here = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            contents.unread.append(
                Unread(_name(folder), f"cannot be read: {error.strerror or error}", may_have_routes=True)
            )
            return
        names = {entry.name for entry in here if not _is_folder(entry)}
        is_chart = CHART in names
        if is_chart and _makes_routes(folder):
            contents.unread.append(unrendered_chart(folder))
        kustomization = next((name for name in KUSTOMIZATIONS if name in names), None)
        if kustomization is not None:
            contents.kustomizations[folder] = os.path.join(folder, kustomization)
        for entry in here:
            if self._is_full or self._is_too_much(folder):
                return
            name = entry.name
            if name.startswith((".", "#")) or name == kustomization:
                continue
            path = os.path.join(folder, name)
            if _is_folder(entry):
                if name in OTHERS or (is_chart and name in ("charts", "templates")):
                    continue
                if depth >= MOST_DEPTH:
                    contents.unread.append(
                        Unread(_name(path), "lies too deep in folders", may_have_routes=True)
                    )
                    continue
                self.enter(path, depth + 1)
            elif name.lower().endswith(SUFFIXES):
                self._file(entry, path)

    def _file(self, entry: os.DirEntry[str], path: str) -> None:
        try:
            mode = entry.stat().st_mode
        except OSError as error:
            reason = "it is a link that leads nowhere" if entry.is_symlink() else error.strerror or error
            self._contents.unread.append(
                Unread(_name(path), f"cannot be read: {reason}", may_have_routes=True)
            )
            return
        if stat.S_ISREG(mode):
            self._contents.files.append(path)
            self._found(len(self._contents.files))

    def _is_too_much(self, folder: str) -> bool:
        self._entries += 1
        if len(self._contents.files) < MOST_FILES and self._entries <= MOST_ENTRIES:
            return False
        self._is_full = True
        what = (
            f"{MOST_FILES:,} files that may be manifests"
            if self._entries <= MOST_ENTRIES
            else f"{MOST_ENTRIES:,} files"
        )
        self._contents.unread.append(
            Unread(
                _name(folder),
                f"what comes after here, since there are more than {what}: name fewer folders",
                may_have_routes=True,
            )
        )
        return True


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _makes_routes(chart: str) -> bool:
    """Whether a chart may come to route objects: some template speaks of them, or it brings other charts."""
    if _DEPENDENCIES.search(_beginning(os.path.join(chart, CHART))):
        return True
    below = (os.path.join(chart, name) for name in ("templates", "charts"))
    return any(_ROUTES.search(_beginning(path)) for folder in below for path in _texts(folder))


def _texts(folder: str) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            if name.lower().endswith(SUFFIXES):
                yield os.path.join(parent, name)


def _beginning(path: str) -> bytes:
    """Return the beginning of a file, nothing where it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:
            return stream.read(_MOST_TEMPLATE_BYTES)
    except OSError:
        return b""
