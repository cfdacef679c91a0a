"""The objects of a large cluster as bytes on the wire, each as big as those that Helm charts leave behind."""

import json

HOST = "h{index}.bench.test"
LIVE_HOSTS = 20
"""So many of the first Services have a backend that answers; the pods of all others are nowhere."""

GATEWAY_PLURALS = (
    "gatewayclasses",
    "gateways",
    "listenersets",
    "httproutes",
    "grpcroutes",
    "tlsroutes",
    "tcproutes",
    "udproutes",
    "referencegrants",
    "backendtlspolicies",
)
_GROUP = "gateway.networking.k8s.io"
_MANAGED = [
    {
        "manager": "helm",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:labels": {f"f:label-{number}": {} for number in range(24)}}},
    }
]


def namespace(index: int) -> str:
    """The namespace of object *index*."""
    return f"n{index % 100}"


def _metadata(name: str, index: int, version: int, **labels: str) -> dict[str, object]:
    return {
        "name": name,
        "namespace": namespace(index),
        "uid": f"00000000-0000-4000-8000-{index:012d}",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/name": name, **labels},
        "annotations": {
            "meta.helm.sh/release-name": name,
            "meta.helm.sh/release-namespace": namespace(index),
        },
        "managedFields": _MANAGED,
    }


def ingress(index: int, version: int, path: str = "/app") -> bytes:
    """An Ingress with one host and two paths, ``/`` and *path*; all others are not found."""
    backend = {"service": {"name": f"s{index}", "port": {"number": 80}}}
    paths = [
        {"path": "/", "pathType": "Exact", "backend": backend},
        {"path": path, "pathType": "Exact", "backend": backend},
    ]
    spec = {
        "ingressClassName": "nginx",
        "rules": [{"host": HOST.format(index=index), "http": {"paths": paths}}],
    }
    return _event("networking.k8s.io/v1", "Ingress", _metadata(f"i{index}", index, version), spec=spec)


def http_route(index: int, version: int, path: str = "/app") -> bytes:
    """An HTTPRoute with one host and two paths, ``/`` and *path*, as an API server has it, with the defaults filled in."""
    backend = {"group": "", "kind": "Service", "name": f"s{index}", "port": 80, "weight": 1}
    rules = [
        {"matches": [{"path": {"type": "Exact", "value": one}}], "backendRefs": [backend]}
        for one in ("/", path)
    ]
    parent = {"group": _GROUP, "kind": "Gateway", "name": "main", "namespace": namespace(0)}
    spec = {"parentRefs": [parent], "hostnames": [HOST.format(index=index)], "rules": rules}
    return _event(f"{_GROUP}/v1", "HTTPRoute", _metadata(f"i{index}", index, version), spec=spec)


def gateway_api(port: int, version: int) -> dict[str, list[bytes]]:
    """The definitions of the Gateway API, and a Gateway with a listener at *port* that takes everybody's routes, by plural."""
    said = {f"{_GROUP}/bundle-version": "v1.6.1", f"{_GROUP}/channel": "standard"}
    definitions = [
        _event(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            {"name": f"{plural}.{_GROUP}", "resourceVersion": str(version), "annotations": said},
        )
        for plural in GATEWAY_PLURALS
    ]
    spec = {"controllerName": "txingress.dev/gateway"}
    owner = _event(
        f"{_GROUP}/v1", "GatewayClass", {"name": "bench", "resourceVersion": str(version)}, spec=spec
    )
    listener = {
        "name": "http",
        "port": port,
        "protocol": "HTTP",
        "allowedRoutes": {"namespaces": {"from": "All"}},
    }
    gateway = _event(
        f"{_GROUP}/v1",
        "Gateway",
        _metadata("main", 0, version),
        spec={"gatewayClassName": "bench", "listeners": [listener]},
    )
    return {"customresourcedefinitions": definitions, "gatewayclasses": [owner], "gateways": [gateway]}


def service(index: int, version: int) -> bytes:
    """A Service with one port."""
    spec = {
        "type": "ClusterIP",
        "clusterIP": f"10.{index >> 16 & 255}.{index >> 8 & 255}.{index & 255}",
        "ports": [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}],
        "selector": {"app": f"s{index}"},
    }
    return _event("v1", "Service", _metadata(f"s{index}", index, version), spec=spec)


def endpoint_slice(index: int, version: int, port: int, network: int = 10) -> bytes:
    """An EndpointSlice: four pods, or for the first Services this machine, at *port*.

    The pods are nowhere; in *network* 127 they all are this machine.
    """
    pods = [f"{network}.200.{index >> 8 & 255}.{(index + number) & 255}" for number in range(4)]
    endpoints = [
        {
            "addresses": [address],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "nodeName": f"node-{number}",
            "targetRef": {"kind": "Pod", "name": f"s{index}-{number}", "namespace": namespace(index)},
        }
        for number, address in enumerate(["127.0.0.1"] if index < LIVE_HOSTS else pods)
    ]
    labels = {"kubernetes.io/service-name": f"s{index}"}
    return _event(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        _metadata(f"s{index}-abcde", index, version, **labels),
        addressType="IPv4",
        endpoints=endpoints,
        ports=[{"name": "http", "port": port, "protocol": "TCP"}],
    )


def bookmark(version: int) -> bytes:
    """The bookmark that ends the initial events of a streaming list."""
    metadata = {"resourceVersion": str(version), "annotations": {"k8s.io/initial-events-end": "true"}}
    return json.dumps({"type": "BOOKMARK", "object": {"metadata": metadata}}).encode() + b"\n"


def modified(event: bytes) -> bytes:
    """The same object in an event that says that it changed."""
    return event.replace(b'"ADDED"', b'"MODIFIED"', 1)


def _event(version: str, kind: str, metadata: dict[str, object], **rest: object) -> bytes:
    raw = {"kind": kind, "apiVersion": version, "metadata": metadata, **rest}
    return json.dumps({"type": "ADDED", "object": raw}, separators=(",", ":")).encode() + b"\n"
