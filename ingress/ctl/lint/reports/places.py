"""Files as those who read reports of builds want them: relative to the folder that was checked out."""

import os
from urllib.parse import quote


def relative_path(file: str, folder: str) -> str | None:
    """Return *file*, as it was given in *folder*, as a path from there; an absolute one if it is elsewhere.

    None if it is no file: standard input, an object of a cluster.
    """
    if file in ("", "-"):
        return None
    path = os.path.normpath(os.path.join(folder, file))
    inside = folder.rstrip("/") + "/"
    return path.removeprefix(inside) if path.startswith(inside) else path


def uri(file: str, folder: str) -> str | None:
    """Return the URI of *file*: relative if it is below *folder*, None if it is no file (RFC 3986, section 4.2)."""
    path = relative_path(file, folder)
    if path is None:
        return None
    quoted = quote(path, safe="/", errors="replace")
    return f"file://{quoted}" if path.startswith("/") else quoted
