"""The projection of listeners, which Gateways and ListenerSets have alike."""

from functools import lru_cache
from typing import Final, Literal

from ingress.model.cluster.label_selectors import ANY_LABELS
from ingress.model.cluster.problems import Reason
from ingress.object_fields import RawObject, path_of
from ingress.translate.readers.gateway.objects.gateways import (
    AllowedNamespaces,
    GatewayListener,
    ListenerTls,
    RouteKindName,
)
from ingress.translate.readers.gateway.objects.names import GROUP
from ingress.translate.readers.gateway.projection.parts import Parts

NO_NAMESPACES: Final = AllowedNamespaces("None")
_UNKNOWN_KIND: Final = RouteKindName("", "")

_allowed = lru_cache(maxsize=1024)(AllowedNamespaces)
_kind_name = lru_cache(maxsize=64)(RouteKindName)


def listeners_of(spec: RawObject, parts: Parts) -> tuple[GatewayListener, ...]:
    """Return the listeners of *spec*.  One that cannot be read has no protocol, so it is not served, and keeps its place."""
    return parts.each(
        spec, "listeners", "spec", lambda raw, at: _listener(raw, at, parts), lambda at: _lost("", 0, at)
    )


def _lost(name: str, port: int, at: str) -> GatewayListener:
    return GatewayListener(name, port, "", namespaces=NO_NAMESPACES, field=at)


def _listener(raw: RawObject, at: str, parts: Parts) -> GatewayListener:
    fields = parts.fields
    name = fields.word(raw, "name", at)
    port = fields.port(raw, "port", at)
    protocol = fields.word(raw, "protocol", at)
    hostname = fields.text(raw, "hostname", at)
    tls = _tls(raw, at, parts)
    if raw.get("filters") is not None:
        # Those of listeners (version 1.7, experimental) say who may come in.
        message = "is not honored; nobody is served by this listener"
        fields.report(path_of(at, "filters"), message, Reason.UNSUPPORTED_VALUE)
        return _lost(name or "", port or 0, at)
    namespaces, kinds = _allowed_routes(raw, at, parts)
    if name is None or port is None or protocol is None or hostname is None or tls is False:
        return _lost(name or "", port or 0, at)
    return GatewayListener(name, port, protocol, hostname, tls or None, namespaces, kinds, at)


def _tls(raw: RawObject, at: str, parts: Parts) -> ListenerTls | Literal[False] | None:
    """Return ``tls`` of a listener, None when it has none, False when it cannot be read."""
    if raw.get("tls") is None:
        return None
    tls = parts.fields.mapping(raw, "tls", at)
    if tls is None:
        return False
    at = path_of(at, "tls")
    mode = parts.fields.word(tls, "mode", at, "Terminate")
    certificates = parts.references(tls, "certificateRefs", at, "", "Secret")
    options = parts.named_texts(tls, "options", at)
    if mode is None or options is None:
        return False
    return ListenerTls(mode, certificates, options)


def _allowed_routes(
    raw: RawObject, at: str, parts: Parts
) -> tuple[AllowedNamespaces, tuple[RouteKindName, ...]]:
    allowed = parts.fields.mapping(raw, "allowedRoutes", at)
    if allowed is None:
        return NO_NAMESPACES, (_UNKNOWN_KIND,)
    at = path_of(at, "allowedRoutes")
    value = allowed.get("kinds")
    if value is not None and not isinstance(value, list):
        parts.fields.wrong_shape(path_of(at, "kinds"), "a list", value)
        return NO_NAMESPACES, (_UNKNOWN_KIND,)
    # None at all would mean all that the protocol can carry.
    kinds = parts.each(
        allowed, "kinds", at, lambda raw, at: _route_kind(raw, at, parts), lambda at: _UNKNOWN_KIND
    )
    return allowed_namespaces(allowed, at, parts, "Same"), kinds


def _route_kind(raw: RawObject, at: str, parts: Parts) -> RouteKindName:
    group = parts.fields.word(raw, "group", at, GROUP)
    kind = parts.required(raw, "kind", at)
    return _UNKNOWN_KIND if group is None or kind is None else _kind_name(group, kind)


def allowed_namespaces(parent: RawObject, at: str, parts: Parts, default: str) -> AllowedNamespaces:
    """Return ``namespaces`` of *parent*; none are allowed when it cannot be read."""
    namespaces = parts.fields.mapping(parent, "namespaces", at)
    if namespaces is None:
        return NO_NAMESPACES
    at = path_of(at, "namespaces")
    scope = parts.fields.word(namespaces, "from", at, default)
    if scope is None:
        return NO_NAMESPACES
    selector = parts.selector(namespaces, "selector", at) if scope == "Selector" else ANY_LABELS
    return _allowed(scope, selector)
