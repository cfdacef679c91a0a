"""Manifests on disk and on standard input, as an input."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar

from attrs import evolve

from ingress.cluster.manifests.manifest_files import (
    DEFAULT_NAMESPACE,
    ManifestContent,
    broken_content,
    without_line,
)
from ingress.cluster.manifests.manifest_listing import display_name
from ingress.cluster.manifests.manifest_scan import MAX_FILE_BYTES
from ingress.cluster.store import Store
from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.beside import ROUTE_KINDS
from ingress.ctl.inputs.coverage import covered_by
from ingress.ctl.inputs.files.choices import USUAL, How
from ingress.ctl.inputs.files.first_look import may_hold_objects, may_run_ingress_nginx
from ingress.ctl.inputs.files.folders import (
    KUSTOMIZATIONS,
    Contents,
    chart_of,
    look_through,
    plain_folder,
    unrendered_chart,
)
from ingress.ctl.inputs.files.forms import forms_of
from ingress.ctl.inputs.files.kustomizations import Build, FileIdentity, Plan, plan
from ingress.ctl.inputs.files.layers import Layer, Unit, in_layers
from ingress.ctl.inputs.files.reading import read_text
from ingress.ctl.inputs.files.texts import (
    MOST_BYTES,
    STANDARD_INPUT,
    Texts,
    TooLargeError,
    content_of,
    standard_input,
)
from ingress.ctl.inputs.input import Input, Place, Unread, Workload
from ingress.ctl.inputs.selected import left_alone
from ingress.ctl.inputs.unknown_fields import UnknownField
from ingress.model.cluster.objects import Kind, ObjectId
from ingress.object_fields import RawObject
from ingress.settings import Settings
from ingress.wording import first_of

_MOST_TOLD: Final = 10
_PATTERN: Final = frozenset("*?[")
"""What a shell replaces by names of files, and leaves where no file has such a name."""
_T = TypeVar("_T")
_ByPlace = dict[tuple[str, ObjectId], Mapping[str, str]]
"""Texts of objects, by file and object."""


def read_manifests(paths: Sequence[str], settings: Settings, now: datetime, how: How = USUAL) -> Input:
    """Read *paths*: files, what lies below folders, and ``-``; raises ``Mistake`` where one is nothing of that."""
    return _Manifests(settings, how).read(paths, now)


class _Manifests:
    """What is gathered while manifests are read, each file once."""

    def __init__(self, settings: Settings, how: How) -> None:
        self._settings = evolve(
            settings, translate=evolve(settings.translate, from_manifests=True, names_endpoint_option=False)
        )
        self._how = how
        self._namespaces = how.namespaces or settings.namespaces
        self._usual = how.namespaces[0] if how.namespaces else DEFAULT_NAMESPACE
        self._texts = Texts(dict(how.held))
        self._contents = Contents()
        self._labels: _ByPlace = {}
        self._strays: _ByPlace = {}
        self._unknown: dict[tuple[str, ObjectId], tuple[UnknownField, ...]] = {}
        self._workloads: dict[tuple[object, ...], Workload] = {}
        self._around: list[RawObject] = []
        self._templates: dict[str, list[str]] = {}
        self._units: dict[str, list[tuple[str, ManifestContent]]] = {}
        self._built: list[Unit] = []
        self._seen: set[FileIdentity] = set()

    def read(self, paths: Sequence[str], now: datetime) -> Input:
        files, folders = self._look(paths)
        planned = plan(self._contents.kustomizations, folders)
        if STANDARD_INPUT in paths:
            held = self._texts.held
            content = held.get(STANDARD_INPUT) or standard_input(self._how.standard_input)
            held[STANDARD_INPUT] = content
            self._add(STANDARD_INPUT, self._read(content, STANDARD_INPUT, is_found=False), STANDARD_INPUT)
        for path in files:
            self._named(path)
        self._seen |= planned.besides
        for fault in planned.faults:
            self._tell(fault.file, f"line {fault.line}: {fault.problem}" if fault.line else fault.problem)
        unbuilt = self._build(planned)
        found = [*self._contents.files, *planned.others, *(path for one in unbuilt for path in one.files)]
        for number, path in enumerate(found):
            self._how.progress("reading", number, len(found))
            self._found(path)
        has_files = STANDARD_INPUT in paths or bool(files or found or self._contents.kustomizations)
        return self._input(now, has_files=has_files)

    # What there is

    def _look(self, paths: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the files and the folders with kustomizations that are named, and look through all folders."""
        files: list[str] = []
        folders: list[str] = []
        for path in dict.fromkeys(paths):
            if path == STANDARD_INPUT:
                continue
            mode = _mode(path)
            if stat.S_ISDIR(mode):
                folders.append(folder := plain_folder(path))
                look_through(
                    folder, self._contents, lambda count: self._how.progress("looking for files", count, 0)
                )
            elif os.path.basename(path) in KUSTOMIZATIONS:
                folders.append(folder := os.path.dirname(path))
                self._contents.kustomizations[folder] = path
            else:
                files.append(path)
        return files, folders

    # What is built

    def _build(self, planned: Plan) -> list[Build]:
        """Build what is to be built; return what was not, whose files are read as they are."""
        if not planned.builds:
            return []
        # Starting programs takes a while to import.
        from ingress.ctl.inputs.files.building import build_all, builder

        unbuilt: list[Build] = []
        wanted: list[Build] = []
        command = builder() if self._how.builds else None
        for build in planned.builds:
            if not build.is_changing and build.remote is None:
                unbuilt.append(build)
                continue
            why = self._why_not(build, command)
            if why:
                self._contents.unread.append(
                    Unread(self._texts.name(build.kustomization.file), why, may_have_routes=True)
                )
                unbuilt.append(build)
            else:
                wanted.append(build)
        if command is None or not wanted:
            return unbuilt
        folders = [build.kustomization.folder for build in wanted]
        results = build_all(command, folders, is_network_allowed=self._how.allows_remote)
        for number, (build, built) in enumerate(zip(wanted, results, strict=True)):
            self._how.progress("building kustomizations", number, len(wanted))
            if built.fault:
                self._tell(build.kustomization.file, built.fault)
                unbuilt.append(build)
                continue
            self._seen |= build.resources
            name = self._texts.name(build.kustomization.file)
            content = _without_lines(self._read(built.content, name, is_found=False, has_lines=False))
            self._built.append(Unit(((name, content),), build.resources))
        return unbuilt

    def _why_not(self, build: Build, command: tuple[str, ...] | None) -> str:
        folder = display_name(build.kustomization.folder or os.curdir)
        read = "its files are read as they stand"
        if not self._how.builds:
            return f"is not built, as was asked for; {read}"
        if build.remote is not None and not self._how.allows_remote:
            return f"refers to {build.remote}, and nothing is fetched without --allow-remote-bases; {read}"
        if command is None:
            return (
                f"is not built, since neither kubectl nor kustomize is at hand; {read};"
                f" build it first, as with kubectl kustomize {folder} | ingressctl lint -"
            )
        return ""

    # What is read

    def _named(self, path: str) -> None:
        name = self._texts.name(path)
        held = self._texts.held.get(name)
        if held is not None:
            self._add(name, self._read(held, name, is_found=False), os.path.dirname(path))
            return
        try:
            content, identity = content_of(path)
        except OSError as error:
            raise Mistake(f"{name}: {error.strerror or error}") from None
        except TooLargeError:
            raise Mistake(f"{name}: is larger than {MOST_BYTES // 2**20} MiB") from None
        if identity not in self._seen:
            self._seen.add(identity)
            self._texts.hold(name, content)
            self._add(name, self._read(content, name, is_found=False), os.path.dirname(path))

    def _found(self, path: str) -> None:
        try:
            content, identity = content_of(path, MAX_FILE_BYTES)
        except FileNotFoundError:
            # It was there a moment ago.
            return
        except OSError as error:
            self._unread(path, f"cannot be read: {error.strerror or error}")
            return
        except TooLargeError:
            self._unread(path, f"is larger than {MAX_FILE_BYTES // 2**20} MiB; name it to have it read")
            return
        if identity in self._seen:
            return
        self._seen.add(identity)
        if may_hold_objects(content):
            folder = os.path.dirname(path)
            name = self._texts.name(path)
            self._add(name, self._read(content, name, is_found=True), folder)
        elif may_run_ingress_nginx(content):
            name = self._texts.name(path)
            prefix = self._settings.translate.annotations_prefix
            reading = read_text(content, name, prefix, self._usual, is_found=True)
            self._around += reading.around
            self._keep_workloads(reading.workloads)

    def _read(self, content: bytes, name: str, *, is_found: bool, has_lines: bool = True) -> ManifestContent:
        prefix = self._settings.translate.annotations_prefix
        reading = read_text(content, name, prefix, self._usual, is_found=is_found)
        some = reading.workloads
        self._around += reading.around
        self._keep_workloads(some if has_lines else [evolve(one, place=Place(name)) for one in some])
        for object_id, labels in reading.labels.items():
            self._labels[name, object_id] = labels
        for object_id, strays in reading.strays.items():
            self._strays[name, object_id] = strays
        for object_id, unknown in reading.unknown.items():
            self._unknown[name, object_id] = unknown
        if reading.is_template:
            self._templates.setdefault(os.path.dirname(name), []).append(name)
        return reading.content

    def _keep_workloads(self, some: Iterable[Workload]) -> None:
        for one in some:
            self._workloads.setdefault((one.kind, one.key, one.words), one)

    def _add(self, name: str, content: ManifestContent, unit: str) -> None:
        if content.objects or content.problems:
            self._units.setdefault(unit, []).append((name, content))

    def _tell(self, path: str, message: str) -> None:
        self._add(
            self._texts.name(path), broken_content(self._texts.name(path), message), os.path.dirname(path)
        )

    def _unread(self, path: str, why: str) -> None:
        self._contents.unread.append(Unread(self._texts.name(path), why, may_have_routes=True))

    # What it comes to

    def _input(self, now: datetime, *, has_files: bool) -> Input:
        besides = tuple((Kind.CONFIG_MAP, key) for key in self._settings.config_maps)
        units = [one for files in self._units.values() for one in forms_of(Unit(tuple(files)))]
        layers = in_layers([*units, *self._built], self._namespaces, besides)
        alone = [left_alone(one.objects, self._settings.namespace_selector) for one in layers]
        for layer, (left, _) in zip(layers, alone, strict=True):
            for object_id in left:
                del layer.objects[object_id]
        unread = (
            *self._contents.unread,
            *dict.fromkeys(told for _, some in alone for told in some),
            *(_templates(*group) for group in self._templates.items()),
            *self._elsewhere([*units, *self._built]),
        )
        if unread and not self._units and not self._built:
            raise Mistake(
                "\n".join(
                    ("nothing could be read:", *(f"{one.what} {one.why}" for one in unread[:_MOST_TOLD]))
                )
            )
        first, *others = (self._layer(one, now) for one in layers)
        return evolve(
            first,
            unread=unread,
            workloads=tuple(self._workloads.values()),
            around=tuple(self._around),
            has_files=has_files,
            others=tuple(others),
        )

    def _elsewhere(self, units: Iterable[Unit]) -> Iterator[Unread]:
        """Yield the namespaces that were asked for where all route objects are in others."""
        there = {key.namespace for unit in units for kind, key in unit.ids() if kind in ROUTE_KINDS} - {""}
        if not self._namespaces or not there or there.intersection(self._namespaces):
            return
        shown = first_of(sorted(there), _MOST_TOLD)
        for name in self._namespaces:
            yield Unread(f"namespace {name}", f"nothing that is to be judged is in it; it is in {shown}")

    def _layer(self, layer: Layer, now: datetime) -> Input:
        store = Store()
        store.changed(layer.objects)
        places = {object_id: Place(*place) for object_id, place in layer.places.items()}
        return Input(
            state=store.state(),
            settings=self._settings,
            now=now,
            coverage=covered_by(places),
            places=places,
            labels=_of_places(places, self._labels),
            strays=_of_places(places, self._strays),
            unknown=_of_places(places, self._unknown),
            texts=self._texts,
        )


