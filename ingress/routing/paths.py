"""Paths: the normal form that requests are matched in, and the check of a rule's path.

The normal form is a copy for matching only; what is forwarded are the bytes
that were received.  So a path that an upstream could read as another one than
we matched is refused: matching and forwarding never disagree about segments.
An encoded slash, which APIs have in the names of things (``/api/queues/%2F/jobs``), is read in both ways, and
refused where these lead to different routes.
"""

import re
from typing import Final
from urllib.parse import unquote_to_bytes

from ingress.routing.route import Match


class PathError(ValueError):
    """The path of a request cannot be read in exactly one way; the answer is 400.

    The message is constant text and never repeats what was received.
    """


# What most paths are: segments that begin with no dot, and have neither escape nor parameter.
_is_plain: Final = re.compile(rb"/|(?:/[^%;?#\\\x00/.][^%;?#\\\x00/]*+)++/?").fullmatch

# Whatever is absent here needs no work: no escape, no parameter, no empty and no
# dot segment.
_UNUSUAL: Final = re.compile(rb"[%;?#\\\x00]|/(?:/|\.\.?(?:/|\Z))")

_SPECIAL_REPLACED: Final = bytes(0x2D if byte in b"%;?#\\\x00" else byte for byte in range(0x100))
"""To ``translate`` by it changes a path with one of these octets, and no other: a look that takes a tenth of a search."""

_REFUSED: Final = re.compile(rb"\\|\x00|%(?:5[Cc]|00|(?![0-9A-Fa-f]{2}))")
_REFUSAL: Final = {
    b"\\": "the path holds a backslash",
    b"\x00": "the path holds a NUL",
    b"%5c": "the path holds an encoded backslash",
    b"%00": "the path holds an encoded NUL",
    b"%": "the path holds a malformed percent escape",
}

_PARAMETERS: Final = re.compile(rb"[;?#]")
_ENCODED_SLASH: Final = re.compile(rb"%2[Ff]")
_PARAMETERS_OR_DOTS: Final = re.compile(rb"[;?#]|/\.\.?(?:/|\Z)")

TWO_ROUTES: Final = (
    "the path holds an encoded slash, and takes one route if that is a slash and another one if not"
)


def normal_path(raw: bytes) -> bytes:
    """Bring *raw*, the path of a request target without its query, to normal form.

    Percent escapes are decoded once; what follows ``;``, ``?`` or ``#`` in a
    decoded segment is dropped; empty segments are merged, a trailing slash is
    kept; ``.`` and ``..`` are resolved (RFC 3986 section 5.2.4).  An encoded slash is
    a slash, as nginx matches it: who finds a route looks for ``other_reading``, too.

    Raises ``PathError`` for what upstreams are known to read differently: an
    encoded slash beside a dot segment or parameters, a backslash, a NUL, ``..`` with parameters, ``..`` that climbs
    above the root or follows an empty or a parametrized segment, and a malformed
    escape.
    """
    if _is_plain(raw):
        return raw
    if raw[:1] != b"/":
        raise PathError("the path does not begin with a slash")
    has_dot = b"." in raw and b"/." in raw
    if not has_dot and b"//" not in raw and raw.translate(_SPECIAL_REPLACED) == raw:
        # Nearly all.
        return raw
    if not _UNUSUAL.search(raw):
        return raw
    if refused := _REFUSED.search(raw):
        raise PathError(_REFUSAL[refused.group().lower()])
    if _ENCODED_SLASH.search(raw):
        raw = _ENCODED_SLASH.sub(b"/", raw)
        if _PARAMETERS_OR_DOTS.search(unquote_to_bytes(raw)):
            raise PathError("the path holds an encoded slash beside a dot segment or parameters")
    return _resolved(raw)


def other_reading(raw: bytes) -> bytes | None:
    """
    Return the normal form of *raw*, which has one, to whom an encoded slash is no slash but three characters of a segment.

    None if *raw* holds no encoded slash, and so has no other reading.
    """
    if not _ENCODED_SLASH.search(raw):
        return None
    return _resolved(_ENCODED_SLASH.sub(b"%252F", raw))


def _resolved(raw: bytes) -> bytes:
    kept: list[bytes] = []
    # Whether a segment was met that some upstreams count and others do not, so
    # that a later ".." would remove one or the other.
    ambiguous = False
    name = b""
    # No escape stands for a slash here any more, so decoding may come before splitting.
    plain = unquote_to_bytes(raw)
    has_parameters = _PARAMETERS.search(plain) is not None
    for segment in plain[1:].split(b"/"):
        name = _PARAMETERS.split(segment, maxsplit=1)[0] if has_parameters else segment
        if name == b"..":
            if segment != b"..":
                raise PathError("the path holds a '..' with parameters")
            if ambiguous:
                raise PathError("the path holds a '..' after an empty or parametrized segment")
            if not kept:
                raise PathError("the path climbs above the root")
            kept.pop()
            continue
        if not name or name != segment:
            ambiguous = True
        if name and name != b".":
            kept.append(name)
    if not kept:
        return b"/"
    trailing = b"/" if name in (b"", b".", b"..") else b""
    return b"/" + b"/".join(kept) + trailing


def rule_path(path: str) -> bytes:
    """Bring the path of a rule to the form that requests are matched in.

    A rule's path is written like that of a URL, or with the characters as they
    are: ``/a%20b`` and ``/a b`` mean the same.
    """
    return unquote_to_bytes(path) if "%" in path else path.encode()


def check_rule_path(path: str, match: Match) -> str | None:
    """Say why *path* cannot be the path of an Ingress rule, or None when it can.

    ``HTTPIngressPath.path`` begins with a slash.  Beyond that, a path that no
    normal form equals would be a rule that never matches, so it is refused too.
    """
    if not path.startswith("/"):
        return "does not begin with a slash"
    try:
        raw = path.encode("utf-8")
        if _ENCODED_SLASH.search(raw):
            return "can match no request: the path holds an encoded slash"
        normal = normal_path(raw)
    except UnicodeEncodeError:
        return "is no valid Unicode text"
    except PathError as error:
        return f"can match no request: {error}"
    if normal is raw:
        # Nothing about it is unusual.
        return None
    plain = unquote_to_bytes(raw)
    if _PARAMETERS.search(plain):
        return "can match no request: what follows ';', '?' or '#' in a segment is not matched"
    if plain != normal:
        kind = "exact path" if match is Match.EXACT else "prefix"
        return f"can match no request: a {kind} has no empty, '.' or '..' segment"
    return None
