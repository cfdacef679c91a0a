"""The projection of filters of routes and of their backends; one that cannot be read as a whole answers 500."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, Literal

from ingress.object_fields import FieldReader, RawObject, entry_path, path_of
from ingress.translate.readers.gateway.objects.names import UNREADABLE
from ingress.translate.readers.gateway.objects.routes import (
    CORS,
    BackendObject,
    FilterEntry,
    HeaderEdits,
    PathEdit,
    RequestMirror,
    RequestRedirect,
    RouteFilter,
    UnreadFilter,
    URLRewrite,
)
from ingress.translate.readers.gateway.projection.parts import Parts


def filters_of(parent: RawObject, parent_at: str, parts: Parts) -> tuple[FilterEntry, ...]:
    """Return the filters of *parent*, a rule or a backend."""
    value = parent.get("filters")
    if value is None:
        return ()
    if not isinstance(value, list):
        at = path_of(parent_at, "filters")
        parts.fields.wrong_shape(at, "a list", value)
        return (FilterEntry("", UnreadFilter(""), at),)
    found = []
    for index, entry in enumerate(parts.entries(parent, "filters", parent_at)):
        found.append(_filter(entry, entry_path(parent_at, "filters", index), parts))
    return tuple(found)


def backend_object(raw: RawObject, at: str, parts: Parts) -> BackendObject | None:
    """Return the object and port that *raw* refers to; None where that cannot be read."""
    target = parts.reference(raw, at, "", "Service")
    port = parts.fields.port(raw, "port", at)
    return None if target is UNREADABLE or port is None else _backend_object(target, port)


# The rules of a route mostly lead to the same few: one copy is kept.
_backend_object = lru_cache(maxsize=256)(BackendObject)


def _filter(raw: object, at: str, parts: Parts) -> FilterEntry:
    if not isinstance(raw, dict):
        parts.fields.wrong_shape(at, "an object", raw)
        return FilterEntry("", UnreadFilter(""), at)
    kind = parts.required(raw, "type", at) or ""
    row = _READERS.get(kind)
    # A filter whose type says nothing of it would be left out.
    besides = [name for name in _CONFIGS if raw.get(name) is not None and (row is None or name != row[0])]
    if besides and row is not None:
        parts.fields.report(path_of(at, besides[0]), f"has no meaning where type is {kind}")
        row = None
    if row is None:
        return FilterEntry(kind, UnreadFilter(kind), at)
    name, read = row
    config_at = path_of(at, name)
    config = raw.get(name)
    if not isinstance(config, dict):
        if config is None:
            parts.fields.report(config_at, "is missing")
        else:
            parts.fields.wrong_shape(config_at, "an object", config)
        return FilterEntry(kind, UnreadFilter(kind), at)
    return FilterEntry(kind, read(config, config_at, parts) or UnreadFilter(kind), at)


def _edits(raw: RawObject, at: str, parts: Parts) -> HeaderEdits | None:
    put, add = _headers(raw, "set", at, parts), _headers(raw, "add", at, parts)
    drop = parts.texts(raw, "remove", at)
    return None if put is None or add is None or drop is None else HeaderEdits(put, add, drop)


def _headers(raw: RawObject, name: str, parent_at: str, parts: Parts) -> tuple[tuple[str, str], ...] | None:
    value = raw.get(name)
    if value is None:
        return ()
    found = []
    for index, entry in enumerate(parts.entries(raw, name, parent_at)):
        at = entry_path(parent_at, name, index)
        if not isinstance(entry, dict):
            parts.fields.wrong_shape(at, "an object", entry)
            return None
        field, text = parts.required(entry, "name", at), parts.fields.text(entry, "value", at)
        if field is None or text is None:
            return None
        found.append((field, text))
    return tuple(found) if isinstance(value, list) else None


def _path(raw: RawObject, parent_at: str, fields: FieldReader) -> PathEdit | Literal[False] | None:
    """Return ``path``, None when there is none, False when it cannot be read."""
    if raw.get("path") is None:
        return None
    path = fields.mapping(raw, "path", parent_at)
    at = path_of(parent_at, "path")
    kind = None if path is None else fields.word(path, "type", at)
    if path is None or kind is None:
        return False
    name = {"ReplaceFullPath": "replaceFullPath", "ReplacePrefixMatch": "replacePrefixMatch"}.get(kind)
    if name is None:
        return PathEdit(kind, "")
    if path.get(name) is None:
        fields.report(path_of(at, name), "is missing")
        return False
    value = fields.text(path, name, at)
    return False if value is None else PathEdit(kind, value)


def _redirect(raw: RawObject, at: str, parts: Parts) -> RequestRedirect | None:
    fields = parts.fields
    scheme, hostname = fields.word(raw, "scheme", at), fields.text(raw, "hostname", at)
    path, port = _path(raw, at, fields), fields.port(raw, "port", at)
    status = parts.number(raw, "statusCode", at, 302)
    if scheme is None or hostname is None or path is False or port is None or status is None:
        return None
    return RequestRedirect(scheme, hostname, path or None, port, status)


def _rewrite(raw: RawObject, at: str, parts: Parts) -> URLRewrite | None:
    hostname, path = parts.fields.text(raw, "hostname", at), _path(raw, at, parts.fields)
    return None if hostname is None or path is False else URLRewrite(hostname, path or None)


def _mirror(raw: RawObject, at: str, parts: Parts) -> RequestMirror | None:
    fields = parts.fields
    backend = fields.mapping(raw, "backendRef", at)
    if backend is None:
        return None
    found = backend_object(backend, path_of(at, "backendRef"), parts)
    if found is None:
        return None
    percent, fraction = raw.get("percent"), raw.get("fraction")
    if percent is not None and fraction is not None:
        fields.report(path_of(at, "fraction"), "stands beside percent, which says the same")
        return None
    if percent is not None:
        part = fields.port(raw, "percent", at)
        return None if part is None else RequestMirror(found, part, 100)
    if fraction is None:
        return RequestMirror(found)
    parted, at = fields.mapping(raw, "fraction", at), path_of(at, "fraction")
    if parted is None:
        return None
    if parted.get("numerator") is None:
        fields.report(path_of(at, "numerator"), "is missing")
        return None
    numerator, denominator = (
        fields.port(parted, "numerator", at),
        parts.number(parted, "denominator", at, 100),
    )
    return None if numerator is None or denominator is None else RequestMirror(found, numerator, denominator)


def _cors(raw: RawObject, at: str, parts: Parts) -> CORS | None:
    origins, methods = parts.texts(raw, "allowOrigins", at), parts.texts(raw, "allowMethods", at)
    headers, exposed = parts.texts(raw, "allowHeaders", at), parts.texts(raw, "exposeHeaders", at)
    age = parts.number(raw, "maxAge", at, 5)
    credentials = raw.get("allowCredentials")
    if credentials is not None and not isinstance(credentials, bool):
        parts.fields.wrong_shape(path_of(at, "allowCredentials"), "a boolean", credentials)
        return None
    if origins is None or methods is None or headers is None or exposed is None or age is None:
        return None
    return CORS(origins, credentials is True, methods, headers, exposed, age)


_Read = Callable[[RawObject, str, Parts], RouteFilter | None]
_READERS: Final[Mapping[str, tuple[str, _Read]]] = {
    "RequestHeaderModifier": ("requestHeaderModifier", _edits),
    "ResponseHeaderModifier": ("responseHeaderModifier", _edits),
    "RequestRedirect": ("requestRedirect", _redirect),
    "URLRewrite": ("urlRewrite", _rewrite),
    "RequestMirror": ("requestMirror", _mirror),
    "CORS": ("cors", _cors),
}
_CONFIGS: Final = (*(name for name, _ in _READERS.values()), "extensionRef", "externalAuth")