def _of_places(
    places: Mapping[ObjectId, Place], by_place: Mapping[tuple[str, ObjectId], _T]
) -> dict[ObjectId, _T]:
    """Return what the objects of *places* have where they stand."""
    return {
        object_id: found
        for object_id, place in places.items()
        if (found := by_place.get((place.file, object_id)))
    }


def _mode(path: str) -> int:
    """Return what *path* is; raises ``Mistake`` where it is nothing that can be read."""
    if not path:
        raise Mistake("an empty path names nothing")
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        if "://" in path:
            raise Mistake(
                f"{display_name(path)}: nothing is fetched; pipe it in, as in curl -s URL | ingressctl lint -"
            ) from None
        matches = "; nothing matches this pattern" if _PATTERN.intersection(path) else ""
        raise Mistake(f"{display_name(path)}: {getattr(error, 'strerror', None) or error}{matches}") from None
    if stat.S_ISSOCK(mode) or stat.S_ISBLK(mode):
        raise Mistake(f"{display_name(path)}: neither a file nor a folder")
    return mode


def _without_lines(content: ManifestContent) -> ManifestContent:
    """Return *content* of a text that nobody has, so that its lines mean nothing."""
    return evolve(
        content,
        objects=tuple(evolve(one, line=0) for one in content.objects),
        problems=tuple(map(without_line, content.problems)),
    )


def _templates(folder: str, names: list[str]) -> Unread:
    chart = chart_of(folder)
    if chart is not None:
        return unrendered_chart(chart)
    what = names[0] if len(names) == 1 else f"{len(names)} files in {folder or os.curdir}"
    be = "is a template" if len(names) == 1 else "are templates"
    return Unread(
        what, f"{be}: render first, as with helm template CHART | ingressctl lint -", may_have_routes=True
    )
