"""What tests of incremental translation share: one that follows a store, beside the full one, and objects to give it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from attrs import evolve
from hypothesis import strategies as st

from ingress.annotations.hosts.transport_security import TransportSecurity
from ingress.annotations.redirects.https_redirect import HttpsRedirect
from ingress.cluster.store import Store
from ingress.model.cluster.objects import (
    Batch,
    ClusterObject,
    ConfigMap,
    EndpointSlice,
    Kind,
    ObjectId,
    ObjectKey,
    Projection,
    Secret,
    Service,
    ServicePort,
    SlicePort,
)
from ingress.translate.incremental import Translation
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    IngressTLS,
    ServicePortReference,
)
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.translate.golden import NOW as ISSUED
from tests.translate.golden import generated
from tests.translate.test_properties import (
    PREFIX,
    classes,
    ingresses,
    keys,
    secrets,
    services,
    slices,
)

# Generated certificates end thirty days after this.
NOW = ISSUED


ENDED = NOW + timedelta(days=31)


class Follower:
    """A store, and a translation that is told what changes in it, as the controller does it."""

    def __init__(self, options: TranslateOptions, objects: list[ClusterObject]) -> None:
        self.options = options
        self.now = NOW
        self.store = Store()
        self.store.changed(batch(*objects))
        self.translation = Translation(options)
        self.translation.mark_everything(self.store.state())
        self.round: Iterator[None] | None = None

    def change(self, changed: Batch) -> None:
        """Store *changed*, mark it, and find endpoints at once."""
        changes = self.store.changed(changed)
        self.translation.mark(changes.objects)
        if self.options.manual_endpoints:
            self.translation.mark((Kind.SERVICE, one) for one in changes.services)
        self.translation.endpoints_changed(changes.services)
        while self.translation.awaits_endpoints:
            self.translation.refresh(self.store.state())

    def work(self, steps: int) -> None:
        """Take at most *steps* steps of a round."""
        for _ in range(steps):
            if self.round is None:
                self.round = self.translation.round(self.store.state(), self.now)
            if next(self.round, self) is self:
                self.round = None
                return

    def settle(self) -> Snapshot:
        """End the round, if there is one, and go through another one; return the snapshot."""
        while self.round is not None:
            self.work(1)
        self.work(1)
        while self.round is not None:
            self.work(1)
        assert not self.translation.is_marked
        assert self.translation.snapshot is not None
        return self.translation.snapshot

    def expected(self) -> Snapshot:
        """What the full translation makes of the same state."""
        return translate(self.store.state(), self.options, self.now)


def batch(*values: ClusterObject) -> dict[ObjectId, Projection | None]:
    """The batch in which all *values* come."""
    return {(Kind(type(value).__name__), value.key): Projection(value) for value in values}


def gone(value: ClusterObject) -> dict[ObjectId, Projection | None]:
    """The batch in which *value* is deleted."""
    return {(Kind(type(value).__name__), value.key): None}


config_maps = st.builds(
    ConfigMap, keys, st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["", "x"]), max_size=2)
)
# Of the family of ``tests.translate.badges``, where it is there.
references = st.fixed_dictionaries(
    {},
    optional={
        f"{PREFIX}/{name}": st.sampled_from(["a", "web", "demo/a", "other/a"])
        for name in ("badge-secret", "badge-config")
    },
)
further = st.fixed_dictionaries(
    {},
    optional={
        f"{PREFIX}/server-alias": st.sampled_from(
            ["b.a.com", "c.com", "www.a.com, c.com", "*.a.com", "A.com,~x", "x y"]
        ),
        f"{PREFIX}/from-to-www-redirect": st.sampled_from(["true", "false"]),
        f"{PREFIX}/permanent-redirect": st.sampled_from(["https://c.com", "x"]),
        f"{PREFIX}/app-root": st.just("/b"),
    },
)
referring = st.builds(
    lambda one, more: evolve(one, annotations={**one.annotations, **more}),
    ingresses,
    references | further,
)


by_kind: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.INGRESS: referring,
    Kind.SERVICE: services,
    Kind.ENDPOINT_SLICE: slices,
    Kind.SECRET: secrets,
    Kind.INGRESS_CLASS: classes,
    Kind.CONFIG_MAP: config_maps,
}


DEMO = ObjectKey("demo", "web")


def asking(
    name: str, *hosts: str, created: str = "2026-01-01T00:00:00Z", service: str = "web", secret: str = ""
) -> Ingress:
    """An Ingress for ``/`` of each host."""
    backend = IngressBackend(service, ServicePortReference(number=80))
    return Ingress(
        ObjectKey("demo", name),
        created=created,
        class_name="nginx",
        rules=tuple(IngressRule(host, (IngressPath("/", "Prefix", backend),)) for host in hosts),
        tls=(IngressTLS((), secret),) if secret else (),
    )


def tls_secret(name: str, *hosts: str) -> Secret:
    """A Secret with a certificate for *hosts*."""
    chain, key = generated(hosts, False, name)
    content = {"tls.crt": chain.encode(), "tls.key": key.encode()}
    return Secret(ObjectKey("demo", name), "kubernetes.io/tls", content)


BACKEND = IngressBackend("web", ServicePortReference(number=80))


SUITES = {"nginx.ingress.kubernetes.io/ssl-ciphers": "ECDHE-RSA-AES128-GCM-SHA256"}


def insisting(snapshot: Snapshot) -> tuple[list[bool], list[bool]]:
    """Tell of each route whether it redirects, and whether browsers are told to insist on HTTPS."""
    routes = snapshot.table.routes
    return (
        [any(isinstance(spec, HttpsRedirect) for spec in one.filters) for one in routes],
        [any(isinstance(spec, TransportSecurity) for spec in one.filters) for one in routes],
    )


SERVICE = Service(DEMO, ports=(ServicePort("http", 80),))


SLICE = EndpointSlice(DEMO, DEMO, ports=(SlicePort("http", 8080),), ready=("10.0.0.1",))
