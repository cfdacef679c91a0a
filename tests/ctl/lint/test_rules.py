"""The rules, and their page."""

import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.lint.rules import RULES
from ingress.model.cluster.problems import Reason
from scripts.lint_rules_page import lint_rules_page

PROJECT = Path(__file__).resolve().parents[3]


class RulesTests(SynchronousTestCase):
    def test_page(self) -> None:
        """docs/lint-rules.md is what the program makes of the table; ``make docs`` writes it anew."""
        self.assertEqual((PROJECT / "docs" / "lint-rules.md").read_text("utf-8"), lint_rules_page())

    def test_each_reason_of_a_problem_is_a_rule_with_words_of_its_own(self) -> None:
        """Names are CamelCase, and each says what it means in a sentence."""
        self.assertEqual({reason.value for reason in Reason} - RULES.keys(), set())
        for name, rule in RULES.items():
            self.assertEqual(name, rule.name)
            self.assertRegex(name, r"\A([A-Z][a-z]+|CA)+\Z")
            self.assertTrue(rule.means.endswith("."), name)
            self.assertFalse(rule.advice.endswith("."), name)

    def test_each_rule_is_tried(self) -> None:
        """Each rule that lint has of its own stands in a test of this room."""
        texts = "".join(path.read_text("utf-8") for path in Path(__file__).parent.rglob("test_*.py"))
        own = RULES.keys() - {reason.value for reason in Reason}
        self.assertEqual({name for name in own if not re.search(rf'"{name}"', texts)}, set())
