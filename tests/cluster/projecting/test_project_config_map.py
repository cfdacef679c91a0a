"""ConfigMaps, from what an API server or a manifest says to what is kept of them."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import CONFIG_MAPS
from ingress.cluster.projecting.project import project
from ingress.model.cluster.objects import ConfigMap, ObjectKey, Projection


def projected(**parts: Any) -> Projection:
    """The projection of a ConfigMap with these parts."""
    metadata = {"name": "c", "namespace": "shop"}
    key, found = project(CONFIG_MAPS, {"metadata": metadata, **parts}, "test")
    assert key == ObjectKey("shop", "c")
    return found


class ConfigMapTests(SynchronousTestCase):
    """``project_config_map``."""

    def content(self, found: Projection) -> dict[str, str]:
        assert isinstance(found.value, ConfigMap)
        return dict(found.value.content)

    def fields(self, found: Projection) -> list[str]:
        return [problem.field for problem in found.problems]

    def test_texts(self) -> None:
        """Texts are kept as they are, and nothing at all is a ConfigMap without any."""
        found = projected(data={"a": "1", "b": "x\ny"})
        self.assertEqual((self.content(found), found.problems), ({"a": "1", "b": "x\ny"}, ()))
        nothing: tuple[dict[str, Any], ...] = ({}, {"data": None}, {"data": {}})
        for parts in nothing:
            found = projected(**parts)
            self.assertEqual((self.content(found), found.problems), ({}, ()))

    def test_no_texts(self) -> None:
        """What is no text costs its key alone, and says so."""
        found = projected(data={"a": "1", "b": 7, "c": True, "d": None, "e": ["x"], "f": "\ud800"})
        self.assertEqual(self.content(found), {"a": "1"})
        self.assertEqual(self.fields(found), [f"data[{key}]" for key in "bcdef"])

    def test_binary_data(self) -> None:
        """Keys below binaryData are not read, which is told."""
        found = projected(data={"a": "1"}, binaryData={"proxy-body-size": "OG0="})
        self.assertEqual((self.content(found), self.fields(found)), ({"a": "1"}, ["binaryData"]))

    def test_shapes(self) -> None:
        """Data that is no mapping is no ConfigMap."""
        found = projected(data=["a"])
        self.assertEqual((found.value, self.fields(found)), (None, ["data"]))

    def test_names(self) -> None:
        """Keys that the API would not take are left out, which is told once."""
        found = projected(data={"a b": "1", "\r\n": "2", "c": "3", "": "4", "x" * 300: "5"})
        self.assertEqual((self.content(found), self.fields(found)), ({"c": "3"}, ["data"]))
