"""The rights that the chart has in its templates, read as text: also where there is no helm that would render them."""

import re
from typing import Any

import yaml
from twisted.trial.unittest import SynchronousTestCase

from tests.k8s_case import CHART, raw, rights

RULE = re.compile(r"^( *)- apiGroups:.*(?:\n\1 +.*)+", re.MULTILINE)
ACTION = re.compile(r"\{\{.*?\}\}")


def without_names(role: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(group, resource, verb) for group, resource, verb, _ in rights(role)}


class RightsTests(SynchronousTestCase):
    """The rules in ``k8s/chart/templates``."""

    def test_no_more_and_no_less(self) -> None:
        """The chart grants what ``k8s/base``, its overlays and components grant together: nothing more, and nothing less."""
        texts = [(CHART / "templates" / name).read_text("utf-8") for name in ("rbac.yaml", "_rbac.tpl")]
        found: set[tuple[str, str, str]] = set()
        for text in texts:
            for rule in RULE.finditer(text):
                found |= without_names({"rules": yaml.safe_load(ACTION.sub("x", rule[0]))})
        granted = {
            right
            for _, one in raw()
            if "rules" in one and "Role" in one["kind"]
            for right in without_names(one)
        }
        self.assertEqual(found, granted)
        self.assertGreater(len(found), 40)
