"""A cluster with the Gateway API in memory: what objects say is watched and translated, and statuses are written back, on a clock.

It keeps the rules that matter to who writes a status: versions, generations, merge patches, and who wrote what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from attrs import frozen
from twisted.internet.task import Clock

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_status import ObjectMissingError
from ingress.cluster.api.api_thread import Outcome
from ingress.cluster.kinds import KINDS
from ingress.cluster.projecting.project import project
from ingress.cluster.store import Store
from ingress.controller import Controller
from ingress.errors import KubernetesError
from ingress.metrics.metrics import Metrics
from ingress.metrics.series.status import StatusMetrics
from ingress.model.cluster.object_meta import Address
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Projection
from ingress.model.reporting.reporting import Reporting
from ingress.status.refusals import Refusals
from ingress.status.report_writer import Sending
from ingress.status.statuses import Statuses
from ingress.translate.gateway_options import GatewayOptions
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.kinds import GATEWAY_API
from ingress.translate.readers.reader import reported_by
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from ingress.translate.snapshot import Snapshot
from tests.fakes.apiserver.kinds import GATEWAY_KINDS
from tests.fakes.apiserver.managed_fields import with_writer
from tests.fakes.apiserver.writing import merge_patch

Json = dict[str, Any]
GROUP = "gateway.networking.k8s.io"
CONTROLLER = "txingress.dev/gateway"
_BEGIN = datetime(2026, 11, 22, tzinfo=UTC)
_TYPES = {row.plural: row for row in GATEWAY_KINDS}
_KINDS = {row.read.plural: row.read.kind for row in GATEWAY_API} | {
    read.plural: read.kind for row in GATEWAY_API for read in row.judged_by
}
_LATENCY = 0.005


@frozen
class Written:
    """A write of a status that was tried: whose, of what, and what came of it."""

    writer: str
    kind: str
    name: str
    status: int
    body: Json


class GatewayCluster:
    """All objects as the API server has them, and who watches them."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.written: list[Written] = []
        self.objects: dict[ObjectId, Json] = {}
        self._versions = 0
        self._watching: list[Callable[[Iterable[ObjectId]], None]] = []

    def now(self) -> datetime:
        return _BEGIN + timedelta(seconds=self.clock.seconds())

    # -- objects

    def apply(self, *objects: Json) -> None:
        """Create objects, or give them another desired state."""
        changed = []
        for one in objects:
            object_id = _id_of(one)
            before = self.objects.get(object_id)
            one = deepcopy(one)
            known: Mapping[str, Any] = {} if before is None else before["metadata"]
            same = before is not None and before.get("spec") == one.get("spec")
            one["metadata"] = {
                "uid": f"uid-{object_id[1].name}",
                "creationTimestamp": self.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
                **known,
                **one["metadata"],
                "generation": known.get("generation", 0) + (not same),
            }
            if before is not None and "status" in before:
                one["status"] = before["status"]
            self._put(object_id, one)
            changed.append(object_id)
        self._tell(changed)

    def delete(self, kind: str, name: str, namespace: str = "infra") -> None:
        object_id = (Kind(kind), _key(kind, namespace, name))
        del self.objects[object_id]
        self._tell([object_id])

    def get(self, kind: str, name: str, namespace: str = "infra") -> Json:
        return self.objects[Kind(kind), _key(kind, namespace, name)]

    def status(self, kind: str, name: str, namespace: str = "infra") -> Json:
        status: Json = self.get(kind, name, namespace).get("status") or {}
        return status

    def write_status(self, kind: str, name: str, status: Json) -> None:
        """Let another program write fields of a status."""
        object_id = (Kind(kind), _key(kind, "infra", name))
        self._patch(object_id, {"status": status}, "somebody")

    def _put(self, object_id: ObjectId, one: Json) -> None:
        self._versions += 1
        one["metadata"]["resourceVersion"] = str(self._versions)
        self.objects[object_id] = one

    def _tell(self, changed: Iterable[ObjectId]) -> None:
        for watch in self._watching:
            watch(changed)

    # -- replicas

    def watch(self, watch: Callable[[Iterable[ObjectId]], None]) -> None:
        self._watching.append(watch)
        watch(list(self.objects))

    def unwatch(self, watch: Callable[[Iterable[ObjectId]], None]) -> None:
        if watch in self._watching:
            self._watching.remove(watch)

    def projected(self, object_id: ObjectId) -> Projection | None:
        one = self.objects.get(object_id)
        return None if one is None else project(KINDS[object_id[0]], one, "nginx.ingress.kubernetes.io")[1]

    def ask(self, request: ApiRequest, done: Callable[[Outcome], None]) -> None:
        """Take the patch of a status; it is answered a little later, and its event comes then, too."""
        *_, plural, name, subresource = request.path.split("/")
        assert subresource == "status" and request.body is not None, request.path
        namespace = (
            request.path.split("/namespaces/")[1].split("/")[0] if "/namespaces/" in request.path else ""
        )
        kind, writer = _KINDS[plural], dict(request.query)["fieldManager"]
        self.clock.callLater(
            _LATENCY, self._answer, (kind, _key(kind, namespace, name)), request.body, writer, done
        )

    def _answer(self, object_id: ObjectId, body: Json, writer: str, done: Callable[[Outcome], None]) -> None:
        error = self._patch(object_id, body, writer)
        status = 200 if error is None else error.status
        self.written.append(Written(writer, object_id[0], object_id[1].name, status, body))
        done({} if error is None else error)

    def _patch(self, object_id: ObjectId, body: Json, writer: str) -> KubernetesError | None:
        before = self.objects.get(object_id)
        if before is None:
            return ObjectMissingError(KubernetesError(404, "NotFound", "it is gone"))
        version = (body.get("metadata") or {}).get("resourceVersion")
        if version not in (None, before["metadata"]["resourceVersion"]):
            return KubernetesError(409, "Conflict", "somebody was faster")
        after = merge_patch(deepcopy(before), {"status": body["status"]})
        assert isinstance(after, dict)
        if after != before:
            row = next(one for one in GATEWAY_KINDS if one.kind == object_id[0])
            self._put(object_id, with_writer(row, before, after, writer, "now"))
            self._tell([object_id])
        return None


