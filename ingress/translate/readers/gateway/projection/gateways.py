"""The projection of GatewayClasses, Gateways and ListenerSets."""

from functools import partial
from ipaddress import ip_address

from ingress.model.cluster.problems import Reason
from ingress.object_fields import FieldReader, RawObject, is_object, path_of
from ingress.translate.readers.creation_time import created_of
from ingress.translate.readers.gateway.objects.gateways import (
    FrontendValidation,
    Gateway,
    GatewayAddress,
    GatewayClass,
    ListenerSet,
)
from ingress.translate.readers.gateway.objects.names import GATEWAY, GROUP
from ingress.translate.readers.gateway.projection.listeners import (
    NO_NAMESPACES,
    allowed_namespaces,
    listeners_of,
)
from ingress.translate.readers.gateway.projection.parts import Parts, TooManyEntriesError, spec_of

_MOST_GIVEN = 16
_LONGEST_ADDRESS = 64


def project_gateway_class(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> GatewayClass | None:
    """Project a GatewayClass; one whose controller cannot be read is nobody's."""
    spec = reader.mapping(raw, "spec", "") or {}
    parts = Parts(reader)
    return GatewayClass(
        reader.key,
        created_of(metadata, reader),
        reader.word(spec, "controllerName", "spec") or "",
        parts.reference_in(spec, "parametersRef", "spec"),
    )


def project_gateway(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> Gateway | None:
    """Project a Gateway; one whose class cannot be read, or what it asks of clients, is nobody's."""
    spec = spec_of(raw, reader)
    if spec is None:
        return None
    class_name = reader.word(spec, "gatewayClassName", "spec")
    if class_name is None:
        return None
    if spec.get("defaultScope") not in (None, "None"):
        message = "is not honored; routes name their Gateways in parentRefs"
        reader.report("spec.defaultScope", message, Reason.UNSUPPORTED_VALUE)
    created, parts = created_of(metadata, reader), Parts(reader)
    told = len(reader.problems)
    try:
        return _gateway(raw, spec, parts, created, class_name)
    except TooManyEntriesError:
        parts.too_many("spec", told)
        return Gateway(reader.key, created, class_name)
    finally:
        parts.end()


def _gateway(raw: RawObject, spec: RawObject, parts: Parts, created: str, class_name: str) -> Gateway | None:
    fields = parts.fields
    tls = fields.mapping(spec, "tls", "spec")
    frontend = _Frontend(parts)
    if tls is None or not frontend.read(tls):
        return None
    backend = fields.mapping(tls, "backend", "spec.tls")
    if backend is None:
        return None
    infrastructure = fields.mapping(spec, "infrastructure", "spec") or {}
    at = "spec.infrastructure"
    allowed = fields.mapping(spec, "allowedListeners", "spec")
    return Gateway(
        key=fields.key,
        created=created,
        class_name=class_name,
        listeners=listeners_of(spec, parts),
        # An address of no type is none that can be had, where one without value would be any.
        addresses=parts.each(
            spec, "addresses", "spec", partial(_address, parts), lambda path: GatewayAddress("", "")
        ),
        given=_given(raw),
        infrastructure=parts.reference_in(infrastructure, "parametersRef", at, is_local=True),
        labels=parts.named_texts(infrastructure, "labels", at) or (),
        annotations=parts.named_texts(infrastructure, "annotations", at) or (),
        listener_sets=NO_NAMESPACES
        if allowed is None
        else allowed_namespaces(allowed, "spec.allowedListeners", parts, "None"),
        backend_certificate=parts.reference_in(
            backend, "clientCertificateRef", "spec.tls.backend", "", "Secret"
        ),
        frontend=frontend.default,
        frontend_by_port=tuple(frontend.by_port),
    )


def _address(parts: Parts, raw: RawObject, at: str) -> GatewayAddress:
    kind = parts.fields.word(raw, "type", at, "IPAddress")
    value = parts.fields.text(raw, "value", at)
    return GatewayAddress("", "") if kind is None or value is None else GatewayAddress(kind, value)


def _given(raw: RawObject) -> tuple[str, ...]:
    """Return the IP addresses in the status, which programs write: what cannot be read is none."""
    status = raw.get("status")
    entries = status.get("addresses") if is_object(status) else None
    found = []
    for entry in entries[:_MOST_GIVEN] if isinstance(entries, list) else ():
        value = entry.get("value") if is_object(entry) else None
        if isinstance(value, str) and len(value) <= _LONGEST_ADDRESS:
            try:
                found.append(str(ip_address(value)))
            except ValueError:
                continue
    return tuple(found)


class _Frontend:
    """Reads ``tls.frontend``: what is asked of clients, everywhere and on some ports."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._is_lost = False
        self.default: FrontendValidation | None = None
        self.by_port: list[tuple[int, FrontendValidation | None]] = []

    def read(self, tls: RawObject) -> bool:
        """Return whether all of it could be read: what is lost would let everybody in."""
        fields = self._parts.fields
        at = "spec.tls.frontend"
        frontend = fields.mapping(tls, "frontend", "spec.tls")
        if frontend is None:
            return False
        self.default = self._validation(frontend, "default", at)
        value = frontend.get("perPort")
        if value is not None and not isinstance(value, list):
            fields.wrong_shape(path_of(at, "perPort"), "a list", value)
            return False
        self._parts.each(frontend, "perPort", at, self._port, self._lost)
        return not self._is_lost

    def _port(self, raw: RawObject, at: str) -> None:
        port = self._parts.fields.port(raw, "port", at)
        validation = self._validation(raw, "tls", at)
        if port is None:
            self._is_lost = True
        else:
            self.by_port.append((port, validation))

    def _lost(self, at: str) -> None:
        self._is_lost = True

    def _validation(self, parent: RawObject, name: str, at: str) -> FrontendValidation | None:
        fields = self._parts.fields
        config = fields.mapping(parent, name, at)
        at = path_of(at, name)
        validation = None if config is None else fields.mapping(config, "validation", at)
        if config is None or validation is None:
            self._is_lost = True
            return None
        if config.get("validation") is None:
            return None
        at = path_of(at, "validation")
        mode = fields.word(validation, "mode", at, "AllowValidOnly")
        authorities = self._parts.references(validation, "caCertificateRefs", at)
        return FrontendValidation(authorities, "AllowValidOnly" if mode is None else mode, at)


def project_listener_set(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> ListenerSet | None:
    """Project a ListenerSet; without a parent that can be read it belongs to no Gateway."""
    spec = spec_of(raw, reader)
    if spec is None:
        return None
    parts = Parts(reader)
    parent = parts.reference_in(spec, "parentRef", "spec", GROUP, GATEWAY)
    if parent is None:
        reader.report("spec.parentRef", "is missing")
    created = created_of(metadata, reader)
    told = len(reader.problems)
    try:
        return ListenerSet(reader.key, created, parent, listeners_of(spec, parts))
    except TooManyEntriesError:
        parts.too_many("spec.listeners", told)
        return ListenerSet(reader.key, created, parent)
    finally:
        parts.end()
