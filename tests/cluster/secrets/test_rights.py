"""The rights that ship with the program, granted by the tests' API server: they are enough, and none is left over."""

from pathlib import Path
from typing import Any

import yaml

from ingress.model.cluster.objects import Kind
from tests.cluster.source_case import SourceTestCase, ingress, secret, service
from tests.fakes.apiserver.access import grants_from_manifests

K8S = Path(__file__).resolve().parents[3] / "k8s"
ACCOUNT = ("txingress", "txingress")


def manifests(*names: str) -> list[dict[str, Any]]:
    """The objects of these files below ``k8s/``."""
    return [one for name in names for one in yaml.safe_load_all((K8S / name).read_text("utf-8"))]


class RightsTests(SourceTestCase):
    """A source with the rights of a manifest."""

    def grant(self, *objects: dict[str, Any]) -> None:
        self.server.access.tokens = {str(self.server.token): grants_from_manifests(objects, *ACCOUNT)}

    def fill(self, namespace: str) -> None:
        """Make a Service, an Ingress, and two Secrets, one of which the watch does not show."""
        self.server.create(service("web", namespace))
        self.server.create(ingress("web", "tls", "opaque", namespace=namespace))
        for name, secret_type in (("tls", "kubernetes.io/tls"), ("opaque", "Opaque")):
            one = secret(name, secret_type)
            one["metadata"]["namespace"] = namespace
            self.server.create(one)

    def refused(self) -> set[str]:
        return {call.plural for call in self.server.requests if call.status == 403}

    async def test_cluster_role(self) -> None:
        """With the ClusterRole everything is read, in the whole cluster, and nothing is refused."""
        self.grant(*manifests("base/rbac.yaml"), *manifests("base/gateway-api.yaml"))
        for streams in (True, False):
            self.server.streaming_list = streams
            self.fill(f"team-{streams}".lower())
            content = await self.synced()
            self.assertEqual(content.names(Kind.SECRET), {"tls", "opaque"})
            await self.running.stop()
        self.assertEqual(self.refused(), set())

    async def test_roles(self) -> None:
        """With the Roles of the namespaces everything there is read, and only the classes are refused."""
        self.grant(*manifests("overlays/namespaced/roles.yaml"))
        for namespace in ("shop", "blog", "other"):
            self.fill(namespace)
        content = await self.synced(namespaces=("shop", "blog"))
        self.assertEqual({key.namespace for _, key in content.objects}, {"shop", "blog"})
        self.assertEqual(content.names(Kind.SECRET), {"tls", "opaque"})
        self.assertEqual(self.refused(), {"ingressclasses", "customresourcedefinitions"})

    async def test_roles_without_secrets(self) -> None:
        """With ``get`` on two names instead of the right to all Secrets, these two are read."""
        roles = manifests("overlays/namespaced/roles.yaml")
        for role in (one for one in roles if one["kind"] == "Role"):
            for rule in role["rules"]:
                if rule["resources"] == ["secrets"]:
                    rule.update(resourceNames=["tls", "opaque"], verbs=["get"])
        self.grant(*roles)
        self.fill("shop")
        content = await self.synced(namespaces=("shop",), watch_secrets=False)
        self.assertEqual(content.names(Kind.SECRET), {"tls", "opaque"})
        self.assertEqual(self.refused(), {"ingressclasses", "customresourcedefinitions"})
