"""What a snippet decides about a request: its statements, run by the facts, and what they lead to.

Statements run in order and each at most once, so there are no loops; an expression that would take long over a text
is not asked, and the request is refused instead, so that no guard is passed by being long.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, Protocol
from urllib.parse import quote_from_bytes

from ingress.annotations.contract.snippet_blocks import (
    After,
    Block,
    Break,
    Condition,
    If,
    Level,
    Location,
    Operator,
    PathMatch,
    Return,
    Rewrite,
    SetVariable,
)
from ingress.annotations.nginx.access_directives import lets_in
from ingress.filter_parts.judging import status_reply
from ingress.filters import Reply
from ingress.model.requests.decoded_paths import decoded_path
from ingress.model.requests.templates import TemplateAnswer, TemplateFacts
from ingress.model.text.searches import MAX_COST, Search, TooLong

MAX_TARGET: Final = 16 * 1024
"""Bytes of what a request is rewritten to, and of a variable."""
MAX_VALUES: Final = 64 * 1024
"""Bytes of all that variables of a request are set to; they are kept as long as it is under way."""
MAX_SEARCHED: Final = 4 * MAX_COST
"""What all expressions may cost that are looked for in the texts of one request: some milliseconds, and twenty at the very worst."""
DEFAULT_TYPE: Final = b"text/html"
"""``default_type`` of ingress-nginx."""
PLAIN: Final = b"text/plain; charset=utf-8"
_TYPES: Final[Mapping[bytes, bytes]] = {
    b"atom": b"application/atom+xml",
    b"css": b"text/css",
    b"htm": b"text/html",
    b"html": b"text/html",
    b"js": b"application/javascript",
    b"json": b"application/json",
    b"rss": b"application/rss+xml",
    b"shtml": b"text/html",
    b"svg": b"image/svg+xml",
    b"txt": b"text/plain",
    b"xhtml": b"application/xhtml+xml",
    b"xml": b"text/xml",
}
"""What nginx says of names that end so, before ``default_type`` counts: those of texts."""

_RETURNED: Final = "a snippet says return"
FORBIDDEN: Final = status_reply(403, reason="allow and deny of a snippet do not let the client in")
_TOO_LONG: Final = status_reply(414, reason="the target is longer than a snippet may look at or make")
_ACTIVE: Final = ("html", "xml", "svg", "javascript")
_BODILESS: Final = (204, 304)
_UNSAFE: Final = re.compile(rb"[^\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]")
"""What stands in no URL as it is; RFC 3986 section 2."""
_PATH_SAFE: Final = "/!$&'()*+,;=:@-._~"


class SnippetFacts(TemplateFacts, Protocol):
    """What snippets know of a request."""

    @property
    def notes(self) -> dict[object, object]:
        """What is remembered of it."""


class Course:
    """What snippets decided about one request so far."""

    __slots__ = (
        "groups",
        "inner",
        "is_ended",
        "is_relative",
        "numbers",
        "outer",
        "path",
        "place",
        "query",
        "replied",
        "searched",
        "size",
        "values",
        "whole",
    )

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        """Of variables that were set, and what was captured last."""
        self.numbers: tuple[str, ...] = ()
        """Of groups, among these."""
        self.groups: Mapping[str, bytes] | None = None
        """What the path of the Ingress captured, once anybody has looked for it."""
        self.size = 0
        """Bytes of all that variables were set to."""
        self.searched = 0
        """What all searches have cost so far."""
        self.whole: bytes | None = None
        """Its path as it came, whole, once anybody has looked for something in it."""
        self.path: bytes | None = None
        """Where it was rewritten to, ..."""
        self.query: bytes = b""
        """... and the query then."""
        self.outer: Level | None = None
        """That of the last ``if`` of the server that took the request."""
        self.place: Location | None = None
        """The ``location`` that it is in."""
        self.inner: Level | None = None
        """That of the last ``if`` there, or of its path."""
        self.replied: str = ""
        """Who answered it: ``server``, ``place``, or nobody yet."""
        self.is_ended = False
        """Whether ``break`` ended the statements that were run last."""
        self.is_relative = False
        """Whether redirects to a path leave scheme and host to the client."""

    def capture(self, found: Mapping[str, bytes] | None) -> None:
        """Have numbers of groups stand for what was *found* last alone, for nothing where that is None; names keep what they had."""
        for name in self.numbers:
            self.values.pop(name, None)
        self.numbers = ()
        if found:
            self.values.update(found)
            self.numbers = tuple(name for name in found if name.isdigit())

    def found(self, search: Search, subject: bytes) -> dict[str, bytes] | None:
        """Return what *subject* has for the groups of *search*, None where it has nothing of it; raises ``TooLong``."""
        self.searched += search.cost(subject)
        if self.searched > MAX_SEARCHED:
            raise TooLong
        return search.groups(subject)

    def target(self) -> bytes | None:
        """Return the target that it is rewritten to, None where it is not."""
        if self.path is None:
            return None
        path = quote_from_bytes(self.path, safe=_PATH_SAFE).encode()
        return path + b"?" + _escaped(self.query).replace(b"#", b"%23") if self.query else path


_COURSE: Final = object()


def course_of(facts: SnippetFacts) -> Course:
    """Return the course of a request, which begins when it is first asked for."""
    found = facts.notes.get(_COURSE)
    if not isinstance(found, Course):
        found = facts.notes[_COURSE] = Course()
    return found


def known_course(facts: SnippetFacts) -> Course | None:
    """Return the course of a request; None where nothing was decided about it."""
    found = facts.notes.get(_COURSE)
    return found if isinstance(found, Course) else None


def set_from_auth(
    statements: Iterable[SetVariable], said: TemplateAnswer, facts: SnippetFacts, course: Course
) -> None:
    """Set what ``auth_request_set`` makes of what the service *said*; for which there is no room comes to nothing."""
    for statement in statements:
        value = statement.value.render(facts, said, course.values)
        course.size += len(value)
        course.values[statement.name] = value if course.size <= MAX_VALUES else b""


class _Stops(Exception):  # noqa: N818 - it is a way out, no failure
    """No more statements are run."""


def run_server(
    block: Block, locations: Iterable[Location], exact: bool, path: bytes, facts: SnippetFacts
) -> Reply | None:
    """Run what stands in a server, and in the ``location`` that the request is in; return an answer, if that has one.

    *path* is that of the route, which is *exact* or a prefix: a ``location`` is for requests that nginx would find no
    better place for.
    """
    course = course_of(facts)
    reply, course.outer = _run(block, facts, course)
    if reply is not None:
        course.replied = "server"
        return reply
    place = _place(tuple(locations), exact, path, facts.path if course.path is None else course.path, course)
    if isinstance(place, Reply):
        return place
    if place is not None:
        course.place = place
        reply, course.inner = _run(place.block, facts, course)
        if reply is None and not _lets_in(place.block.level, course.inner, facts):
            reply = FORBIDDEN
        if reply is not None:
            course.replied = "place"
    return reply


def _lets_in(place: Level, inner: Level | None, facts: SnippetFacts) -> bool:
    """Whether a ``location`` lets a request in by rules of its own: nothing else of the path is asked before, such as a redirect."""
    level = place if inner is None else place.over(inner)
    return lets_in(level, facts.method, facts.client)


def run_path(block: Block, facts: SnippetFacts, *, is_relative: bool = False) -> Reply | None:
    """Run what stands before a path; return an answer, if that has one."""
    course = course_of(facts)
    course.is_relative = is_relative
    reply, inner = _run(block, facts, course)
    course.inner = inner or course.inner
    return reply


def _run(block: Block, facts: SnippetFacts, course: Course) -> tuple[Reply | None, Level | None]:
    """Return the answer, and the level of the last ``if`` that took the request."""
    taken: Level | None = None
    course.is_ended = False
    try:
        for statement in block.statements:
            if not isinstance(statement, If):
                reply = _do(statement, block.level, facts, course)
            elif _holds(statement.condition, facts, course):
                taken = statement.block.level
                reply = None
                for one in statement.block.statements:
                    reply = None if isinstance(one, If) else _do(one, taken, facts, course)
                    if reply is not None:
                        break
            else:
                continue
            if reply is not None:
                return reply, taken
    except _Stops:
        course.is_ended = True
    except TooLong:
        return _TOO_LONG, taken
    return None, taken


def _do(
    statement: SetVariable | Return | Rewrite | Break, level: Level, facts: SnippetFacts, course: Course
) -> Reply | None:
    if isinstance(statement, SetVariable):
        value = statement.value.render(facts, None, course.values)
        course.size += len(value)
        if len(value) > MAX_TARGET or course.size > MAX_VALUES:
            # Of several such values another one could be made, and so on.
            raise TooLong
        course.values[statement.name] = value
    elif isinstance(statement, Return):
        return _reply(statement, level, facts, course)
    elif isinstance(statement, Rewrite):
        return _rewritten(statement, facts, course)
    else:
        raise _Stops
    return None


def _holds(condition: Condition, facts: SnippetFacts, course: Course) -> bool:
    subject = condition.subject.render(facts, None, course.values)
    if condition.operator is Operator.FILLED:
        return subject not in (b"", b"0")
    if condition.text is not None:
        return (subject == condition.text.render(facts, None, course.values)) is not condition.negates
    assert condition.search is not None
    found = course.found(condition.search, subject)
    course.capture(found)
    return (found is not None) is not condition.negates


def _rewritten(rewrite: Rewrite, facts: SnippetFacts, course: Course) -> Reply | None:
    found = _searched(rewrite, facts, course)
    course.capture(found)
    if found is None:
        return None
    redirects = rewrite.after in (After.REDIRECTS, After.REDIRECTS_FOR_GOOD)
    values = course.values
    if redirects:
        # What was captured is decoded, and stays a part of the path.
        values = {
            **values,
            **{name: quote_from_bytes(text, safe=_PATH_SAFE).encode() for name, text in found.items()},
        }
    new_path = rewrite.target.render(facts, None, values)
    query = rewrite.query.render(facts, None, course.values)
    before = facts.target.partition(b"?")[2] if course.path is None else course.query
    if rewrite.keeps_query and before:
        query = b"%b&%b" % (query, before) if query else before
    if len(new_path) + len(query) > MAX_TARGET:
        return _TOO_LONG
    if redirects:
        status = 301 if rewrite.after is After.REDIRECTS_FOR_GOOD else 302
        new_path = new_path.replace(b"?", b"%3F")
        return _redirect(status, new_path + b"?" + query if query else new_path, facts, course)
    course.path = new_path if new_path.startswith(b"/") else b"/" + new_path
    course.query = query
    if rewrite.after is After.STOPS:
        raise _Stops
    return None


def _searched(rewrite: Rewrite, facts: SnippetFacts, course: Course) -> dict[str, bytes] | None:
    if course.path is not None:
        return course.found(rewrite.search, course.path)
    whole = course.whole
    if whole is None:
        whole = course.whole = decoded_path(facts.path, facts.target)
    found = course.found(rewrite.search, whole)
    # What keeps somebody out by its normal form keeps out who adds parameters to it.
    return course.found(rewrite.search, facts.path) if found is None and whole != facts.path else found


def _reply(found: Return, level: Level, facts: SnippetFacts, course: Course) -> Reply:
    if found.target is not None:
        return _redirect(found.status, found.target.render(facts, None, course.values), facts, course)
    if found.text is None:
        return (
            Reply(found.status)
            if found.status in (*_BODILESS, 200)
            else status_reply(found.status, reason=_RETURNED)
        )
    if found.status in _BODILESS:
        return Reply(found.status)
    kind = level.content_type or DEFAULT_TYPE
    if found.text.text is not None:
        kind = _type_by_name(facts.path if course.path is None else course.path) or kind
    body = found.text.render(facts, None, course.values)
    if found.text.text is None and _is_active(kind):
        # What a visitor brought along must not be a page of this host.
        return Reply(
            found.status, ((b"Content-Type", PLAIN), (b"X-Content-Type-Options", b"nosniff")), body, _RETURNED
        )
    return Reply(found.status, ((b"Content-Type", kind),), body, _RETURNED)


def _type_by_name(path: bytes) -> bytes:
    """Return the content type that the end of the name in *path* stands for, empty where it stands for none."""
    name = path.rpartition(b"/")[2]
    before, dot, ending = name.rpartition(b".")
    return _TYPES.get(ending.lower(), b"") if before and dot else b""


def _is_active(kind: bytes) -> bool:
    lowered = kind.lower().decode("ascii", "replace")
    return any(word in lowered for word in _ACTIVE)


def _redirect(status: int, target: bytes, facts: SnippetFacts, course: Course) -> Reply:
    """Return a redirect; as in nginx, a path is one of the same host, and becomes a whole URL, unless it is to stay relative.

    With two slashes at its beginning it would not stay one of the same host.
    """
    location = _escaped(target.strip())
    if location.startswith(b"//" if course.is_relative else b"/"):
        authority = facts.field(b"host") or facts.host
        if authority:
            location = b"%b://%b%b" % (facts.scheme, authority, location)
    if not location:
        return status_reply(status)
    return status_reply(status, (b"Location", location))


def _escaped(text: bytes) -> bytes:
    """Return *text* with what stands in no URL escaped; what is escaped stays as it is."""
    return _UNSAFE.sub(lambda found: b"%%%02X" % found[0][0], text) if _UNSAFE.search(text) else text


def _place(
    locations: tuple[Location, ...], exact: bool, route: bytes, path: bytes, course: Course
) -> Location | Reply | None:
    """Return the ``location`` that a request for *path* is in, as nginx looks for it; None for that of the route."""
    longest: Location | None = None
    for location in locations:
        if location.match is PathMatch.EXACT:
            if location.path == path:
                return location
        elif (
            location.match is not PathMatch.SEARCH
            and path.startswith(location.path)
            and (longest is None or len(location.path) > len(longest.path))
        ):
            longest = location
    if exact:
        return None
    if longest is not None and len(longest.path) < len(route):
        longest = None
    if longest is None or longest.match is not PathMatch.FINAL_PREFIX:
        for location in locations:
            if location.search is None:
                continue
            try:
                found = course.found(location.search, path)
            except TooLong:
                return _TOO_LONG
            if found is not None:
                course.capture(found)
                return location
    return longest