class Replica:
    """A controller with its statuses, beside others or alone; it leads when it is told to."""

    def __init__(
        self,
        cluster: GatewayCluster,
        name: str = "us",
        controller: str = CONTROLLER,
        published: tuple[Address, ...] = (),
        **options: Any,
    ) -> None:
        self.cluster = cluster
        self.store = Store()
        gateway = GatewayOptions(controller_name=controller, **options)
        self.options = TranslateOptions(gateway=gateway)
        sending = Sending(
            cluster.clock, cluster.ask, (2.0, 3.0), cluster.clock.seconds, lambda: 0.0, Refusals()
        )
        self.metrics = StatusMetrics()
        self.statuses = Statuses(
            sending,
            self.store.state,
            Reporting(publish_addresses=published),
            self.options,
            name,
            self.metrics,
            cluster.now,
            kinds=reported_by(ROUTE_KINDS),
        )
        self.published: list[Snapshot] = []
        self.controller = Controller(
            self.store,
            self.options,
            self.published.append,
            cluster.clock,
            Metrics(),
            cluster.now,
            self.statuses,
            ROUTE_KINDS,
        )
        cluster.watch(self.changed)
        self.controller.synced()

    def changed(self, objects: Iterable[ObjectId]) -> None:
        """What the watch shows."""
        self.controller.changed({one: self.cluster.projected(one) for one in objects})

    def lead(self) -> None:
        self.statuses.lead()

    def stop(self) -> None:
        """End, without a word; more than once does nothing."""
        self.cluster.unwatch(self.changed)
        self.statuses.follow()
        self.controller.stop()


def _key(kind: str, namespace: str, name: str) -> ObjectKey:
    return ObjectKey("" if kind == "GatewayClass" else namespace, name)


def _id_of(one: Json) -> ObjectId:
    metadata = one["metadata"]
    return Kind(one["kind"]), _key(one["kind"], metadata.get("namespace", ""), metadata["name"])


# -- objects in a few words


def gateway_class(name: str = "ours", controller: str = CONTROLLER) -> Json:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "GatewayClass",
        "metadata": {"name": name},
        "spec": {"controllerName": controller},
    }


def gateway(name: str, *listeners: Json, class_name: str = "ours", **spec: Any) -> Json:
    """A Gateway; without *listeners* it has one for HTTP on port 8080, for routes of all namespaces."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Gateway",
        "metadata": {"name": name, "namespace": "infra"},
        "spec": {"gatewayClassName": class_name, "listeners": list(listeners or (listener(),)), **spec},
    }


def listener(name: str = "http", port: int = 8080, **more: Any) -> Json:
    allowed = {"namespaces": {"from": "All"}}
    return {"name": name, "port": port, "protocol": "HTTP", "allowedRoutes": allowed, **more}


def listener_set(name: str, parent: str, *listeners: Json) -> Json:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ListenerSet",
        "metadata": {"name": name, "namespace": "infra"},
        "spec": {"parentRef": {"name": parent}, "listeners": list(listeners)},
    }


def http_route(name: str, *parents: str, service: str = "web", **spec: Any) -> Json:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": "infra"},
        "spec": {
            "parentRefs": [{"name": parent} for parent in parents],
            "hostnames": [f"{name}.test"],
            "rules": [{"backendRefs": [{"name": service, "port": 80}]}],
            **spec,
        },
    }


def policy(name: str, service: str = "web") -> Json:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "BackendTLSPolicy",
        "metadata": {"name": name, "namespace": "infra"},
        "spec": {
            "targetRefs": [{"group": "", "kind": "Service", "name": service}],
            "validation": {"wellKnownCACertificates": "System", "hostname": "web.test"},
        },
    }


def service(name: str = "web") -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "infra"},
        "spec": {"ports": [{"name": "http", "port": 80}], "clusterIP": "10.0.0.1"},
    }
