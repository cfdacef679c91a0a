"""The projection of an object's metadata: who it is, and what its status says of what we write there.  Total.

What cannot be read counts as absent, and makes no ``Problem``: a status is written by
programs, not by the owner of the object.

Sources: ``ObjectMeta`` with its ``managedFields`` (``FieldsV1``), ``LoadBalancerStatus``, ``metav1.Condition``.
"""

from functools import lru_cache
from sys import intern

import orjson

from ingress.cluster.projecting.gateway_services import applied_service
from ingress.model.cluster.object_meta import NO_META, Address, ObjectMeta, SeenStatus
from ingress.model.cluster.objects import Kind
from ingress.model.reporting.writes import StatusField
from ingress.object_fields import RawObject, is_object

# As many as a status may sensibly hold; a longer one is compared by its beginning.
_MOST_ADDRESSES = 256
_ADDRESSES = ("f:status", "f:loadBalancer", "f:ingress")
_CONDITIONS = ("f:status", "f:conditions")
# Every kind with conditions of the object as a whole has this one.
_ACCEPTED = 'k:{"type":"Accepted"}'


def meta_of(kind: Kind, raw: RawObject, metadata: RawObject, field: StatusField | None) -> ObjectMeta:
    """Return the metadata of *raw*, an object of *kind*; *field* says what of its status is ours to write."""
    uid = _text(metadata, "uid")
    if field is StatusField.ADDRESSES:
        addresses = _addresses(raw)
        return ObjectMeta(uid, addresses, (), _writer(metadata, _ADDRESSES) if addresses else "")
    if field is StatusField.DOCUMENT:
        seen = SeenStatus(_status_text(raw), _generation(metadata), _text(metadata, "resourceVersion"))
        return ObjectMeta(uid, (), (), _writer(metadata, _CONDITIONS) if seen.text else "", seen)
    if kind is Kind.SERVICE:
        spec = raw.get("spec")
        ips = spec.get("externalIPs") if is_object(spec) else None
        external = tuple(one for one in ips if isinstance(one, str)) if isinstance(ips, list) else ()
        return ObjectMeta(uid, _addresses(raw), external, applied=applied_service(raw, metadata))
    return ObjectMeta(uid) if uid else NO_META


def _generation(metadata: RawObject) -> int:
    """Return the generation, an ``int64`` that counts from 1; 0 where it does not say one."""
    generation = metadata.get("generation")
    return generation if type(generation) is int and 0 < generation < 1 << 63 else 0


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


def _status_text(raw: RawObject) -> bytes | None:
    """Return the status as JSON: in one piece it takes little memory, and costs the garbage collector nothing."""
    status = raw.get("status")
    if not is_object(status) or not status:
        return b""
    try:
        return _shared_text(orjson.dumps(status))
    except TypeError:
        # Too deep, too large a number, no text: nothing that an API server shows.
        return None


def _text(raw: RawObject, name: str) -> str:
    value = raw.get(name)
    return value if isinstance(value, str) else ""


@lru_cache(maxsize=1024)
def _shared(addresses: tuple[Address, ...]) -> tuple[Address, ...]:
    """Return an equal tuple that was seen before: most Ingresses of a cluster have the same."""
    return addresses


@lru_cache(maxsize=1024)
def _shared_text(text: bytes) -> bytes:
    """Return an equal text that was seen before: many routes of one Gateway were told the same at the same time."""
    return text


def _writer(metadata: RawObject, path: tuple[str, ...]) -> str:
    """Return the field manager of what is at *path*, all of them when they are several.

    Of conditions, each of which may have another one, it is that of ``Accepted``.
    """
    entries = metadata.get("managedFields")
    found = ""
    for entry in entries if isinstance(entries, list) else ():
        if not is_object(entry):
            continue
        fields: object = entry.get("fieldsV1")
        for step in path:
            fields = fields.get(step) if is_object(fields) else None
        name = entry.get("manager")
        if fields is None or (
            is_object(fields) and fields and _ACCEPTED not in fields and path is _CONDITIONS
        ):
            continue
        if isinstance(name, str) and name not in found.split(", "):
            found = f"{found}, {name}" if found else name
    return intern(found)
