"""The projection of what rules of routes have: matches, backends, timeouts and retries."""

from collections.abc import Iterable
from functools import lru_cache
from sys import intern
from typing import Final

from ingress.object_fields import RawObject, entry_path, is_text, path_of
from ingress.translate.readers.gateway.objects.names import UNREADABLE
from ingress.translate.readers.gateway.objects.routes import (
    BackendObject,
    GRPCMatch,
    GRPCRule,
    HTTPMatch,
    HTTPRule,
    MethodMatch,
    NamedMatch,
    PathMatch,
    Retry,
    RouteBackend,
    StreamRule,
)
from ingress.translate.readers.gateway.projection.filters import backend_object, filters_of
from ingress.translate.readers.gateway.projection.parts import Parts

ANY_HTTP: Final = (HTTPMatch(),)
"""What a rule matches that says nothing of that."""
_ANY_GRPC: Final = (GRPCMatch(),)
_NOWHERE: Final = BackendObject(UNREADABLE)
_ONE_NOWHERE: Final = (RouteBackend(_NOWHERE),)

_HTTP_FIELDS: Final = frozenset(("path", "headers", "queryParams", "method"))
_GRPC_FIELDS: Final = frozenset(("method", "headers"))
_HTTP_RULE_FIELDS: Final = frozenset(("name", "matches", "filters", "backendRefs", "timeouts", "retry"))
_GRPC_RULE_FIELDS: Final = frozenset(("name", "matches", "filters", "backendRefs"))
_MOST_UNREAD: Final = 16

# Rules of many routes have the same matches, and many backends the same port: one copy is kept.
_path_match = lru_cache(maxsize=1024)(PathMatch)
_http_match = lru_cache(maxsize=1024)(HTTPMatch)
_named_match = lru_cache(maxsize=1024)(NamedMatch)


def http_rule(raw: RawObject, at: str, parts: Parts) -> HTTPRule:
    """Return an entry of ``rules`` of an HTTPRoute."""
    fields = parts.fields
    request = backend = ""
    retry = None
    if raw.get("timeouts") is not None:
        timeouts = fields.mapping(raw, "timeouts", at) or {}
        timeouts_at = path_of(at, "timeouts")
        request = fields.word(timeouts, "request", timeouts_at) or ""
        backend = fields.word(timeouts, "backendRequest", timeouts_at) or ""
    if raw.get("retry") is not None:
        retry = _retry(raw, at, parts)
    return HTTPRule(
        at,
        _http_matches(raw, at, parts),
        filters_of(raw, at, parts) if "filters" in raw else (),
        backends_of(raw, at, parts),
        request,
        backend,
        retry,
        () if _HTTP_RULE_FIELDS.issuperset(raw) else _unread(raw, _HTTP_RULE_FIELDS),
    )


def grpc_rule(raw: RawObject, at: str, parts: Parts) -> GRPCRule:
    """Return an entry of ``rules`` of a GRPCRoute."""
    return GRPCRule(
        at,
        _grpc_matches(raw, at, parts),
        filters_of(raw, at, parts),
        backends_of(raw, at, parts),
        _unread(raw, _GRPC_RULE_FIELDS),
    )


def stream_rule(raw: RawObject, at: str, parts: Parts) -> StreamRule:
    """Return an entry of ``rules`` of a TLSRoute, TCPRoute or UDPRoute."""
    return StreamRule(at, backends_of(raw, at, parts))


