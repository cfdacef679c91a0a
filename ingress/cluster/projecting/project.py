"""The projection of raw cluster objects to the small values that this controller keeps.

``project`` is total: for whatever a JSON or YAML decoder gave it returns a value,
or none, and the problems met.  Values are kept as they were written; only what is
not of the API's shape is lost, with a ``Problem`` that names the field.  Whether a
host, a path or a port makes sense is for ``ingress.translate`` to judge.

It runs in the sources' threads and touches nothing but its arguments.

Route objects, and what these are judged by, have projectors of their own (``ingress.translate.readers``).

Sources: core ``v1``, ``discovery.k8s.io/v1``, and its ``v1beta1`` version.
"""

import binascii
import re
from functools import lru_cache
from sys import intern

from ingress.cluster.projecting.gateway_services import owning_gateway
from ingress.cluster.projecting.object_meta import meta_of
from ingress.model.cluster.locality import NO_HINTS, Hints, hints_of
from ingress.model.cluster.many_ports import FEW_PORTS, sorted_ports
from ingress.model.cluster.objects import (
    ClusterObject,
    ConfigMap,
    EndpointSlice,
    Kind,
    Node,
    ObjectKey,
    Pod,
    Projection,
    Secret,
    Service,
    ServicePort,
    SlicePort,
)
from ingress.model.cluster.problems import Reason
from ingress.model.cluster.secrets import ALL_KEYS, TLS_KEYS
from ingress.model.stepwise import Stepwise
from ingress.object_fields import FieldReader, RawObject, entry_path, is_object, is_text, shape_of
from ingress.translate.readers.reader import KindRead

SERVICE_NAME_LABEL = "kubernetes.io/service-name"
ZONE_LABEL = "topology.kubernetes.io/zone"

_CONDITIONS = ("ready", "serving", "terminating")
_FLAGS = frozenset((bool, type(None)))
_FEW_HINTS = 16

MAX_SECRET_CHARACTERS = 2 * 1024 * 1024
"""The API allows 1 MiB for the content of a Secret; base64 makes that a third more."""

# What can stand in a key without ambiguity.  The API is stricter (lower case, no
# underscores); a manifest that it would refuse can still be tried out.
_MOST_CHARACTERS = 253
_OBJECT_NAME = re.compile(rf"[-A-Za-z0-9._]{{1,{_MOST_CHARACTERS}}}")


def project(
    read: KindRead,
    raw: object,
    annotations_prefix: str,
    secret_keys: frozenset[str] = TLS_KEYS,
    known_as: ObjectKey | None = None,
) -> tuple[ObjectKey | None, Projection]:
    """Project *raw*, an object of the kind of *read*; never raises.

    Of a Secret, only the content of *secret_keys* is kept.  *known_as* is the key that the caller keeps
    already: if it is that of the object, no other is made.

    *raw* without ``apiVersion``, as in the lists of an API server, is taken for the
    present version.  The key is None when the object does not say its name, or its
    namespace if its kind has namespaces.
    """
    begun = _begin(read, raw, known_as)
    if isinstance(begun, FieldReader):
        return None, Projection(None, tuple(begun.problems))
    raw, metadata, reader, old = begun
    value: ClusterObject | None
    if read.kind is Kind.SECRET:
        value = project_secret(raw, metadata, reader, annotations_prefix, old, keys=secret_keys)
    else:
        value = read.project(raw, metadata, reader, annotations_prefix, old)
    return reader.key, _projection(read, raw, metadata, reader, value)


def projecting(
    read: KindRead, raw: object, annotations_prefix: str, known_as: ObjectKey | None = None
) -> Stepwise[Projection]:
    """Do the same in steps, for large objects; those of kinds that have no such way are projected in one.  Of Secrets nothing is kept."""
    if read.projecting is None:
        return project(read, raw, annotations_prefix, frozenset(), known_as)[1]
    begun = _begin(read, raw, known_as)
    if isinstance(begun, FieldReader):
        return Projection(None, tuple(begun.problems))
    raw, metadata, reader, old = begun
    value = yield from read.projecting(raw, metadata, reader, annotations_prefix, old)
    return _projection(read, raw, metadata, reader, value)


