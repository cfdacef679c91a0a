"""ModSecurity by values of ingress-nginx: what it takes here, and what is said where that is missing."""

from typing import Any

from tests.chart.chart_case import ChartTestCase
from tests.k8s_case import options_of, pod

WANTED = {
    "enable-modsecurity": "true",
    "enable-owasp-modsecurity-crs": "true",
    "modsecurity-snippet": "SecRuleEngine On\nSecRequestBodyAccess On\n",
}


def values(config: dict[str, Any], **given: object) -> dict[str, Any]:
    arguments = {name.replace("_", "-"): value for name, value in given.items()}
    return {"controller": {"config": config, "extraArgs": arguments}}


class FirewallTests(ChartTestCase):
    """Values that ask for it, with firewall processes and without."""

    def memory(self, found: dict[str, Any]) -> tuple[str, str]:
        """The memory that the controller requests, and its limit."""
        workload = self.only(self.rendered(found), "Deployment")
        (container,) = pod(workload)["containers"]
        resources = container["resources"]
        return resources["requests"]["memory"], resources["limits"]["memory"]

    def test_processes(self) -> None:
        """With firewall processes the ConfigMap of ingress-nginx counts as it is, and the security context stays the same."""
        found = self.rendered(values(WANTED, firewall_processes=2))
        self.assertLessEqual(WANTED.items(), self.only(found, "ConfigMap")["data"].items())
        (container,) = pod(self.only(found, "Deployment"))["containers"]
        self.assertEqual(options_of(container).settings().translate.firewall.processes, 2)
        (usual,) = pod(self.only(self.rendered({}), "Deployment"))["containers"]
        self.assertEqual(container["securityContext"], usual["securityContext"])

    def test_without_processes(self) -> None:
        """Without them what would have kept requests out fails the render, and says what to set."""
        said = self.refused(values(WANTED))
        self.assertIn("controller.config.enable-modsecurity: there is no firewall without", said)
        self.assertIn("controller.extraArgs.firewall-processes: set that to 2", said)
        self.assertIn("--build-arg FIREWALL=yes", said)
        self.assertIn(
            "controller.extraArgs.enable-modsecurity: ", self.refused(values({}, enable_modsecurity="true"))
        )
        self.assertIn("enable-modsecurity", self.refused(values({"enable-modsecurity": "yes"})))

    def test_numbers(self) -> None:
        """What is no number of processes fails here, and not when the pods start."""
        for given in (0, "two", -1):
            said = self.refused(values({}, firewall_processes=given))
            self.assertIn("controller.extraArgs.firewall-processes: is a whole number from 1", said)

    def test_nothing_asked_for(self) -> None:
        """What is turned off fails nothing, and what counts for nothing alone is told."""
        self.rendered(values({"enable-modsecurity": "false", "enable-owasp-modsecurity-crs": False}))
        told = self.notes(values({"enable-owasp-modsecurity-crs": "true"}))
        self.assertIn("controller.config.enable-owasp-modsecurity-crs\n      there is no firewall", told)

    def test_memory(self) -> None:
        """Each process has room below the usual limit, whatever it may take, and numbers of the user are taken as they are."""
        self.assertEqual(self.memory({}), ("128Mi", "512Mi"))
        self.assertEqual(self.memory(values({}, firewall_processes=2)), ("256Mi", "1536Mi"))
        several = values({}, firewall_processes="2", workers=3, firewall_memory="256m")
        self.assertEqual(self.memory(several), ("512Mi", "2048Mi"))
        self.assertEqual(
            self.memory(values({}, firewall_processes=1, firewall_memory="1g")), ("192Mi", "1536Mi")
        )
        own = values({}, firewall_processes=2)
        own["controller"]["resources"] = {"requests": {"memory": "90Mi"}, "limits": {"memory": "2Gi"}}
        self.assertEqual(self.memory(own), ("90Mi", "2Gi"))

    def test_notes(self) -> None:
        """The notes name the image that it takes, and how much memory, beside the limit."""
        own = values({}, firewall_processes=2)
        own["controller"]["resources"] = {"limits": {"memory": "1Gi"}}
        notes = self.notes(own)
        self.assertIn("--build-arg FIREWALL=yes", notes)
        self.assertIn("are 1536 MiB; the limit is 1Gi (controller.resources)", notes)
        self.assertNotIn("ModSecurity", self.notes({}))
