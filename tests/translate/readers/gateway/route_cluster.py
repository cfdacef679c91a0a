"""Routes of the Gateway API from manifests to answers, in memory: what a request gets, by the table of a listener."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from attrs import frozen

from ingress.cluster.kinds import ObjectKinds
from ingress.cluster.manifests.manifest_files import read_manifest_text
from ingress.cluster.store import Store
from ingress.model.cluster.objects import ObjectKey, Projection
from ingress.routing.backend_choice import choose
from ingress.routing.hosts import normal_host
from ingress.routing.match_conditions import first_met
from ingress.routing.paths import normal_path
from ingress.translate.incremental import Translation
from ingress.translate.options import ANNOTATIONS_PREFIX, TranslateOptions
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate

NOW = datetime(2026, 7, 1, tzinfo=UTC)
INFRA = "infra"
HTTP_TABLE = "gateway *:80"


@frozen
class Request:
    """A request, as far as it decides where it goes."""

    host: str
    target: str = "/"
    method: bytes = b"GET"
    fields: tuple[tuple[str, str], ...] = ()
    scheme: bytes = b"http"

    @property
    def path(self) -> bytes:
        """The path, in normal form."""
        return normal_path(self.target.partition("?")[0].encode())

    def combined(self, name: bytes) -> bytes | None:
        """Return all values of a field."""
        found = [value.encode() for called, value in self.fields if called.lower().encode() == name]
        return b", ".join(found) if found else None

    def field(self, name: bytes) -> bytes:
        """Return the first value of a field."""
        return next((value.encode() for called, value in self.fields if called.lower().encode() == name), b"")


@frozen
class Facts:
    """The same, as routing asks for it."""

    method: bytes
    path: bytes
    target: bytes
    scheme: bytes
    request: Request

    def combined(self, name: bytes) -> bytes | None:
        """Return all values of a field."""
        return self.request.combined(name)

    def field(self, name: bytes) -> bytes:
        """Return the first value of a field."""
        return self.request.field(name)


def get(host: str, target: str = "/", method: str = "GET", **fields: str) -> Request:
    """Return a request."""
    return Request(host, target, method.encode(), tuple(fields.items()))


def answer(snapshot: Snapshot, request: Request, chance: float = 0.0, table: str = HTTP_TABLE) -> str:
    """Say which Service *request* goes to, or which status it gets."""
    facts = Facts(request.method, request.path, request.target.encode(), request.scheme, request)
    host, _ = normal_host(request.host.encode())
    routes = snapshot.others[table].routes
    route = routes.find(host, facts.path)
    if route is not None and route.conditions:
        route = first_met(routes.taking(host, facts.path), facts)
    if route is None:
        return "404"
    backend = choose(route, facts, lambda: chance).backend
    state = snapshot.backends[backend]
    if state.is_broken:
        return str(route.broken_status)
    return backend.name if state.endpoints else "503"


class GatewayCluster:
    """A store that is filled by manifests, and a translation that follows it."""

    def __init__(self, **options: Any) -> None:
        self.options = TranslateOptions(**options)
        self.store = Store()
        self.translation = Translation(self.options)
        self._kinds = ObjectKinds(ROUTE_KINDS)
        self._files: dict[str, dict[Any, Projection]] = {}
        self.steps = 0
        """Of the last round."""

    def write(self, name: str, *objects: dict[str, Any] | str) -> Snapshot:
        """Write a file, have its changes translated, and check that a full translation comes to the same."""
        self.note(name, *objects)
        return self.follow()

    def note(self, name: str, *objects: dict[str, Any] | str) -> None:
        """Write a file, whose changes are for the next round."""
        parts = (one if isinstance(one, str) else json.dumps(one) for one in objects)
        content = read_manifest_text("\n---\n".join(parts), name, ANNOTATIONS_PREFIX, self._kinds)
        assert not content.problems, content.problems
        before, after = self._files.get(name, {}), {one.id: one.projection for one in content.objects}
        self._files[name] = after
        changes = self.store.changed({**dict.fromkeys(before), **after})
        self.translation.mark(changes.objects)
        self.translation.endpoints_changed(changes.services)
        while self.translation.awaits_endpoints:
            self.translation.refresh(self.store.state())

    def follow(self) -> Snapshot:
        """Take a round, and check that a full translation comes to the same."""
        snapshot = self.take()
        found = differences(snapshot, translate(self.store.state(), self.options, NOW))
        assert not found, found
        return snapshot

    def take(self) -> Snapshot:
        """Take a round."""
        self.steps = sum(1 for _ in self.translation.round(self.store.state(), NOW))
        snapshot = self.translation.snapshot
        assert snapshot is not None
        return snapshot

    def told(self, kind: str = "HTTPRoute") -> list[tuple[str, str, str]]:
        """Return name, reason and field of each problem of the objects of *kind*."""
        assert self.translation.snapshot is not None
        return sorted(
            (one.name, one.reason.value, one.field)
            for one in self.translation.snapshot.problems
            if one.kind == kind
        )


def attached(snapshot: Snapshot, gateway: str) -> dict[str, int]:
    """Return how many routes each listener of *gateway* has."""
    key = ObjectKey(INFRA, gateway)
    return {name: count for (owner, name), count in snapshot.attached.items() if owner.key == key}


GATEWAY_CLASS = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: ours}
spec: {controllerName: txingress.dev/gateway}
"""


