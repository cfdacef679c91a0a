"""The projection of an Ingress and of an IngressClass, in the present and the old (``v1beta1``) spelling.

How small a part a malformed field costs is decided by one rule: what is lost must
never widen what is left.  A rule whose host cannot be read is dropped, for without
a host it would take every host; a path entry that cannot be read leaves its rule a
rule with ``http``; a backend that cannot be read leaves its path in place, so that
no shorter path serves in its stead; and an Ingress whose class cannot be read is
nobody's.

Source: ``networking.k8s.io/v1`` and ``v1beta1``, ``IngressSpec`` and ``IngressClassSpec``.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from sys import intern
from types import MappingProxyType

from ingress.model.cluster.problems import Reason
from ingress.model.stepwise import Stepwise, finished
from ingress.object_fields import FieldReader, RawObject, path_of, shape_of
from ingress.translate.readers.creation_time import created_of
from ingress.translate.readers.ingress.objects import (
    CLASS_ANNOTATION,
    Ingress,
    IngressBackend,
    IngressClass,
    IngressPath,
    IngressRule,
    IngressTLS,
    ServicePortReference,
)

DEFAULT_CLASS_ANNOTATION = "ingressclass.kubernetes.io/is-default-class"

ISSUING_ANNOTATIONS = (
    "cert-manager.io/cluster-issuer",
    "cert-manager.io/issuer",
    "certmanager.k8s.io/cluster-issuer",
    "certmanager.k8s.io/issuer",
    "kubernetes.io/tls-acme",
)
"""Those by which cert-manager makes certificates for ``spec.tls`` (https://cert-manager.io/docs/usage/ingress/)."""

MAX_ANNOTATION_CHARACTERS = 64 * 1024
"""The API allows 256 KiB for all annotations of an object; no single one needs a quarter of that."""

_NOT_IN_ANNOTATIONS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_DIGITS = re.compile(r"[0-9]{1,5}")
_SHOWN_BELOW = 10**18
_ENTRIES_A_STEP = 50

# Most Ingresses have none, a few ports serve them all, and the paths of one lead to the same: one copy is kept.
_NO_ANNOTATIONS: Mapping[str, str] = MappingProxyType({})
_port_reference = lru_cache(maxsize=1024)(ServicePortReference)
_ingress_backend = lru_cache(maxsize=1024)(IngressBackend)


def project_ingress(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> Ingress | None:
    """Project an Ingress; *old* says that it is written as ``v1beta1``."""
    return finished(projecting_ingress(raw, metadata, reader, annotations_prefix, old))


def projecting_ingress(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> Stepwise[Ingress | None]:
    """Do the same in steps, for who has to do it beside requests: it may have thousands of paths."""
    spec = reader.mapping(raw, "spec", "")
    found = yield from _annotations(metadata, reader, annotations_prefix)
    if spec is None or found is None:
        return None
    annotations, unreadable = found
    if not spec:
        reader.report("spec", "is missing or empty")
        return None
    class_name: str | None = None
    if spec.get("ingressClassName") is not None:
        class_name = reader.word(spec, "ingressClassName", "spec")
        if class_name is None:
            return None
    name = "backend" if old and spec.get("defaultBackend") is None else "defaultBackend"
    default = _backend(spec, name, "spec", reader, old)
    rules = yield from _rules(spec, reader, old)
    tls = yield from _tls(spec, reader)
    return Ingress(
        key=reader.key,
        created=created_of(metadata, reader),
        class_name=class_name,
        annotations=annotations,
        unreadable=unreadable,
        issued_by=_issued_by(metadata),
        default_backend=default,
        rules=rules,
        tls=tls,
    )


def project_ingress_class(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> IngressClass:
    """Project an IngressClass."""
    # A class whose controller cannot be read is kept: nobody serves it, and it is no
    # missing class, which would be judged by its name alone.
    spec = reader.mapping(raw, "spec", "") or {}
    controller = reader.text(spec, "controller", "spec") or ""
    annotations = reader.mapping(metadata, "annotations", "metadata") or {}
    is_default = annotations.get(DEFAULT_CLASS_ANNOTATION)
    if is_default is not None and not isinstance(is_default, str):
        field = f"metadata.annotations[{DEFAULT_CLASS_ANNOTATION}]"
        reader.report(field, "must be text; write the value in quotes", Reason.INVALID_ANNOTATION)
    return IngressClass(reader.key, controller, is_default == "true")


def _annotations(
    metadata: RawObject, reader: FieldReader, prefix: str
) -> Stepwise[tuple[Mapping[str, str], tuple[str, ...]] | None]:
    """Return the annotations that matter, and the names of those that cannot be read; None when one of these is that of the class.

    What one would guard that cannot be read is for the reader of annotations to close.
    """
    kept: dict[str, str] = {}
    unreadable: list[str] = []
    below = prefix + "/"
    annotations = reader.mapping(metadata, "annotations", "metadata")
    if annotations is None:
        return None
    for number, (name, value) in enumerate(annotations.items(), 1):
        if not number % _ENTRIES_A_STEP:
            yield
        if not isinstance(name, str) or not (name.startswith(below) or name == CLASS_ANNOTATION):
            continue
        fault = ""
        if type(value) is not str:
            fault = (
                f"must be text, but is {_shown(value)}, which no API server takes; write the value in quotes"
            )
        elif len(value) > MAX_ANNOTATION_CHARACTERS:
            fault = f"is longer than {MAX_ANNOTATION_CHARACTERS} characters"
        elif not value.isprintable() and _NOT_IN_ANNOTATIONS.search(value) is not None:
            fault = "holds control characters"
        elif not name.isprintable():
            fault = "has unprintable characters in its name"
        else:
            kept[intern(name)] = value
            continue
        field = f"metadata.annotations[{name if name.isprintable() else ascii(name)}]"
        if name == CLASS_ANNOTATION:
            reader.report(field, fault)
            return None
        reader.report(field, fault, Reason.INVALID_ANNOTATION)
        unreadable.append(name)
    return kept or _NO_ANNOTATIONS, tuple(unreadable)


def _shown(value: object) -> str:
    """Return *value*, which should be text, as it was most likely written, if it is short and can be; else its shape."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) and abs(value) < _SHOWN_BELOW else shape_of(value)


def _issued_by(metadata: RawObject) -> str:
    """Return the annotation that has cert-manager make the Secrets, empty for none; what it says is for cert-manager."""
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict):
        return ""
    return next(
        (name for name in ISSUING_ANNOTATIONS if annotations.get(name) not in (None, "", "false")), ""
    )


def _rules(spec: RawObject, reader: FieldReader, old: bool) -> Stepwise[tuple[IngressRule, ...]]:
    rules: list[IngressRule] = []
    for number, (at, raw) in enumerate(reader.each_object(spec, "rules", "spec"), 1):
        if not number % _ENTRIES_A_STEP:
            yield
        host = reader.text(raw, "host", at)
        if host is None:
            continue
        paths: tuple[IngressPath, ...] | None = None
        if raw.get("http") is not None:
            http = reader.mapping(raw, "http", at)
            paths = () if http is None else (yield from _paths(http, path_of(at, "http"), reader, old))
        rules.append(IngressRule(host, paths))
    return tuple(rules)


def _paths(
    http: RawObject, http_at: str, reader: FieldReader, old: bool
) -> Stepwise[tuple[IngressPath, ...]]:
    paths: list[IngressPath] = []
    for number, (at, raw) in enumerate(reader.each_object(http, "paths", http_at), 1):
        if not number % _ENTRIES_A_STEP:
            yield
        # ``v1beta1`` defaults the type of a path; ``v1`` has no default.
        path_type = reader.word(raw, "pathType", at, "ImplementationSpecific" if old else "")
        path = reader.word(raw, "path", at)
        if path is not None and path_type is not None:
            paths.append(IngressPath(path, path_type, _backend(raw, "backend", at, reader, old)))
    return tuple(paths)


def _backend(
    parent: RawObject, name: str, parent_at: str, reader: FieldReader, old: bool
) -> IngressBackend | None:
    raw = parent.get(name)
    if raw is None:
        return None
    at = path_of(parent_at, name)
    if not isinstance(raw, dict):
        reader.wrong_shape(at, "an object", raw)
        return None
    service = raw.get("service")
    resource = raw.get("resource")
    if service is None and ("serviceName" in raw or "servicePort" in raw):
        if old:
            return _old_backend(raw, at, reader)
        reader.report(f"{at}.serviceName", "is the v1beta1 spelling; v1 has service.name and service.port")
    service_name = resource_kind = resource_name = ""
    port = ServicePortReference()
    if isinstance(service, dict):
        service_at = path_of(at, "service")
        service_name = reader.word(service, "name", service_at) or ""
        port = _port(service, service_at, reader)
    elif service is not None:
        reader.wrong_shape(f"{at}.service", "an object", service)
    if isinstance(resource, dict):
        kind = reader.word(resource, "kind", f"{at}.resource") or ""
        group = reader.word(resource, "apiGroup", f"{at}.resource") or ""
        resource_kind = f"{kind}.{group}" if group else kind
        resource_name = reader.text(resource, "name", f"{at}.resource") or ""
    elif resource is not None:
        reader.wrong_shape(f"{at}.resource", "an object", resource)
    return _ingress_backend(service_name, port, resource_kind, resource_name)


def _port(service: RawObject, at: str, reader: FieldReader) -> ServicePortReference:
    port = reader.mapping(service, "port", at)
    if not port:
        return _port_reference()
    at = path_of(at, "port")
    return _port_reference(reader.word(port, "name", at) or "", reader.port(port, "number", at) or 0)


def _old_backend(raw: RawObject, at: str, reader: FieldReader) -> IngressBackend:
    service = reader.word(raw, "serviceName", at) or ""
    port = reader.port_or_name(raw, "servicePort", at)
    if isinstance(port, str) and _DIGITS.fullmatch(port):
        # A port name must hold a letter, so digits in quotes can only mean the number.
        port = int(port)
    if isinstance(port, str):
        return IngressBackend(service, ServicePortReference(name=port))
    return IngressBackend(service, ServicePortReference(number=port or 0))


def _tls(spec: RawObject, reader: FieldReader) -> Stepwise[tuple[IngressTLS, ...]]:
    entries: list[IngressTLS] = []
    for number, (at, raw) in enumerate(reader.each_object(spec, "tls", "spec"), 1):
        if not number % _ENTRIES_A_STEP:
            yield
        hosts = reader.texts(raw, "hosts", at)
        if raw.get("hosts") and not hosts:
            # No hosts at all would mean "every host of this Ingress".
            continue
        entries.append(IngressTLS(hosts, reader.word(raw, "secretName", at) or ""))
    return tuple(entries)
