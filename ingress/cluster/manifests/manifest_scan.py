"""One look at the manifest files on disk, and what it changes.

``scan`` compares the disk with what an earlier scan saw and gives the next state;
``changes`` says what a sink has to learn.  Neither waits, and nothing is remembered
elsewhere, so a history of edits is a sequence of calls.

A file that differs from what was read is *restless*: its new signature must be seen
twice, a moment apart, before its content counts.  So a file that is being written is
not read half, and one that an editor moves away and back never vanishes in between.
When every scan sees it changed again, it is read all the same after a few.  The first
scan reads at once, for nothing is known yet, and takes every file for restless.

* A file whose text is broken, or that is empty all at once, keeps its last good objects in force, with a problem.
* A file that cannot be opened or listed keeps what it has, with a problem; so does a path of those given that is gone,
  whose objects count where they are in no other.
* Of an object that stands in two places the first counts: paths in the order given,
  entries of a directory sorted by name, objects in file order.
"""

import os
import stat
from collections.abc import Callable, Collection, Mapping
from hashlib import blake2b
from typing import BinaryIO, Final

from attrs import Factory, evolve

from ingress.cluster.kinds import KINDS, ObjectKinds
from ingress.cluster.manifests.manifest_files import (
    ManifestContent,
    ManifestObject,
    broken_content,
    read_manifest,
)
from ingress.cluster.manifests.manifest_listing import Listing, Signature, display_name, signature_of
from ingress.model.cluster.objects import Batch, Kind, ObjectId, ObjectKey, Projection
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen

MAX_FILE_BYTES = 64 * 1024 * 1024
_READ_AT_ONCE: Final = 256 * 1024
MAX_RESTLESS_SCANS = 50
"""How many scans in a row may find a file changed before it is read as it is: some seconds, as restless files are looked at."""


@frozen
class ManifestFile:
    """What is known of one file: the content in force, and how it looked when read."""

    signature: Signature | None = None
    digest: bytes = b""
    objects: tuple[ManifestObject, ...] = ()
    problems: tuple[Problem, ...] = ()
    seen: Signature | None = None
    """How a restless file looked in the last scan; None if it was not there."""
    restless_scans: int = 0
    """For how many scans in a row the file looked new; 0 for a file at rest."""
    is_broken: bool = False
    """Whether the objects are not what it has now, which cannot be read."""


@frozen
class ManifestScan:
    """The files seen, in order, and what they come to as objects."""

    files: Mapping[str, ManifestFile] = Factory(dict)
    path_problems: Mapping[str, Problem] = Factory(dict)
    """By path of a file or directory: why it cannot be listed."""
    objects: Mapping[ObjectId, Projection] = Factory(dict)
    """The last good content of all files, and their problems under ``Kind.MANIFEST``."""
    hidden: Collection[str] = ()
    """Paths where nothing could be listed, so that what was below them counts on."""

    def is_empty_below(self, path: str) -> bool:
        """Say whether there is no manifest file at *path* nor below it, and nothing that could be one."""
        below = os.path.join(path, "")
        return not any(one == path or one.startswith(below) for one in (*self.files, *self.path_problems))

    def in_doubt(self) -> str:
        """Say where who saw the files earlier may have good content that this scan, if it is the first, has not; empty if nowhere."""
        for path in self.hidden:
            return f"{display_name(path)}: {self.path_problems[path].message}"
        for path, file in self.files.items():
            if file.is_broken:
                return f"{display_name(path)}: {file.problems[0].message}"
            if file.digest == _EMPTY_DIGEST:
                return f"{display_name(path)}: is empty; one that is to have no objects holds a comment, or is removed"
        return ""

    def is_restless(self) -> bool:
        """Say whether a file is being changed, so that the next scan should be soon."""
        return any(file.restless_scans for file in self.files.values())


def scan(
    paths: Collection[str],
    previous: ManifestScan | None,
    annotations_prefix: str,
    namespaces: Collection[str] = (),
    is_wanted: Callable[[], bool] = lambda: True,
    kinds: ObjectKinds = KINDS,
    besides: Collection[ObjectId] = (),
) -> ManifestScan:
    """Look at *paths*, files and directories, and return what is known now.

    *namespaces* limits the objects kept, but for those *besides*; none given means all.  When *is_wanted* turns
    false no further file is read, and the result is of no use.
    """
    listing = Listing()
    for path in paths:
        listing.add(path)
    known = {} if previous is None else previous.files
    files: dict[str, ManifestFile] = {}
    for path, signature in listing.signatures.items():
        if not is_wanted():
            break
        if previous is None:
            file = _read(path, ManifestFile(seen=signature, restless_scans=1), annotations_prefix, kinds)
            files[path] = evolve(file, seen=signature, restless_scans=1)
        else:
            files[path] = _next(path, known.get(path, _UNKNOWN), signature, annotations_prefix, kinds)
    for path, file in known.items():
        if path not in files:
            left = _hidden(file) if listing.hides(path) else _missing(file)
            if left is not None:
                files[path] = left
    if previous is not None and listing.problems == previous.path_problems:
        same = len(files) == len(known) and all(known.get(path) is file for path, file in files.items())
        if same:
            return previous
    return ManifestScan(
        files,
        listing.problems,
        together(_in_order(files, paths, listing.is_gone), listing.problems, namespaces, besides),
        tuple(path for path in listing.problems if listing.hides(path)),
    )


def changes(before: ManifestScan | None, after: ManifestScan) -> Batch:
    """Return what *after* says otherwise than *before*; None stands for what is gone."""
    old = {} if before is None else before.objects
    batch: dict[ObjectId, Projection | None] = {}
    for object_id, projection in after.objects.items():
        known = old.get(object_id)
        if known is not projection and known != projection:
            batch[object_id] = projection
    for object_id in old:
        if object_id not in after.objects:
            batch[object_id] = None
    return batch


