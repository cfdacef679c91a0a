"""Values files as people have them for ingress-nginx, of many providers, rendered."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.chart.chart_case import ChartTestCase, helm, with_image
from tests.k8s_case import CHART, STOP_MARGIN_SECONDS, WORKLOADS, options_of, pod, rights

VALUES = Path(__file__).parent / "values"
NAMES = tuple(sorted(one.stem for one in VALUES.glob("*.yaml")))
PORT_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?")


def values(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((VALUES / f"{name}.yaml").read_text("utf-8"))
    return found


def is_controller(one: dict[str, Any]) -> bool:
    """Whether it is the workload of the controller, and not that of a default backend."""
    return (
        one["kind"] in WORKLOADS and "controller" in one["metadata"]["labels"]["app.kubernetes.io/component"]
    )


def controller_of(workload: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any]
    (container,) = (one for one in pod(workload)["containers"] if one["name"] == "txingress")
    return container


class EnvironmentsTests(ChartTestCase):
    """Every file of values."""

    def every(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        for name in NAMES:
            yield name, self.rendered(values(name))

    def test_controllers(self) -> None:
        """Each has one controller whose options can be read, which ends in good order, and whose ports Services find."""
        for name, found in self.every():
            (workload,) = (one for one in found if is_controller(one))
            container = controller_of(workload)
            settings = options_of(container).settings()
            grace = 240 if name == "eks-nlb" else settings.serving.shutdown_grace_seconds
            ends = settings.serving.shutdown_delay_seconds + grace + STOP_MARGIN_SECONDS
            self.assertGreaterEqual(pod(workload)["terminationGracePeriodSeconds"], ends, name)
            probe = container["readinessProbe"]
            not_serving = probe["periodSeconds"] * (probe["failureThreshold"] - 1)
            self.assertGreater(not_serving, settings.serving.shutdown_delay_seconds, name)
            self.assertIn("NET_BIND_SERVICE", container["securityContext"]["capabilities"]["add"])
            ports = {port["name"] for port in container["ports"]}
            self.assertTrue(all(map(PORT_NAME.fullmatch, ports)), name)
            labels = workload["spec"]["template"]["metadata"]["labels"]
            for service in (one for one in found if one["kind"] == "Service"):
                if "default-backend" in service["spec"]["selector"].values():
                    continue
                self.assertLessEqual(service["spec"]["selector"].items(), labels.items())
                for port in service["spec"]["ports"]:
                    self.assertIsNotNone(
                        PORT_NAME.fullmatch(port["name"]) or port["name"].startswith("svc-"), name
                    )
                    if isinstance(port["targetPort"], str):
                        self.assertIn(port["targetPort"], ports, name)

    def test_objects_are_apart(self) -> None:
        """No object is there twice, and each has a namespace or is of the cluster."""
        in_cluster = {"ClusterRole", "ClusterRoleBinding", "IngressClass", "ValidatingWebhookConfiguration"}
        for name, found in self.every():
            keys = [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in found]
            self.assertEqual(len(keys), len(set(keys)), name)
            for kind, namespace, _ in keys:
                self.assertEqual(namespace is None, kind in in_cluster, name)

    def test_bindings(self) -> None:
        """Each binding names a role that there is, and the account of the pods."""
        for name, found in self.every():
            roles = {
                (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in found
            }
            (workload,) = (one for one in found if is_controller(one))
            for one in (one for one in found if "roleRef" in one):
                kind, role = one["roleRef"]["kind"], one["roleRef"]["name"]
                self.assertIn((kind, one["metadata"].get("namespace"), role), roles, name)
                (subject,) = one["subjects"]
                self.assertEqual(subject["name"], pod(workload)["serviceAccountName"], name)
                self.assertEqual(subject["namespace"], workload["metadata"]["namespace"], name)

    def test_lint(self) -> None:
        """``helm lint --strict`` has nothing to say, of the chart alone and of each file."""
        self.assertEqual(helm("lint", "--strict", str(CHART)).returncode, 0)
        for name in NAMES:
            done = helm("lint", "--strict", str(CHART), "--values=-", text=with_image(values(name)))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_is_told(self) -> None:
        """Nothing is told of what is honored."""
        told = {
            name: [
                line.strip()
                for line in self.notes(values(name))
                .partition("Not honored")[2]
                .partition("Not needed")[0]
                .splitlines()
                if line.startswith("  controller")
            ]
            for name in NAMES
        }
        self.assertEqual({name: lines for name, lines in told.items() if lines}, {})

    def test_selectors(self) -> None:
        """Affinity and spread of the pods of ingress-nginx are those of the pods of this controller."""
        workload = self.only(self.rendered(values("eks-nlb")), "Deployment")
        labels = workload["spec"]["template"]["metadata"]["labels"]
        spec = pod(workload)
        (term,) = spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
        (spread,) = spec["topologySpreadConstraints"]
        for one in (term["podAffinityTerm"], spread):
            selected = one["labelSelector"]["matchLabels"]
            self.assertTrue(selected)
            self.assertLessEqual(selected.items(), labels.items())

    def test_config(self) -> None:
        """Numbers and booleans of the ConfigMap are the text that was written."""
        data = self.only(self.rendered(values("eks-nlb")), "ConfigMap")["data"]
        self.assertEqual(data["hsts-max-age"], "31536000")
        self.assertIn("$time_iso8601", data["log-format-upstream"])
        data = self.only(self.rendered(values("k3s")), "ConfigMap")["data"]
        self.assertEqual(data["allow-snippet-annotations"], "true")

    def test_services(self) -> None:
        """Services have the addresses, annotations, ports and networks of the values, and a second one its own."""
        spec = self.only(self.rendered(values("aks")), "Service")["spec"]
        self.assertEqual((spec["loadBalancerIP"], spec["ports"][1]["appProtocol"]), ("20.0.0.1", "https"))
        found = self.rendered(values("internal"))
        internal = self.only(found, "Service", "txingress-internal")
        self.assertEqual([one["port"] for one in internal["spec"]["ports"]], [80, 8443])
        self.assertEqual(internal["spec"]["loadBalancerSourceRanges"], ["10.0.0.0/8"])
        found = self.rendered(values("internal-only"))
        self.assertEqual(self.only(found, "Service")["metadata"]["name"], "txingress-internal")
        options = options_of(controller_of(self.only(found, "Deployment"))).settings()
        self.assertEqual(str(options.reporting.publish_service), "txingress/txingress-internal")
        spec = self.only(self.rendered(values("eks-tls-at-balancer")), "Service")["spec"]
        self.assertEqual([one["targetPort"] for one in spec["ports"]], ["http", "http"])
        said = self.refused(
            {
                "controller": {
                    "containerPort": {"http": 80, "https": 443, "tohttps": 2443},
                    "service": {"targetPorts": {"http": "tohttps"}},
                }
            }
        )
        self.assertIn("controller.service.targetPorts.http: nothing listens at tohttps", said)

    def test_streams(self) -> None:
        """Ports of TCP and UDP are in the ConfigMaps, the Service and the pods, with the right to follow these."""
        found = self.rendered(values("streams"))
        self.assertEqual(
            self.only(found, "ConfigMap", "txingress-tcp")["data"],
            {"22": "git/server:22::PROXY", "5432": "shop/database:5432"},
        )
        ports = {one["name"]: one for one in self.only(found, "Service")["spec"]["ports"]}
        self.assertEqual((ports["svc-22-tcp"]["nodePort"], ports["svc-53-udp"]["nodePort"]), (30022, 30053))
        self.assertEqual((ports["svc-53-udp"]["protocol"], ports["svc-53-udp"]["targetPort"]), ("UDP", 53))
        names = {
            name
            for _, resource, verb, name in rights(self.only(found, "Role"))
            if (resource, verb) == ("configmaps", "watch")
        }
        self.assertEqual(names, {"txingress", "txingress-tcp", "txingress-udp"})
        settings = options_of(controller_of(self.only(found, "Deployment"))).settings()
        self.assertEqual(
            (str(settings.tcp_services), str(settings.udp_services)),
            ("txingress/txingress-tcp", "txingress/txingress-udp"),
        )

    def test_scaling(self) -> None:
        """Where something else says how many replicas there are, the Deployment does not; one of two may."""
        found = self.rendered(values("keda"))
        self.assertNotIn("replicas", self.only(found, "Deployment")["spec"])
        self.assertEqual(self.only(found, "ScaledObject")["spec"]["minReplicaCount"], 3)
        found = self.rendered(values("autoscaling"))
        metrics = self.only(found, "HorizontalPodAutoscaler")["spec"]["metrics"]
        self.assertEqual([one["resource"]["target"]["averageUtilization"] for one in metrics], [70, 80])
        both = {"controller": {"keda": {"enabled": True}, "autoscaling": {"enabled": True}}}
        self.assertIn("controller.keda.enabled: controller.autoscaling.enabled says", self.refused(both))
        small = {"controller": {"autoscaling": {"enabled": True, "targetCPUUtilizationPercentage": 50}}}
        self.assertIn("of which 100m is little", self.notes(small))

    def test_disruptions(self) -> None:
        """A budget keeps pods, but never the one there is on its node."""
        self.assertEqual(
            self.only(self.rendered(values("gke")), "PodDisruptionBudget")["spec"]["minAvailable"], 1
        )
        alone = self.rendered({"controller": {"replicaCount": 1, "minAvailable": 1}})
        self.assertEqual([one for one in alone if one["kind"] == "PodDisruptionBudget"], [])

    def test_on_nodes(self) -> None:
        """On the network of nodes ports are theirs, old pods end first, and Ingresses show the internal addresses of the nodes."""
        found = self.rendered(values("bare-metal"))
        workload = self.only(found, "DaemonSet")
        self.assertTrue(pod(workload)["hostNetwork"])
        settings = options_of(controller_of(workload)).settings()
        self.assertTrue(
            settings.reporting.publish_node_addresses and settings.reporting.reports_internal_addresses
        )
        self.assertEqual(settings.serving.shutdown_delay_seconds, 10)
        self.assertEqual(settings.probes, "tcp:10254")
        self.assertIn("Port 10254 of each node shows metrics", self.notes(values("bare-metal")))
        found = self.rendered(values("kind"))
        workload = self.only(found, "Deployment")
        self.assertEqual(
            {one["hostPort"] for one in controller_of(workload)["ports"] if "hostPort" in one}, {80, 443}
        )
        self.assertEqual(workload["spec"]["strategy"]["rollingUpdate"], {"maxSurge": 0, "maxUnavailable": 1})
        reporting = options_of(controller_of(workload)).settings().reporting
        self.assertFalse(reporting.publish_node_addresses)

    def test_pods(self) -> None:
        """What values add to pods is in them, over what they have, and without NET_BIND_SERVICE none is made."""
        found = self.rendered(values("certificate"))
        workload = self.only(found, "Deployment")
        spec = pod(workload)
        self.assertEqual([one["name"] for one in spec["containers"]], ["txingress", "sidecar"])
        context = controller_of(workload)["securityContext"]
        self.assertEqual(
            (context["runAsUser"], context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]),
            (101, True, True),
        )
        self.assertEqual(
            spec["securityContext"]["sysctls"],
            [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}],
        )
        self.assertEqual(
            (spec["securityContext"]["fsGroup"], spec["securityContext"]["runAsNonRoot"]), (65532, True)
        )
        settings = options_of(controller_of(workload)).settings()
        self.assertEqual(str(settings.translate.default_ssl_certificate), "txingress/wildcard")
        self.assertTrue(settings.topology_aware and settings.translate.ssl_passthrough)
        self.assertEqual(
            self.only(found, "ConfigMap", "txingress")["data"]["add-headers"],
            "txingress/txingress-add-headers",
        )
        self.assertEqual(workload["metadata"]["labels"]["team"], "platform")
        said = self.refused({"controller": {"containerSecurityContext": {"capabilities": {"drop": ["ALL"]}}}})
        self.assertIn("without NET_BIND_SERVICE in add the interpreter of the image does not start", said)

    def test_scope(self) -> None:
        """For one namespace there are Roles alone, the class is known by its name, and what takes more is refused."""
        found = self.rendered(values("scope"))
        self.assertEqual(
            [
                one["kind"]
                for one in found
                if one["kind"].startswith("Cluster") or one["kind"] == "IngressClass"
            ],
            [],
        )
        settings = options_of(controller_of(self.only(found, "Deployment"))).settings()
        self.assertEqual((tuple(settings.namespaces), settings.translate.ingress_class), (("shop",), "shop"))
        self.assertIn(
            ("", "configmaps", "get", "txingress-add-headers"), rights(self.only(found, "Role", "txingress"))
        )
        scope = {"scope": {"enabled": True}}
        said = self.refused(
            {"controller": {**scope, "enableTopologyAwareRouting": True, "publishNodeAddresses": True}}
        )
        self.assertIn("controller.enableTopologyAwareRouting: ", said)
        self.assertIn("controller.publishNodeAddresses: ", said)
        self.assertIn("rbac.scope: ", self.refused({"rbac": {"scope": True}}))

    def test_two_controllers(self) -> None:
        """A second one has names, a class, a lease and a selection of namespaces of its own, and the right to know these."""
        found = self.rendered(values("second-controller"))
        self.assertEqual({one["metadata"]["name"] for one in found}, {"ingress-internal", "internal"})
        settings = options_of(controller_of(self.only(found, "Deployment"))).settings()
        self.assertEqual(settings.translate.controller_class, "example.com/internal-ingress")
        self.assertEqual(settings.reporting.election_id, "internal-leader")
        self.assertFalse(settings.translate.gateway.is_served)
        self.assertIn(("", "namespaces", "watch", ""), rights(self.only(found, "ClusterRole")))
        self.assertIn(
            ("coordination.k8s.io", "leases", "update", "internal-leader"), rights(self.only(found, "Role"))
        )

    def test_default_backend(self) -> None:
        """A default backend has its image, its pages and its Service, which the controller is told; without an image there is none."""
        found = self.rendered(values("default-backend"))
        name = "txingress-defaultbackend"
        workload = self.only(found, "Deployment", name)
        (container,) = pod(workload)["containers"]
        self.assertEqual(container["image"], "registry.example.com/errors:1.2")
        self.assertEqual(container["args"], ["--root=/www", "--verbose"])
        service = self.only(found, "Service", name)
        labels = workload["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(service["spec"]["selector"], workload["spec"]["selector"]["matchLabels"])
        self.assertLessEqual(service["spec"]["selector"].items(), labels.items())
        controller = self.only(found, "Service", "txingress")["spec"]["selector"]
        self.assertFalse(controller.items() <= labels.items())
        self.assertEqual(self.only(found, "ConfigMap", "error-pages")["data"], {"404": "nothing here"})
        settings = options_of(controller_of(self.only(found, "Deployment", "txingress"))).settings()
        backend = settings.translate.default_backend_service
        assert backend is not None
        self.assertEqual((backend.namespace, backend.name), ("txingress", name))
        self.assertIn(
            "defaultBackend.enabled\n      without an image",
            self.notes({"defaultBackend": {"enabled": True}}),
        )
        far = {
            "defaultBackend": {"enabled": True, "image": {"repository": "a/b"}},
            "controller": {"scope": {"enabled": True, "namespace": "shop"}},
        }
        self.assertIn(
            "defaultBackend.enabled: its Service would be in the namespace txingress", self.refused(far)
        )

    def test_other_defaults(self) -> None:
        """Where somebody may rely on a default of ingress-nginx that is another one here, it is told."""
        notes = self.notes({}).partition("Otherwise by default")[2]
        self.assertIn("controller.allowSnippetAnnotations", notes)
        self.assertIn("controller.service.externalTrafficPolicy", notes)
        said = {"allowSnippetAnnotations": False, "service": {"externalTrafficPolicy": "Cluster"}}
        self.assertNotIn("Otherwise", self.notes({"controller": said}))

    def test_gateways(self) -> None:
        """A GatewayClass is made if it is named, and the right to write Services is left out if that is said."""
        gateways = {"gatewayClass": "web", "writeServices": False}
        found = self.rendered(
            {
                "controller": {
                    "gatewayAPI": gateways,
                    "extraArgs": {"gateway-controller-name": "example.com/web"},
                }
            }
        )
        self.assertEqual(self.only(found, "GatewayClass")["spec"], {"controllerName": "example.com/web"})
        role = self.only(found, "ClusterRole", "txingress-gateway-api")
        self.assertNotIn(("", "services", "create", ""), rights(role))
        settings = options_of(controller_of(self.only(found, "Deployment"))).settings()
        self.assertEqual(settings.translate.gateway.controller_name, "example.com/web")

    def test_both_families(self) -> None:
        """With both families of addresses the controller listens on both."""
        settings = options_of(
            controller_of(self.only(self.rendered(values("dual-stack")), "Deployment"))
        ).settings()
        self.assertEqual(settings.http, ("tcp:80", "tcp6:80"))
        self.assertEqual((settings.probes, settings.admission), ("tcp6:10254", "tcp6:8443"))

    def test_webhook(self) -> None:
        """Without cert-manager the webhook has a certificate that its Secret and the API server agree on."""
        found = self.rendered({"controller": {"admissionWebhooks": {"enabled": True}}})
        (webhook,) = self.only(found, "ValidatingWebhookConfiguration")["webhooks"]
        secret = self.only(found, "Secret")
        self.assertEqual(webhook["clientConfig"]["caBundle"], secret["data"]["tls.crt"])
        self.assertEqual(webhook["failurePolicy"], "Ignore")
