"""What pods get of those of an ingress-nginx."""

from typing import Any

from tests.ctl.inputs.controllers import IMAGE, LABELS, PORTS, autoscaler, container, service
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
            spec={"replicas": 2},
            nodeSelector={"kubernetes.io/os": "linux"},
            dnsPolicy="ClusterFirst",
            schedulerName="default-scheduler",
            containers=[container(resources={"requests": {"cpu": "100m", "memory": "90Mi"}})],
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
            "schedulerName": "packing",
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
        own_pods = "selectors of its own pods select those of this controller"
        self.assertEqual(said(report)["topologySpreadConstraints"][1], own_pods)
        self.assertTrue(said(report)["affinity"][1].startswith(own_pods))
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
        """They are those of the traffic; one pod of a node alone can have them, for which the namespace has to let the pods in."""
        ports = [
            {**PORTS[0], "hostPort": 80, "hostIP": "192.0.2.1"},
            {**PORTS[1], "hostPort": 8443},
            {**PORTS[2], "hostPort": 10254},
        ]
        alone = {"maxSurge": 0, "maxUnavailable": 1}
        for kind, strategy in (("Deployment", "strategy"), ("DaemonSet", "updateStrategy")):
            report = report_of(kind=kind, containers=[container(ports=ports)])
            found = fates(report)
            self.assertEqual(
                {name: found[name] for name in found if "Port" in name},
                {"hostPort 80": "LATER", "hostPort 8443": "LATER", "hostPort 10254": "LEFT"},
            )
            for is_gone, level, numbers in (
                (False, "restricted", {"http": None, "https": None, "probes": None}),
                (True, "privileged", {"http": 80, "https": 8443, "probes": None}),
            ):
                built = self.build(report, is_gone=is_gone)
                own = built[kind, "txingress"]
                self.assertEqual(own["spec"][strategy]["rollingUpdate"], alone)
                controller = pod(own)["containers"][0]
                self.assertEqual({one["name"]: one.get("hostPort") for one in controller["ports"]}, numbers)
                self.assertEqual(controller["ports"][0].get("hostIP"), "192.0.2.1" if is_gone else None)
                labels = built["Namespace", "txingress"]["metadata"]["labels"]
                self.assertEqual(labels["pod-security.kubernetes.io/enforce"], level)

    def test_one_pod_on_each_node(self) -> None:
        """A DaemonSet stays one, without the network of nodes, too; what is of a Deployment alone goes."""
        fields: dict[str, Any] = {
            "kind": "DaemonSet",
            "spec": {"updateStrategy": {"type": "OnDelete"}},
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
            ],
        }
        report = report_of(service(), **fields)
        found = fates(report)
        self.assertEqual((found["kind"], found["topologySpreadConstraints"]), ("TAKEN", "LEFT"))
        built = self.build(report)
        own = built["DaemonSet", "txingress"]
        self.assertEqual(
            own["spec"].keys() & {"replicas", "strategy", "updateStrategy", "minReadySeconds"},
            {"updateStrategy", "minReadySeconds"},
        )
        self.assertEqual(own["spec"]["updateStrategy"]["rollingUpdate"], {"maxSurge": 1, "maxUnavailable": 0})
        self.assertNotIn("topologySpreadConstraints", pod(own))
        self.assertNotIn(DEPLOYMENT, built)
        self.assertNotIn(("PodDisruptionBudget", "txingress"), built)
        self.assertEqual(built["Service", "txingress"]["spec"]["type"], "LoadBalancer")

    def test_room_for_one_on_a_node(self) -> None:
        """Where no two may be on one, none would ever start before an old one has ended."""
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": THEIRS}
        for other, key, surge in (
            (term, "requiredDuringSchedulingIgnoredDuringExecution", 0),
            ({**term, "topologyKey": "zone"}, "requiredDuringSchedulingIgnoredDuringExecution", 1),
            (
                {**term, "labelSelector": {"matchLabels": {"app": "web"}}},
                "requiredDuringSchedulingIgnoredDuringExecution",
                1,
            ),
        ):
            built = self.build(report_of(affinity={"podAntiAffinity": {key: [other]}}))
            self.assertEqual(built[DEPLOYMENT]["spec"]["strategy"]["rollingUpdate"]["maxSurge"], surge)


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

    def test_annotations_that_name_a_container(self) -> None:
        """The API refuses a pod without that container; what is called alike is another."""
        names = (
            "container.apparmor.security.beta.kubernetes.io/controller",
            "ad.datadoghq.com/controller.checks",
            "example.com/controller-note",
        )
        report = report_of(pod_metadata={"annotations": dict.fromkeys(names, "x")})
        found = self.build(report)[DEPLOYMENT]["spec"]["template"]["metadata"]["annotations"]
        self.assertEqual(found, {"example.com/controller-note": "x"})

    def test_labels_of_tools(self) -> None:
        """What prunes by a label would delete whatever else has it."""
        tools = (
            "kapp.k14s.io/app",
            "objectset.rio.cattle.io/hash",
            "addonmanager.kubernetes.io/mode",
            "applyset.kubernetes.io/part-of",
        )
        report = report_of(pod_metadata={"labels": {**LABELS, **dict.fromkeys(tools, "x"), "a": "b"}})
        self.assertEqual(fates(report), {"label a": "TAKEN"})
        self.build(report)


class ReplicasTests(InstallationCase):
    """How many there are."""

    def test_replicas(self) -> None:
        """Never less than two, and as many as there were."""
        report = report_of(spec={"replicas": 5})
        self.assertEqual(self.build(report)[DEPLOYMENT]["spec"]["replicas"], 5)
        report = report_of(spec={"replicas": 1})
        self.assertEqual(fates(report), {"replicas": "LEFT"})
        self.assertEqual(self.build(report)[DEPLOYMENT]["spec"]["replicas"], 2)

    def test_one_that_has_the_ports_of_its_node(self) -> None:
        """A second one would never start, and so no update either: one it stays."""
        controller = container(ports=[{**PORTS[0], "hostPort": 80}])
        for spec in ({}, {"replicas": 1}):
            report = report_of(containers=[controller], spec=spec)
            self.assertEqual(fates(report)["replicas"], "TAKEN")
            self.assertEqual(self.build(report)[DEPLOYMENT]["spec"]["replicas"], 1)

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
            securityContext={"sysctls": [{"name": "net.core.somaxconn", "value": "9"}]},
        )
        self.assertEqual(
            fates(report),
            dict.fromkeys(
                (
                    "resources", "containers logger", "initContainers sysctl", "volumes geoip", "env TZ",
                    "imagePullSecrets", "terminationGracePeriodSeconds", "securityContext.sysctls",
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
