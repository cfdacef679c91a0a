"""What requests a match takes: from what was written to paths and conditions, in the order of precedence of the API.

A match that cannot be honored as it was written takes no requests, and a problem says so: to take more than it says
would hand requests to the wrong rule.

Regular expressions are those of RE2, and describe all of what they are compared with.  Among paths they come behind exact
ones and before prefixes, longer ones first.

Source: ``HTTPRouteMatch``, ``GRPCRouteMatch`` and ``HTTPRouteRule.matches`` of ``gateway.networking.k8s.io/v1``.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from ingress.http.grammar import is_token
from ingress.model.frozen import frozen
from ingress.model.text.expressions import Expression, ExpressionRefused, read_expression
from ingress.routing.match_conditions import Compared, MatchCondition
from ingress.routing.paths import check_rule_path
from ingress.routing.route import Match
from ingress.translate.readers.gateway.objects.routes import (
    GRPCMatch,
    HTTPMatch,
    MethodMatch,
    NamedMatch,
    PathMatch,
)

EXPRESSION: Final = "RegularExpression"
METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"))
_MATCHES: Final = {"Exact": Match.EXACT, "PathPrefix": Match.PREFIX, EXPRESSION: Match.PATTERN}
_CLASSES: Final = {Match.EXACT: 0, Match.PATTERN: 1, Match.PREFIX: 2}
_MOST_CONDITIONS: Final = 64
_is_method_part = re.compile(r"[A-Za-z0-9_.]+").fullmatch
_ANY_PART: Final = "[^/]+"


class MatchRefused(Exception):  # noqa: N818 - it is a verdict on a match, no failure
    """The match takes no requests; the message says why, *field* which part of it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@frozen
class ReadMatch:
    """What a match takes."""

    path: str
    match: Match
    rank: tuple[int, ...]
    conditions: tuple[MatchCondition, ...] = ()


def read_http_match(written: HTTPMatch) -> ReadMatch:
    """Read a match of an HTTPRoute; raises ``MatchRefused``."""
    if not written.headers and not written.query and not written.method:
        return _read_path_alone(written.path)
    return _read_all(written)


@lru_cache(maxsize=1024)
def _read_path_alone(path: PathMatch) -> ReadMatch:
    """Read a match of a path alone, which many routes have alike."""
    return _read_all(HTTPMatch(path))


def _read_all(written: HTTPMatch) -> ReadMatch:
    path, match, of_path = _read_path(written.path)
    headers = _named(written.headers, "headers", Compared.HEADER)
    query = _named(written.query, "queryParams", Compared.QUERY)
    method = (_method(written.method),) if written.method else ()
    rank = _CLASSES[match], -len(path), not method, -len(headers), -len(query)
    return ReadMatch(path, match, rank, (*of_path, *method, *headers, *query))


def read_grpc_match(written: GRPCMatch) -> ReadMatch:
    """Read a match of a GRPCRoute; raises ``MatchRefused``."""
    headers = _named(written.headers, "headers", Compared.HEADER)
    asked = written.method or MethodMatch()
    rank = -len(asked.service), -len(asked.method), -len(headers)
    if asked.type == EXPRESSION and (asked.service or asked.method):
        text = "/".join(("", *(f"(?:{one})" if one else _ANY_PART for one in (asked.service, asked.method))))
        return ReadMatch(text, Match.PATTERN, rank, (_pattern(text, Compared.PATH, "method"), *headers))
    if asked.type not in ("Exact", EXPRESSION):
        raise MatchRefused("method.type", f"{_shown(asked.type)} is neither Exact nor {EXPRESSION}")
    for name, part in (("service", asked.service), ("method", asked.method)):
        if part and not _is_method_part(part):
            raise MatchRefused(f"method.{name}", f"{_shown(part)} is no name that gRPC has")
    if asked.service:
        path = f"/{asked.service}/{asked.method}" if asked.method else f"/{asked.service}"
        return ReadMatch(path, Match.EXACT if asked.method else Match.PREFIX, rank, headers)
    if asked.method:
        text = f"/{_ANY_PART}/{re.escape(asked.method)}"
        return ReadMatch(text, Match.PATTERN, rank, (_pattern(text, Compared.PATH, "method"), *headers))
    return ReadMatch("/", Match.PREFIX, rank, headers)


def _read_path(written: PathMatch) -> tuple[str, Match, tuple[MatchCondition, ...]]:
    match = _MATCHES.get(written.type)
    if match is None:
        raise MatchRefused("path.type", f"{_shown(written.type)} is none of {', '.join(_MATCHES)}")
    if match is Match.PATTERN:
        return written.value, match, (_pattern(written.value, Compared.PATH, "path.value"),)
    fault = check_rule_path(written.value, match)
    if fault is not None:
        raise MatchRefused("path.value", f"the path {_shown(written.value)} {fault}")
    return written.value, match, ()


def _method(text: str) -> MatchCondition:
    if text not in METHODS:
        raise MatchRefused("method", f"{_shown(text)} is none of the methods of HTTP")
    return MatchCondition(Compared.METHOD, value=text.encode())


def _named(written: Iterable[NamedMatch], where: str, what: Compared) -> tuple[MatchCondition, ...]:
    """Read conditions; of those with one name the first counts."""
    if not written:
        return ()
    found: dict[bytes, MatchCondition] = {}
    for at, one in enumerate(written):
        field = f"{where}[{at}]"
        if at >= _MOST_CONDITIONS:
            raise MatchRefused(field, f"there are more than {_MOST_CONDITIONS}")
        name = _name(one.name, what, field)
        if name not in found:
            found[name] = _condition(one, name, what, field)
    return tuple(found.values())


def _name(text: str, what: Compared, field: str) -> bytes:
    if what is Compared.HEADER:
        if not is_token(text.encode("utf-8", "replace")):
            raise MatchRefused(f"{field}.name", f"{_shown(text)} is no name of a field")
        return text.lower().encode()
    return _bytes(text, f"{field}.name")


def _condition(one: NamedMatch, name: bytes, what: Compared, field: str) -> MatchCondition:
    if one.type == EXPRESSION:
        return _pattern(one.value, what, f"{field}.value", name)
    if one.type != "Exact":
        raise MatchRefused(f"{field}.type", f"{_shown(one.type)} is neither Exact nor {EXPRESSION}")
    return MatchCondition(what, name, _bytes(one.value, f"{field}.value"))


def _pattern(text: str, what: Compared, field: str, name: bytes = b"") -> MatchCondition:
    found = _expression(text)
    if isinstance(found, str):
        raise MatchRefused(field, f"{_shown(text)} {found}")
    return MatchCondition(what, name, pattern=found)


@lru_cache(maxsize=4096)
def _expression(text: str) -> Expression | str:
    """Return the expression, or why it is none; both are remembered, so that nobody compiles in vain again and again."""
    try:
        return read_expression(text)
    except ExpressionRefused as refused:
        return str(refused)


def _bytes(text: str, field: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise MatchRefused(field, "is no valid Unicode text") from None


def _shown(text: str) -> str:
    return f"{text[:64]!a}"
