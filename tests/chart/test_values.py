"""Values: which there are, what becomes of those of ingress-nginx, and what fails, with words that help."""

from typing import Any

import yaml
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.migrate.installation.annotations import annotation_fate
from ingress.ctl.migrate.installation.carried import Fate
from ingress.options.config_map_keys import GUARDS
from ingress.options.ingress_nginx_arguments import ARGUMENTS, Becomes
from scripts.chart.files import files
from scripts.chart.keys import keys
from scripts.chart.tables import tables
from tests.chart.chart_case import ChartTestCase
from tests.k8s_case import CHART, REPOSITORY, options_of, pod, version

DOCUMENTED = REPOSITORY / "tests" / "chart" / "documented_values.yaml"
FOREIGN = CHART / "files" / "ingress-nginx-values.yaml"


def read(path: Any) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def arguments(**given: object) -> dict[str, Any]:
    return {"controller": {"extraArgs": {name.replace("_", "-"): value for name, value in given.items()}}}


class FilesTests(SynchronousTestCase):
    """What the chart has that is made of other things, without any helm."""

    def test_in_step(self) -> None:
        """Tables, schema, copies and page are those that ``make docs`` writes."""
        for name, text in files().items():
            self.assertEqual((CHART / name).read_text("utf-8"), text, f"{name}: run make docs")

    def test_version(self) -> None:
        """Chart, image and package have one version."""
        chart = read(CHART / "Chart.yaml")
        self.assertEqual((chart["version"], chart["appVersion"]), (version(), version()))

    def test_comments(self) -> None:
        """Every key says what it is for."""
        self.assertEqual([one.path for one in keys() if not one.comment and not one.has_keys], [])

    def test_every_key_of_ingress_nginx(self) -> None:
        """Each key that ingress-nginx documents is one of ours, or has a row that says what becomes of it."""
        ours = {one.path: one for one in keys()}
        foreign = read(FOREIGN)

        def missing(values: dict[str, Any], above: str) -> list[str]:
            found: list[str] = []
            for name, value in values.items():
                path = f"{above}{name}"
                if path in foreign:
                    self.assertNotIn(path, ours)
                    continue
                one = ours.get(path)
                if isinstance(value, dict) and value and (one is None or one.has_keys):
                    found += missing(value, f"{path}.")
                elif one is None:
                    found.append(path)
            return found

        self.assertEqual(missing(read(DOCUMENTED), ""), [])

    def test_rows(self) -> None:
        """Each row has a fate that there is, a clause, and options that there are."""
        for path, row in read(FOREIGN).items():
            self.assertIn(row["becomes"], ("needless", "ignored", "refused"), path)
            self.assertTrue(row["told"] and not row["told"].endswith("."), path)
            self.assertLessEqual(set(row), {"becomes", "told", "silent", "switch"}, path)

    def test_guards(self) -> None:
        """Keys of the ConfigMap by which requests would have been kept out are those that the chart refuses."""
        told = tables()["configKeys"]["told"]
        self.assertEqual({name for name, row in told.items() if row["becomes"] == "refused"}, set(GUARDS))


