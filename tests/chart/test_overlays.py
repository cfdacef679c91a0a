"""The chart renders what the overlays and components of ``k8s/`` have, so that the two cannot drift apart."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.chart.chart_case import ChartTestCase
from tests.k8s_case import K8S, OVERLAYS, WORKLOADS, PodTestCase, objects, pod, rendered, rights
from tests.test_k8s_overlays import kustomized

IMAGE = {"image": {"repository": "txingress"}}
NO_ADDRESS = {"publishService": {"enabled": False}, "publishNodeAddresses": False}
AS_OVERLAYS: Mapping[str, Mapping[str, Any]] = {
    "deployment-loadbalancer": {},
    "deployment-nodeport": {
        "controller": {
            "service": {"type": "NodePort", "nodePorts": {"http": 30080, "https": 30443}},
            **NO_ADDRESS,
        }
    },
    "daemonset-hostnetwork": {
        "controller": {
            "kind": "DaemonSet",
            "hostNetwork": True,
            "service": {"enabled": False},
            "publishNodeAddresses": False,
        }
    },
    "namespaced": {
        "controller": {"scope": {"enabled": True, "namespaces": ["shop", "blog"]}},
        "rbac": {"scope": True},
    },
    "beside": {"beside": {"enabled": True}},
}
AS_COMPONENTS: Mapping[str, Mapping[str, Any]] = {
    "admission": {"admissionWebhooks": {"enabled": True, "certManager": {"enabled": True}}},
    "autoscaler": {"autoscaling": {"enabled": True}},
    "firewall": {"extraArgs": {"firewall-processes": 2}},
    "node-addresses": {"publishNodeAddresses": True},
    "topology": {"enableTopologyAwareRouting": True},
}
ELECTION = "--election-id="
"""The lease has a name of its own, so that several releases may be in one namespace."""


def comparable(one: dict[str, Any]) -> dict[str, Any]:
    """An object without what is otherwise in each release: labels, selectors by them, and the name of the lease."""
    found: dict[str, Any] = _without_labels(one)
    if one["kind"] in WORKLOADS:
        spec = pod(found)
        (container,) = spec["containers"]
        container["args"] = sorted(text for text in container["args"] if not text.startswith(ELECTION))
        # The API's own where a tag is named.
        container.pop("imagePullPolicy", None)
    elif "rules" in one and "roleRef" not in one and "Role" in one["kind"]:
        found["rules"] = sorted(
            (group, resource, verb, "txingress-leader" if name == "ingress-leader" else name)
            for group, resource, verb, name in rights(one)
        )
    return found


def _without_labels(value: Any) -> Any:
    if isinstance(value, dict):
        left_out = ("labels", "matchLabels", "selector")
        return {name: _without_labels(inner) for name, inner in value.items() if name not in left_out}
    return [_without_labels(inner) for inner in value] if isinstance(value, list) else value


def by_name(found: list[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Objects by kind, namespace and name, each of which has one. The namespace itself is no part of a chart."""
    return {
        (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): comparable(one)
        for one in found
        if one["kind"] != "Namespace"
    }


class OverlaysTests(ChartTestCase, PodTestCase):
    """The chart beside the overlays."""

    def check_same(self, ours: list[dict[str, Any]], overlay: list[dict[str, Any]]) -> None:
        """Both have the same objects, and these the same content."""
        found, expected = by_name(ours), by_name(overlay)
        self.assertEqual(sorted(found), sorted(expected))
        for key, one in expected.items():
            self.assertEqual(found[key], one, key)

    def test_every_overlay_is_compared(self) -> None:
        """There is no overlay or component that is not compared with the chart."""
        self.assertEqual(sorted(AS_OVERLAYS), sorted(OVERLAYS))
        self.assertEqual(sorted(AS_COMPONENTS), sorted(one.name for one in (K8S / "components").iterdir()))

    def test_overlays(self) -> None:
        """By the values that mean an overlay, the chart has what that has, and by none what a load balancer takes."""
        for name, values in AS_OVERLAYS.items():
            ours = self.rendered({**values, **IMAGE})
            if name == "namespaced":
                for one in ours:
                    # The Role of what is served is beside that of the lease, if the own namespace is served.
                    if one["metadata"]["namespace"] in ("shop", "blog"):
                        one["metadata"]["name"] = "txingress"
                        if "roleRef" in one:
                            self.assertEqual(one["roleRef"]["name"], "txingress-served")
                            one["roleRef"]["name"] = "txingress"
            self.check_same(ours, rendered(f"overlays/{name}"))
            (workload,) = (one for one in ours if one["kind"] in WORKLOADS)
            self.check_security(workload)
            self.check_controller(workload)

    def test_components(self) -> None:
        """Beside the overlay with a load balancer, a component and the value that means it have the same."""
        for name, values in AS_COMPONENTS.items():
            folder = Path(self.mktemp()).resolve()
            ours = self.rendered({"controller": values, **IMAGE})
            self.check_same(ours, kustomized(folder, "deployment-loadbalancer", name))

    def test_monitoring(self) -> None:
        """What ``k8s/monitoring`` has is there by three values, and with names of ingress-nginx by a fourth."""
        metrics: dict[str, Any] = {
            "podMonitor": {"enabled": True},
            "prometheusRule": {"enabled": True},
            "dashboard": {"enabled": True},
        }
        monitored = {"PodMonitor", "PrometheusRule"}
        found = by_name(self.rendered({"controller": {"metrics": metrics}, **IMAGE}))
        expected = by_name(rendered("monitoring"))
        self.assertEqual(set(expected) - set(found), set())
        for key, one in expected.items():
            if key[0] in monitored:
                self.assertEqual(found[key], one)
            else:
                self.assertEqual(
                    found[key]["data"]["txingress.json"].strip(), one["data"]["txingress.json"].strip()
                )
        metrics["prometheusRule"]["ingressNginxNames"] = True
        more = by_name(self.rendered({"controller": {"metrics": metrics}, **IMAGE}))
        rule = ("PrometheusRule", "txingress", "txingress")
        (names,) = objects((K8S / "monitoring" / "ingress-nginx" / "prometheus-rule.yaml").read_text("utf-8"))
        self.assertEqual(
            more[rule]["spec"]["groups"],
            [*found[rule]["spec"]["groups"], *_without_labels(names["spec"]["groups"])],
        )
