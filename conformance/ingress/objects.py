"""The objects of one feature: its namespace, the Ingress, and a Service with a Deployment for each name in it."""

from base64 import b64encode

from conformance import credentials
from conformance.cluster import Object
from conformance.ingress.scenarios import CLASS_NAME, NAMED_PORT, Feature

IMAGE = "registry.k8s.io/gateway-api/echo-basic"
INGRESS = "ingress"
SECRET = "certificate"
# What the echo server says of itself in its answers.
SELF = ("POD_NAME", "metadata.name"), ("NAMESPACE", "metadata.namespace")


def namespace_of(feature: Feature) -> str:
    return f"conformance-{feature.name.lower()}"


def objects_of(feature: Feature, pem: bytes, key_pem: bytes) -> list[Object]:
    """In the order in which they are made; ``pem`` and ``key_pem`` are the certificate for its Secret, if it has one."""
    space = namespace_of(feature)
    made: list[Object] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}]
    for service in feature.services:
        made += [service_object(space, service), deployment(space, service, feature.pods)]
    if feature.secret:
        data = {"tls.crt": b64encode(pem).decode(), "tls.key": b64encode(key_pem).decode()}
        metadata = {"name": SECRET, "namespace": space}
        made.append(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "type": "kubernetes.io/tls",
                "metadata": metadata,
                "data": data,
            }
        )
    metadata = {"name": INGRESS, "namespace": space}
    spec = {"ingressClassName": CLASS_NAME, **feature.spec}
    return [
        *made,
        {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec},
    ]


def service_object(namespace: str, name: str) -> Object:
    ports = [{"name": NAMED_PORT, "port": 8080, "targetPort": 3000}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"app": name}, "ports": ports},
    }


def deployment(namespace: str, name: str, pods: int) -> Object:
    variables: list[Object] = [
        {"name": variable, "valueFrom": {"fieldRef": {"fieldPath": path}}} for variable, path in SELF
    ]
    variables += [{"name": "SERVICE_NAME", "value": name}, {"name": "INGRESS_NAME", "value": INGRESS}]
    labels = {"app": name}
    container = {"name": name, "image": IMAGE, "env": variables}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": pods,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def certificate_for(feature: Feature) -> tuple[bytes, bytes]:
    """PEM of the certificate and of the key; empty where there is none."""
    return credentials.self_signed([feature.secret]) if feature.secret else (b"", b"")
