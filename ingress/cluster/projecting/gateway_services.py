"""The projection of what we applied to the Service of a Gateway, and of the Gateway that it belongs to.  Total.

What was changed by others is theirs, and counts as absent: so a comparison shows what has to be applied again.

Sources: ``ObjectMeta`` with its ``ownerReferences`` and ``managedFields`` (``FieldsV1``), ``ServiceSpec``.
"""

from collections.abc import Iterator

import orjson

from ingress.model.cluster.gateway_services import SERVICES_WRITER, GatewayService, GatewayServicePort
from ingress.object_fields import RawObject, is_object
from ingress.translate.readers.gateway.objects.names import GATEWAY, GROUP

_TCP = "TCP"


def owning_gateway(metadata: RawObject) -> str:
    """Return the name of the Gateway that an object goes with, by its first owner that is one; empty for none."""
    return next((name for name, _ in _gateways(metadata)), "")


def applied_service(raw: RawObject, metadata: RawObject) -> GatewayService | None:
    """Return what of a Service is as we applied it, None where we never did."""
    fields = _applied_fields(metadata)
    if fields is None:
        return None
    of_metadata, of_spec = _within(fields, "f:metadata"), _within(fields, "f:spec")
    owners = [entry.get("uid") for entry in _keys(_within(of_metadata, "f:ownerReferences"))]
    spec = raw.get("spec")
    spec = spec if is_object(spec) else {}
    is_headless = spec.get("clusterIP") == "None" and spec.get("type") == "ClusterIP"
    return GatewayService(
        _texts(metadata, "labels", of_metadata),
        _texts(metadata, "annotations", of_metadata),
        _ports(spec, of_spec),
        tuple(sorted(uid for _, uid in _gateways(metadata) if uid in owners)),
        is_headless and {"f:clusterIP", "f:type"} <= of_spec.keys(),
    )


def _applied_fields(metadata: RawObject) -> RawObject | None:
    entries = metadata.get("managedFields")
    for entry in entries if isinstance(entries, list) else ():
        if (
            is_object(entry)
            and entry.get("manager") == SERVICES_WRITER
            and entry.get("operation") == "Apply"
            and not entry.get("subresource")
        ):
            fields = entry.get("fieldsV1")
            return fields if is_object(fields) else {}
    return None


def _gateways(metadata: RawObject) -> Iterator[tuple[str, str]]:
    """Yield name and uid of the Gateways among the owners."""
    owners = metadata.get("ownerReferences")
    for owner in owners if isinstance(owners, list) else ():
        if not is_object(owner) or owner.get("kind") != GATEWAY:
            continue
        version, name, uid = owner.get("apiVersion"), owner.get("name"), owner.get("uid")
        if isinstance(version, str) and version.startswith(f"{GROUP}/"):
            yield name if isinstance(name, str) else "", uid if isinstance(uid, str) else ""


def _within(fields: RawObject, name: str) -> RawObject:
    found = fields.get(name)
    return found if is_object(found) else {}


def _keys(fields: RawObject) -> Iterator[RawObject]:
    """Yield the keys of those entries of a list that are ours, as ``k:{"uid":"…"}`` has them."""
    for name in fields:
        try:
            key = orjson.loads(name[2:]) if name.startswith("k:") else None
        except ValueError:
            continue
        if is_object(key):
            yield key


def _texts(metadata: RawObject, name: str, owned: RawObject) -> tuple[tuple[str, str], ...]:
    """Return those labels or annotations that are ours."""
    values = metadata.get(name)
    ours = _within(owned, f"f:{name}")
    return tuple(
        sorted(
            (key, value)
            for key, value in (values.items() if is_object(values) else ())
            if isinstance(value, str) and f"f:{key}" in ours
        )
    )


def _ports(spec: RawObject, owned: RawObject) -> tuple[GatewayServicePort, ...]:
    entries = spec.get("ports")
    ours = {
        (key.get("port"), key.get("protocol")) for key in _keys(_within(owned, "f:ports")) if _is_flat(key)
    }
    found: list[GatewayServicePort] = []
    for entry in entries if isinstance(entries, list) else ():
        if is_object(entry) and _is_flat(entry) and (entry.get("port"), entry.get("protocol", _TCP)) in ours:
            name, number, protocol = entry.get("name"), entry.get("port"), entry.get("protocol", _TCP)
            if isinstance(number, int) and isinstance(protocol, str):
                found.append(GatewayServicePort(name if isinstance(name, str) else "", number, protocol))
    return tuple(sorted(found, key=lambda one: (one.number, one.protocol)))


def _is_flat(entry: RawObject) -> bool:
    """Whether port and protocol of *entry* can be compared."""
    return isinstance(entry.get("port"), int) and isinstance(entry.get("protocol", _TCP), str)
