"""Targets of ``rewrite-target``: what the path of a request is replaced by, with what its expression captured.

``$1`` to ``$9`` are groups of the expression, ``$name`` is a group of that name, else a variable (``docs/variables.md``).  As
in nginx the whole path is replaced, the query goes on behind that of the target, and a ``?`` at the end of the target
keeps it away; a target that is an URL is a redirect.

Whatever a path captured stays a part of the path: it is percent-encoded again; no segment that comes of it is ``.`` or
``..``, or empty; and in an URL it begins behind the host.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from ingress.annotations.contract.values import ValueRefused
from ingress.model.frozen import frozen
from ingress.model.requests.decoded_paths import decoded_path
from ingress.model.requests.templates import (
    CONSTANTS,
    NO_TEXT,
    REQUEST_NAMES,
    REQUEST_VARIABLES,
    Part,
    Template,
    TemplateFacts,
    TemplateRefused,
    read_template,
)

MAX_CHARACTERS: Final = 2048
_NUMBERS: Final = frozenset("123456789")
_KNOWN: Final = frozenset((*REQUEST_VARIABLES, *CONSTANTS))
_PATHS: Final = frozenset(("uri", "document_uri"))
_IN_ORIGINS: Final = frozenset(("scheme", "host", "server_name", "namespace", "service_name", "ingress_name"))

_NAMES: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
_URL: Final = re.compile(r"(?:https?|\$scheme|\$\{scheme\})://", re.IGNORECASE)
_ORIGIN_END: Final = re.compile(r"[/?]|\$\{?[0-9]|\Z")
_BEHIND_ORIGIN: Final = re.compile(r"(?:\$[0-9]|\$\{[0-9]\})*(?:[/?]|\Z)")
_is_authority = re.compile(
    r"(?:[A-Za-z0-9.\-]|\[[0-9A-Fa-f:.]+\]|\$[a-z_]+|\$\{[a-z_]+\})+(?::[0-9]{1,5})?"
).fullmatch
_SPACES: Final = re.compile(r"[\x00-\x20\x7f]")
# What ends a segment for some endpoints, and an escape that is read as a dot by all.
_DOTS: Final = re.compile(rb"/(?:\.|%2[eE]){1,2}(?=[/;]|%3[Ff]|%23|\Z)")
# In a path, as nginx escapes one; in a query, all that would be more than a value there.
_IN_PATHS: Final = "/:@!$&'()*+,;=~[]"
_IN_QUERIES: Final = "/:@!$'()*,~"
_WRITTEN: Final = _IN_PATHS + "%"
_WRITTEN_IN_QUERIES: Final = "/:@!$&'()*+,;=~?%[]{}|\\^`\"<>"


@frozen
class RewriteTarget:
    """What paths are replaced by: plain data, equal by value."""

    text: str = ""
    """As it was written."""
    origin: Template = NO_TEXT
    """Scheme and host of an URL; without it, requests go to the endpoint and are not redirected."""
    path: Template = NO_TEXT
    query: Template = NO_TEXT
    keeps_query: bool = True
    """Whether the query of the request goes on."""
    is_refused: bool = False
    """Whether nothing can be rewritten by it, so that nothing is served."""

    @property
    def captures(self) -> frozenset[str]:
        """The numbers and names of groups that it is made of."""
        return (self.path.variables | self.query.variables) - _KNOWN - REQUEST_NAMES.keys()

    def bound(self, constants: Mapping[str, str]) -> "RewriteTarget":
        """Return it with *constants* of the route, by name, in place of the variables of these names."""
        origin, path, query = (one.bound(constants) for one in (self.origin, self.path, self.query))
        return RewriteTarget(self.text, origin, path, query, self.keeps_query, self.is_refused)


NO_TARGET: Final = RewriteTarget()
REFUSED_TARGET: Final = RewriteTarget(is_refused=True)


def parse_rewrite_target(text: str) -> RewriteTarget:
    """Read a target."""
    text = text.strip()
    if len(text) > MAX_CHARACTERS:
        raise ValueRefused(f"is longer than {MAX_CHARACTERS} characters")
    if _SPACES.search(text):
        raise ValueRefused("holds a space or a control character")
    if "#" in text:
        raise ValueRefused("holds a #, which no request has")
    if not text:
        return NO_TARGET
    url = _URL.match(text)
    at = 0
    if url is not None:
        end = _ORIGIN_END.search(text, url.end())
        assert end is not None
        at = end.start()
        _check_origin(text[url.end() : at], text[at:])
    path, mark, query = text[at:].partition("?")
    keeps_query = not text.endswith("?")
    try:
        target = RewriteTarget(
            text,
            _read(text[:at]),
            _read(path),
            _read(query.removesuffix("?") if mark else ""),
            keeps_query,
        )
    except TemplateRefused as refused:
        raise ValueRefused(str(refused)) from None
    if _has_dots(target.path):
        raise ValueRefused("has a segment . or .., which endpoints read in different ways")
    return target


def _check_origin(authority: str, rest: str) -> None:
    if not _is_authority(authority):
        raise ValueRefused("is an URL whose host is none")
    if not _IN_ORIGINS.issuperset(_NAMES.findall(authority)):
        raise ValueRefused("is an URL whose host a client could choose")
    if _BEHIND_ORIGIN.match(rest) is None:
        raise ValueRefused("is an URL whose host goes on behind what is captured")


def _read(text: str) -> Template:
    # A name that is no variable may be a group of the path, which is known where the path is.
    names = {
        name
        for name in _NAMES.findall(text)
        if name not in _KNOWN and not name.startswith(tuple(REQUEST_NAMES))
    }
    return read_template(text, own=_NUMBERS | names)


def _has_dots(path: Template) -> bool:
    written = b"".join(b"x" if part.variable else unquote_to_bytes(part.text) for part in path.parts)
    return _DOTS.search(b"/" + written) is not None


@frozen
class _Piece:
    """One part of a target, ready for requests."""

    text: bytes
    """What it always is, percent-encoded; else what may be left as it is of what it comes to."""
    template: Template | None


class Rewriting:
    """Makes targets of requests out of a ``RewriteTarget`` whose constants are bound."""

    def __init__(self, target: RewriteTarget) -> None:
        self._origin = target.origin
        self._path = _pieces(target.path, _WRITTEN, captures=_IN_PATHS, variables=_IN_PATHS)
        self._query = _pieces(
            target.query, _WRITTEN_IN_QUERIES, captures=_IN_QUERIES, variables=_WRITTEN_IN_QUERIES
        )
        self._keeps_query = target.keeps_query
        self._is_fixed = all(piece.template is None for piece in self._path)

    def target(self, facts: TemplateFacts, captured: Mapping[str, bytes]) -> bytes:
        """Return path and query, in the grammar of targets, where the groups of the path hold *captured*."""
        path = b""
        for piece in self._path:
            value = piece.text if piece.template is None else _rendered(piece, facts, captured)
            # Where captures meet, no empty segment comes to be.
            path += value.lstrip(b"/") if path.endswith(b"/") else value
        is_absolute = path.startswith(b"/")
        if not self._is_fixed and (b"." in path or b"%" in path):
            path = _DOTS.sub(b"", path) if is_absolute else _DOTS.sub(b"", b"/" + path)[1:]
            is_absolute = path.startswith(b"/")
        if not is_absolute:
            path = b"/" + path
        query = b"".join(
            [
                piece.text if piece.template is None else _rendered(piece, facts, captured)
                for piece in self._query
            ]
        )
        came = facts.target.partition(b"?")[2] if self._keeps_query else b""
        query = query + b"&" + came if query and came else query or came
        return path + b"?" + query if query else path

    def location(self, facts: TemplateFacts, captured: Mapping[str, bytes]) -> bytes:
        """Return the URL that a redirect goes to."""
        return self._origin.render(facts) + self.target(facts, captured)


def _pieces(template: Template, written: str, *, captures: str, variables: str) -> tuple[_Piece, ...]:
    pieces = []
    for part in template.parts:
        if not part.variable:
            pieces.append(_Piece(_quoted_as_written(part.text, written), None))
        else:
            is_known = part.variable in _KNOWN or part.variable in REQUEST_NAMES
            safe = variables if is_known else captures
            pieces.append(_Piece(safe.encode(), Template((Part(part.variable, part.text),))))
    return tuple(pieces)


def _rendered(piece: _Piece, facts: TemplateFacts, captured: Mapping[str, bytes]) -> bytes:
    assert piece.template is not None
    ((variable, _),) = piece.template.parts
    value = captured.get(variable)
    if value is None:
        is_path = variable in _PATHS
        value = decoded_path(facts.path, facts.target) if is_path else piece.template.render(facts)
    return _quoted(value, piece.text)


def _quoted_as_written(text: bytes, safe: str) -> bytes:
    """Percent-encode what cannot stand in a target; escapes stay as they were written."""
    return re.sub(rb"%(?![0-9A-Fa-f]{2})", b"%25", quote_from_bytes(text, safe=safe).encode())


_is_usual = re.compile(rb"[A-Za-z0-9/._~-]*").fullmatch


def _quoted(value: bytes, safe: bytes) -> bytes:
    return value if _is_usual(value) else quote_from_bytes(value, safe=safe.decode()).encode()