_UNKNOWN = ManifestFile()


def _next(
    path: str, file: ManifestFile, signature: Signature, annotations_prefix: str, kinds: ObjectKinds
) -> ManifestFile:
    """Return what is known of a file that is there, after one more look."""
    if not file.restless_scans:
        if file.signature == signature:
            return file
        return evolve(file, seen=signature, restless_scans=1)
    if file.seen != signature and file.restless_scans < MAX_RESTLESS_SCANS:
        return evolve(file, seen=signature, restless_scans=file.restless_scans + 1)
    return _read(path, file, annotations_prefix, kinds)


def _hidden(file: ManifestFile) -> ManifestFile:
    """Return what is known of a file where nothing can be seen; there is no reason to look again soon."""
    return evolve(file, restless_scans=0) if file.restless_scans else file


def _missing(file: ManifestFile) -> ManifestFile | None:
    """Return what is known of a file that is not there; None once that is certain."""
    if file.restless_scans and file.seen is None:
        return None
    return evolve(file, seen=None, restless_scans=1)


def _read(path: str, file: ManifestFile, annotations_prefix: str, kinds: ObjectKinds) -> ManifestFile:
    """Return *file* at rest with the content that *path* has now."""
    name = display_name(path)
    try:
        content, signature = _content(path)
    except FileNotFoundError:
        return evolve(file, seen=None, restless_scans=1)
    except OSError as error:
        new = broken_content(name, f"cannot be read: {error.strerror or error}")
        # Leave to read shows in the signature; what else is wrong with a disk may pass unseen.
        known = file.seen if isinstance(error, PermissionError) else None
        return evolve(
            file, signature=known, digest=b"", problems=new.problems, restless_scans=0, is_broken=True
        )
    digest = _digest(content)
    if digest == file.digest:
        return evolve(file, signature=signature, restless_scans=0)
    if len(content) > MAX_FILE_BYTES:
        new = broken_content(name, f"is larger than {MAX_FILE_BYTES // 2**20} MiB")
    elif not content and file.objects:
        # As a full disk leaves it, or a program that is ended before it writes.
        new = broken_content(
            name, "is empty; what it had stays in force until it says otherwise or is removed"
        )
    else:
        new = read_manifest(content, name, annotations_prefix, kinds)
    return _replaced(file, new, signature, digest)


def _replaced(file: ManifestFile, new: ManifestContent, signature: Signature, digest: bytes) -> ManifestFile:
    objects = file.objects if new.is_broken else new.objects
    return ManifestFile(signature, digest, objects, new.problems, signature, is_broken=new.is_broken)


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()


_EMPTY_DIGEST: Final = _digest(b"")


def _content(path: str) -> tuple[bytes, Signature]:
    # Opening a pipe without this flag waits for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a regular file")
        return read_at_most(stream, MAX_FILE_BYTES + 1), signature_of(status)


def read_at_most(stream: BinaryIO, most_bytes: int) -> bytes:
    """Read *stream* to its end, but no more than *most_bytes*, with room for little more than comes.

    Asked for so many bytes at once, ``read`` takes room for all of them first, which there is not where memory is limited by
    address space (``ulimit -v``).
    """
    parts: list[bytes] = []
    while most_bytes > 0 and (part := stream.read(min(most_bytes, _READ_AT_ONCE))):
        parts.append(part)
        most_bytes -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _in_order(
    files: Mapping[str, ManifestFile], paths: Collection[str], is_gone: Callable[[str], bool]
) -> list[tuple[str, ManifestFile]]:
    """Return *files* as a listing orders them, also those that are not listed just now.

    Those of paths that are gone come last: they may have been moved to where they are seen.
    """

    def place(file: tuple[str, ManifestFile]) -> tuple[bool, int, list[str]]:
        roots = (n for n, root in enumerate(paths) if f"{file[0]}/".startswith(f"{root.rstrip('/')}/"))
        return is_gone(file[0]), next(roots, 0), file[0].split("/")

    return sorted(files.items(), key=place)


def together(
    files: Collection[tuple[str, ManifestFile]],
    path_problems: Mapping[str, Problem],
    namespaces: Collection[str] = (),
    besides: Collection[ObjectId] = (),
) -> dict[ObjectId, Projection]:
    """Put files, by their paths, together: the first of equal objects counts, and is told of the others."""
    objects: dict[ObjectId, Projection] = {}
    places: dict[ObjectId, str] = {}
    again: dict[ObjectId, list[Problem]] = {}
    of_manifests: dict[str, tuple[Problem, ...]] = {}
    for path, problem in path_problems.items():
        of_manifests[display_name(path)] = (problem,)
    for path, file in files:
        name = display_name(path)
        if file.problems:
            of_manifests[name] = of_manifests.get(name, ()) + file.problems
        for found in file.objects:
            kind, key = found.id
            is_other = bool(namespaces and key.namespace) and key.namespace not in namespaces
            if is_other and found.id not in besides:
                continue
            place = f"{name} line {found.line}"
            if found.id not in places:
                places[found.id] = place
                objects[found.id] = found.projection
                continue
            message = f"stands in {places[found.id]}, which is used, and again in {place}"
            problem = Problem(kind, key.namespace, key.name, Reason.DUPLICATE_OBJECT, message)
            again.setdefault(found.id, []).append(problem)
    for object_id, problems in again.items():
        first = objects[object_id]
        objects[object_id] = evolve(first, problems=(*first.problems, *problems))
    for name, of_file in of_manifests.items():
        objects[Kind.MANIFEST, ObjectKey("", name)] = Projection(None, of_file)
    return objects
