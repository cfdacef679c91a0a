"""What tests of the admission webhook share: reviews as an API server sends them."""

import json
from typing import Any

RESOURCE = {"group": "networking.k8s.io", "version": "v1", "resource": "ingresses"}
UID = "705ab4f5-6393-11e8-b7cc-42010a800002"


def ingress(
    name: str = "web", host: str = "a.example.com", service: str = "web", **more: Any
) -> dict[str, Any]:
    """Return an Ingress of the namespace ``demo``, as it comes in a review."""
    path = {
        "path": "/",
        "pathType": "Prefix",
        "backend": {"service": {"name": service, "port": {"number": 80}}},
    }
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": name,
            "namespace": "demo",
            "uid": "f1",
            "creationTimestamp": "2026-06-01T00:00:00Z",
            "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
            **more.pop("metadata", {}),
        },
        "spec": {
            "ingressClassName": "nginx",
            "rules": [{"host": host, "http": {"paths": [path]}}],
            **more,
        },
    }


def review(object_: Any, operation: str = "CREATE", **request: Any) -> dict[str, Any]:
    """Return the review of *object_*, with more fields in its request."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": UID,
            "kind": {"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"},
            "resource": RESOURCE,
            "name": "web",
            "namespace": "demo",
            "operation": operation,
            "userInfo": {"username": "jane", "groups": ["dev"]},
            "object": object_,
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
            **request,
        },
    }


def posted(document: Any, path: str = "/?timeout=5s", content_type: str = "application/json") -> bytes:
    """Return the request that posts *document*, which may be its bytes."""
    content = document if isinstance(document, bytes) else json.dumps(document).encode()
    return (
        b"POST %b HTTP/1.1\r\nHost: txingress-admission.txingress.svc:443\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
        % (path.encode(), content_type.encode(), len(content), content)
    )
