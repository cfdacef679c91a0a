"""Paths that a redirect or a rewrite puts in place of those of requests (``HTTPPathModifier``).

All of a path is replaced, or the prefix that the match of the rule has in common with it, element by element.  What stands behind
the prefix goes on as it was received, unless it could leave it: where its ``..`` would be resolved by the endpoint, it is
sent in its normal form.  The query goes on as it came.
"""

import re
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from ingress.model.frozen import frozen

MAX_CHARACTERS: Final = 1024
"""Of a path, as the API has it."""

# What may stand in a path, besides letters, digits and -._~ (RFC 3986 section 3.3).
_SAFE: Final = "/:@!$&'()*+,;="
_is_path = re.compile(r"/[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*").fullmatch
_has_bad_escape = re.compile(r"%(?![0-9A-Fa-f]{2})").search
_HAS_DOTS: Final = re.compile(rb"/\.{1,2}(?=[/;]|\Z)")


class NewPathError(ValueError):
    """What is to come in place of a path is none; the message says why, and goes on after its value."""


def fault_of_path(text: str, *, may_be_empty: bool = False) -> str:
    """Say why *text* can stand for no path, or beginning of one; empty where it can."""
    if not text and may_be_empty:
        return ""
    if len(text) > MAX_CHARACTERS:
        return f"is longer than {MAX_CHARACTERS} characters"
    if "?" in text or "#" in text:
        return "has a query or a fragment, and a path has none"
    if _is_path(text) is None or _has_bad_escape(text) is not None:
        return "is no path: it has to begin with a slash, and what no URL has in a path is percent-encoded"
    if _HAS_DOTS.search(unquote_to_bytes(text)) is not None:
        return "has a segment . or .., which endpoints read in different ways"
    return ""


@frozen(cache_hash=True)
class NewPath:
    """What comes in place of the path of a request: plain data."""

    text: bytes
    """Percent-encoded; a prefix has no slash at its end, so it may be empty."""
    prefix: tuple[bytes, ...] | None = None
    """The segments, as paths are matched, that *text* comes in place of; None for all of the path."""

    def __str__(self) -> str:
        text = self.text.decode("ascii") or "/"
        return (
            text
            if self.prefix is None
            else f"{text} in place of /{b'/'.join(self.prefix).decode('utf-8', 'replace')}"
        )

    def target(self, path: bytes, target: bytes) -> bytes:
        """Return the target that comes in place of *target*, the received one, whose normal path is *path*."""
        raw, mark, query = target.partition(b"?")
        return self._path(path, raw) + mark + query

    def _path(self, path: bytes, raw: bytes) -> bytes:
        if self.prefix is None:
            return self.text or b"/"
        rest = _behind(self.prefix, path, raw)
        if not rest:
            return self.text or b"/"
        # Where both meet, no empty segment comes to be: two slashes at the beginning would name a host.
        return self.text + b"/" + rest.lstrip(b"/")


def _behind(prefix: tuple[bytes, ...], path: bytes, raw: bytes) -> bytes:
    """Return what stands behind *prefix*, with the slash that it begins with; empty for nothing."""
    count = len(prefix)
    segments = raw[1:].split(b"/", count)
    rest = b"/" + segments[count] if len(segments) > count else b""
    if raw == path:
        return rest
    is_plain = tuple(map(unquote_to_bytes, segments[:count])) == prefix
    if is_plain and _HAS_DOTS.search(unquote_to_bytes(rest)) is None:
        return rest
    own = path[1:].split(b"/", count)
    return quote_from_bytes(b"/" + own[count], safe=_SAFE).encode() if len(own) > count else b""


def full_path(text: str) -> NewPath:
    """Return what replaces all of a path by *text*; raises ``NewPathError``."""
    if fault := fault_of_path(text):
        raise NewPathError(fault)
    return NewPath(text.encode("ascii"))


def new_prefix(text: str, prefix: bytes) -> NewPath:
    """Return what replaces *prefix*, a path in the form that paths are matched in, by *text*; raises ``NewPathError``."""
    if fault := fault_of_path(text, may_be_empty=True):
        raise NewPathError(fault)
    segments = prefix.strip(b"/")
    return NewPath(text.rstrip("/").encode("ascii"), tuple(segments.split(b"/")) if segments else ())