def _begin(
    read: KindRead, raw: object, known_as: ObjectKey | None
) -> tuple[RawObject, RawObject, FieldReader, bool] | FieldReader:
    """Return *raw* as what it is, its metadata, who reads its fields, and whether it is of an old version; the reader alone without a name."""
    reader = FieldReader(read.kind, ObjectKey("", ""))
    metadata = _metadata(raw, reader)
    if metadata is None or not is_object(raw):
        return reader
    key = _key(metadata, reader, is_namespaced=read.namespaced)
    if key is None:
        return reader
    reader.key = known_as if known_as is not None and key == known_as else key
    old = raw.get("apiVersion") in read.old_versions
    if old:
        # Which versions a cluster has of a kind that is defined in it goes by the release of its definition.
        message = (
            f"is an old version; write {read.api_version} where the cluster has that"
            if read.definition
            else f"is an old version that newer clusters do not serve; write {read.api_version}"
        )
        reader.report("apiVersion", f"{raw['apiVersion']} {message}", Reason.DEPRECATED_VERSION)
    return raw, metadata, reader, old


def _projection(
    read: KindRead, raw: RawObject, metadata: RawObject, reader: FieldReader, value: ClusterObject | None
) -> Projection:
    field = None if read.reported is None else read.reported.field
    return Projection(value, tuple(reader.problems), meta_of(read.kind, raw, metadata, field))


def _metadata(raw: object, reader: FieldReader) -> RawObject | None:
    if is_object(raw):
        return reader.mapping(raw, "metadata", "")
    reader.report("", f"must be an object, but is {shape_of(raw)}")
    return None


def _key(metadata: RawObject, reader: FieldReader, *, is_namespaced: bool) -> ObjectKey | None:
    """Return the key of the object; the problem of a bad one names what can be named."""
    name = _name(metadata, "name", reader)
    if not is_namespaced:
        return None if name is None else ObjectKey("", name)
    namespace = metadata.get("namespace")
    if type(namespace) is not str or len(namespace) > _MOST_CHARACTERS or not _is_name(namespace):
        reader.key = ObjectKey("", name or "")
        namespace = _name(metadata, "namespace", reader)
    if name is None or namespace is None:
        return None
    # Others name a Service, so that text is there already.
    return ObjectKey(intern(namespace), intern(name) if reader.kind is Kind.SERVICE else name)


@lru_cache(maxsize=4096)
def _is_name(text: str) -> bool:
    return _OBJECT_NAME.fullmatch(text) is not None


def _name(metadata: RawObject, field: str, reader: FieldReader) -> str | None:
    name = metadata.get(field)
    if type(name) is str and _OBJECT_NAME.fullmatch(name) is not None:
        return name
    name = reader.text(metadata, field, "metadata")
    if name is None:
        return None
    if not name:
        reader.report(f"metadata.{field}", "is missing")
        return None
    if _OBJECT_NAME.fullmatch(name) is None:
        reader.report(f"metadata.{field}", f"{name[:80]!r} is not a name that Kubernetes allows")
        return None
    return name


