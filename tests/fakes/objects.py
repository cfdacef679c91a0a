"""Kubernetes objects for tests that need a whole application: an Ingress and what stands behind it."""

from __future__ import annotations

import base64
from typing import Any

from ingress.model.upstream.backends import Endpoint

NAMESPACE = "shop"


def _object(version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": more.pop("labels", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


def ingress_object(name: str, host: str, secret: str | None = None) -> dict[str, Any]:
    """Return an Ingress that sends all of a host to the Service of the same name, with TLS if asked."""
    service = {"service": {"name": name, "port": {"number": 80}}}
    path = {"path": "/", "pathType": "Prefix", "backend": service}
    spec: dict[str, Any] = {"ingressClassName": "nginx", "rules": [{"host": host, "http": {"paths": [path]}}]}
    if secret is not None:
        spec["tls"] = [{"hosts": [host], "secretName": secret}]
    return _object("networking.k8s.io/v1", "Ingress", name, spec=spec)


def service_object(name: str) -> dict[str, Any]:
    """Return a Service with one port, named ``web``."""
    ports = [{"name": "web", "port": 80, "protocol": "TCP"}]
    return _object("v1", "Service", name, spec={"ports": ports, "clusterIP": "10.0.0.10"})


def slice_object(name: str, endpoint: Endpoint) -> dict[str, Any]:
    """Return the EndpointSlice of a Service with one ready endpoint."""
    return _object(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        f"{name}-1",
        labels={"kubernetes.io/service-name": name},
        addressType="IPv4",
        ports=[{"name": "web", "port": endpoint.port, "protocol": "TCP"}],
        endpoints=[{"addresses": [endpoint.address], "conditions": {"ready": True}}],
    )


def secret_object(name: str, chain_pem: bytes, key_pem: bytes) -> dict[str, Any]:
    """Return a TLS Secret."""
    content = {"tls.crt": chain_pem, "tls.key": key_pem}
    encoded = {key: base64.b64encode(value).decode() for key, value in content.items()}
    return _object("v1", "Secret", name, type="kubernetes.io/tls", data=encoded)