def gateway(name: str = "main", *listeners: dict[str, Any], namespace: str = INFRA) -> dict[str, Any]:
    """Return a Gateway; without *listeners* it has one for all hosts, on port 80, for routes of all namespaces."""
    spec = {"gatewayClassName": "ours", "listeners": list(listeners) or [listener("http")]}
    return _object("Gateway", name, namespace, spec)


def listener(name: str, hostname: str = "", port: int = 80, **more: Any) -> dict[str, Any]:
    """Return a listener for HTTP."""
    found: dict[str, Any] = {"name": name, "port": port, "protocol": "HTTP"}
    found["allowedRoutes"] = {"namespaces": {"from": "All"}}
    if hostname:
        found["hostname"] = hostname
    return {**found, **more}


def route(
    name: str,
    *rules: dict[str, Any],
    hostnames: Iterable[str] = (),
    parents: Iterable[dict[str, Any]] = ({"name": "main", "namespace": INFRA},),
    namespace: str = INFRA,
    kind: str = "HTTPRoute",
    created: str = "",
) -> dict[str, Any]:
    """Return a route."""
    spec: dict[str, Any] = {"parentRefs": list(parents), "rules": list(rules)}
    if hostnames:
        spec["hostnames"] = list(hostnames)
    found = _object(kind, name, namespace, spec)
    if created:
        found["metadata"]["creationTimestamp"] = created
    return found


def rule(to: Any, *matches: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a rule that leads *to* a Service of that name, or to a list of ``backendRefs``."""
    backends = [{"name": to, "port": 8080}] if isinstance(to, str) else to
    found: dict[str, Any] = {"backendRefs": backends, **more}
    if matches:
        found["matches"] = list(matches)
    return found


def match(
    path: str = "", type: str = "PathPrefix", method: str = "", **named: dict[str, str]
) -> dict[str, Any]:
    """Return a match; *named* are ``headers`` and ``query`` by name, a ``~`` before the value says that it is an expression."""
    found: dict[str, Any] = {}
    if path:
        found["path"] = {"type": type, "value": path}
    if method:
        found["method"] = method
    for field, key in (("headers", "headers"), ("query", "queryParams")):
        if field in named:
            found[key] = [
                {"name": name, "value": value.removeprefix("~")}
                | ({"type": "RegularExpression"} if value.startswith("~") else {})
                for name, value in named[field].items()
            ]
    return found


def service(name: str, namespace: str = INFRA, address: str = "10.1.0.1", **port: Any) -> str:
    """Return a Service with one port, 8080, and its EndpointSlice; without *address* the slice has no endpoint."""
    ports = [{"name": "web", "port": 8080, "protocol": "TCP", **port}]
    body = _object("Service", name, namespace, {"ports": ports, "clusterIP": "10.0.0.10"}, "v1")
    slices = endpoints(name, namespace, address, port.get("protocol", "TCP"))
    return f"{json.dumps(body)}\n---\n{json.dumps(slices)}"


def endpoints(
    name: str, namespace: str = INFRA, address: str = "10.1.0.1", protocol: str = "TCP"
) -> dict[str, Any]:
    """Return an EndpointSlice of a Service."""
    metadata = {
        "name": f"{name}-1",
        "namespace": namespace,
        "labels": {"kubernetes.io/service-name": name},
    }
    ready = [{"addresses": [address], "conditions": {"ready": True}}] if address else []
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata,
        "addressType": "IPv6" if ":" in address else "IPv4",
        "ports": [{"name": "web", "port": 3000, "protocol": protocol}],
        "endpoints": ready,
    }


def grant(name: str, source: str, to: str, target: str = "", kind: str = "HTTPRoute") -> dict[str, Any]:
    """Return a ReferenceGrant in the namespace *to*, for routes of *source* to Services."""
    allowed = {"group": "", "kind": "Service"} | ({"name": target} if target else {})
    by = {"group": "gateway.networking.k8s.io", "kind": kind, "namespace": source}
    return _object("ReferenceGrant", name, to, {"from": [by], "to": [allowed]})


def _object(
    kind: str,
    name: str,
    namespace: str,
    spec: dict[str, Any],
    version: str = "gateway.networking.k8s.io/v1",
) -> dict[str, Any]:
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
