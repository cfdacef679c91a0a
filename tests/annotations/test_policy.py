"""What the operator lets authors of Ingresses ask for."""

from datetime import UTC, datetime

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations import annotations
from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.annotations import FAMILIES
from ingress.annotations.contract.values import Risk, ValueRefused
from ingress.annotations.policy import AnnotationPolicy, parse_risk, parse_words
from ingress.model.cluster.problems import Problem
from ingress.translate.options import TranslateOptions
from ingress.translate.translate import translate
from tests.annotations.test_families import TEAM
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress

HIGH = evolve(TEAM, annotations={"team": evolve(TEAM.annotations["team"], risk=Risk.HIGH)})


class PolicyTests(SynchronousTestCase):
    """``AnnotationPolicy``, from options to routes."""

    def outcome(self, policy: AnnotationPolicy, **written: str) -> tuple[bool, list[Problem]]:
        """Whether an Ingress is served, beside one that asks for nothing and always is, and what is told."""
        self.patch(annotations, "FAMILIES", (*FAMILIES, HIGH))
        options = TranslateOptions(annotation_policy=policy)
        found = translate(state_of([ingress("a", "/", **written)]), options, datetime.now(UTC))
        (route,) = found.table.routes
        told = [one for one in found.problems if one.kind == "Ingress" and "annotations" in one.field]
        return GuardMissing() not in route.filters, told

    def test_everything(self) -> None:
        """By default every risk, and every word, is let."""
        self.assertEqual(self.outcome(AnnotationPolicy(), team="blue"), (True, []))

    def test_risk(self) -> None:
        """An Ingress whose annotation has more risk than is allowed answers 503, and the problem names both."""
        for risk, is_served in (
            (Risk.CRITICAL, True),
            (Risk.HIGH, True),
            (Risk.MEDIUM, False),
            (Risk.LOW, False),
        ):
            served, told = self.outcome(AnnotationPolicy(risk), team="blue")
            self.assertEqual(served, is_served, risk)
            self.assertEqual(
                [risk.value in one.message and "High" in one.message for one in told],
                [True] * (not is_served),
            )
        self.assertEqual(self.outcome(AnnotationPolicy(Risk.LOW)), (True, []))

    def test_words(self) -> None:
        """So does one with a blocked word in any value that is looked at."""
        policy = AnnotationPolicy(blocked_words=("lu", "{"))
        served, (problem,) = self.outcome(policy, team="blue")
        self.assertFalse(served)
        self.assertIn('holds "lu"', problem.message)
        self.assertEqual(self.outcome(policy, team="red"), (True, []))

    def test_snippets(self) -> None:
        """Snippets may be forbidden: one that guards closes its Ingress then, and any other is left out and told."""
        policy = AnnotationPolicy(allows_snippets=False)
        served, (problem,) = self.outcome(policy, configuration_snippet="more_set_headers 'X: y';")
        self.assertTrue(served)
        self.assertIn("allow-snippet-annotations", problem.message)
        served, (problem,) = self.outcome(policy, configuration_snippet="deny all;")
        self.assertFalse(served)
        self.assertIn("allow-snippet-annotations", problem.message)


class ValueTests(SynchronousTestCase):
    """The parse functions."""

    def test_risk(self) -> None:
        """A risk is read in any case, and nothing else is."""
        self.assertEqual(parse_risk(" CRITICAL "), Risk.CRITICAL)
        for text in ("", "none", "High,Low", "x" * 100_000):
            self.assertRaises(ValueRefused, parse_risk, text)

    def test_words(self) -> None:
        """Words are what stands between commas, signs included; too many are refused."""
        self.assertEqual(
            parse_words("load_module,lua, {,},',\\\""), ("load_module", "lua", "{", "}", "'", '\\"')
        )
        self.assertEqual(parse_words(" , ,"), ())
        self.assertRaises(ValueRefused, parse_words, ",".join(map(str, range(1000))))
