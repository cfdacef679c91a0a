"""The project file ``.ingressctl.toml``: what a team says once for all who run ``ingressctl`` on its objects."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import field

from ingress.ctl.errors import Mistake
from ingress.ctl.suggestions.close_names import did_you_mean
from ingress.ctl.terminal import printable
from ingress.ctl.toml_files import read_toml
from ingress.model.frozen import frozen

NAME: Final = ".ingressctl.toml"
KEYS: Final = ("fail-on", "options", "accept")


@frozen
class ProjectFile:
    """*path* as it is told to people, empty where there is no such file; *tables* by the names of the top level."""

    path: str = ""
    folder: str = ""
    """Where it stands, an absolute path."""
    tables: Mapping[str, Any] = field(factory=dict)

    @property
    def prefix(self) -> str:
        """What messages about it begin with."""
        return f"{self.path}: " if self.path else ""

    def option_texts(self, given: Sequence[str]) -> tuple[str, ...]:
        """Return the table ``options`` as texts of ``-o``, without those that *given*, such texts, say themselves.

        Raises ``Mistake`` for a value that is no text, number, flag or list of these.
        """
        options = self.tables.get("options", {})
        if not isinstance(options, Mapping):
            raise Mistake(f"{self.prefix}options is a table, [options], of the controller's options")
        said = {text.removeprefix("--").partition("=")[0] for text in given}
        return tuple(
            text for name, value in options.items() if name not in said for text in self._texts(name, value)
        )

    def _texts(self, name: str, value: object) -> list[str]:
        if isinstance(value, bool):
            return [name] if value else []
        if isinstance(value, str | int):
            return [f"{name}={value}"]
        if isinstance(value, list) and all(
            isinstance(one, str | int) and not isinstance(one, bool) for one in value
        ):
            return [f"{name}={one}" for one in value]
        raise Mistake(f"{self.prefix}option {name} is a text, a number, true, false, or a list of texts")


def find_project_file(folder: str, asked: str | None = None) -> ProjectFile:
    """Read the file *asked*, or the nearest of ``NAME`` in *folder*, an absolute path, and above; none is an empty one.

    Raises ``Mistake`` where it cannot be read, or has a key that there is not.
    """
    if asked is not None:
        return _read(asked, os.path.join(folder, asked))
    above = folder
    while True:
        path = os.path.join(above, NAME)
        if os.path.isfile(path):
            return _read(os.path.relpath(path, folder), path)
        above, below = os.path.dirname(above), above
        if above == below:
            return ProjectFile()


def _read(asked: str, path: str) -> ProjectFile:
    name = printable(asked)
    tables = read_toml(path, asked)
    for key in tables:
        if key not in KEYS:
            raise Mistake(f"{name}: there is no key {key!r}{did_you_mean(key, KEYS)}")
    return ProjectFile(name, os.path.dirname(path), tables)