class ToldTests(ChartTestCase):
    """What is told of values that are not honored."""

    def test_no_image(self) -> None:
        """Without an image it is said how to come by one."""
        said = self.refused({"image": {}})
        self.assertIn("image.repository: name your image", said)
        self.assertIn("docker build", said)

    def test_everything_of_ingress_nginx(self) -> None:
        """All keys of ingress-nginx with the defaults that they have there render, and nothing of them is missed."""
        values = read(DOCUMENTED)
        self.rendered(values)
        notes = self.notes(values)
        self.assertNotIn("Not honored", notes)
        self.assertIn("controller.image\n      it names ingress-nginx's image", notes)
        self.rendered({**values, "strict": True})

    def test_mistyped(self) -> None:
        """A key that neither chart has fails, with the one that is meant."""
        said = self.refused(
            {"controller": {"replicaCuont": 3, "service": {"anotations": {}}}, "tcpp": {"1": "a/b:1"}}
        )
        self.assertIn(
            "controller.replicaCuont: neither this chart nor that of ingress-nginx has such a key; did you mean replicaCount?",
            said,
        )
        self.assertIn(
            "controller.service.anotations: neither this chart nor that of ingress-nginx has such a key; did you mean annotations?",
            said,
        )
        self.assertIn("tcpp: neither", said)

    def test_types(self) -> None:
        """A value of another type is refused by the schema, which names the key."""
        said = self.refused({"controller": {"kind": "StatefulSet", "replicaCount": "two"}})
        self.assertIn("/controller/kind", said.replace(".", "/"))
        self.assertIn("/controller/replicaCount", said.replace(".", "/"))

    def test_texts(self) -> None:
        """What becomes text of the ConfigMap is no list or mapping, and a port of TCP is a number."""
        said = self.refused(
            {
                "controller": {"config": {"whitelist-source-range": ["10.0.0.0/8"]}},
                "tcp": {"postgres": "a/b:1"},
            }
        )
        self.assertIn("whitelist-source-range", said)
        self.assertIn("postgres", said)

    def test_guards(self) -> None:
        """What would have kept somebody out, and is not there, fails the render; turned off it does not."""
        self.assertIn(
            "controller.config.plugins: ", self.refused({"controller": {"config": {"plugins": "crowdsec"}}})
        )
        self.assertIn(
            "customTemplate",
            self.refused(
                {"controller": {"customTemplate": {"configMapName": "template", "configMapKey": "a"}}}
            ),
        )
        self.assertIn(
            "extraModules",
            self.refused({"controller": {"extraModules": [{"name": "waf", "image": {"image": "a"}}]}}),
        )
        self.rendered({"controller": {"config": {"plugins": ""}}})

    def test_config_told(self) -> None:
        """Keys of the ConfigMap that are not honored are told by the words of its page, and so are those that there are not."""
        notes = self.notes(
            {
                "controller": {
                    "config": {
                        "enable-ocsp": True,
                        "server-tokens": "true",
                        "proxy-body-siz": "8m",
                        "use-gzip": "true",
                    }
                }
            }
        )
        told, _, needless = notes.partition("Not needed")
        self.assertIn("controller.config.enable-ocsp\n      no certificate status is stapled", told)
        self.assertIn(
            "controller.config.proxy-body-siz\n      there is no such key; did you mean proxy-body-size?",
            told,
        )
        self.assertIn("controller.config.server-tokens", needless)
        self.assertNotIn("use-gzip", notes)

    def test_strict(self) -> None:
        """Whoever sees no notes may have the render fail in their place."""
        values = {"controller": {"maxmindLicenseKey": "secret-of-mine"}}
        self.assertIn("controller.maxmindLicenseKey\n      nothing is looked up", self.notes(values))
        said = self.refused({**values, "strict": True})
        self.assertIn("controller.maxmindLicenseKey: nothing is looked up", said)
        self.assertNotIn("secret-of-mine", said)

    def test_subchart(self) -> None:
        """What a chart around this one says for all of its charts is no mistake."""
        self.rendered({"global": {"storageClass": "fast", "image": {"registry": "mirror.example.com"}}})


