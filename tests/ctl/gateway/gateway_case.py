"""A case that renders Ingresses as objects of the Gateway API."""

from datetime import UTC, datetime
from typing import Any

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import KINDS
from ingress.cluster.projecting.project import project
from ingress.cluster.store import Store
from ingress.ctl.gateway.rendering import render_gateway
from ingress.ctl.gateway.rendering_values import GatewayOptions, Json, Rendering
from ingress.ctl.inputs.coverage import Coverage
from ingress.ctl.inputs.input import Input
from ingress.model.cluster.objects import ObjectId, Projection
from ingress.options.option import DEFAULTS
from ingress.settings import Settings
from tests.ctl.gateway.schemas import faults

PREFIX = "nginx.ingress.kubernetes.io"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def ingress(
    name: str = "web",
    *,
    host: str = "shop.example.com",
    paths: tuple[str, ...] = ("/",),
    path_type: str = "Prefix",
    service: str = "",
    port: int | str = 80,
    namespace: str = "shop",
    secret: str = "",
    created: str = "2026-01-01T00:00:00Z",
    **annotations: Any,
) -> Json:
    """An Ingress of one host; annotations are named with ``_`` for ``-`` and without prefix."""
    number = {"name": port} if isinstance(port, str) else {"number": port}
    backend = {"service": {"name": service or name, "port": number}}
    rule: Json = {
        "http": {"paths": [{"path": one, "pathType": path_type, "backend": backend} for one in paths]}
    }
    if host:
        rule["host"] = host
    spec: Json = {"ingressClassName": "nginx", "rules": [rule]}
    if secret:
        spec["tls"] = [{"hosts": [host], "secretName": secret}]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "creationTimestamp": created,
            "annotations": {f"{PREFIX}/{key.replace('_', '-')}": value for key, value in annotations.items()},
        },
        "spec": spec,
    }


def service(name: str, namespace: str = "shop", **ports: int) -> Json:
    """A Service with *ports* by name."""
    spec = {"ports": [{"name": key, "port": value} for key, value in ports.items()]}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def given_by(*objects: Json, settings: Settings = DEFAULTS) -> Input:
    """The input that *objects* are."""
    batch: dict[ObjectId, Projection] = {}
    for raw in objects:
        read = KINDS.written_as(raw["apiVersion"], raw["kind"])
        assert read is not None
        key, projection = project(read, raw, PREFIX)
        assert key is not None
        batch[read.kind, key] = projection
    store = Store()
    store.changed(batch)
    translating = evolve(settings.translate, from_manifests=True)
    return Input(store.state(), evolve(settings, translate=translating), NOW, Coverage())


class GatewayCase(SynchronousTestCase):
    """Renders, and sees that an API server would take what comes of it."""

    maxDiff = None

    def render(self, *objects: Json, settings: Settings = DEFAULTS, **options: Any) -> Rendering:
        """Render *objects*; each object has to be of its schema."""
        asked = GatewayOptions(**options)
        rendering = render_gateway(given_by(*objects, settings=settings), asked)
        channel = "experimental" if asked.experimental else "standard"
        self.assertEqual([fault for one in rendering.objects for fault in faults(one, channel)], [])
        return rendering

    def of_kind(self, rendering: Rendering, kind: str) -> list[Json]:
        """The objects of *kind*."""
        return [one for one in rendering.objects if one["kind"] == kind]

    def rules(self, rendering: Rendering, kind: str = "HTTPRoute") -> list[Json]:
        """The rules of the one route of *kind*."""
        (route,) = self.of_kind(rendering, kind)
        rules: list[Json] = route["spec"]["rules"]
        return rules

    def rule(self, *objects: Json, **options: Any) -> Json:
        """The one rule that *objects* become."""
        (rule,) = self.rules(self.render(*objects, **options))
        return rule

    def unsaid(self, rendering: Rendering) -> set[tuple[str, str]]:
        """What is unsaid, each with its effect."""
        return {(one.what, one.effect.value) for one in rendering.unsaid}
