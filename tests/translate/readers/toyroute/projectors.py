"""What is kept of raw toy routes and doors, and what is wrong with them."""

from ingress.object_fields import FieldReader, RawObject
from tests.translate.readers.toyroute.values import ToyDoor, ToyRoute


def project_toy_route(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> ToyRoute | None:
    """Project a toy route; without usable host it is nobody's, for it would take every host."""
    spec = reader.mapping(raw, "spec", "") or {}
    host = reader.text(spec, "host", "spec")
    created = reader.text(metadata, "creationTimestamp", "metadata") or ""
    if not host:
        reader.report("spec.host", "is missing")
        return None
    backend = reader.mapping(spec, "backend", "spec") or {}
    return ToyRoute(
        reader.key,
        created,
        host,
        reader.text(spec, "path", "spec", "/") or "/",
        reader.text(backend, "name", "spec.backend") or "",
        reader.port(backend, "port", "spec.backend") or 0,
        reader.text(spec, "secret", "spec") or "",
        reader.text(spec, "door", "spec") or "",
    )


def project_toy_door(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> ToyDoor:
    """Project a door."""
    spec = reader.mapping(raw, "spec", "") or {}
    return ToyDoor(reader.key, reader.port(spec, "port", "spec") or 0, spec.get("tls") is True)
