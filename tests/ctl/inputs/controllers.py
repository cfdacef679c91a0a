"""Deployments and DaemonSets of ingress-nginx, as raw objects and as YAML."""

import json
from typing import Any

from ingress.ctl.inputs.ingress_nginx.workloads import workload_of
from ingress.ctl.inputs.input import Workload

IMAGE = "registry.k8s.io/ingress-nginx/controller:v1.14.0@sha256:0123"

LABELS = {"app.kubernetes.io/name": "ingress-nginx", "app.kubernetes.io/component": "controller"}
"""Those of its pods, by which it is selected."""
PORTS = [
    {"name": "http", "containerPort": 80},
    {"name": "https", "containerPort": 443},
    {"name": "metrics", "containerPort": 10254},
    {"name": "webhook", "containerPort": 8443},
]


def container(*args: str, **fields: Any) -> dict[str, Any]:
    """A container that starts ingress-nginx with *args*, as Helm writes it."""
    namespace = {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}
    name = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    usual = {"name": "controller", "image": IMAGE, "args": ["/nginx-ingress-controller", *args]}
    return {**usual, "env": [name, namespace], "ports": PORTS, **fields}


def deployment(
    *args: str,
    kind: str = "Deployment",
    name: str = "ingress-nginx-controller",
    namespace: str = "ingress-nginx",
    labels: dict[str, str] | None = None,
    containers: list[dict[str, Any]] | None = None,
    spec: dict[str, Any] | None = None,
    pod_metadata: dict[str, Any] | None = None,
    **pod: Any,
) -> dict[str, Any]:
    """A Deployment whose controller has *args*; *containers* stand in the place of that one, and *spec* has fields besides."""
    template = {
        "metadata": {"labels": LABELS, **(pod_metadata or {})},
        "spec": {"containers": containers or [container(*args)], **pod},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {"selector": {"matchLabels": LABELS}, "template": template, **(spec or {})},
    }


def service(
    name: str = "ingress-nginx-controller", *, annotations: Any = None, **spec: Any
) -> dict[str, Any]:
    """A Service that leads to its pods, as Helm writes it, with *spec* besides."""
    ports = [
        {"name": "http", "port": 80, "protocol": "TCP", "targetPort": "http"},
        {"name": "https", "port": 443, "protocol": "TCP", "targetPort": "https"},
    ]
    metadata = {"name": name, "namespace": "ingress-nginx", "annotations": annotations or {}}
    usual = {"type": "LoadBalancer", "externalTrafficPolicy": "Cluster", "selector": LABELS, "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {**usual, **spec}}


def autoscaler(**spec: Any) -> dict[str, Any]:
    """What scales the Deployment, with *spec* besides."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "ingress-nginx-controller"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "ingress-nginx-controller", "namespace": "ingress-nginx"},
        "spec": {"scaleTargetRef": target, **spec},
    }


def scaled_object(*triggers: dict[str, Any], annotations: Any = None, **spec: Any) -> dict[str, Any]:
    """What has KEDA scale the Deployment by *triggers*, with *spec* besides."""
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {
            "name": "ingress-nginx-controller",
            "namespace": "ingress-nginx",
            "annotations": annotations or {},
        },
        "spec": {
            "scaleTargetRef": {"name": "ingress-nginx-controller"},
            "triggers": list(triggers),
            **spec,
        },
    }


def budget(**spec: Any) -> dict[str, Any]:
    """How many of its pods have to stay, as *spec* has it."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "ingress-nginx-controller", "namespace": "ingress-nginx"},
        "spec": {"selector": {"matchLabels": LABELS}, **spec},
    }


def network_policy(
    *peers: dict[str, Any], name: str = "web", namespace: str = "shop", ports: Any = None, **spec: Any
) -> dict[str, Any]:
    """What lets *peers* in to the pods of an application, at *ports*, with *spec* besides."""
    rule = {"from": list(peers), **({"ports": ports} if ports else {})}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"podSelector": {"matchLabels": {"app": "web"}}, "ingress": [rule], **spec},
    }


def ingress_class(
    name: str = "nginx", controller: str = "k8s.io/ingress-nginx", default: str = "true"
) -> dict[str, Any]:
    """A class, which Ingresses get that name none where *default* says so."""
    annotations = {"ingressclass.kubernetes.io/is-default-class": default}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IngressClass",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"controller": controller},
    }


def workload(*args: str, **fields: Any) -> Workload:
    """The same, as it is read."""
    found = workload_of(deployment(*args, **fields), "default")
    if found is None:
        raise AssertionError("no ingress-nginx")
    return found


def as_yaml(*objects: dict[str, Any]) -> str:
    """Objects as the text of a manifest: JSON, which is YAML."""
    return "\n---\n".join(json.dumps(one, indent=2) for one in objects) + "\n"