def backends_of(parent: RawObject, parent_at: str, parts: Parts) -> tuple[RouteBackend, ...]:
    """Return ``backendRefs``; one that cannot be read keeps its share of requests, which others would get."""
    value = parent.get("backendRefs")
    if value is None:
        return ()
    if not isinstance(value, list):
        parts.fields.wrong_shape(path_of(parent_at, "backendRefs"), "a list", value)
        return _ONE_NOWHERE
    entries = parts.entries(parent, "backendRefs", parent_at)
    known = parts.backends_read
    if known is not None and known[0] == entries:
        # The rules of a route mostly lead to the same: what is told of nothing of it is not read again.
        return known[1]
    told = len(parts.fields.problems)
    found = []
    for index, entry in enumerate(entries):
        at = entry_path(parent_at, "backendRefs", index)
        if not isinstance(entry, dict):
            parts.fields.wrong_shape(at, "an object", entry)
            found.append(_ONE_NOWHERE[0])
            continue
        backend, weight = backend_object(entry, at, parts), parts.number(entry, "weight", at, 1)
        if backend is None or weight is None:
            backend, weight = _NOWHERE, 1 if weight is None else weight
        filters = filters_of(entry, at, parts) if "filters" in entry else ()
        found.append(RouteBackend(backend, weight, filters))
    backends = tuple(found)
    if len(parts.fields.problems) == told and all(map(_is_flat, entries)):
        parts.backends_read = entries, backends
    return backends


def _is_flat(entry: object) -> bool:
    """Whether an entry has nothing that has parts itself, such as filters, whose place would be another in another rule."""
    return isinstance(entry, dict) and not any(isinstance(value, dict | list) for value in entry.values())


def _unread(raw: RawObject, known: frozenset[str]) -> tuple[str, ...]:
    """Return the fields that are there and not *known*, as far as they can be named."""
    if known.issuperset(raw):
        return ()
    others: Iterable[object] = raw.keys() - known
    names = sorted(
        name for name in others if isinstance(name, str) and name.isprintable() and len(name) <= 64
    )
    return tuple(name for name in names if raw[name] is not None)[:_MOST_UNREAD]


def _http_matches(rule: RawObject, rule_at: str, parts: Parts) -> tuple[HTTPMatch, ...]:
    value = rule.get("matches")
    if value is None or value == []:
        return ANY_HTTP
    if not isinstance(value, list):
        parts.fields.wrong_shape(path_of(rule_at, "matches"), "a list", value)
        return (_http_match(is_broken=True),)
    found = []
    for index, entry in enumerate(parts.entries(rule, "matches", rule_at)):
        found.append(_read_http(entry, entry_path(rule_at, "matches", index), parts))
    if len(found) == 1 and found[0] is _match_of(found[0].path.type, found[0].path.value):
        return _only(found[0].path.type, found[0].path.value)
    return tuple(found)


def _read_http(raw: object, at: str, parts: Parts) -> HTTPMatch:
    if not isinstance(raw, dict):
        parts.fields.wrong_shape(at, "an object", raw)
        return _http_match(is_broken=True)
    path = _path(raw, at, parts)
    if path is not None and len(raw) == 1 and "path" in raw:
        # Most say no more.
        return _match_of(path.type, path.value)
    headers = _named(raw, "headers", at, parts)
    query = _named(raw, "queryParams", at, parts)
    method = parts.fields.word(raw, "method", at)
    is_broken = path is None or headers is None or query is None or method is None
    if _has_others(raw, _HTTP_FIELDS, at, parts):
        is_broken = True
    return HTTPMatch(path or _ROOT, headers or (), query or (), method or "", is_broken)


_ROOT: Final = ANY_HTTP[0].path


@lru_cache(maxsize=1024)
def _match_of(kind: str, path: str) -> HTTPMatch:
    return ANY_HTTP[0] if (kind, path) == (_ROOT.type, _ROOT.value) else HTTPMatch(_path_match(kind, path))


@lru_cache(maxsize=1024)
def _only(kind: str, path: str) -> tuple[HTTPMatch, ...]:
    """Return all that a rule matches which matches a path alone."""
    return (_match_of(kind, path),)


def _path(raw: RawObject, at: str, parts: Parts) -> PathMatch | None:
    value = raw.get("path")
    if value is None:
        return _ROOT
    path = parts.fields.mapping(raw, "path", at)
    if path is None:
        return None
    kind, text = path.get("type"), path.get("value")
    if is_text(kind) and is_text(text):
        return _path_match(intern(kind), text)
    at = path_of(at, "path")
    kind = parts.fields.word(path, "type", at, "PathPrefix")
    text = parts.fields.text(path, "value", at, "/")
    if kind is None or text is None:
        return None
    return _ROOT if text == "/" and kind == "PathPrefix" else _path_match(kind, text)


