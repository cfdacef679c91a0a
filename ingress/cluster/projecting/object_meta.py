"""The projection of an object's metadata: who it is, and what its status says of what we write there.  Total.

What cannot be read counts as absent, and makes no ``Problem``: a status is written by
programs, not by the owner of the object.

Sources: ``ObjectMeta`` with its ``managedFields`` (``FieldsV1``), ``LoadBalancerStatus``, ``metav1.Condition``.
"""

from functools import lru_cache
from sys import intern

from ingress.fields import RawObject, is_object
from ingress.model.object_meta import NO_META, Address, Condition, ObjectMeta, SeenConditions
from ingress.model.objects import Kind
from ingress.model.writes import StatusField

# As many as a status may sensibly hold; a longer one is compared by its beginning.
_MOST_ADDRESSES = 256
_MOST_CONDITIONS = 64


def meta_of(kind: Kind, raw: RawObject, metadata: RawObject, field: StatusField | None = None) -> ObjectMeta:
    """Return the metadata of *raw*, an object of *kind*; *field* says what of its status is ours to write."""
    uid = _text(metadata, "uid")
    if field is StatusField.ADDRESSES:
        addresses = _addresses(raw)
        return ObjectMeta(uid, addresses, (), _writer(metadata, field) if addresses else "")
    if field is StatusField.CONDITIONS:
        conditions = _conditions(raw)
        generation = metadata.get("generation")
        seen = SeenConditions(
            conditions,
            generation if isinstance(generation, int) else 0,
            _text(metadata, "resourceVersion"),
        )
        return ObjectMeta(uid, (), (), _writer(metadata, field) if conditions else "", seen)
    if kind is Kind.SERVICE:
        spec = raw.get("spec")
        ips = spec.get("externalIPs") if is_object(spec) else None
        external = tuple(one for one in ips if isinstance(one, str)) if isinstance(ips, list) else ()
        return ObjectMeta(uid, _addresses(raw), external)
    return ObjectMeta(uid) if uid else NO_META


def _addresses(raw: RawObject) -> tuple[Address, ...]:
    status = raw.get("status")
    balancer = status.get("loadBalancer") if is_object(status) else None
    entries = balancer.get("ingress") if is_object(balancer) else None
    if not isinstance(entries, list):
        return ()
    found = (_address(entry) for entry in entries[:_MOST_ADDRESSES] if is_object(entry))
    return _shared(tuple(address for address in found if address != Address()))


def _address(entry: RawObject) -> Address:
    ip, hostname = entry.get("ip"), entry.get("hostname")
    return Address(ip if isinstance(ip, str) else "", hostname if isinstance(hostname, str) else "")


def _conditions(raw: RawObject) -> tuple[Condition, ...]:
    status = raw.get("status")
    entries = status.get("conditions") if is_object(status) else None
    if not isinstance(entries, list):
        return ()
    return tuple(_condition(entry) for entry in entries[:_MOST_CONDITIONS] if is_object(entry))


def _condition(entry: RawObject) -> Condition:
    generation = entry.get("observedGeneration")
    return Condition(
        intern(_text(entry, "type")),
        intern(_text(entry, "status")),
        intern(_text(entry, "reason")),
        _text(entry, "message"),
        generation if isinstance(generation, int) else 0,
        _text(entry, "lastTransitionTime"),
    )


def _text(raw: RawObject, name: str) -> str:
    value = raw.get(name)
    return value if isinstance(value, str) else ""


@lru_cache(maxsize=1024)
def _shared(addresses: tuple[Address, ...]) -> tuple[Address, ...]:
    """Return an equal tuple that was seen before: most Ingresses of a cluster have the same."""
    return addresses


def _writer(metadata: RawObject, field: StatusField) -> str:
    """Return the field manager of *field*, all of them when they are several."""
    path = tuple(f"f:{step}" for step in field.split("."))
    entries = metadata.get("managedFields")
    found = ""
    for entry in entries if isinstance(entries, list) else ():
        if not is_object(entry):
            continue
        fields: object = entry.get("fieldsV1")
        for step in path:
            fields = fields.get(step) if is_object(fields) else None
        name = entry.get("manager")
        if fields is not None and isinstance(name, str) and name not in found.split(", "):
            found = f"{found}, {name}" if found else name
    return intern(found)