class ArgumentsTests(ChartTestCase):
    """``controller.extraArgs``."""

    def options(self, **given: object) -> Any:
        workload = self.only(self.rendered(arguments(**given)), "Deployment")
        return options_of(pod(workload)["containers"][0]).settings()

    def test_both_vocabularies(self) -> None:
        """Arguments of ingress-nginx become the options that do the same, and options of this controller are themselves."""
        found = self.options(
            v=4, watch_ingress_without_class="true", election_ttl="1m30s", annotations_prefix="custom.example.com",
            default_ssl_certificate="$(POD_NAMESPACE)/wildcard", update_status_on_shutdown="false", disable_catch_all=None,
            trusted_proxies=["10.0.0.0/8", "192.0.2.0/24"], workers=4, no_quirks=True, shared_hosts=False, enable_metrics="true",
        )  # fmt: skip
        self.assertEqual(found.serving.log_level, "debug")
        self.assertTrue(found.translate.watch_without_class)
        self.assertEqual(found.reporting.election_ttl_seconds, 90)
        self.assertFalse(found.reporting.clear_status_on_shutdown)
        self.assertTrue(found.translate.disable_catch_all)
        self.assertEqual([str(one) for one in found.serving.trusted_proxies], ["10.0.0.0/8", "192.0.2.0/24"])
        self.assertEqual(found.workers, 4)
        self.assertFalse(found.translate.quirks)
        self.assertFalse(found.translate.shared_hosts)

    def test_every_argument(self) -> None:
        """Of each argument of ingress-nginx becomes what its row says: an option that can be read, or words."""
        texts = {
            "int": "3", "uint32": "3", "float": "0.5", "float64Slice": "1,2", "duration": "40s", "ip": "127.0.0.1", "bool": "true",
        }  # fmt: skip
        by_name = {
            "annotations-prefix": "example.com", "watch-namespace-selector": "team=a", "kubeconfig": "/etc/hostname",
            "apiserver-host": "https://192.0.2.1", "shutdown-grace-period": "20", "publish-status-address": "192.0.2.9",
            "http-port": "8080", "https-port": "8443", "healthz-port": "10300", "configmap": None,
        }  # fmt: skip
        given = {
            name: by_name.get(
                name,
                "shop/web"
                if name.endswith(("service", "configmap", "certificate"))
                else texts.get(row.type.value, "text"),
            )
            for name, row in ARGUMENTS.items()
            if name not in ("configmap", "watch-namespace")
        }
        values = {"controller": {"extraArgs": given}}
        notes = self.notes(values)
        said, _, needless = notes.partition("Not needed")
        for name, row in ARGUMENTS.items():
            key = f"controller.extraArgs.{name}\n"
            if row.becomes is Becomes.NEEDLESS:
                self.assertIn(key, needless)
            elif row.becomes is Becomes.NOT_HONORED and given[name] not in row.silent:
                self.assertIn(f"{key}      {row.told}", said)
            elif name not in ("configmap", "watch-namespace"):
                self.assertNotIn(key, notes)
        (container,) = pod(self.only(self.rendered(values), "Deployment"))["containers"]
        found = options_of(container).settings()
        self.assertEqual(found.serving.shutdown_delay_seconds, 20)
        self.assertEqual(found.probes, "tcp:10300")
        self.assertIn({"name": "probes", "containerPort": 10300}, container["ports"])

    def test_statuses(self) -> None:
        """Which addresses Ingresses show is what arguments say, then the value for it, else the Service, or else nodes; or none are."""
        override = {"publishService": {"pathOverride": "a/b"}}
        cases: tuple[tuple[dict[str, Any], str | None, bool], ...] = (
            ({}, "txingress/txingress", False),
            (override, "a/b", False),
            (
                {**override, "extraArgs": {"publish-service": "$(POD_NAMESPACE)/front"}},
                "txingress/front",
                False,
            ),
            ({"publishService": {"enabled": False}}, None, True),
            ({"service": {"enabled": False}}, None, True),
            ({"extraArgs": {"update-status": "false"}}, None, False),
            ({"extraArgs": {"publish-status-address": "192.0.2.1"}}, None, False),
            ({"publishService": {"enabled": False}, "publishNodeAddresses": False}, None, False),
        )
        for values, service, nodes in cases:
            found = self.rendered({"controller": values})
            container = pod(self.only(found, "Deployment"))["containers"][0]
            reporting = options_of(container).settings().reporting
            published = None if reporting.publish_service is None else str(reporting.publish_service)
            self.assertEqual((published, reporting.publish_node_addresses), (service, nodes), values)
            bound = [one for one in found if one["metadata"]["name"] == "txingress-node-addresses"]
            self.assertEqual(bool(bound), nodes)

    def test_unknown(self) -> None:
        """An argument that neither has fails, with the one that is meant; one that the chart gives is found elsewhere."""
        said = self.refused(
            arguments(default_ssl_certificat="a/b", http="tcp:81", election_ttl="soon", no_quirks="maybe")
        )
        self.assertIn(
            "controller.extraArgs.default-ssl-certificat: neither ingress-nginx nor this controller has such an argument; did you mean default-ssl-certificate?",
            said,
        )
        self.assertIn("controller.extraArgs.http: controller.containerPort.http says it", said)
        self.assertIn("controller.extraArgs.election-ttl: is no duration in whole seconds; write 30s", said)
        self.assertIn("controller.extraArgs.no-quirks: is true or false", said)


