"""The file with our process id, which ``twistd`` writes, where a process takes over from another one.

``twistd`` starts no process beside one that its file names, and removes the file at its end whatever stands in it.
Here the file belongs to the process before us until we have taken over, and to the next one once that has.
"""

import os
from collections.abc import MutableMapping
from typing import Any

from ingress.errors import StartError


class PidFile:
    """What ``--pidfile`` of *runner*, the options of ``twistd``, names; other runners have none."""

    def __init__(self, runner: MutableMapping[str, Any] | None) -> None:
        self._runner = runner if runner is not None and "pidfile" in runner else None
        self._path = ""

    def __repr__(self) -> str:
        return f"<PidFile {self._path or 'of twistd'}>"

    def keep(self) -> None:
        """Have ``twistd`` neither look at the file nor write it; to be called before it does."""
        if self._runner is not None and self._runner["pidfile"]:
            self._path = os.path.abspath(self._runner["pidfile"])
            self._runner["pidfile"] = ""

    def check(self, process: int | None) -> None:
        """Raise ``StartError`` where the file names a process that runs, and is not *process*, whom we take over from."""
        named = _read(self._path) if self._path else None
        if named in (None, process, os.getpid()):
            return
        assert named is not None
        try:
            os.kill(named, 0)
        except (ProcessLookupError, OverflowError):
            return
        except PermissionError:
            pass  # It runs, as another user.
        raise StartError(
            f"--pidfile {self._path}: process {named} runs, and is not the one to take over from"
        )

    def write(self) -> None:
        """Write our process id into the file, in one step; ``twistd`` removes it at our end.  Raises ``OSError``."""
        if not self._path or self._runner is None:
            return
        draft = f"{self._path}.{os.getpid()}"
        with open(draft, "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
        os.rename(draft, self._path)
        self._runner["pidfile"] = self._path

    def leave(self) -> None:
        """Have the file stay at our end where it names another process by now."""
        if self._runner is None or not self._runner["pidfile"]:
            return
        if _read(self._runner["pidfile"]) != os.getpid():
            self._runner["pidfile"] = ""


def _read(path: str) -> int | None:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            number = int(file.read(32))
    except (OSError, ValueError):
        return None
    return number if number > 0 else None
