"""ConfigMaps that are referred to: which come, by which way, and when."""

from functools import partial
from typing import Any

from ingress.annotations import annotations
from ingress.annotations.annotations import FAMILIES
from ingress.annotations.answers.configured_fields import OPERATOR_FIELDS, OperatorFieldSettings
from ingress.cluster.api_server import ApiServerSource
from ingress.model.cluster.objects import ConfigMap, Kind, ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.translate.options import TranslateOptions
from tests.cluster.secrets.test_needed_secrets import OTHERS, SecretsTestCase
from tests.cluster.source_case import Content, ingress
from tests.fakes.apiserver.faults import Answer
from tests.operator_settings import operator_settings
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


class ConfigMapCase(SecretsTestCase):
    """A source whose ConfigMaps are of interest."""

    def data_of(self, content: Content, name: str = "c") -> dict[str, str] | None:
        """What was handed over of a ConfigMap; None when it was not, or is gone."""
        projection = content.objects.get((Kind.CONFIG_MAP, ObjectKey("shop", name)))
        if projection is None or projection.value is None:
            return None
        assert isinstance(projection.value, ConfigMap)
        return dict(projection.value.content)


class ConfigMapTests(ConfigMapCase):
    """What a source hands over of ConfigMaps."""

    def setUp(self) -> Any:
        """Have a family that refers to them."""
        self.patch(annotations, "FAMILIES", (*FAMILIES, BADGES))
        return super().setUp()

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
        content = await self.synced(single_config_maps=(ObjectKey("shop", "options"),))
        self.assertEqual(self.data_of(content, "options"), {"k": "v"})
        self.server.replace(config_map("options", k="w"))
        await self.until(lambda: self.data_of(content, "options") == {"k": "w"})
        self.server.delete("ConfigMap", "options", "shop")
        await self.until(lambda: self.data_of(content, "options") is None)
        self.assertEqual(content.names(Kind.CONFIG_MAP), set())
        for call in self.server.requests_of("watch", "configmaps"):
            self.assertEqual(call.rule_name, "options")


class OperatorsConfigMapTests(ConfigMapCase):
    """The one that the operator wants followed, and what an API server may do about it."""

    KEY = ObjectKey("shop", "options")

    def has(self, content: Content, text: str) -> bool:
        """Whether it was handed over with this text."""
        return self.data_of(content, "options") == {"k": text}

    async def test_late_right(self) -> None:
        """While the right to it is missing nobody is ready, and it is said which right that is."""
        self.server.create(config_map("options", k="v"))
        self.grant(OTHERS)
        content = await self.start(
            single_config_maps=(self.KEY,), config_map_refresh_seconds=0.02, watch_secrets=False
        )
        await self.until(
            lambda: any("configmaps in namespace shop: options" in one for one in self.running.missing())
        )
        self.assertEqual(content.synced_times, 0)
        self.grant(OTHERS, ("configmaps", "get list watch", "options"))
        await self.until(lambda: content.synced_times == 1)
        self.assertEqual(self.data_of(content, "options"), {"k": "v"})

    async def test_right_taken_away(self) -> None:
        """A right that is taken away later takes nothing back."""
        self.server.create(config_map("options", k="v"))
        content = await self.synced(single_config_maps=(self.KEY,))
        self.grant(OTHERS)
        self.server.close_watches("finish")
        await self.until(lambda: len(self.server.requests_of("watch", "configmaps")) > 2)
        self.assertEqual(self.data_of(content, "options"), {"k": "v"})

    async def test_expired_and_reset(self) -> None:
        """What changes while the watch is away, or its place in the stream is lost, is found."""
        self.server.create(config_map("options", k="v"))
        content = await self.synced(single_config_maps=(self.KEY,))
        endings: tuple[Any, ...] = ("finish", "cut", "reset")
        for number, how in enumerate(endings):
            self.server.close_watches(how)
            self.server.replace(config_map("options", k=str(number)))
            await self.until(partial(self.has, content, str(number)))
        self.server.faults.add(Answer(410, reason="Expired"), verb="watch", resource="configmaps")
        self.server.close_watches("cut")
        self.server.delete("ConfigMap", "options", "shop")
        await self.until(lambda: self.data_of(content, "options") is None)
        self.server.create(config_map("options", k="again"))
        await self.until(lambda: self.data_of(content, "options") == {"k": "again"})

    async def test_other_namespace(self) -> None:
        """It is read wherever it is, and one of its name elsewhere is another one."""
        other = config_map("options", k="other")
        other["metadata"]["namespace"] = "elsewhere"
        self.server.create(other)
        content = await self.synced(single_config_maps=(self.KEY,))
        self.assertEqual(content.names(Kind.CONFIG_MAP), set())
        await self.running.stop()
        content = await self.synced(
            single_config_maps=(ObjectKey("elsewhere", "options"),), namespaces=("shop",)
        )
        self.assertEqual(content.names(Kind.CONFIG_MAP), {"options"})

    async def test_the_operator_refers(self) -> None:
        """What the operator refers to while the process runs is read then, and given up when he does no more."""
        self.server.create(config_map("added", k="v"))
        content = await self.synced()
        self.assertEqual(content.names(Kind.CONFIG_MAP), set())
        source = self.running
        assert isinstance(source, ApiServerSource)
        added = OperatorFieldSettings(ObjectKey("shop", "added"))
        source.refer(TranslateOptions(operators=operator_settings((OPERATOR_FIELDS, added))))
        await self.until(lambda: self.data_of(content, "added") == {"k": "v"})
        source.refer(TranslateOptions())
        await self.until(lambda: content.names(Kind.CONFIG_MAP) == set())

    async def test_large(self) -> None:
        """As much as an API server keeps comes whole, be it in one key or in ten thousand."""
        for data in ({"page": '<"\\\n>' * 190_000}, {f"key-{number}": "x" * 90 for number in range(10_000)}):
            self.server.apply(config_map("options", **data))
            content = await self.synced(single_config_maps=(self.KEY,))
            self.assertEqual(self.data_of(content, "options"), data)
            self.server.replace(config_map("options", **data, more="1"))
            await self.until(lambda: len(self.data_of(content, "options") or ()) == len(data) + 1)  # noqa: B023 - awaited here
            await self.running.stop()
