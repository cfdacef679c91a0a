"""What files say, read from disk or standard input, and read again where lines of it are asked for."""

import os
import stat
import sys
from collections.abc import Iterable, Mapping
from typing import BinaryIO, Final

from attrs import define, field

from ingress.cluster.manifests.manifest_listing import display_name
from ingress.cluster.manifests.manifest_scan import read_at_most
from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.files.lines import AskedField, lines_of
from ingress.ctl.inputs.input import Place
from ingress.model.cluster.objects import ObjectId

STANDARD_INPUT: Final = "-"
MOST_BYTES: Final = 256 * 2**20
"""Of a file that somebody names, and of standard input."""

_HINT: Final = "as in helm template CHART | ingressctl lint -"


class TooLargeError(Exception):
    """A file has more bytes than are read."""


def content_of(path: str, most_bytes: int = MOST_BYTES) -> tuple[bytes, tuple[int, int]]:
    """Return what the file *path* says, and its device and inode; raises ``OSError`` and ``TooLargeError``."""
    with open(path, "rb") as stream:
        status = os.fstat(stream.fileno())
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(0, "is a directory")
        content = read_at_most(stream, most_bytes + 1)
    if len(content) > most_bytes:
        raise TooLargeError
    return content, (status.st_dev, status.st_ino)


def standard_input(stream: BinaryIO | None = None) -> bytes:
    """Return what is piped into the process; raises ``Mistake`` where that is nothing."""
    if stream is None:
        if sys.stdin is None:
            raise Mistake(f"- means standard input, which is closed here: pipe objects into it, {_HINT}")
        stream = sys.stdin.buffer
    if stream.isatty():
        raise Mistake(f"- means standard input, which is a terminal here: pipe objects into it, {_HINT}")
    try:
        content = read_at_most(stream, MOST_BYTES + 1)
    except OSError as error:
        raise Mistake(f"standard input cannot be read: {error.strerror or error}") from None
    if not content.strip():
        raise Mistake(f"standard input is empty: what is to be read has to be piped into it, {_HINT}")
    if len(content) > MOST_BYTES:
        raise Mistake(f"standard input is larger than {MOST_BYTES // 2**20} MiB")
    return content


@define
class Texts:
    """The texts in which objects stand, for those who want to know the line of a field."""

    held: dict[str, bytes] = field(factory=dict, repr=False)
    """What cannot be read again."""
    paths: dict[str, str] = field(factory=dict, repr=False)
    """By the names of files, as places have them."""

    def name(self, path: str) -> str:
        """Return the name of the file *path* in places, and remember it."""
        name = display_name(path)
        self.paths[name] = path
        return name

    def path(self, name: str) -> str | None:
        """Return the path of the file *name*; None for what is none."""
        return self.paths.get(name)

    def hold(self, name: str, content: bytes) -> None:
        """Keep what the file *name* says, if it is a pipe and says it once."""
        if not os.path.isfile(self.paths[name]):
            self.held[name] = content

    def exact(
        self, asked: Iterable[tuple[Place, ObjectId, str]]
    ) -> Mapping[tuple[Place, ObjectId, str], Place]:
        """Return where fields stand of objects that begin at places; whatever is not found is not in the result.

        Each file is read once.  What it says may be something else by now, which costs nothing but the truth of the lines.
        """
        by_file: dict[str, list[tuple[Place, ObjectId, str]]] = {}
        for one in asked:
            if one[0].line:
                by_file.setdefault(one[0].file, []).append(one)
        found: dict[tuple[Place, ObjectId, str], Place] = {}
        for name, some in by_file.items():
            text = self._text(name)
            if text is None:
                continue
            fields = {
                AskedField(object_id, place.line, path): (place, object_id, path)
                for place, object_id, path in some
            }
            for asked_field, line in lines_of(text, fields).items():
                found[fields[asked_field]] = Place(name, line)
        return found

    def _text(self, name: str) -> str | None:
        try:
            content = self.held[name] if name in self.held else content_of(self.paths[name])[0]
            return content.decode("utf-8-sig")
        except (KeyError, OSError, TooLargeError, UnicodeDecodeError):
            return None
