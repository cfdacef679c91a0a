"""Finding manifest files: what lies below the paths given, in order, and how it looks.

Only names and signatures; no file is opened.  Hidden entries are passed over: they are
editors' files, and the versions behind a mounted ConfigMap, whose visible files are
links that all change at once.  Links are followed, and circles of them end.
"""

import os
import stat
from collections.abc import Sequence

from ingress.model.cluster.objects import Kind
from ingress.model.cluster.problems import Problem, Reason

SUFFIXES = (".yaml", ".yml", ".json")
MAX_DIRECTORY_DEPTH = 32

Signature = tuple[int, int, int, int, int]
"""Device, inode, size, and the times of change of content and of inode, in nanoseconds."""


def signature_of(status: os.stat_result) -> Signature:
    """Return what changes whenever the file does."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def display_name(path: str) -> str:
    """Return *path* as text that can stand in a message, whatever bytes the name has; what it returns it leaves as it is."""
    # Not os.fsencode: what was shown before may have letters that the encoding of the locale lacks.
    name = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return name if name.isprintable() else ascii(name)


def unusable_path(asked: Sequence[str], paths: Sequence[str]) -> str | None:
    """Return which of *paths* is neither a file nor a directory, and why; None if all are.

    *asked* are the same paths as the operator wrote them.
    """
    for written, path in zip(asked, paths, strict=True):
        if not written:
            return "names no path"
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            return f"{display_name(written)}: {error.strerror or error}"
        except ValueError as error:
            return f"{display_name(written)}: {error}"
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            return f"{display_name(written)}: neither a file nor a directory"
    return None


class Listing:
    """The manifest files below the paths given, in order, each file and directory once."""

    def __init__(self) -> None:
        self.signatures: dict[str, Signature] = {}
        self.problems: dict[str, Problem] = {}
        self._seen: set[tuple[int, int]] = set()
        self._hidden: set[str] = set()
        self._gone: set[str] = set()

    def add(self, path: str) -> None:
        """Add a path that was asked for; one that is gone by now hides what it had, as if nothing could be listed."""
        try:
            status = os.stat(path)
        except OSError as error:
            self._report(path, error)
            # It may be below a disk that is not mounted; who is to serve nothing more of it leaves it there without objects.
            self._gone.add(path)
            return
        if stat.S_ISDIR(status.st_mode):
            self._directory(path, status, 0)
        else:
            self._file(path, status)

    def hides(self, path: str) -> bool:
        """Say whether *path* lies where nothing could be listed this time."""
        return self.is_gone(path) or any(_is_below(path, hidden) for hidden in self._hidden)

    def is_gone(self, path: str) -> bool:
        """Say whether *path* is or lies below one that was asked for and is not there."""
        return any(_is_below(path, gone) for gone in self._gone)

    def _report(self, path: str, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            self._hidden.add(path)
        message = f"cannot be read: {error.strerror or error}"
        self.problems[path] = _path_problem(path, message)

    def _file(self, path: str, status: os.stat_result) -> None:
        if self._is_new(status):
            self.signatures[path] = signature_of(status)

    def _is_new(self, status: os.stat_result) -> bool:
        identity = status.st_dev, status.st_ino
        if identity in self._seen:
            return False
        self._seen.add(identity)
        return True

    def _directory(self, path: str, status: os.stat_result, depth: int) -> None:
        # Links may lead in circles; each directory is entered once.
        if not self._is_new(status):
            return
        if depth > MAX_DIRECTORY_DEPTH:
            self.problems[path] = _path_problem(path, "lies too deep in directories")
            return
        try:
            names = sorted(os.listdir(path))
        except OSError as error:
            self._report(path, error)
            return
        for name in names:
            # Hidden entries are editors' files, and the versions behind a mounted ConfigMap.
            if name.startswith((".", "#")):
                continue
            child = os.path.join(path, name)
            try:
                child_status = os.stat(child)
            except FileNotFoundError:
                # It is gone since, unless it is a link that leads nowhere.
                self._link(child)
                continue
            except OSError as error:
                if name.lower().endswith(SUFFIXES):
                    self._report(child, error)
                continue
            if stat.S_ISDIR(child_status.st_mode):
                self._directory(child, child_status, depth + 1)
            elif stat.S_ISREG(child_status.st_mode) and name.lower().endswith(SUFFIXES):
                self._file(child, child_status)

    def _link(self, path: str) -> None:
        try:
            target = os.readlink(path)
        except OSError:
            return
        message = f"cannot be read: it is a link to {display_name(target)}, which does not exist"
        self.problems[path] = _path_problem(path, message)


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root + os.sep)


def _path_problem(path: str, message: str) -> Problem:
    return Problem(Kind.MANIFEST, "", display_name(path), Reason.MALFORMED_MANIFEST, message)
