"""Raw objects of the Gateway API, and what is kept of them."""

from typing import Any

from ingress.cluster.kinds import KINDS
from ingress.cluster.projecting.project import project
from ingress.model.cluster.objects import ClusterObject, Kind, Projection

PREFIX = "nginx.ingress.kubernetes.io"


def raw_object(kind: Kind, spec: object, **fields: Any) -> dict[str, Any]:
    """An object of *kind* called ``shop/web``, with *fields* of its own."""
    metadata: dict[str, Any] = {"name": "web"}
    if KINDS[kind].namespaced:
        metadata["namespace"] = "shop"
    return {"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": metadata, "spec": spec, **fields}


def projection_of(kind: Kind, spec: object, **fields: Any) -> Projection:
    """What is kept of an object with *spec*, and what is wrong with it."""
    return project(KINDS[kind], raw_object(kind, spec, **fields), PREFIX)[1]


def value_of(kind: Kind, spec: object, **fields: Any) -> ClusterObject:
    """What is kept of an object that nothing is wrong with."""
    found = projection_of(kind, spec, **fields)
    assert found.problems == (), found.problems
    assert found.value is not None
    return found.value


def told_of(kind: Kind, spec: object) -> tuple[list[str], ClusterObject | None]:
    """The fields that problems name, and what is kept."""
    found = projection_of(kind, spec)
    return [one.field for one in found.problems], found.value
