"""Nodes and pods as an API server has them, for tests of the addresses of Nodes."""

from typing import Any

LABELS = {"app.kubernetes.io/name": "txingress"}


def node_object(name: str, *addresses: tuple[str, str]) -> dict[str, Any]:
    """Return a Node with *addresses*, each a type and a text."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {"podCIDR": "10.1.0.0/24"},
        "status": {"addresses": [{"type": sort, "address": text} for sort, text in addresses]},
    }


def pod_object(
    name: str,
    node: str,
    *,
    is_ready: bool = True,
    labels: dict[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return a pod of the controller on *node*, which runs; *more* is of its status."""
    ready = {"type": "Ready", "status": "True" if is_ready else "False"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "txingress",
            "labels": {**LABELS, "controller-revision-hash": name, **(labels or {})},
        },
        "spec": {"nodeName": node, "containers": []},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Initialized", "status": "True"}, ready],
            **more,
        },
    }
