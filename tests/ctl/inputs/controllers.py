"""Deployments and DaemonSets of ingress-nginx, as raw objects and as YAML."""

import json
from typing import Any

from ingress.ctl.inputs.input import Workload
from ingress.ctl.inputs.workloads import workload_of

IMAGE = "registry.k8s.io/ingress-nginx/controller:v1.14.0@sha256:0123"


def container(*args: str, **fields: Any) -> dict[str, Any]:
    """A container that starts ingress-nginx with *args*, as Helm writes it."""
    namespace = {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}
    name = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    usual = {"name": "controller", "image": IMAGE, "args": ["/nginx-ingress-controller", *args]}
    return {**usual, "env": [name, namespace], **fields}


def deployment(
    *args: str,
    kind: str = "Deployment",
    name: str = "ingress-nginx-controller",
    namespace: str = "ingress-nginx",
    labels: dict[str, str] | None = None,
    containers: list[dict[str, Any]] | None = None,
    **pod: Any,
) -> dict[str, Any]:
    """A Deployment whose controller has *args*; *containers* stand in the place of that one."""
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {"template": {"spec": {"containers": containers or [container(*args)], **pod}}},
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
