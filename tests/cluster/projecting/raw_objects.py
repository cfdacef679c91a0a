"""Raw objects as a decoder gives them, one well-formed one of each kind, and what tests ask about their projections."""

import base64
import copy
from typing import Any

from ingress.cluster.kinds import KINDS
from ingress.cluster.projecting.project import project
from ingress.model.cluster.objects import (
    Kind,
    Projection,
)
from ingress.translate.readers.ingress.objects import (
    Ingress,
)

PREFIX = "nginx.ingress.kubernetes.io"


CERTIFICATE = base64.b64encode(b"certificate").decode()


GOOD: dict[Kind, dict[str, Any]] = {
    Kind.INGRESS: {
        "metadata": {
            "name": "shop",
            "namespace": "web",
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "annotations": {
                f"{PREFIX}/ssl-redirect": "false",
                "kubernetes.io/ingress.class": "old",
                "example.com/other": "x",
            },
        },
        "spec": {
            "ingressClassName": "nginx",
            "defaultBackend": {"service": {"name": "rest", "port": {"number": 80}}},
            "rules": [
                {
                    "host": "shop.example.com",
                    "http": {
                        "paths": [
                            {
                                "path": "/cart",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "cart", "port": {"name": "http"}}},
                            },
                            {
                                "path": "/files",
                                "pathType": "Exact",
                                "backend": {
                                    "resource": {"apiGroup": "k8s.example.com", "kind": "Bucket", "name": "b"}
                                },
                            },
                        ]
                    },
                },
                {"host": "bare.example.com"},
            ],
            "tls": [{"hosts": ["shop.example.com"], "secretName": "shop-tls"}],
        },
        "status": {"loadBalancer": {}},
    },
    Kind.INGRESS_CLASS: {
        "metadata": {
            "name": "nginx",
            "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"},
        },
        "spec": {"controller": "k8s.io/ingress-nginx"},
    },
    Kind.SERVICE: {
        "metadata": {"name": "cart", "namespace": "web"},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "10.0.0.1",
            "clusterIPs": ["10.0.0.1", "fd00::1"],
            "ports": [
                {"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP", "appProtocol": "http"},
                {"name": "grpc", "port": 81, "targetPort": "grpc", "appProtocol": "kubernetes.io/h2c"},
            ],
        },
    },
    Kind.ENDPOINT_SLICE: {
        "metadata": {
            "name": "cart-abc",
            "namespace": "web",
            "labels": {"kubernetes.io/service-name": "cart"},
        },
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        "endpoints": [
            {"addresses": ["10.1.0.1"], "conditions": {"ready": True, "serving": True, "terminating": False}}
        ],
    },
    Kind.CONFIG_MAP: {
        "metadata": {"namespace": "shop", "name": "web"},
        "data": {"X-Team": "blue", "empty": ""},
    },
    Kind.SECRET: {
        "metadata": {"name": "shop-tls", "namespace": "web"},
        "type": "kubernetes.io/tls",
        "data": {"tls.crt": CERTIFICATE, "tls.key": CERTIFICATE, "ca.crt": CERTIFICATE},
    },
}


def good(kind: Kind) -> dict[str, Any]:
    """A copy of a well-formed object, to be changed."""
    return copy.deepcopy(GOOD[kind])


def projected(kind: Kind, raw: object) -> Projection:
    """The projection alone."""
    return project(KINDS[kind], raw, PREFIX)[1]


def faults(projection: Projection) -> dict[str, str]:
    """Messages by field."""
    return {problem.field: problem.message for problem in projection.problems}


def ingress(raw: object) -> Ingress:
    """The value of a raw Ingress that must have one."""
    value = projected(Kind.INGRESS, raw).value
    assert isinstance(value, Ingress)
    return value
