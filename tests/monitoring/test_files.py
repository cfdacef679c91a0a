"""What ``k8s/monitoring`` consists of fits together, and fits the manifests beside it."""

import json
import re
import shutil
import subprocess
from typing import Any

import yaml
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from scripts.grafana_dashboard import dashboard as made_dashboard
from tests.monitoring.cases import CASES
from tests.monitoring.files import (
    DASHBOARD,
    MONITORING,
    REPOSITORY,
    RULES,
    THEIR_NAMES,
    alert_rules,
    dashboard,
    groups_text,
    recording_rules,
)
from tests.monitoring.prometheus import configuration, hurried_rules
from tests.monitoring.their_names import OF_THEIR_NAMES

BASE = REPOSITORY / "k8s" / "base"
JOB = "txingress"


def manifest(path: str) -> dict[str, Any]:
    """Return the one object of a file of ``k8s/monitoring``."""
    found: dict[str, Any] = yaml.safe_load((MONITORING / path).read_text("utf-8"))
    return found


def template() -> dict[str, Any]:
    """Return the template of the base's pods."""
    found: dict[str, Any] = yaml.safe_load((BASE / "deployment.yaml").read_text("utf-8"))["spec"]["template"]
    return found


class RuleTests(SynchronousTestCase):
    """``prometheus-rule.yaml``."""

    def test_sed(self) -> None:
        """What the README has sed do makes the file that a Prometheus without the operator reads."""
        self.assertEqual(yaml.safe_load(groups_text()), yaml.safe_load(RULES.read_text("utf-8"))["spec"])
        command = r"sed -n '/^  groups:/,$s/^  //p'"
        self.assertIn(command, (MONITORING / "README.md").read_text("utf-8"))
        done = subprocess.run(f"{command} {RULES}", shell=True, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, groups_text())

    def test_names(self) -> None:
        """No two alerts have one name, and each names the program."""
        names = [rule.name for rule in alert_rules()]
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual([name for name in names if not re.fullmatch(r"Txingress[A-Z][A-Za-z]+", name)], [])

    def test_cases(self) -> None:
        """Each alert has series on which ``make test-monitoring`` wants it to fire, and some on which it must not."""
        self.assertEqual({case.alert for case in CASES}, {rule.name for rule in alert_rules()})
        for case in CASES:
            self.assertTrue(case.fires and case.quiet, case.alert)
            self.assertNotEqual(case.fires, case.quiet, case.alert)

    def test_job(self) -> None:
        """Rules, PodMonitor, README and test go by one name of the job."""
        label = manifest("pod-monitor.yaml")["spec"]["jobLabel"]
        self.assertEqual(template()["metadata"]["labels"][label], JOB)
        self.assertEqual(set(re.findall(r'job="([^"$]*)"', RULES.read_text("utf-8"))), {JOB})
        self.assertIn(f"job_name: {JOB}\n", (MONITORING / "README.md").read_text("utf-8"))
        (scraped,) = configuration({"a": 1})["scrape_configs"]
        self.assertEqual((scraped["job_name"], scraped["honor_labels"]), (JOB, True))

    def test_hurried(self) -> None:
        """No rule of the real Prometheus's waits for minutes."""
        for rule in [rule for group in hurried_rules()["groups"] for rule in group["rules"]]:
            self.assertEqual(re.findall(r"\[\d+[mh]|offset \d+[mh]", rule["expr"]), [])


class TheirNamesTests(SynchronousTestCase):
    """``ingress-nginx/prometheus-rule.yaml``."""

    def test_names(self) -> None:
        """Each name is one of ingress-nginx's, once, and its row of the page says what is otherwise."""
        names = [rule.name for rule in recording_rules(THEIR_NAMES)]
        self.assertEqual(len(set(names)), len(names))
        page = (
            (REPOSITORY / "docs" / "metrics.md")
            .read_text("utf-8")
            .partition("## Coming from ingress-nginx")[2]
        )
        rows = {
            name.strip(): row
            for row in re.findall(r"^\| .*", page, re.MULTILINE)
            for name in row.split("|")[1].split(",")
        }
        recorded = set()
        for name in names:
            prefix, is_theirs, short = name.partition("nginx_ingress_controller_")
            self.assertEqual((prefix, is_theirs), ("", "nginx_ingress_controller_"))
            short = re.sub("_(bucket|sum|count)$", "", short)
            self.assertIn("recorded", rows[short].split("|")[4], name)
            recorded.add(short)
        marked = {name for name, row in rows.items() if "recorded" in row.split("|")[4]}
        self.assertEqual(marked, recorded)

    def test_cases(self) -> None:
        """Each is asked for by ``make test-monitoring``, with what has to come of it."""
        asked = " ".join(expression for case in OF_THEIR_NAMES for expression in case.asked)
        never = [
            rule.name for rule in recording_rules(THEIR_NAMES) if not re.search(rf"{rule.name}\b", asked)
        ]
        self.assertEqual(never, [])

    def test_sed(self) -> None:
        """What the README has sed do makes of it, too, the file that a Prometheus without the operator reads."""
        self.assertEqual(
            yaml.safe_load(groups_text(THEIR_NAMES)), yaml.safe_load(THEIR_NAMES.read_text("utf-8"))["spec"]
        )
        self.assertIn(
            "k8s/monitoring/ingress-nginx/prometheus-rule.yaml", (MONITORING / "README.md").read_text("utf-8")
        )

    def test_pace(self) -> None:
        """They are recorded as often as the pods are scraped."""
        (group,) = yaml.safe_load(THEIR_NAMES.read_text("utf-8"))["spec"]["groups"]
        (endpoint,) = manifest("pod-monitor.yaml")["spec"]["podMetricsEndpoints"]
        self.assertEqual(group["interval"], endpoint["interval"])

    def test_job(self) -> None:
        """The job is that of the PodMonitor where series of others have the same names."""
        self.assertEqual(set(re.findall(r'job="([^"]*)"', THEIR_NAMES.read_text("utf-8"))), {JOB})
        for rule in recording_rules(THEIR_NAMES):
            for name in re.findall(r"\bprocess_\w+(?!\w)", rule.expression):
                self.assertIn(f'{name}{{job="{JOB}"}}', rule.expression)


