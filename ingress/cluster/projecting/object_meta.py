"""The projection of an object's standing: who it is, and which addresses its status has.  Total.

What cannot be read counts as absent, and makes no ``Problem``: a status is written by
programs, not by the owner of the object.

Sources: ``ObjectMeta.managedFields`` with its ``FieldsV1``, and ``LoadBalancerStatus``.
"""

from functools import lru_cache
from sys import intern

from ingress.cluster.projecting.fields import RawObject, is_object
from ingress.model.object_meta import NO_META, Address, ObjectMeta
from ingress.model.objects import Kind

# As many as a status may sensibly hold; a longer one is compared by its beginning.
_MOST_ADDRESSES = 256
_PATH_OF_ADDRESSES = ("f:status", "f:loadBalancer", "f:ingress")


def meta_of(kind: Kind, raw: RawObject, metadata: RawObject) -> ObjectMeta:
    """Return the metadata of *raw*, an object of *kind*."""
    uid = metadata.get("uid")
    uid = uid if isinstance(uid, str) else ""
    if kind is Kind.INGRESS:
        addresses = _addresses(raw)
        return ObjectMeta(uid, addresses, (), _writer(metadata) if addresses else "")
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


@lru_cache(maxsize=1024)
def _shared(addresses: tuple[Address, ...]) -> tuple[Address, ...]:
    """Return an equal tuple that was seen before: most Ingresses of a cluster have the same."""
    return addresses


def _writer(metadata: RawObject) -> str:
    """Return the field manager of the addresses, all of them when they are several."""
    entries = metadata.get("managedFields")
    found = ""
    for entry in entries if isinstance(entries, list) else ():
        if not is_object(entry):
            continue
        fields: object = entry.get("fieldsV1")
        for step in _PATH_OF_ADDRESSES:
            fields = fields.get(step) if is_object(fields) else None
        name = entry.get("manager")
        if fields is not None and isinstance(name, str) and name not in found.split(", "):
            found = f"{found}, {name}" if found else name
    return intern(found)
