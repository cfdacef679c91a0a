"""Kubernetes objects for ours, as JSON, which is quicker to read than YAML.  Pure."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

NAMESPACE = "faults"
_BODY_SIZE = "nginx.ingress.kubernetes.io/proxy-body-size"

Object = Mapping[str, Any]


def ingress(name: str, host: str | None, service: str, port: int = 80) -> Object:
    """An Ingress that sends everything, or all for *host*, to *port* of *service*, without a limit of size."""
    backend = {"service": {"name": service, "port": {"number": port}}}
    rule: dict[str, Any] = {
        "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]},
    }
    if host is not None:
        rule["host"] = host
    metadata = {**_metadata(name), "annotations": {_BODY_SIZE: "0"}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": metadata,
        "spec": {"ingressClassName": "nginx", "rules": [rule]},
    }


def service(name: str) -> Object:
    """A Service with one port."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(name),
        "spec": {"ports": [{"port": 80}]},
    }


def external_name(name: str, target: str, port: int) -> Object:
    """A Service that stands for another host; nothing maps its ports."""
    spec = {"type": "ExternalName", "externalName": target, "ports": [{"port": port}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(name), "spec": spec}


def endpoint_slice(name: str, of: str, port: int, **conditions: bool) -> Object:
    """An EndpointSlice of the Service *of* with one pod at *port* of this machine."""
    labels = {"kubernetes.io/service-name": of}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {**_metadata(name), "labels": labels},
        "addressType": "IPv4",
        "ports": [{"name": "", "port": port}],
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": True, **conditions}}],
    }


def one_service(ports: Iterable[int], host: str | None = None, name: str = "pods") -> list[Object]:
    """An Ingress for everything, or for *host*, its Service, and a pod at each port."""
    slices = [endpoint_slice(f"{name}-{port}", name, port) for port in ports]
    return [ingress(name, host, name), service(name), *slices]


def manifest(objects: Iterable[Object]) -> str:
    """The text of a manifest file with *objects*."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def _metadata(name: str) -> dict[str, Any]:
    return {"name": name, "namespace": NAMESPACE}
