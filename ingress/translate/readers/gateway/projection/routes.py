"""The projection of HTTPRoutes, GRPCRoutes, TLSRoutes, TCPRoutes and UDPRoutes."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeVar

from ingress.model.cluster.problems import Reason
from ingress.object_fields import FieldReader, RawObject, entry_path
from ingress.translate.readers.creation_time import created_of
from ingress.translate.readers.gateway.objects.names import GATEWAY, GROUP, UNREADABLE
from ingress.translate.readers.gateway.objects.routes import (
    GRPCRoute,
    HTTPRoute,
    HTTPRule,
    ParentReference,
    TCPRoute,
    TLSRoute,
    UDPRoute,
)
from ingress.translate.readers.gateway.projection.parts import Parts, TooManyEntriesError, spec_of
from ingress.translate.readers.gateway.projection.rules import (
    ANY_HTTP,
    grpc_rule,
    http_rule,
    stream_rule,
)

_T = TypeVar("_T")
_parent = lru_cache(maxsize=1024)(ParentReference)
_DEFAULT_RULES: Final = (HTTPRule("spec.rules[0]", matches=ANY_HTTP),)
_NO_PARENT: Final = ParentReference(UNREADABLE)


def project_http_route(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> HTTPRoute | None:
    """Project an HTTPRoute."""
    route = _Route(raw, metadata, reader)
    if route.spec is None or route.hostnames is None:
        return None
    # The API fills in one rule, for all paths, which answers 500.
    rules = _DEFAULT_RULES if route.spec.get("rules") is None else route.rules(http_rule)
    return HTTPRoute(reader.key, route.created, route.parents, route.hostnames, rules)


def project_grpc_route(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> GRPCRoute | None:
    """Project a GRPCRoute."""
    route = _Route(raw, metadata, reader)
    if route.spec is None or route.hostnames is None:
        return None
    return GRPCRoute(reader.key, route.created, route.parents, route.hostnames, route.rules(grpc_rule))


def project_tls_route(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> TLSRoute | None:
    """Project a TLSRoute."""
    route = _Route(raw, metadata, reader)
    if route.spec is None or route.hostnames is None:
        return None
    return TLSRoute(reader.key, route.created, route.parents, route.hostnames, route.rules(stream_rule))


def project_tcp_route(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> TCPRoute | None:
    """Project a TCPRoute."""
    route = _Route(raw, metadata, reader)
    if route.spec is None:
        return None
    return TCPRoute(reader.key, route.created, route.parents, route.rules(stream_rule))


def project_udp_route(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> UDPRoute | None:
    """Project a UDPRoute."""
    route = _Route(raw, metadata, reader)
    if route.spec is None:
        return None
    return UDPRoute(reader.key, route.created, route.parents, route.rules(stream_rule))


class _Route:
    """What all routes have alike."""

    __slots__ = ("_parts", "created", "hostnames", "parents", "spec")

    def __init__(self, raw: RawObject, metadata: RawObject, fields: FieldReader) -> None:
        self._parts = parts = Parts(fields)
        self.created = ""
        self.parents: tuple[ParentReference, ...] = ()
        self.hostnames: tuple[str, ...] | None = ()
        """None where there are some, and none can be read: without hostnames it would have all of its listeners'."""
        self.spec = spec_of(raw, fields)
        if self.spec is None:
            return
        self.created = created_of(metadata, fields)
        if self.spec.get("useDefaultGateways") not in (None, "None"):
            message = "is not honored; name the Gateways in parentRefs"
            fields.report("spec.useDefaultGateways", message, Reason.UNSUPPORTED_VALUE)
        told = len(fields.problems)
        try:
            self.parents = self._parents(self.spec)
            self.hostnames = self._hostnames(self.spec)
        except TooManyEntriesError:
            parts.too_many("spec", told)
            self.hostnames = None

    def _parents(self, spec: RawObject) -> tuple[ParentReference, ...]:
        fields, found = self._parts.fields, []
        for index, raw in enumerate(self._parts.entries(spec, "parentRefs", "spec")):
            at = entry_path("spec", "parentRefs", index)
            if not isinstance(raw, dict):
                fields.wrong_shape(at, "an object", raw)
                found.append(_NO_PARENT)
                continue
            parent = self._parts.reference(raw, at, GROUP, GATEWAY)
            section, port = fields.word(raw, "sectionName", at), fields.port(raw, "port", at)
            # Without its section or port it would attach to all listeners.
            lost = section is None or port is None
            found.append(_NO_PARENT if lost else _parent(parent, section, port))
        return tuple(found)

    def _hostnames(self, spec: RawObject) -> tuple[str, ...] | None:
        value = spec.get("hostnames")
        if value is None:
            return ()
        self._parts.entries(spec, "hostnames", "spec")
        found = self._parts.fields.texts(spec, "hostnames", "spec")
        return found if found or value == [] else None

    def rules(self, read: Callable[[RawObject, str, Parts], _T]) -> tuple[_T, ...]:
        """Return what *read* makes of each rule; one that is none matches nothing."""
        parts = self._parts
        assert self.spec is not None
        told = len(parts.fields.problems)
        try:
            found = parts.each(
                self.spec, "rules", "spec", lambda raw, at: read(raw, at, parts), lambda at: None
            )
        except TooManyEntriesError:
            parts.too_many("spec.rules", told)
            return ()
        finally:
            parts.end()
        return tuple(one for one in found if one is not None)
