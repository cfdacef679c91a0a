"""Paths of routes as matches of an HTTPRoute.

Exact and prefix mean the same in both: by element, exact before prefix, the longer before the shorter.  Regular
expressions do not: the Gateway API leaves their grammar, whether they take a whole path, and their order to the
implementation.  So an expression that only says "below this path" becomes a prefix.

Source: ``HTTPPathMatch``.
"""

import re
from typing import Final
from urllib.parse import quote

from ingress.ctl.gateway.rendering_values import Json
from ingress.model.frozen import frozen
from ingress.model.requests.templates import Template
from ingress.routing.route import Match, Route

MOST_CHARACTERS: Final = 1024
_is_plain = re.compile(r"(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})+").fullmatch
_REFUSED: Final = re.compile(r"//|/\.\.?(?:/|\Z)|%2[fF]|#")
_is_literal = re.compile(r"[-A-Za-z0-9/_~%.]*").fullmatch
# What may stand behind a literal path, and still says no more than "below it"; with the group that holds the rest.
_TAILS: Final = (
    ("(/|$)(.*)", "2", True),
    ("(/|$)(.*)$", "2", True),
    ("(?:/|$)(.*)", "1", True),
    ("/()(.*)", "2", False),
    ("/(.*)", "1", False),
    ("/(.*)$", "1", False),
    ("/?(.*)", "1", False),
    ("/?(.*)$", "1", False),
    ("(/.*)?", "", True),
    ("/.*", "", False),
    ("/.*$", "", False),
    ("(/|$)", "", True),
    ("(.*)", "", False),
    (".*", "", False),
    ("/", "", False),
)


@frozen
class Below:
    """An expression that takes what is below *prefix*; *rest* is the number of the group that holds what follows its slash.

    *is_same* says that it takes the very paths that the prefix takes, but for upper and lower case.
    """

    prefix: str
    rest: str
    is_same: bool


@frozen
class PathSaid:
    """A match of the path, None where it cannot be said; *why* tells of the difference."""

    match: Json | None
    why: str = ""


def below(path: str) -> Below | None:
    """Read *path*, an expression, as something that takes what is below a path; None where it is more than that."""
    for tail, rest, is_same in _TAILS:
        literal = path.removesuffix(tail)
        if literal != path and _is_literal(literal) and not literal.endswith("/"):
            return Below(literal or "/", rest, is_same or not literal)
    return Below(path, "", False) if path.startswith("/") and _is_literal(path) else None


def said_path(route: Route) -> PathSaid:
    """Return what *route* takes."""
    if route.match is Match.EXPRESSION:
        return _said_expression(route)
    path = (
        route.path
        if route.path.isascii() and " " not in route.path
        else quote(route.path, safe="/%:@!$&'()*+,;=~")
    )
    if (
        not path.startswith("/")
        or _is_plain(path) is None
        or _REFUSED.search(path)
        or len(path) > MOST_CHARACTERS
    ):
        return PathSaid(
            None, f"the path {route.path!a} has signs that a path of the Gateway API may not have"
        )
    if route.match is Match.EXACT:
        return PathSaid({"type": "Exact", "value": path})
    # A prefix means the same with and without the slash; with it some implementations take less.
    return PathSaid({"type": "PathPrefix", "value": path.rstrip("/") or "/"})


def _said_expression(route: Route) -> PathSaid:
    found = below(route.path)
    if found is not None:
        why = ""
        if not found.is_same:
            why = (
                f"{route.path!a} is compared as a regular expression today, in upper and lower case; as the prefix"
                f" {found.prefix} it takes whole elements of paths, and their case counts"
            )
        return PathSaid({"type": "PathPrefix", "value": found.prefix.rstrip("/") or "/"}, why)
    text = route.path.removeprefix("^")
    ends = text.endswith("$") and not text.endswith("\\$")
    value = f"(?i)(?:{text})" if "|" in text else f"(?i){text}"
    if not ends and not text.endswith((".*", ".*)")):
        value += ".*"
    if len(value) > MOST_CHARACTERS:
        return PathSaid(
            None, f"the regular expression {route.path[:60]!a} is longer than {MOST_CHARACTERS} characters"
        )
    return PathSaid(
        {"type": "RegularExpression", "value": value},
        f"the grammar of {route.path!a}, and its place among the other paths of the host, are up to the implementation;"
        " it is written for RE2 that takes whole paths",
    )


def said_once(routes: tuple[Route, ...]) -> tuple[Route, ...]:
    """Leave out what no request gets to, since the same prefix stands there with a slash, which is longer."""
    best: dict[str, Route] = {}
    for route in routes:
        if route.match is Match.PREFIX:
            elements = route.path.rstrip("/")
            known = best.get(elements)
            if known is None or len(route.path) > len(known.path):
                best[elements] = route
    return tuple(
        route for route in routes if route.match is not Match.PREFIX or best[route.path.rstrip("/")] is route
    )


def replaced_prefix(route: Route, target: Template) -> tuple[Below, str] | None:
    """Read a rewrite as the replacement of the prefix that *route* takes; None where it is more than that."""
    found = below(route.path) if route.match is Match.EXPRESSION else None
    parts = target.parts
    if found is None or not found.rest or not parts or parts[-1].variable != found.rest or parts[-1].text:
        return None
    before = b"".join(part.text for part in parts[:-1])
    if any(part.variable for part in parts[:-1]) or not (before.endswith(b"/") or not before):
        return None
    return found, before.decode("utf-8", "replace").rstrip("/") or "/"
