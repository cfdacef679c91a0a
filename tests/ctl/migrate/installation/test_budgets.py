"""What of a PodDisruptionBudget is carried over."""

from typing import Any

from tests.ctl.inputs.controllers import budget
from tests.ctl.migrate.installation.installation_case import InstallationCase, fates, report_of, said

BUDGET = "PodDisruptionBudget", "txingress"


class BudgetTests(InstallationCase):
    """The budget of k8s/ gets what that of ingress-nginx has."""

    def spec(self, **spec: Any) -> tuple[dict[str, Any], dict[str, str]]:
        """The budget that is built for one with *spec*, without what it selects, and what became of each field."""
        report = report_of(budget(**spec))
        built: dict[str, Any] = self.build(report)[BUDGET]["spec"]
        self.assertEqual(built.pop("selector"), {"matchLabels": {"app.kubernetes.io/name": "txingress"}})
        return built, fates(report)

    def test_how_many_may_go(self) -> None:
        """In the words of either field; they cannot both be there."""
        self.assertEqual(self.spec(minAvailable="60%"), ({"minAvailable": "60%"}, {"minAvailable": "TAKEN"}))
        self.assertEqual(
            self.spec(maxUnavailable=2, unhealthyPodEvictionPolicy="AlwaysAllow"),
            (
                {"maxUnavailable": 2, "unhealthyPodEvictionPolicy": "AlwaysAllow"},
                {"maxUnavailable": "TAKEN", "unhealthyPodEvictionPolicy": "TAKEN"},
            ),
        )

    def test_what_comes_to_the_same(self) -> None:
        """One pod at a time, as it is here: of Helm's one that stays it is told, of the other there is nothing to tell."""
        self.assertEqual(self.spec(minAvailable=1), ({"maxUnavailable": 1}, {"minAvailable": "LEFT"}))
        self.assertEqual(self.spec(maxUnavailable=1), ({"maxUnavailable": 1}, {}))

    def test_of_others(self) -> None:
        """A budget that selects other pods is none of ours; a pod on each node has no budget."""
        other = budget(selector={"matchLabels": {"app": "web"}}, minAvailable=3)
        self.assertEqual(report_of(other, budget(selector={}, minAvailable=3)).around, ())
        report = report_of(budget(minAvailable=3), hostNetwork=True)
        self.assertIn("DaemonSet", said(report)["all of it"][1])
        self.assertNotIn(BUDGET, self.build(report))
