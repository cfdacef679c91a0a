"""ConfigMaps that are referred to: which come, by which way, and when."""

from typing import Any

from ingress.annotations import annotations
from ingress.annotations.annotations import FAMILIES
from ingress.model.objects import ConfigMap, Kind, ObjectKey
from ingress.model.problems import Reason
from tests.cluster.secrets.test_needed_secrets import OTHERS, SecretsTestCase
from tests.cluster.source_case import Content, ingress
from tests.translate.badges import BADGES

PREFIX = "nginx.ingress.kubernetes.io"


def config_map(name: str, **data: str) -> dict[str, Any]:
    """A ConfigMap as the API server has it."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "shop"},
        "data": data,
    }


def naming(name: str, config: str) -> dict[str, Any]:
    """An Ingress whose annotation names a ConfigMap."""
    one = ingress(name)
    one["metadata"]["annotations"] = {f"{PREFIX}/badge-config": config}
    return one


class ConfigMapTests(SecretsTestCase):
    """What a source hands over of ConfigMaps."""

    def setUp(self) -> Any:
        """Have a family that refers to them."""
        self.patch(annotations, "FAMILIES", (*FAMILIES, BADGES))
        return super().setUp()

    def data_of(self, content: Content, name: str = "c") -> dict[str, str] | None:
        """What was handed over of a ConfigMap; None when it was not, or is gone."""
        projection = content.objects.get((Kind.CONFIG_MAP, ObjectKey("shop", name)))
        if projection is None or projection.value is None:
            return None
        assert isinstance(projection.value, ConfigMap)
        return dict(projection.value.content)

    def asked(self, verb: str = "get") -> list[str]:
        """The names of ConfigMaps that were asked for, with this verb."""
        return [call.name for call in self.server.requests_of(verb, "configmaps")]

    async def test_named_and_others(self) -> None:
        """The first sync has those that are named, read by their names; others are neither asked for nor kept."""
        self.server.create(naming("a", "c"))
        self.server.create(config_map("c", k="v"))
        self.server.create(config_map("d", k="v"))
        content = await self.synced()
        self.assertEqual(content.names(Kind.CONFIG_MAP), {"c"})
        self.assertEqual(self.data_of(content), {"k": "v"})
        self.assertEqual(set(self.asked()), {"c"})
        self.assertEqual(self.asked("list"), [])

    async def test_goes_with_its_ingress(self) -> None:
        """What nobody names any more is given up; what is named anew is read."""
        self.server.create(naming("a", "c"))
        self.server.create(config_map("c", k="v"))
        self.server.create(config_map("d", k="w"))
        content = await self.synced()
        self.server.replace(naming("a", "d"))
        await self.until(lambda: content.names(Kind.CONFIG_MAP) == {"d"})
        self.server.delete("Ingress", "a", "shop")
        await self.until(lambda: content.names(Kind.CONFIG_MAP) == set())

    async def test_changes_are_found(self) -> None:
        """One that changed is read again; one that is not there yet is looked for."""
        self.patch(annotations, "FAMILIES", (*FAMILIES, BADGES))
        self.server.create(naming("a", "c"))
        self.server.create(config_map("c", k="v"))
        content = await self.synced(config_map_refresh_seconds=0.02)
        self.server.replace(config_map("c", k="w"))
        await self.until(lambda: self.data_of(content) == {"k": "w"})
        self.server.delete("ConfigMap", "c", "shop")
        await self.until(lambda: self.data_of(content) is None)

    async def test_forbidden(self) -> None:
        """One that may not be read is told, and no replica waits for the right."""
        self.server.create(naming("a", "c"))
        self.server.create(config_map("c", k="v"))
        self.grant(OTHERS)
        content = await self.synced(watch_secrets=False)
        (problem,) = content.objects[Kind.CONFIG_MAP, ObjectKey("shop", "c")].problems
        self.assertEqual(problem.reason, Reason.CONFIG_MAP_FORBIDDEN)
        self.assertIn("no right to get configmaps in namespace shop", problem.message)

    async def test_single(self) -> None:
        """The one that the operator wants followed is watched by its name, and comes though nobody names it."""
        self.server.create(config_map("options", k="v"))
        self.server.create(config_map("d", k="v"))
        content = await self.synced(single_config_map=ObjectKey("shop", "options"))
        self.assertEqual(self.data_of(content, "options"), {"k": "v"})
        self.server.replace(config_map("options", k="w"))
        await self.until(lambda: self.data_of(content, "options") == {"k": "w"})
        self.server.delete("ConfigMap", "options", "shop")
        await self.until(lambda: self.data_of(content, "options") is None)
        self.assertEqual(content.names(Kind.CONFIG_MAP), set())
        for call in self.server.requests_of("watch", "configmaps"):
            self.assertEqual(call.rule_name, "options")
