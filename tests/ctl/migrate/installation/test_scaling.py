"""What KEDA does for an ingress-nginx, and here."""

from typing import Any

from ingress.ctl.migrate.migration import ArgumentsReport
from tests.ctl.inputs.controllers import autoscaler, scaled_object
from tests.ctl.migrate.installation.installation_case import InstallationCase, fates, report_of, said

DEPLOYMENT = "Deployment", "txingress"
SCALED = "ScaledObject", "txingress"
CRON: dict[str, Any] = {
    "type": "cron",
    "metadata": {"timezone": "UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "6"},
}
BY_SERIES: dict[str, Any] = {
    "type": "prometheus",
    "metadata": {
        "serverAddress": "http://prometheus.monitoring:9090",
        "query": "sum(rate(nginx_ingress_controller_requests[1m]))",
        "threshold": "100",
    },
}
CPU: dict[str, Any] = {"type": "cpu", "metricType": "Utilization", "metadata": {"value": "60"}}


class ScaledObjectTests(InstallationCase):
    """A ScaledObject."""

    def scaled(self, report: ArgumentsReport) -> dict[str, Any]:
        """The one that is built."""
        built = self.build(report)
        self.assertNotIn("replicas", built[DEPLOYMENT]["spec"])
        self.assertNotIn(("HorizontalPodAutoscaler", "txingress"), built)
        found: dict[str, Any] = built[SCALED]["spec"]
        return found

    def test_it_becomes_one_of_this_controller(self) -> None:
        """With its triggers, bounds and pace; it has made the autoscaler, and no other stands beside it."""
        behavior = {"scaleDown": {"stabilizationWindowSeconds": 300}}
        report = report_of(
            autoscaler(maxReplicas=99),
            scaled_object(
                CRON,
                minReplicaCount=3,
                maxReplicaCount=20,
                pollingInterval=15,
                cooldownPeriod=60,
                advanced={"horizontalPodAutoscalerConfig": {"name": "old", "behavior": behavior}},
                fallback={"failureThreshold": 3, "replicas": 5},
            ),
            spec={"replicas": 7},
        )
        self.assertEqual(
            self.scaled(report),
            {
                "scaleTargetRef": {"name": "txingress"},
                "minReplicaCount": 3,
                "maxReplicaCount": 20,
                "pollingInterval": 15,
                "cooldownPeriod": 60,
                "advanced": {"horizontalPodAutoscalerConfig": {"behavior": behavior}},
                "fallback": {"failureThreshold": 3, "replicas": 5},
                "triggers": [CRON],
            },
        )
        self.assertEqual(set(fates(report).values()), {"TAKEN"})

    def test_never_less_than_two(self) -> None:
        """Not where it says so, and not where it says nothing; of what it leaves out nothing is told."""
        report = report_of(scaled_object(CRON, minReplicaCount=0, idleReplicaCount=0))
        self.assertEqual(self.scaled(report)["minReplicaCount"], 2)
        self.assertEqual(
            fates(report), {"triggers[0]": "TAKEN", "minReplicaCount": "LEFT", "idleReplicaCount": "LEFT"}
        )
        report = report_of(scaled_object(CRON))
        scaled = self.scaled(report)
        self.assertEqual((scaled["minReplicaCount"], scaled["maxReplicaCount"]), (2, 100))
        self.assertEqual(fates(report), {"triggers[0]": "TAKEN"})

    def test_triggers_that_mean_something_else_here(self) -> None:
        """Each is left, and says why: it asks for series of ingress-nginx, or needs what only its pods or its namespace have."""
        secret = {"type": "kafka", "metadata": {"topic": "t"}, "authenticationRef": {"name": "kafka"}}
        everywhere = {
            "type": "kafka",
            "metadata": {"topic": "u"},
            "authenticationRef": {"name": "kafka", "kind": "ClusterTriggerAuthentication"},
        }
        variable = {"type": "redis", "metadata": {"addressFromEnv": "REDIS"}}
        deep: Any = []
        for _ in range(30):
            deep = [deep]
        unsound = {"type": "cron", "metadata": {"a": deep}}
        report = report_of(
            scaled_object(
                BY_SERIES,
                CPU,
                secret,
                variable,
                unsound,
                everywhere,
                advanced={"scalingModifiers": {"formula": "a + b"}},
                annotations={"autoscaling.keda.sh/paused": "true", "team": "edge"},
            )
        )
        scaled = self.scaled(report)
        self.assertEqual(scaled["triggers"], [everywhere])
        self.assertNotIn("advanced", scaled)
        found = said(report)
        self.assertIn("docs/metrics.md", found["triggers[0]"][1])
        self.assertIn("in percent", found["triggers[1]"][1])
        self.assertIn("TriggerAuthentication", found["triggers[2]"][1])
        self.assertIn("variable", found["triggers[3]"][1])
        self.assertIn("in the API", found["triggers[4]"][1])
        self.assertEqual(
            {field for field, fate in fates(report).items() if fate == "LEFT"},
            {f"triggers[{number}]" for number in range(5)}
            | {"advanced.scalingModifiers", "annotation autoscaling.keda.sh/paused"},
        )

    def test_a_formula_of_triggers_that_are_all_here(self) -> None:
        """It is taken over; what is to be had where a trigger fails is for those that can."""
        amount = {
            "type": "cpu",
            "metricType": "AverageValue",
            "metadata": {"value": "500m", "containerName": "controller"},
        }
        formula = {"formula": "a", "target": "2"}
        report = report_of(
            scaled_object(
                amount,
                advanced={"scalingModifiers": formula, "restoreToOriginalReplicaCount": True},
                fallback={"replicas": 5},
            )
        )
        scaled = self.scaled(report)
        self.assertEqual(
            scaled["advanced"], {"scalingModifiers": formula, "restoreToOriginalReplicaCount": True}
        )
        self.assertEqual(scaled["triggers"][0]["metadata"], {"value": "500m", "containerName": "txingress"})
        self.assertNotIn("fallback", scaled)
        self.assertEqual(fates(report)["fallback"], "LEFT")

    def test_without_a_trigger_that_means_the_same(self) -> None:
        """The component stands in its place, with its bounds."""
        for triggers in ((CPU, BY_SERIES), ()):
            report = report_of(scaled_object(*triggers, minReplicaCount=4, maxReplicaCount=9))
            built = self.build(report)
            self.assertNotIn(SCALED, built)
            spec = built["HorizontalPodAutoscaler", "txingress"]["spec"]
            self.assertEqual((spec["minReplicas"], spec["maxReplicas"]), (4, 9))
            self.assertEqual(fates(report)["triggers"], "LEFT")
        built = self.build(report_of(scaled_object()))
        self.assertEqual(built["HorizontalPodAutoscaler", "txingress"]["spec"]["maxReplicas"], 100)

    def test_of_another(self) -> None:
        """It is left alone, and so is one of what has a pod on each node."""
        other = scaled_object(CRON)
        other["spec"]["scaleTargetRef"] = {"name": "ingress-nginx-controller", "kind": "StatefulSet"}
        self.assertEqual(report_of(other).around, ())
        on_nodes = scaled_object(CRON)
        on_nodes["spec"]["scaleTargetRef"]["kind"] = "DaemonSet"
        report = report_of(on_nodes, hostNetwork=True, kind="DaemonSet")
        self.assertEqual(said(report)["all of it"][1], "there is one pod on each node")
        self.assertNotIn(SCALED, self.build(report))