class PodMonitorTests(SynchronousTestCase):
    """``pod-monitor.yaml``."""

    def test_finds_pods(self) -> None:
        """It selects the base's pods, where they are, and asks a port that shows metrics."""
        monitor = manifest("pod-monitor.yaml")
        pod = template()
        labels = monitor["spec"]["selector"]["matchLabels"]
        self.assertLessEqual(labels.items(), pod["metadata"]["labels"].items())
        namespace = yaml.safe_load((BASE / "namespace.yaml").read_text("utf-8"))["metadata"]["name"]
        self.assertEqual(monitor["metadata"]["namespace"], namespace)
        (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
        (container,) = pod["spec"]["containers"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        self.assertIn(f"--probes=tcp:{ports[endpoint['port']]}", container["args"])
        self.assertEqual((endpoint["path"], endpoint["honorLabels"]), ("/metrics", True))


class DashboardTests(SynchronousTestCase):
    """``txingress.json``."""

    def test_made(self) -> None:
        """It is what ``python -m scripts.grafana_dashboard`` prints."""
        self.assertEqual(
            DASHBOARD.read_text("utf-8"), json.dumps(made_dashboard(), indent=1) + "\n", "run: make docs"
        )

    def test_panels(self) -> None:
        """Each panel has a number and a place of its own, within the width, and asks the Prometheus that was chosen."""
        panels = dashboard()["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        taken: set[tuple[int, int]] = set()
        for panel in panels:
            place = panel["gridPos"]
            squares = {
                (x, y)
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            }
            self.assertLess(max(x for x, _ in squares), 24)
            self.assertEqual(taken & squares, set(), panel["title"])
            taken |= squares
            for target in panel.get("targets", ()):
                self.assertEqual(target["datasource"], {"type": "prometheus", "uid": "${datasource}"})

    def test_variables(self) -> None:
        """Each variable in a query is one of the dashboard's, or of Grafana's own."""
        variables = {one["name"] for one in dashboard()["templating"]["list"]}
        named = set(re.findall(r"\$\{?(\w+)", DASHBOARD.read_text("utf-8")))
        self.assertEqual({name for name in named - variables if not name.startswith("__")}, set())


class RenderedTests(SynchronousTestCase):
    """What ``kubectl apply -k k8s/monitoring`` sends."""

    def test_rendered(self) -> None:
        """The two objects for the operator, and the dashboard in a ConfigMap with the sidecar's label, all in the controller's namespace."""
        kubectl = shutil.which("kubectl")
        if kubectl is None:
            raise SkipTest("kubectl is not installed")
        done = subprocess.run(
            [kubectl, "kustomize", str(MONITORING)], capture_output=True, text=True, check=True
        )
        found = {one["kind"]: one for one in yaml.safe_load_all(done.stdout)}
        self.assertEqual(set(found), {"ConfigMap", "PodMonitor", "PrometheusRule"})
        self.assertEqual({one["metadata"]["namespace"] for one in found.values()}, {"txingress"})
        config_map = found["ConfigMap"]
        self.assertEqual(config_map["metadata"]["labels"]["grafana_dashboard"], "1")
        self.assertEqual(config_map["metadata"]["name"], "txingress-dashboard")
        (text,) = config_map["data"].values()
        self.assertEqual(json.loads(text), dashboard())
        self.assertLess(len(text), 1 << 20)
        self.assertEqual(found["PrometheusRule"]["spec"], yaml.safe_load(groups_text()))

    def test_their_names(self) -> None:
        """``kubectl apply -k k8s/monitoring/ingress-nginx`` sends an object beside that one."""
        kubectl = shutil.which("kubectl")
        if kubectl is None:
            raise SkipTest("kubectl is not installed")
        done = subprocess.run(
            [kubectl, "kustomize", str(THEIR_NAMES.parent)], capture_output=True, text=True, check=True
        )
        (found,) = yaml.safe_load_all(done.stdout)
        metadata = found["metadata"]
        self.assertEqual((found["kind"], metadata["namespace"]), ("PrometheusRule", "txingress"))
        self.assertNotEqual(metadata["name"], manifest("prometheus-rule.yaml")["metadata"]["name"])
        self.assertEqual(found["spec"], yaml.safe_load(groups_text(THEIR_NAMES)))
