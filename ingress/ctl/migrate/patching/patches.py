"""The patches of a migration: of each object the commands that change it, and of each file a diff."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from attrs import field

from ingress.ctl.inputs.input import Place
from ingress.ctl.migrate.migration import Entry
from ingress.ctl.migrate.patching.commands import commands
from ingress.ctl.migrate.patching.unified import unified
from ingress.ctl.migrate.patching.yaml_edits import Wanted, edits_of
from ingress.ctl.migrate.patching.yaml_places import Edit, Text, secret_lines
from ingress.model.cluster.objects import ObjectId
from ingress.model.frozen import frozen


@frozen
class FileText:
    """A file that may be edited: its *path*, and what it says."""

    path: str
    text: str = field(default="", repr=False)
    why_not: str = ""
    """Why it is not edited; empty where it may be."""


ReadFile = Callable[[str], FileText]
"""Returns a file by the name that places have."""

_BESIDE_SECRET: Final = "what would change stands on one line with content of a Secret"


@frozen
class ObjectPatch:
    """How one object is changed."""

    entry: Entry
    commands: tuple[str, ...]
    """Of the cluster; none where the object stands otherwise elsewhere."""
    edits: tuple[Edit, ...] = ()
    """Of its file; empty where that is not edited."""
    why_not: str = ""
    """Why its file is not edited; empty where it is, or where it stands in none."""


@frozen
class FilePatch:
    """How one file is changed, with all objects in it."""

    path: str
    diff: str


@frozen
class Patches:
    """All patches, in the order of the entries and by the names of files."""

    objects: tuple[ObjectPatch, ...]
    paths: Mapping[str, str]
    """The paths of files by their names in places, as are all of these."""
    texts: Mapping[str, Text]
    hidden: Mapping[str, frozenset[int]]
    """The lines of each file that hold content of Secrets, from zero."""

    def files(self) -> Iterator[FilePatch]:
        """Yield the diff of each file that is edited."""
        by_file: dict[str, list[Edit]] = {}
        for one in self.objects:
            if one.edits:
                by_file.setdefault(one.entry.place.file, []).extend(one.edits)
        for name, edits in sorted(by_file.items()):
            yield FilePatch(self.paths[name], self._diff(name, edits))

    def diff_of(self, patch: ObjectPatch) -> str:
        """Return the diff of one object alone; empty where its file is not edited."""
        return self._diff(patch.entry.place.file, patch.edits) if patch.edits else ""

    def _diff(self, name: str, edits: Sequence[Edit]) -> str:
        return unified(header_path(self.paths[name]), self.texts[name], edits, self.hidden[name])


def patches_of(entries: Iterable[Entry], read: ReadFile) -> Patches:
    """Return the patches of those *entries* that have changes."""
    changing = [entry for entry in entries if entry.changes]
    by_file: dict[str, list[Entry]] = {}
    for entry in changing:
        if is_file(entry.place):
            by_file.setdefault(entry.place.file, []).append(entry)
    paths: dict[str, str] = {}
    texts: dict[str, Text] = {}
    hidden: dict[str, frozenset[int]] = {}
    found: dict[tuple[str, ObjectId], tuple[Edit, ...]] = {}
    refused: dict[tuple[str, ObjectId], str] = {}
    for name, some in by_file.items():
        file = read(name)
        if file.why_not:
            refused.update(((name, entry.object_id), file.why_not) for entry in some)
            continue
        paths[name], texts[name], hidden[name] = file.path, Text(file.text), secret_lines(file.text)
        edits = edits_of(file.text, _wanted(some))
        for object_id, own in edits.edits.items():
            if _shows_any(texts[name], own, hidden[name]):
                refused[name, object_id] = _BESIDE_SECRET
            else:
                found[name, object_id] = own
        refused.update(((name, object_id), why) for object_id, why in edits.refused.items())
    objects = []
    for entry in changing:
        located = (entry.place.file, entry.object_id)
        said = () if entry.otherwise else tuple(commands(entry.object_id, entry.changes, entry.before))
        objects.append(ObjectPatch(entry, said, found.get(located, ()), refused.get(located, "")))
    return Patches(tuple(objects), paths, texts, hidden)


def _shows_any(file: Text, edits: Iterable[Edit], hidden: frozenset[int]) -> bool:
    """Whether a diff of *edits* would show a line of *hidden* as one that changes."""
    return bool(hidden) and any(
        line in hidden for edit in edits for line in range(file.line(edit.start), file.line(edit.end) + 1)
    )


def _wanted(entries: Sequence[Entry]) -> list[Wanted]:
    return [Wanted(entry.object_id, entry.place.line, entry.changes) for entry in entries]


def is_file(place: Place) -> bool:
    """Whether *place* is in a file that can be edited, and not on standard input or in a cluster."""
    return place.file not in ("", "-")


def header_path(path: str) -> str:
    """Return *path* as the headers of a diff have it: below the directory that the diff is applied in."""
    return _applied_in(path)[1]


def is_apart(path: str) -> bool:
    """Whether a diff of *path* applies in the root directory alone, and not where the command was run."""
    return _applied_in(path)[0] == "/"


def _applied_in(path: str) -> tuple[str, str]:
    clean = os.path.normpath(path)
    if clean.startswith(("/", "../")):
        return "/", os.path.abspath(clean).lstrip("/")
    return ".", clean
