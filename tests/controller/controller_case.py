"""What tests of the controller share: one on a clock, with a store, what it published, and objects to give it."""

from datetime import UTC, datetime

from attrs import evolve
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.store import Store
from ingress.controller import (
    Controller,
)
from ingress.metrics.metrics import Metrics
from ingress.model.cluster.objects import (
    ClusterObject,
    EndpointSlice,
    Kind,
    ObjectId,
    ObjectKey,
    Projection,
    Service,
    ServicePort,
    SlicePort,
)
from ingress.model.cluster.state import ClusterState
from ingress.model.upstream.backends import BackendReference
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    ServicePortReference,
)
from ingress.translate.snapshot import Snapshot

NOW = datetime(2026, 6, 1, tzinfo=UTC)


SHOP = BackendReference("web", "shop", 80)


BLOG = BackendReference("web", "blog", 80)


def key(name: str) -> ObjectKey:
    return ObjectKey("web", name)


def ingress(name: str, host: str, service: str = "shop") -> Ingress:
    backend = IngressBackend(service, ServicePortReference(number=80))
    rule = IngressRule(host, (IngressPath("/", "Prefix", backend),))
    return Ingress(key(name), created="2026-01-01T00:00:00Z", class_name="nginx", rules=(rule,))


def two_hosts(first: str, second: str) -> Ingress:
    """The Ingress ``web/two``, which asks for two hosts."""
    one, other = ingress("two", first), ingress("two", second)
    return evolve(one, rules=(*one.rules, *other.rules))


def service(name: str) -> Service:
    return Service(key(name), ports=(ServicePort("http", 80, 8080),))


def endpoint_slice(name: str, of: str, *addresses: str) -> EndpointSlice:
    return EndpointSlice(key(name), key(of), ports=(SlicePort("http", 8080),), ready=addresses)


def batch(*values: ClusterObject) -> dict[ObjectId, Projection | None]:
    return {(Kind(type(value).__name__), value.key): Projection(value) for value in values}


def gone(kind: Kind, name: str) -> dict[ObjectId, Projection | None]:
    return {(kind, key(name)): None}


class BrokenStore(Store):
    """A store that can be told to have a bug."""

    is_broken = False

    def state(self) -> ClusterState:
        if self.is_broken:
            raise RuntimeError("a bug")
        return super().state()


class ControllerTestCase(SynchronousTestCase):
    """A controller on a clock, with what it published."""

    options = TranslateOptions()

    def setUp(self) -> None:
        self.clock = Clock()
        self.store = BrokenStore()
        self.metrics = Metrics()
        self.published: list[Snapshot] = []
        self.controller = Controller(
            self.store, self.options, self.published.append, self.clock, self.metrics, lambda: NOW
        )

    def start(self, *values: ClusterObject) -> None:
        """Sync with *values*, and forget the first snapshot."""
        self.controller.changed(batch(*values))
        self.controller.synced()
        self.published.clear()

    def start_shop(self) -> Snapshot:
        """Sync with one Ingress, its Service and one endpoint; return the first snapshot."""
        self.controller.changed(
            batch(ingress("shop", "shop.test"), service("shop"), endpoint_slice("shop-1", "shop", "10.0.0.1"))
        )
        self.controller.synced()
        return self.published.pop()

    def addresses(self, reference: BackendReference = SHOP) -> list[str]:
        """The addresses behind *reference* in the snapshot published last."""
        return [endpoint.address for endpoint in self.published[-1].backends[reference].endpoints]

    def hosts(self) -> list[str]:
        """The hosts of the snapshot published last."""
        return sorted(route.host for route in self.published[-1].table.routes)
