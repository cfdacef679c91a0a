"""What pods get of those of an ingress-nginx."""

from typing import Any

from tests.ctl.inputs.controllers import IMAGE, LABELS, PORTS, autoscaler, container
from tests.ctl.migrate.installation.installation_case import InstallationCase, fates, report_of, said
from tests.k8s_case import pod

DEPLOYMENT = ("Deployment", "txingress")
OWN = {"matchLabels": {"app.kubernetes.io/name": "txingress"}}
THEIRS = {"matchLabels": {"app.kubernetes.io/name": "ingress-nginx"}}


class PlacementTests(InstallationCase):
    """Where they run."""

    def test_nothing_to_carry_over(self) -> None:
        """Two replicas without a wish: the pods are those of the overlay, and nothing is said."""
        report = report_of(
            spec={"replicas": 2}, nodeSelector={"kubernetes.io/os": "linux"}, dnsPolicy="ClusterFirst"
        )
        self.assertEqual(report.around, ())
        usual = self.overlay("deployment-loadbalancer")[DEPLOYMENT]
        built = self.build(report)[DEPLOYMENT]
        self.assertEqual(built["spec"]["replicas"], usual["spec"]["replicas"])
        pod(built)["containers"][0]["args"] = pod(usual)["containers"][0]["args"] = []
        self.assertEqual(pod(built), pod(usual))

    def test_nodes(self) -> None:
        """Selectors, tolerations, priority and names, as they are; the operating system stays said."""
        fields: dict[str, Any] = {
            "nodeSelector": {"pool": "edge"},
            "tolerations": [{"key": "edge", "operator": "Exists"}],
            "priorityClassName": "high",
            "hostAliases": [{"ip": "192.0.2.1", "hostnames": ["a.example.com"]}],
            "dnsConfig": {"options": [{"name": "ndots", "value": "1"}]},
            "dnsPolicy": "Default",
        }
        report = report_of(**fields)
        self.assertEqual(fates(report), dict.fromkeys(fields, "TAKEN"))
        spec = pod(self.build(report)[DEPLOYMENT])
        self.assertEqual(spec["nodeSelector"], {"kubernetes.io/os": "linux", "pool": "edge"})
        for name in fields.keys() - {"nodeSelector"}:
            self.assertEqual(spec[name], fields[name], name)

    def test_what_is_about_its_own_pods_is_about_ours(self) -> None:
        """In affinity and in what spreads them, by labels and by expressions; other pods stay others."""
        other = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
        expression = {"key": "app.kubernetes.io/component", "operator": "In", "values": ["controller"]}
        apart = {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchExpressions": [expression]},
            "namespaces": ["ingress-nginx"],
        }
        preferred = {"weight": 100, "podAffinityTerm": apart}
        nodes: dict[str, Any] = {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": []}]}
        }
        affinity = {
            "nodeAffinity": nodes,
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [apart, other],
                "preferredDuringSchedulingIgnoredDuringExecution": [preferred],
            },
        }
        spread = [
            {
                "maxSkew": 2,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": THEIRS,
            }
        ]
        report = report_of(affinity=affinity, topologySpreadConstraints=spread)
        self.assertEqual(
            said(report)["affinity"][1], "selectors of its own pods select those of this controller"
        )
        spec = pod(self.build(report)[DEPLOYMENT])
        own = {"topologyKey": "kubernetes.io/hostname", "labelSelector": OWN}
        self.assertEqual(
            spec["affinity"],
            {
                "nodeAffinity": nodes,
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [own, other],
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 100, "podAffinityTerm": own}
                    ],
                },
            },
        )
        self.assertEqual(spec["topologySpreadConstraints"], [{**spread[0], "labelSelector": OWN}])

    def test_on_the_network_of_nodes(self) -> None:
        """A DaemonSet is one; what is a Deployment there becomes one, and that is said; nothing is spread."""
        report = report_of(kind="DaemonSet", hostNetwork=True, nodeSelector={"edge": "true"})
        self.assertEqual(fates(report), {"nodeSelector": "TAKEN"})
        built = self.build(report)["DaemonSet", "txingress"]
        self.assertEqual(pod(built)["nodeSelector"], {"kubernetes.io/os": "linux", "edge": "true"})
        spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]
        report = report_of(hostNetwork=True, topologySpreadConstraints=spread)
        self.assertEqual(fates(report), {"kind": "LEFT", "topologySpreadConstraints": "LEFT"})
        self.build(report)

    def test_ports_of_nodes(self) -> None:
        """They are those of the traffic, for which the namespace has to let the pods in; a DaemonSet is a Deployment."""
        ports = [
            {**PORTS[0], "hostPort": 80},
            {**PORTS[1], "hostPort": 8443},
            {**PORTS[2], "hostPort": 10254},
        ]
        report = report_of(kind="DaemonSet", containers=[container(ports=ports)])
        self.assertEqual(
            fates(report),
            {"kind": "LEFT", "hostPort 80": "TAKEN", "hostPort 8443": "TAKEN", "hostPort 10254": "LEFT"},
        )
        built = self.build(report)
        found = {one["name"]: one.get("hostPort") for one in pod(built[DEPLOYMENT])["containers"][0]["ports"]}
        self.assertEqual(found, {"http": 80, "https": 8443, "probes": None})
        level = built["Namespace", "txingress"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        self.assertEqual(level, "privileged")


class MetadataTests(InstallationCase):
    """What the cluster is told of them."""

    def test_annotations_and_labels(self) -> None:
        """Those that somebody wrote; not those of tools, nor where nginx's metrics are."""
        metadata = {
            "annotations": {
                "cluster-autoscaler.kubernetes.io/safe-to-evict": "true",
                "example.com/note": "a: b\n# c 😀",
                "checksum/config": "abc",
                "kubectl.kubernetes.io/restartedAt": "now",
                "prometheus.io/port": "10254",
            },
            "labels": {
                **LABELS,
                "helm.sh/chart": "ingress-nginx-4",
                "pod-template-hash": "abc",
                "example.com/team": "edge",
            },
        }
        report = report_of(pod_metadata=metadata)
        self.assertEqual(
            fates(report),
            {
                "annotations cluster-autoscaler.kubernetes.io/safe-to-evict, example.com/note": "TAKEN",
                "annotations prometheus.io/port": "LEFT",
                "label example.com/team": "TAKEN",
            },
        )
        found = self.build(report)[DEPLOYMENT]["spec"]["template"]["metadata"]
        self.assertEqual(
            found["annotations"],
            {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true", "example.com/note": "a: b\n# c 😀"},
        )
        self.assertEqual(found["labels"], {"app.kubernetes.io/name": "txingress", "example.com/team": "edge"})


class ReplicasTests(InstallationCase):
    """How many there are."""

    def test_replicas(self) -> None:
        """Never less than two, and as many as there were."""
        report = report_of(spec={"replicas": 5})
        self.assertEqual(self.build(report)[DEPLOYMENT]["spec"]["replicas"], 5)
        report = report_of(spec={"replicas": 1})
        self.assertEqual(fates(report), {"replicas": "LEFT"})
        self.assertEqual(self.build(report)[DEPLOYMENT]["spec"]["replicas"], 2)

    def test_an_autoscaler(self) -> None:
        """The component stands in its place with its bounds; what it goes by is ours."""
        report = report_of(
            autoscaler(minReplicas=3, maxReplicas=20, metrics=[{}], behavior={"a": 1}), spec={"replicas": 7}
        )
        self.assertEqual(
            fates(report),
            {"minReplicas": "TAKEN", "maxReplicas": "TAKEN", "metrics": "LEFT", "behavior": "LEFT"},
        )
        built = self.build(report)
        scaling = built["HorizontalPodAutoscaler", "txingress"]["spec"]
        self.assertEqual((scaling["minReplicas"], scaling["maxReplicas"]), (3, 20))
        self.assertNotIn("replicas", built[DEPLOYMENT]["spec"])
        report = report_of(autoscaler(minReplicas=1, maxReplicas=1))
        scaling = self.build(report)["HorizontalPodAutoscaler", "txingress"]["spec"]
        self.assertEqual((scaling["minReplicas"], scaling["maxReplicas"]), (2, 2))

    def test_an_autoscaler_of_another(self) -> None:
        """It is left alone, and so is one of what has a pod on each node."""
        other = autoscaler(maxReplicas=9)
        other["spec"]["scaleTargetRef"]["name"] = "web"
        self.assertEqual(report_of(other).around, ())
        on_nodes = autoscaler(maxReplicas=9)
        report = report_of(on_nodes, hostNetwork=True)
        self.assertEqual(said(report)["all of it"][1], "there is one pod on each node")
        self.build(report)


class LeftTests(InstallationCase):
    """What stays there, by name."""

    def test_what_is_for_nginx(self) -> None:
        """Its memory, its volumes, what runs beside it."""
        controller = container(resources={"limits": {"memory": "1Gi"}})
        controller["env"] = [
            *controller["env"],
            {"name": "LD_PRELOAD", "value": "/a.so"},
            {"name": "TZ", "value": "UTC"},
        ]
        report = report_of(
            containers=[controller, {"name": "logger", "image": IMAGE}],
            initContainers=[{"name": "sysctl"}],
            volumes=[{"name": "webhook-cert"}, {"name": "geoip"}],
            imagePullSecrets=[{"name": "mirror"}],
            terminationGracePeriodSeconds=600,
        )
        self.assertEqual(
            fates(report),
            dict.fromkeys(
                (
                    "resources", "containers logger", "initContainers sysctl", "volumes geoip", "env TZ",
                    "imagePullSecrets", "terminationGracePeriodSeconds",
                ),
                "LEFT",
            ),
        )  # fmt: skip

    def test_odd_shapes(self) -> None:
        """Whatever stands where something else is meant belongs to nobody, or is not taken over."""
        odd: Any
        deep: Any = "x"
        for _ in range(200):
            deep = {"a": deep}
        for odd in (None, 1, "x", [], {}, [1], {"a": 1}, [[]], {"a": [{"b": None}]}, True, deep, [deep]):
            for name in (
                "nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "priorityClassName", "volumes",
                "hostAliases", "dnsPolicy", "imagePullSecrets", "initContainers", "terminationGracePeriodSeconds",
            ):  # fmt: skip
                report_of(**{name: odd})
            for pods in ({"annotations": odd}, {"labels": odd}, {"labels": {**LABELS, "x": odd}}):
                report_of(pod_metadata=pods)
            report_of(spec={"replicas": odd})
            report_of(autoscaler(minReplicas=odd, maxReplicas=odd))
            report_of(containers=[container(ports=odd, env=odd, resources=odd)])
            for field in ("podAffinity", "podAntiAffinity"):
                report_of(affinity={field: odd})
                report_of(affinity={field: {"requiredDuringSchedulingIgnoredDuringExecution": odd}})
                report_of(affinity={field: {"preferredDuringSchedulingIgnoredDuringExecution": odd}})
        self.assertEqual(fates(report_of(dnsConfig={"a": deep})), {"dnsConfig": "LEFT"})