def project_service(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> Service | None:
    """Project a Service."""
    spec = reader.mapping(raw, "spec", "")
    if spec is None:
        return None
    if not spec:
        reader.report("spec", "is missing or empty")
        return None
    ports: list[ServicePort] = []
    for at, entry in reader.objects(spec, "ports", "spec"):
        name = reader.word(entry, "name", at)
        number = reader.port(entry, "port", at)
        protocol = reader.word(entry, "protocol", at, "TCP")
        if entry.get("port") is None:
            reader.report(f"{at}.port", "is missing")
        elif name is not None and number is not None and protocol is not None:
            target = reader.port_or_name(entry, "targetPort", at)
            app_protocol = reader.word(entry, "appProtocol", at) or ""
            ports.append(_service_port(name, number, target, protocol, app_protocol))
    cluster_ips = reader.texts(spec, "clusterIPs", "spec")
    return Service(
        key=reader.key,
        type=reader.word(spec, "type", "spec", "ClusterIP") or "ClusterIP",
        cluster_ip=cluster_ips[0] if cluster_ips else reader.text(spec, "clusterIP", "spec") or "",
        external_name=reader.text(spec, "externalName", "spec") or "",
        ports=_service_ports(*ports) if len(ports) <= FEW_PORTS else sorted_ports(ports),
        gateway=intern(owning_gateway(metadata)),
    )


# Most Services have the same ports as many others, and so have most slices: one copy is kept.  Of those with
# many ports, of which there are few, copies would outlive them.
_service_port = lru_cache(maxsize=1024)(ServicePort)
_slice_port = lru_cache(maxsize=1024)(SlicePort)


@lru_cache(maxsize=1024)
def _service_ports(*ports: ServicePort) -> tuple[ServicePort, ...]:
    return ports


@lru_cache(maxsize=1024)
def _slice_ports(*ports: SlicePort) -> tuple[SlicePort, ...]:
    return ports


def project_endpoint_slice(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> EndpointSlice | None:
    """Project a slice; None, without a problem, for one that belongs to no Service."""
    labels = reader.mapping(metadata, "labels", "metadata")
    service = labels and reader.word(labels, SERVICE_NAME_LABEL, "metadata.labels")
    if not service:
        return None
    ports: list[SlicePort] = []
    for at, entry in reader.objects(raw, "ports", ""):
        name = reader.word(entry, "name", at)
        number = reader.port(entry, "port", at)
        protocol = reader.word(entry, "protocol", at, "TCP")
        if name is not None and number is not None and protocol is not None:
            ports.append(_slice_port(name, None if entry.get("port") is None else number, protocol))
    ready: list[str] = []
    hints: list[Hints] = []
    draining: list[str] = []
    unready: list[str] = []
    for index, one in enumerate(reader.entries(raw, "endpoints", "")):
        endpoint = _slice_endpoint(one, index, reader)
        if endpoint is not None:
            address, is_ready, is_draining = endpoint
            (ready if is_ready else draining if is_draining else unready).append(address)
            if is_ready:
                hints.append(_hints(one, index, reader))
    return EndpointSlice(
        key=reader.key,
        service=ObjectKey(reader.key.namespace, service),
        address_type=reader.word(raw, "addressType", "", "IPv4") or "IPv4",
        ports=_slice_ports(*ports) if len(ports) <= FEW_PORTS else sorted_ports(ports),
        ready=tuple(ready),
        draining=tuple(draining),
        unready=tuple(unready),
        hints=tuple(hints) if any(one is not NO_HINTS for one in hints) else (),
    )


def _slice_endpoint(raw: object, index: int, reader: FieldReader) -> tuple[str, bool, bool] | None:
    """Return the address of an endpoint, whether it is ready, and whether it terminates and still serves.

    None for one whose address or conditions cannot be read: it gets no traffic.
    """
    if isinstance(raw, dict):
        addresses, conditions = raw.get("addresses"), raw.get("conditions")
        if isinstance(addresses, list) and len(addresses) == 1 and isinstance(conditions, dict):
            # The usual shape.  What follows reads it the same way, and also knows what is wrong with others.
            address = addresses[0]
            if (
                conditions.get("ready") is True
                and is_text(address)
                and _FLAGS.issuperset((type(conditions.get("serving")), type(conditions.get("terminating"))))
            ):
                return address, True, False
    return _unusual_endpoint(raw, entry_path("", "endpoints", index), reader)


def _hints(raw: object, index: int, reader: FieldReader) -> Hints:
    """Return the hints of an endpoint; those that cannot be read are told, and are none."""
    if not is_object(raw) or not raw.get("hints"):
        return NO_HINTS
    at = entry_path("", "endpoints", index)
    hints = reader.mapping(raw, "hints", at)
    if not hints:
        return NO_HINTS
    zones, nodes = (
        tuple(
            name
            for path, entry in reader.objects(hints, field, f"{at}.hints")
            if (name := reader.word(entry, "name", path))
        )
        for field in ("forZones", "forNodes")
    )
    if not zones and not nodes:
        return NO_HINTS
    return hints_of(zones, nodes) if len(zones) + len(nodes) <= _FEW_HINTS else Hints(zones, nodes)


def _unusual_endpoint(raw: object, at: str, reader: FieldReader) -> tuple[str, bool, bool] | None:
    if not is_object(raw):
        reader.wrong_shape(at, "an object", raw)
        return None
    addresses = reader.texts(raw, "addresses", at)
    conditions = reader.mapping(raw, "conditions", at)
    if conditions is None or not addresses:
        return None
    for name in _CONDITIONS:
        value = conditions.get(name)
        if value is not None and value is not True and value is not False:
            reader.wrong_shape(f"{at}.conditions.{name}", "a boolean", value)
            return None
    if conditions.get("ready") is not False:
        return addresses[0], True, False
    return addresses[0], False, bool(conditions.get("serving") and conditions.get("terminating"))


def project_node(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> Node:
    """Project a Node; its status is there unless nothing but metadata was asked for."""
    labels = reader.mapping(metadata, "labels", "metadata") or {}
    zone = reader.word(labels, ZONE_LABEL, "metadata.labels") or ""
    addresses = _entries(_member(raw, "status"), "addresses")
    return Node(
        reader.key, zone, _first_of_type(addresses, "ExternalIP"), _first_of_type(addresses, "InternalIP")
    )


def _first_of_type(addresses: list[RawObject], sort: str) -> str:
    found = (one.get("address") for one in addresses if one.get("type") == sort)
    return next((address for address in found if isinstance(address, str) and address), "")


def project_pod(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> Pod:
    """Project a Pod.  What cannot be read counts as absent: its status is written by programs."""
    status, node = _member(raw, "status"), _member(raw, "spec").get("nodeName")
    is_ready = any(
        one.get("type") == "Ready" and one.get("status") == "True" for one in _entries(status, "conditions")
    )
    return Pod(
        reader.key,
        node if isinstance(node, str) else "",
        frozenset(
            (name, text) for name, text in _member(metadata, "labels").items() if isinstance(text, str)
        ),
        is_ready and status.get("phase") == "Running" and not metadata.get("deletionTimestamp"),
    )


def _member(raw: RawObject, name: str) -> RawObject:
    member = raw.get(name)
    return member if is_object(member) else {}


def _entries(raw: RawObject, name: str) -> list[RawObject]:
    entries = raw.get(name)
    return [one for one in entries if is_object(one)] if isinstance(entries, list) else []


def project_secret(
    raw: RawObject,
    metadata: RawObject,
    reader: FieldReader,
    annotations_prefix: str,
    old: bool,
    /,
    keys: frozenset[str] = TLS_KEYS,
) -> Secret:
    """Project a Secret; of its content only *keys* are kept, which may be ``ALL_KEYS``."""
    content: dict[str, bytes] = {}
    encoded = reader.mapping(raw, "data", "") or {}
    plain = reader.mapping(raw, "stringData", "") or {}
    for name in sorted(_data_keys({**encoded, **plain}, reader) if keys >= ALL_KEYS else keys):
        # ``stringData`` wins, as when it is written to an API server.
        field, value = ("stringData", plain.get(name)) if name in plain else ("data", encoded.get(name))
        if value is None:
            continue
        if not isinstance(value, str):
            reader.wrong_shape(f"{field}[{name}]", "text", value)
        elif len(value) > MAX_SECRET_CHARACTERS:
            reader.report(f"{field}[{name}]", "is longer than a Secret may be")
        else:
            try:
                # ``ValueError`` is what not-ASCII text, bad base64 and half a surrogate pair raise.
                content[name] = value.encode() if field == "stringData" else _decoded(value)
            except ValueError:
                what = "UTF-8" if field == "stringData" else "base64"
                reader.report(f"{field}[{name}]", f"is not {what}")
    return Secret(reader.key, reader.word(raw, "type", "", "Opaque") or "Opaque", content, keys)


def project_config_map(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> ConfigMap | None:
    """Project a ConfigMap; ``binaryData`` is not read, which is told."""
    data = reader.mapping(raw, "data", "")
    if raw.get("binaryData"):
        reader.report("binaryData", "is not read; write text below data")
    if data is None:
        return None
    content: dict[str, str] = {}
    for name in sorted(_data_keys(data, reader)):
        value = data[name]
        if not isinstance(value, str):
            reader.wrong_shape(f"data[{name}]", "text", value)
        elif len(value) > MAX_SECRET_CHARACTERS:
            reader.report(f"data[{name}]", "is longer than a ConfigMap may be")
        elif not _is_utf8(value):
            reader.report(f"data[{name}]", "is not UTF-8")
        else:
            content[name] = value
    return ConfigMap(reader.key, content)


def _is_utf8(text: str) -> bool:
    """Whether *text* has bytes; half of a surrogate pair has none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _data_keys(data: RawObject, reader: FieldReader) -> list[str]:
    """Return the keys of *data*, without those that the API would not take."""
    keys = [name for name in data if len(name) <= _MOST_CHARACTERS and _OBJECT_NAME.fullmatch(name)]
    if len(keys) < len(data):
        reader.report("data", "has a key that Kubernetes does not allow; it is ignored")
    return keys


def _decoded(value: str) -> bytes:
    # Line ends are allowed inside, as the API server allows them; nothing else is.
    return binascii.a2b_base64(value.replace("\r", "").replace("\n", ""), strict_mode=True)
