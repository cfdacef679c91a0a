"""Which file is edited where a manifest stands: the one that a link leads to, for no diff goes through links."""

import os
from collections.abc import Callable, Iterable

from ingress.cluster.manifests.manifest_listing import display_name
from ingress.ctl.migrate.patching.patches import FileText

_NOT_READ = "the file cannot be read"


class EditedFiles:
    """Reads files by the names that places have; *path_of* returns their paths, and *asked* are those that were asked for.

    Nothing is edited that lies outside of these, wherever a link leads.
    """

    def __init__(self, path_of: Callable[[str], str | None], asked: Iterable[str]) -> None:
        self._path_of = path_of
        self._roots = tuple(
            os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path)) for path in asked
        )

    def read(self, name: str) -> FileText:
        """Return the file *name*, or why it is not edited."""
        path = self._path_of(name)
        # Whoever opens a pipe waits for somebody to write.
        if path is None or not os.path.isfile(path):
            return FileText(name, why_not=_NOT_READ)
        real = os.path.realpath(path)
        if real != os.path.normpath(os.path.join(os.path.realpath(os.curdir), path)):
            if not any(real.startswith(os.path.join(root, "")) for root in self._roots):
                why = f"it is a link to {display_name(real)}, which lies outside of what was asked for"
                return FileText(name, why_not=why)
            path = _shown(real, path)
        try:
            with open(real, "rb") as stream:
                return FileText(path, stream.read().decode("utf-8"))
        except (OSError, ValueError):
            return FileText(name, why_not=_NOT_READ)


def _shown(real: str, path: str) -> str:
    """Return *real* as *path* was named: below the current folder, or from the root."""
    below = os.path.relpath(real)
    return real if os.path.isabs(path) or below.startswith(os.pardir + os.sep) else below