def _named(raw: RawObject, name: str, parent_at: str, parts: Parts) -> tuple[NamedMatch, ...] | None:
    """Return the matches of a list of headers or query parameters; None when one of them cannot be read."""
    value = raw.get(name)
    if value is None:
        return ()
    found: list[NamedMatch] = []
    for index, entry in enumerate(parts.entries(raw, name, parent_at)):
        at = entry_path(parent_at, name, index)
        if not isinstance(entry, dict):
            parts.fields.wrong_shape(at, "an object", entry)
            return None
        word = parts.required(entry, "name", at)
        kind = parts.fields.word(entry, "type", at, "Exact")
        text = parts.fields.text(entry, "value", at)
        if entry.get("value") is None:
            parts.fields.report(path_of(at, "value"), "is missing")
            return None
        if word is None or kind is None or text is None:
            return None
        found.append(_named_match(word, kind, text))
    return tuple(found) if isinstance(value, list) else None


def _grpc_matches(rule: RawObject, rule_at: str, parts: Parts) -> tuple[GRPCMatch, ...]:
    value = rule.get("matches")
    if value is None or value == []:
        return _ANY_GRPC
    if not isinstance(value, list):
        parts.fields.wrong_shape(path_of(rule_at, "matches"), "a list", value)
        return (GRPCMatch(is_broken=True),)
    entries = parts.entries(rule, "matches", rule_at)
    return tuple(
        _read_grpc(entry, entry_path(rule_at, "matches", index), parts) for index, entry in enumerate(entries)
    )


def _read_grpc(raw: object, at: str, parts: Parts) -> GRPCMatch:
    if not isinstance(raw, dict):
        parts.fields.wrong_shape(at, "an object", raw)
        return GRPCMatch(is_broken=True)
    headers = _named(raw, "headers", at, parts)
    is_broken = headers is None or _has_others(raw, _GRPC_FIELDS, at, parts)
    method = None
    if raw.get("method") is not None:
        method = _method(raw, at, parts)
        is_broken = is_broken or method is None
    return GRPCMatch(method, headers or (), is_broken)


def _method(raw: RawObject, at: str, parts: Parts) -> MethodMatch | None:
    method = parts.fields.mapping(raw, "method", at)
    if method is None:
        return None
    at = path_of(at, "method")
    kind = parts.fields.word(method, "type", at, "Exact")
    service = parts.fields.text(method, "service", at)
    name = parts.fields.text(method, "method", at)
    return None if kind is None or service is None or name is None else MethodMatch(kind, service, name)


def _has_others(raw: RawObject, known: frozenset[str], at: str, parts: Parts) -> bool:
    """Whether a match asks for what nobody here knows: without that it would be met by more requests."""
    if known.issuperset(raw):
        return False
    unread = _unread(raw, known)
    if not unread:
        return any(raw[name] is not None for name in raw.keys() - known)
    parts.fields.report(path_of(at, unread[0]), "is nothing that is known, so no request meets this match")
    return True


def _retry(rule: RawObject, rule_at: str, parts: Parts) -> Retry | None:
    fields = parts.fields
    retry, at = fields.mapping(rule, "retry", rule_at), path_of(rule_at, "retry")
    if retry is None:
        return None
    codes = []
    for index, entry in enumerate(parts.entries(retry, "codes", at)):
        if type(entry) is int and 0 <= entry <= 999:
            codes.append(entry)
        else:
            fields.report(entry_path(at, "codes", index), "must be the number of a status")
    attempts = None if retry.get("attempts") is None else fields.port(retry, "attempts", at)
    return Retry(tuple(codes), attempts, fields.word(retry, "backoff", at) or "")
