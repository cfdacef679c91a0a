"""The rules, and their page."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.lint.rules import RULES
from ingress.model.problems import Reason
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
            self.assertRegex(name, r"\A([A-Z][a-z]+)+\Z")
            self.assertTrue(rule.means.endswith("."), name)
            self.assertFalse(rule.advice.endswith("."), name)
