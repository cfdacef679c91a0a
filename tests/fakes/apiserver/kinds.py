"""The table of kinds that the tests' API server serves, and their few peculiarities."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from attrs import frozen

from tests.fakes.apiserver.statuses import UnknownGroupError, not_found_path

#: A Kubernetes object as JSON has it. Once stored it is never changed in place.
Json: TypeAlias = dict[str, Any]


@frozen
class ResourceType:
    """One row of the table: where a kind is served and which rules it follows."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    has_status: bool = False
    has_generation: bool = False
    short_names: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    """Field labels of field selectors, beside those every kind has."""
    version_required: bool = False
    """Whether a PUT has to carry a resource version (``AllowUnconditionalUpdate`` is false)."""
    is_custom: bool = False
    """Whether it is served only while there is a CustomResourceDefinition of its name."""

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` of the objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The resource as messages of the API server name it, ``ingresses.networking.k8s.io``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


def _gateway_kind(
    plural: str, kind: str, *, namespaced: bool = True, has_status: bool = True
) -> ResourceType:
    return ResourceType(
        "gateway.networking.k8s.io",
        "v1",
        plural,
        kind,
        namespaced=namespaced,
        has_status=has_status,
        has_generation=True,
        is_custom=True,
    )


GATEWAY_KINDS: tuple[ResourceType, ...] = (
    _gateway_kind("gatewayclasses", "GatewayClass", namespaced=False),
    _gateway_kind("gateways", "Gateway"),
    _gateway_kind("listenersets", "ListenerSet"),
    _gateway_kind("httproutes", "HTTPRoute"),
    _gateway_kind("grpcroutes", "GRPCRoute"),
    _gateway_kind("tlsroutes", "TLSRoute"),
    _gateway_kind("tcproutes", "TCPRoute"),
    _gateway_kind("udproutes", "UDPRoute"),
    _gateway_kind("referencegrants", "ReferenceGrant", has_status=False),
    _gateway_kind("backendtlspolicies", "BackendTLSPolicy"),
)
"""The kinds of the Gateway API."""


def definition_of(row: ResourceType, version: str = "v1.6.1", channel: str = "standard") -> Json:
    """Return the CustomResourceDefinition by which *row* is served, as far as anybody looks at it."""
    annotations = {
        "gateway.networking.k8s.io/bundle-version": version,
        "gateway.networking.k8s.io/channel": channel,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": row.qualified, "annotations": annotations},
        "spec": {"group": row.group, "names": {"kind": row.kind, "plural": row.plural}},
    }


KINDS: tuple[ResourceType, ...] = (
    ResourceType(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        namespaced=False,
        has_status=True,
        has_generation=True,
    ),
    *GATEWAY_KINDS,
    ResourceType("", "v1", "namespaces", "Namespace", namespaced=False, has_status=True, short_names=("ns",)),
    ResourceType("", "v1", "nodes", "Node", namespaced=False, has_status=True, short_names=("no",)),
    ResourceType(
        "",
        "v1",
        "pods",
        "Pod",
        has_status=True,
        short_names=("po",),
        fields=("spec.nodeName", "status.phase"),
    ),
    ResourceType("", "v1", "configmaps", "ConfigMap", short_names=("cm",)),
    ResourceType("", "v1", "secrets", "Secret", fields=("type",)),
    ResourceType(
        "",
        "v1",
        "services",
        "Service",
        has_status=True,
        short_names=("svc",),
        fields=("spec.clusterIP", "spec.type"),
    ),
    ResourceType(
        "networking.k8s.io",
        "v1",
        "ingresses",
        "Ingress",
        has_status=True,
        has_generation=True,
        short_names=("ing",),
    ),
    ResourceType(
        "networking.k8s.io", "v1", "ingressclasses", "IngressClass", namespaced=False, has_generation=True
    ),
    ResourceType("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", has_generation=True),
    ResourceType("coordination.k8s.io", "v1", "leases", "Lease", version_required=True),
    ResourceType(
        "events.k8s.io",
        "v1",
        "events",
        "Event",
        short_names=("ev",),
        fields=("reason", "type", "regarding.kind", "regarding.name", "regarding.namespace"),
    ),
)


@frozen
class KindTable:
    """Finds rows of the table by path, by object and by name."""

    rows: tuple[ResourceType, ...] = KINDS

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(self.rows)

    def at(self, group: str, version: str, plural: str) -> ResourceType:
        """Return the kind served at a path; raise 404 as the API server does for others."""
        for row in self.rows:
            if (row.group, row.version, row.plural) == (group, version, plural):
                return row
        if any(row.group == group for row in self.rows):
            raise not_found_path()
        raise UnknownGroupError

    def named(self, name: str) -> ResourceType:
        """Return the row of a kind (``Ingress``) or a plural (``ingresses``)."""
        for row in self.rows:
            if name in (row.kind, row.plural):
                return row
        raise KeyError(f"the tests' API server serves no kind {name!r}")

    def of(self, obj: Json) -> ResourceType:
        """Return the row that an object's ``apiVersion`` and ``kind`` name."""
        for row in self.rows:
            if (row.api_version, row.kind) == (obj.get("apiVersion"), obj.get("kind")):
                return row
        raise KeyError(f"the tests' API server serves no {obj.get('apiVersion')} {obj.get('kind')}")


def group_versions(rows: Iterable[ResourceType]) -> dict[str, set[str]]:
    """Return the versions of each named group."""
    groups: dict[str, set[str]] = {}
    for row in rows:
        if row.group:
            groups.setdefault(row.group, set()).add(row.version)
    return groups


def with_defaults(kind: ResourceType, obj: Json) -> Json:
    """
    Return *obj* with the defaults that selectors and clients can see.

    A Secret has a type, and its ``stringData`` is merged into ``data``. The
    other defaults of the API are left out.
    """
    if kind.plural != "secrets":
        return obj
    obj = {"type": "Opaque", **obj}
    plain = obj.pop("stringData", None)
    if plain:
        encoded = {name: base64.b64encode(text.encode()).decode() for name, text in plain.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}
    return obj
