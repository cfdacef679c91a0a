"""What ``kubectl kustomize`` renders of ``k8s/`` agrees with the code that it runs, where there is a ``kubectl``."""

import re
from os.path import relpath
from pathlib import Path
from textwrap import dedent
from typing import Any

import yaml

from ingress.admission.reviews import DEADLINE_SECONDS
from ingress.cluster.kinds import NODES, PODS, WHOLE_NODES
from ingress.model.cluster.objects import ObjectKey
from ingress.settings import Settings
from tests.k8s_case import (
    K8S,
    OVERLAYS,
    REPOSITORY,
    WORKLOADS,
    PodTestCase,
    breaches,
    options_of,
    pod,
    rendered,
    rights,
    version,
)


def kustomized(folder: Path, overlay: str, component: str) -> list[dict[str, Any]]:
    """What a kustomization renders that is made in *folder*, which is not there, with *overlay* and *component*."""
    folder.mkdir(parents=True)
    content = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [relpath(K8S / "overlays" / overlay, folder)],
        "components": [relpath(K8S / "components" / component, folder)],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(content), "utf-8")
    return rendered(folder)


class RenderedTests(PodTestCase):
    """What ``kubectl kustomize`` makes of the overlays."""

    def with_component(self, overlay: str, component: str) -> list[dict[str, Any]]:
        """Return what a kustomization renders that has *overlay* and *component*."""
        return kustomized(Path(self.mktemp()).resolve(), overlay, component)

    def test_every_overlay(self) -> None:
        """Each overlay has one controller, as safe as the template, with account, rights and class."""
        for overlay in OVERLAYS:
            found = rendered(f"overlays/{overlay}")
            (workload,) = (one for one in found if one["kind"] in WORKLOADS)
            self.check_security(workload)
            self.check_controller(workload)
            self.assertEqual(pod(workload)["containers"][0]["image"], f"txingress:{version()}")
            kinds = {one["kind"] for one in found}
            in_cluster = {"ClusterRole", "ClusterRoleBinding", "IngressClass"}
            needed = {"Namespace", "ServiceAccount", "Role", "RoleBinding"} | (
                set() if overlay == "namespaced" else in_cluster
            )
            self.assertEqual(needed - kinds, set(), overlay)

    def test_pod_security(self) -> None:
        """Each namespace enforces the strictest level of Pod Security that its pods pass."""
        label = "pod-security.kubernetes.io/enforce"
        for overlay in OVERLAYS:
            found = rendered(f"overlays/{overlay}")
            (workload,) = (one for one in found if one["kind"] in WORKLOADS)
            (namespace,) = (one for one in found if one["kind"] == "Namespace")
            levels = [
                level
                for level in ("restricted", "baseline", "privileged")
                if not breaches(level, pod(workload))
            ]
            self.assertEqual(namespace["metadata"]["labels"][label], levels[0], overlay)
            self.assertEqual(levels[0] == "privileged", overlay == "daemonset-hostnetwork")

    def test_breaches_are_found(self) -> None:
        """A pod that asks for nothing breaks four rules of the strictest level."""
        self.assertEqual(
            breaches("restricted", {"containers": [{}]}),
            {"capabilities", "allowPrivilegeEscalation", "runAsNonRoot", "seccompProfile"},
        )
        self.assertEqual(breaches("baseline", {"containers": [{}]}), set())
        self.assertEqual(breaches("baseline", {"containers": [{}], "hostNetwork": True}), {"hostNetwork"})

    def test_overlays_are_all_tested(self) -> None:
        """There is no overlay that these tests do not know."""
        self.assertEqual(sorted(path.name for path in (K8S / "overlays").iterdir()), sorted(OVERLAYS))

    def test_autoscaler(self) -> None:
        """Beside every overlay with a Deployment the autoscaler says alone how many replicas there are, and at least two."""
        deployed = [overlay for overlay in OVERLAYS if overlay != "daemonset-hostnetwork"]
        for overlay in deployed:
            found = self.with_component(overlay, "autoscaler")
            (workload,) = (one for one in found if one["kind"] in WORKLOADS)
            (scaler,) = (one for one in found if one["kind"] == "HorizontalPodAutoscaler")
            self.assertNotIn("replicas", workload["spec"])
            self.assertEqual(
                scaler["spec"]["scaleTargetRef"],
                {key: workload[key] for key in ("apiVersion", "kind")}
                | {"name": workload["metadata"]["name"]},
            )
            self.assertEqual(scaler["metadata"]["namespace"], workload["metadata"]["namespace"])
            self.assertEqual(scaler["spec"]["minReplicas"], 2)

    def test_firewall(self) -> None:
        """Beside every overlay, the component for the firewall has the option, and memory for its processes."""
        for overlay in OVERLAYS:
            (workload,) = (
                one for one in self.with_component(overlay, "firewall") if one["kind"] in WORKLOADS
            )
            self.check_security(workload)
            container = pod(workload)["containers"][0]
            self.assertIn("--firewall-processes=2", container["args"])
            self.assertEqual(container["resources"]["limits"]["memory"], "1536Mi")

    def test_topology(self) -> None:
        """Beside every overlay, the component for zones has the option, the name of the Node, and the right to read it."""
        for overlay in OVERLAYS:
            found = self.with_component(overlay, "topology")
            (workload,) = (one for one in found if one["kind"] in WORKLOADS)
            container = pod(workload)["containers"][0]
            self.assertTrue(options_of(container).settings().topology_aware)
            (variable,) = (one for one in container["env"] if one["name"] == "NODE_NAME")
            self.assertEqual(variable["valueFrom"]["fieldRef"]["fieldPath"], "spec.nodeName")
            (role,) = (
                one for one in found if one["metadata"]["name"] == "txingress-topology" and "rules" in one
            )
            self.assertEqual(rights(role), {("", NODES.plural, verb, "") for verb in NODES.verbs})
            (binding,) = (
                one for one in found if one["metadata"]["name"] == "txingress-topology" and "roleRef" in one
            )
            (subject,) = binding["subjects"]
            self.assertEqual(
                (subject["name"], subject["namespace"]),
                (pod(workload)["serviceAccountName"], workload["metadata"]["namespace"]),
            )

    def test_node_addresses(self) -> None:
        """Beside every overlay, the component for addresses of nodes has the option, who we are, and just the rights that it takes."""
        name = "txingress-node-addresses"
        for overlay in OVERLAYS:
            found = self.with_component(overlay, "node-addresses")
            (workload,) = (one for one in found if one["kind"] in WORKLOADS)
            (container,) = pod(workload)["containers"]
            reporting = options_of(container).settings().reporting
            self.assertTrue(reporting.publish_node_addresses)
            self.assertEqual(reporting.looks_for_nodes, reporting.publish_service is None, overlay)
            fields = {one["name"]: one["valueFrom"]["fieldRef"]["fieldPath"] for one in container["env"]}
            self.assertEqual(
                (fields["POD_NAME"], fields["POD_NAMESPACE"]), ("metadata.name", "metadata.namespace")
            )
            ours = {one["kind"]: one for one in found if one["metadata"]["name"] == name}
            for kind, read in (("Role", PODS), ("ClusterRole", WHOLE_NODES)):
                self.assertEqual(rights(ours[kind]), {("", read.plural, verb, "") for verb in read.verbs})
                binding = ours[f"{kind}Binding"]
                self.assertEqual((binding["roleRef"]["kind"], binding["roleRef"]["name"]), (kind, name))
                (subject,) = binding["subjects"]
                self.assertEqual(
                    (subject["name"], subject["namespace"]),
                    (pod(workload)["serviceAccountName"], workload["metadata"]["namespace"]),
                )
            self.assertEqual(ours["Role"]["metadata"]["namespace"], workload["metadata"]["namespace"])

    def test_the_policy_for_draining_is_not_in_the_manifests(self) -> None:
        """Kubernetes 1.25 does not know the field; the page has the patch that adds it where there is a budget."""
        page = (K8S / "README.md").read_text("utf-8")
        (shown,) = (
            block
            for block in re.findall(r"(?m)(?:^    .*\n)+", page)
            if "unhealthyPodEvictionPolicy" in block
        )
        folder = Path(self.mktemp()).resolve()
        folder.mkdir(parents=True)
        base = relpath(K8S / "overlays" / "deployment-loadbalancer", folder)
        (folder / "kustomization.yaml").write_text(f"resources: [{base}]\n{dedent(shown)}", "utf-8")
        (usual,) = (one for one in rendered("base") if one["kind"] == "PodDisruptionBudget")
        (budget,) = (one for one in rendered(folder) if one["kind"] == "PodDisruptionBudget")
        self.assertEqual(budget["spec"], {**usual["spec"], "unhealthyPodEvictionPolicy": "AlwaysAllow"})
        self.assertNotIn("unhealthyPodEvictionPolicy", usual["spec"])

    def test_admission(self) -> None:
        """Beside every overlay, the webhook's port, Service, Secret and configuration fit, and it stands in nobody's way."""
        for overlay in OVERLAYS:
            found = self.with_component(overlay, "admission")
            (workload,) = (one for one in found if one["kind"] in WORKLOADS)
            self.check_security(workload)
            self.check_controller(workload)
            spec = pod(workload)
            (container,) = spec["containers"]
            settings = options_of(container).settings()
            (port,) = (one for one in container["ports"] if one["name"] == "admission")
            self.assertEqual(settings.admission, f"tcp:{port['containerPort']}")
            # Patches name the others by their places.
            self.assertEqual(container["ports"][-1], port)
            (mount,), (volume,) = container["volumeMounts"], spec["volumes"]
            self.assertEqual((mount["name"], mount["readOnly"]), (volume["name"], True))
            self.assertTrue(volume["secret"]["optional"])
            for path, name in (
                (settings.admission_certificate, "tls.crt"),
                (settings.admission_key, "tls.key"),
            ):
                self.assertEqual(path, f"{mount['mountPath']}/{name}")
            (webhook,) = (one for one in found if one["kind"] == "ValidatingWebhookConfiguration")
            (hook,) = webhook["webhooks"]
            self.assertEqual((hook["failurePolicy"], hook["sideEffects"]), ("Ignore", "None"))
            self.assertGreater(hook["timeoutSeconds"], DEADLINE_SECONDS)
            (rule,) = hook["rules"]
            self.assertEqual((rule["resources"], rule["operations"]), (["ingresses"], ["CREATE", "UPDATE"]))
            asked = hook["clientConfig"]["service"]
            (service,) = (
                one for one in found if one["kind"] == "Service" and one["metadata"]["name"] == asked["name"]
            )
            self.assertEqual(service["metadata"]["namespace"], workload["metadata"]["namespace"])
            self.assertEqual(service["spec"]["selector"], workload["spec"]["template"]["metadata"]["labels"])
            (reached,) = service["spec"]["ports"]
            self.assertEqual((reached["port"], reached["targetPort"]), (asked["port"], port["name"]))
            (certificate,) = (one for one in found if one["kind"] == "Certificate")
            name = f"{asked['name']}.{asked['namespace']}.svc"
            self.assertEqual(certificate["spec"]["dnsNames"], [name])
            self.assertEqual(certificate["spec"]["secretName"], volume["secret"]["secretName"])
            (injected,) = webhook["metadata"]["annotations"].values()
            metadata = certificate["metadata"]
            self.assertEqual(injected, f"{metadata['namespace']}/{metadata['name']}")

    def test_beside(self) -> None:
        """Beside another controller there is one class, which is not called nginx, and it is the one that is served."""
        found = rendered("overlays/beside")
        (shipped,) = (one for one in found if one["kind"] == "IngressClass")
        (workload,) = (one for one in found if one["kind"] in WORKLOADS)
        settings = options_of(pod(workload)["containers"][0]).settings()
        usual = Settings().translate
        self.assertEqual(shipped["metadata"]["name"], settings.translate.ingress_class)
        self.assertEqual(shipped["spec"]["controller"], settings.translate.controller_class)
        self.assertNotEqual(settings.translate.ingress_class, usual.ingress_class)
        self.assertNotEqual(settings.translate.controller_class, usual.controller_class)
        self.assertEqual(settings.reporting.publish_service, ObjectKey("txingress", "txingress"))

    def test_namespaced(self) -> None:
        """Without any right in the cluster, each namespace that the controller reads has a Role, bound to its account."""
        found = rendered("overlays/namespaced")
        kinds = {one["kind"] for one in found}
        self.assertEqual(kinds & {"ClusterRole", "ClusterRoleBinding", "IngressClass"}, set())
        (workload,) = (one for one in found if one["kind"] in WORKLOADS)
        (container,) = pod(workload)["containers"]
        settings = options_of(container).settings()
        own = workload["metadata"]["namespace"]
        for kind in ("Role", "RoleBinding"):
            of_kind = [one["metadata"] for one in found if one["kind"] == kind]
            elsewhere = {one["namespace"] for one in of_kind if one["namespace"] != own}
            self.assertEqual(elsewhere, set(settings.namespaces))
            self.assertEqual(
                sorted(one["name"] for one in of_kind if one["namespace"] == own),
                ["txingress", "txingress-service"],
            )
        self.assertEqual(settings.reporting.publish_service, ObjectKey(own, "txingress"))
        # To delete the overlay must not delete what tenants have; so the namespaces are made by hand.
        self.assertEqual([one["metadata"]["name"] for one in found if one["kind"] == "Namespace"], [own])
        page = (K8S / "README.md").read_text("utf-8")
        for namespace in settings.namespaces:
            self.assertIn(f"    kubectl create namespace {namespace}\n", page)
        for binding in (one for one in found if one["kind"] == "RoleBinding"):
            self.assertEqual(binding["subjects"][0]["namespace"], workload["metadata"]["namespace"])
            self.assertEqual(binding["subjects"][0]["name"], pod(workload)["serviceAccountName"])

    def test_daemonset(self) -> None:
        """On the host network the pods still find Services by name, and the kind fits its fields."""
        found = rendered("overlays/daemonset-hostnetwork")
        (workload,) = (one for one in found if one["kind"] in WORKLOADS)
        self.assertEqual(workload["kind"], "DaemonSet")
        self.assertEqual(set(workload["spec"]), {"selector", "template", "updateStrategy", "minReadySeconds"})
        self.assertEqual(
            workload["spec"]["updateStrategy"], {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
        )
        spec = pod(workload)
        self.assertIs(spec["hostNetwork"], True)
        self.assertEqual(spec["dnsPolicy"], "ClusterFirstWithHostNet")
        self.assertFalse([one for one in found if one["kind"] in ("PodDisruptionBudget", "Service")])

    def test_delays(self) -> None:
        """Each overlay has the delay, the failures of the probe and the grace that docs/shutdown.md gives for what stands in front of it."""
        page = (REPOSITORY / "docs" / "shutdown.md").read_text("utf-8")
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines()]
        figures = {row[0]: row[3:] for row in rows if len(row) == 6}
        for overlay, beginning in (
            ("daemonset-hostnetwork", "hostPort or host network (`daemonset-hostnetwork`)"),
            ("deployment-loadbalancer", "`LoadBalancer` with `externalTrafficPolicy: Local`"),
        ):
            (expected,) = (row for front, row in figures.items() if front.startswith(beginning))
            (workload,) = (
                one
                for one in rendered(f"overlays/{overlay}")
                if one["kind"] in WORKLOADS and one["metadata"]["name"] == "txingress"
            )
            spec = pod(workload)
            (container,) = spec["containers"]
            delay = options_of(container).settings().serving.shutdown_delay_seconds
            failures = container["readinessProbe"]["failureThreshold"]
            found = [f"{delay:g}", str(failures), str(spec["terminationGracePeriodSeconds"])]
            self.assertEqual(found, expected, overlay)

    def test_deployments(self) -> None:
        """The Services of the Deployments select its pods and lead to their ports."""
        for overlay, kind in (
            ("deployment-loadbalancer", "LoadBalancer"),
            ("deployment-nodeport", "NodePort"),
        ):
            found = {one["kind"]: one for one in rendered(f"overlays/{overlay}")}
            service, template = found["Service"]["spec"], found["Deployment"]["spec"]["template"]
            self.assertEqual(service["type"], kind)
            self.assertEqual(
                found["Deployment"]["spec"]["strategy"],
                {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            )
            self.assertEqual(service["selector"], template["metadata"]["labels"])
            self.assertEqual(
                found["PodDisruptionBudget"]["spec"]["selector"], found["Deployment"]["spec"]["selector"]
            )
            named = {port["name"] for port in template["spec"]["containers"][0]["ports"]}
            self.assertEqual([port["port"] for port in service["ports"]], [80, 443])
            shown = options_of(template["spec"]["containers"][0]).settings().reporting.publish_service
            key = ObjectKey(found["Service"]["metadata"]["namespace"], found["Service"]["metadata"]["name"])
            # The cluster IP of a NodePort Service is of no use outside.
            self.assertEqual(shown, key if kind == "LoadBalancer" else None)
            self.assertLessEqual({port["targetPort"] for port in service["ports"]}, named)

    def test_examples(self) -> None:
        """The examples render, with the image of this version."""
        found = {one["kind"]: one for one in rendered("examples")}
        self.assertEqual(set(found), {"ConfigMap", "Deployment", "Service", "Ingress"})
        (volume,) = pod(found["Deployment"])["volumes"]
        self.assertEqual(volume["configMap"]["name"], found["ConfigMap"]["metadata"]["name"])
        self.assertEqual(pod(found["Deployment"])["containers"][0]["image"], f"txingress:{version()}")