class BesideTests(ChartTestCase):
    """Beside an ingress-nginx that goes on."""

    def test_what_waits(self) -> None:
        """What only one of the two can have is left out, and told."""
        service = {
            "loadBalancerIP": "192.0.2.1",
            "nodePorts": {"http": 32080, "tcp": {"5432": 32432}},
            "annotations": {
                "service.beta.kubernetes.io/aws-load-balancer-eip-allocations": "eipalloc-1",
                "service.beta.kubernetes.io/aws-load-balancer-type": "nlb",
            },
        }
        controller = {
            "service": service, "watchIngressWithoutClass": True, "publishService": {"pathOverride": "theirs/service"}, "electionID": "ingress-nginx-leader",
            "ingressClassResource": {"default": True, "aliases": ["web"]}, "extraArgs": {"publish-status-address": "192.0.2.1", "publish-service": "theirs/other"},
        }  # fmt: skip
        values = {
            "beside": {"enabled": True},
            "controller": controller,
            "tcp": {"5432": "shop/database:5432"},
        }
        found = self.rendered(values)
        text = yaml.safe_dump_all(found)
        for one in (
            "192.0.2.1",
            "32080",
            "32432",
            "eipalloc-1",
            "ingress-nginx-leader",
            "is-default-class",
            "theirs/",
            "name: web",
            "k8s.io/ingress-nginx",
        ):
            self.assertNotIn(one, text)
        self.assertIn("aws-load-balancer-type: nlb", text)
        _, _, waiting = self.notes(values).partition("What waits until ingress-nginx is gone")
        for key in ("service.loadBalancerIP", "service.nodePorts", "watchIngressWithoutClass", "electionID", "ingressClassResource.default",
                    "ingressClassResource.aliases", "extraArgs.publish-status-address", "extraArgs.publish-service", "publishService.pathOverride",
                    "service.annotations.service.beta.kubernetes.io/aws-load-balancer-eip-allocations"):  # fmt: skip
            self.assertIn(f"controller.{key}\n", waiting)

    def test_annotations_as_migrate(self) -> None:
        """Which annotations are one Service's only is as ``ingressctl migrate`` has it."""
        annotations = {
            "service.beta.kubernetes.io/aws-load-balancer-name": "front", "service.beta.kubernetes.io/aws-load-balancer-subnets": "a,b",
            "service.beta.kubernetes.io/azure-load-balancer-ipv4": "192.0.2.7", "service.beta.kubernetes.io/azure-pip-name": "ours",
            "service.beta.kubernetes.io/azure-load-balancer-resource-group": "web", "load-balancer.hetzner.cloud/name": "web",
            "load-balancer.hetzner.cloud/network-zone": "eu-central", "metallb.io/loadBalancerIPs": "192.0.2.5",
            "metallb.io/address-pool": "web", "external-dns.alpha.kubernetes.io/hostname": "a.example.com",
            "external-dns.alpha.kubernetes.io/target": "b.example.com", "networking.gke.io/load-balancer-ip-addresses": "web",
            "service.beta.kubernetes.io/do-loadbalancer-certificate-id": "c-1", "service.beta.kubernetes.io/do-loadbalancer-enable-proxy-protocol": "true",
            "cloud.google.com/neg": '{"exposed_ports": {"80": {"name": "web"}}}', "networking.gke.io/load-balancer-type": "Internal",
        }  # fmt: skip
        values = {"beside": {"enabled": True}, "controller": {"service": {"annotations": annotations}}}
        service = self.only(self.rendered(values), "Service")
        expected = {
            name: value
            for name, value in annotations.items()
            if (fate := annotation_fate(name, value, ())) is not None and fate[0] is not Fate.LATER
        }
        self.assertEqual(service["metadata"].get("annotations"), expected)
        self.assertTrue(expected)
        self.assertLess(len(expected), len(annotations))

    def test_own_service(self) -> None:
        """As long as the other one is there, this one has Services of its own, and takes over none by its name."""
        service = {"nameOverride": "theirs", "internal": {"nameOverride": "theirs-internal"}}
        said = self.refused({"beside": {"enabled": True}, "controller": {"service": service}})
        self.assertIn(
            "controller.service.nameOverride: with beside.enabled there is a Service of its own", said
        )
        self.assertIn("controller.service.internal.nameOverride: ", said)
        internal = {"nameOverride": "theirs-internal", "enabled": True, "annotations": {"a": "b"}}
        found = self.rendered({"controller": {"service": {**service, "internal": internal}}})
        names = [one["metadata"]["name"] for one in found if one["kind"] == "Service"]
        self.assertEqual(sorted(names), ["theirs", "theirs-internal"])


class NumbersTests(ChartTestCase):
    """Names that look like numbers."""

    release = "007"
    namespace = "1"

    def test_names_are_texts(self) -> None:
        """A release and a namespace may be called by digits alone."""
        found = self.rendered({"fullnameOverride": "12", "controller": {"autoscaling": {"enabled": True}}})
        for one in found:
            self.assertIsInstance(one["metadata"]["name"], str)
            self.assertIn(one["metadata"].get("namespace", "1"), ("1",))
            self.assertEqual(one["metadata"]["labels"]["app.kubernetes.io/instance"], "007")
        workload = self.only(found, "Deployment")
        self.assertEqual(workload["spec"]["selector"]["matchLabels"]["app.kubernetes.io/instance"], "007")


class EmptyTests(ChartTestCase):
    """Keys without a value, as files of values often have them."""

    def test_nothing_said(self) -> None:
        """A mapping or a list that is taken away is an empty one."""
        values: dict[str, Any] = {}
        for one in keys():
            if one.default in ({}, []) or one.path in ("controller.nodeSelector", "controller.resources"):
                *above, name = one.path.split(".")
                holder = values
                for parent in above:
                    holder = holder.setdefault(parent, {})
                holder[name] = None
        self.assertGreater(len(values["controller"]), 30)
        controller = values["controller"]
        controller["admissionWebhooks"]["enabled"] = True
        controller["service"]["internal"]["enabled"] = True
        for name in ("serviceMonitor", "podMonitor", "prometheusRule", "dashboard"):
            controller["metrics"].setdefault(name, {})["enabled"] = True
        values["defaultBackend"].update({"enabled": True, "image": {"repository": "a/b"}})
        self.rendered(values)
        autoscaled = {"keda": {"enabled": True, "triggers": None, "behavior": None}}
        self.rendered({"controller": autoscaled})
