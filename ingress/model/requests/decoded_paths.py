"""The path of a request with all that its normal form leaves out, for who makes another path of it.

Routes are found by the normal form, in which parameters are dropped, and what follows an escaped ``?`` or ``#``
(``ingress.routing.paths`` says why).  Who replaces a path and dropped them, too, would ask an endpoint for something else:
``/tags/C%23`` for ``/tags/C``, or for a page without its ``;jsessionid``.  nginx has them in ``$uri``.
"""

import re
from typing import Final
from urllib.parse import unquote_to_bytes

_MAY_BE_LEFT_OUT: Final = re.compile(rb"[;#]|%(?:3[BbFf]|23)")
_PARAMETERS: Final = re.compile(rb"[;?#]")


def decoded_path(path: bytes, target: bytes) -> bytes:
    """Return the path of *target* decoded, with its segments resolved, and with what *path*, its normal form, leaves out.

    *path* itself where that is nothing.
    """
    raw = target.partition(b"?")[0]
    if path == raw or not _MAY_BE_LEFT_OUT.search(raw):
        return path
    kept: list[bytes] = []
    is_open = True
    # An encoded slash beside what is left out has no normal form, and never came here; nor did what is ambiguous about "..".
    for segment in unquote_to_bytes(raw)[1:].split(b"/"):
        # By slices, and not by a search in each: there may be thousands.
        is_open = not segment or (segment[:1] == b"." and _is_dots(segment))
        if segment == b"..":
            kept.pop()
        elif not is_open:
            kept.append(segment)
    return b"/" + b"/".join(kept) + (b"/" if is_open and kept else b"")


def _is_dots(segment: bytes) -> bool:
    """Whether *segment* is ``.`` or ``..``, be it with parameters."""
    return _PARAMETERS.split(segment, maxsplit=1)[0] in (b".", b"..")
