"""The arguments of this controller in the place of ingress-nginx's, beside what ``k8s/`` has."""

from pathlib import Path
from typing import Any

import yaml
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.ingress_nginx.installation import Installation, Surroundings
from ingress.ctl.inputs.ingress_nginx.taken_arguments import taken_arguments
from ingress.ctl.migrate.arguments import arguments_report, own_arguments
from ingress.ctl.migrate.installation.kustomization import BESIDE, KUSTOMIZATION, kustomization
from ingress.ctl.migrate.installation.overlays import HOST_NETWORK, LOAD_BALANCER, NODE_PORT
from ingress.ctl.migrate.installation.traffic import traffic_of
from ingress.model.cluster.objects import ObjectKey
from ingress.tap import Options
from tests.ctl.inputs.controllers import workload
from tests.ctl.migrate.installation.installation_case import in_its_place
from tests.k8s_case import K8S, WORKLOADS, pod, rendered

USUAL = [f"--{name}={value}" for name, value in LOAD_BALANCER.arguments.items()]
NODES = "--publish-node-addresses"
IN_TIME = [f"--{name}={value}" for name, value in BESIDE.items()]
"""The classes until ingress-nginx is gone."""
CLASSES = ("--ingress-class=nginx", "--controller-class=k8s.io/ingress-nginx")


def own(*args: str, **fields: Any) -> list[str]:
    """All arguments of this controller but the classes, which are the usual ones."""
    found = workload(*args, **fields)
    *arguments, ingress_class, controller_class = own_arguments(Installation(found), taken_arguments(found))
    if (ingress_class, controller_class) != CLASSES:
        raise AssertionError((ingress_class, controller_class))
    return arguments


class ArgumentTests(SynchronousTestCase):
    """The whole list."""

    def test_nothing_to_take_over(self) -> None:
        """The arguments of the manifests, and the classes in so many words."""
        self.assertEqual(own(), USUAL)
        self.assertEqual(own("--v=1", "--validating-webhook=:8443"), USUAL)
        self.assertEqual(own("--publish-service=a/b", "--configmap=a/b", "--election-id=a"), USUAL)

    def test_what_is_taken_over_stands_behind(self) -> None:
        """Flags without a value; what the manifests have is written over."""
        self.assertEqual(
            own("--enable-ssl-passthrough", "--watch-namespace=shop"),
            [*USUAL, "--enable-ssl-passthrough", "--namespace=shop"],
        )
        self.assertEqual(own("--shutdown-grace-period=60"), [*USUAL[:-1], "--shutdown-delay=60"])
        self.assertEqual(own("--healthz-port=10255"), ["--probes=tcp:10255", *USUAL[1:]])

    def test_whose_addresses_are_shown(self) -> None:
        """Those that are said, those of the Service, or none."""
        service = "--publish-service=txingress/txingress"
        self.assertIn(service, USUAL)
        without = [one for one in USUAL if one != service]
        self.assertEqual(
            own("--publish-status-address=192.0.2.1"), [*without, "--publish-status-address=192.0.2.1"]
        )
        self.assertEqual(own("--update-status=false", "--publish-status-address=192.0.2.1"), without)

    def test_addresses_of_nodes(self) -> None:
        """They are shown where they were: by what runs on nodes and says nothing else, or asks for internal ones."""
        without = [one for one in USUAL if not one.startswith("--publish-service")]
        internal = "--report-node-internal-ip-address"
        self.assertEqual(own(internal), [*without, NODES, internal])
        self.assertEqual(own(f"{internal}=false"), USUAL)
        self.assertEqual(own(kind="DaemonSet"), [*without, NODES])
        self.assertEqual(own("--publish-service=", kind="DaemonSet"), [*without, NODES])
        self.assertEqual(own("--publish-service=$(X)/y", internal), USUAL)
        self.assertEqual(own("--publish-service=a/b", internal, kind="DaemonSet"), USUAL)
        self.assertEqual(own("--update-status=false", internal, kind="DaemonSet"), without)
        address = "--publish-status-address=192.0.2.1"
        self.assertEqual(own(address, internal, kind="DaemonSet"), [*without, address])

    def test_on_the_network_of_the_node(self) -> None:
        """Probes are asked at the loopback address, on whatever port."""
        usual = [f"--{name}={value}" for name, value in HOST_NETWORK.arguments.items()]
        self.assertEqual(own(hostNetwork=True), [*usual, NODES])
        self.assertEqual(own("--publish-service=a/b", hostNetwork=True), usual)
        self.assertEqual(
            own("--healthz-port=10255", hostNetwork=True)[0], "--probes=tcp:10255:interface=127.0.0.1"
        )

    def test_ports(self) -> None:
        """They are those of ingress-nginx where they are the node's; elsewhere a Service leads to whatever port there is."""
        args = ("--http-port=8080", "--https-port=8443")
        self.assertEqual(own(*args), USUAL)
        self.assertEqual(own(*args, hostNetwork=True)[-3:-1], ["--http=tcp:8080", "--https=tcp:8443"])

    def test_classes(self) -> None:
        """They stand at the end."""
        found = workload("--ingress-class=edge", "--controller-class=example.com/edge", "--v=4")
        arguments = own_arguments(Installation(found), taken_arguments(found))
        self.assertEqual(arguments[-2:], ("--ingress-class=edge", "--controller-class=example.com/edge"))
        self.assertEqual(arguments[-3], "--log-level=debug")

    def test_the_controller_takes_them(self) -> None:
        """Whatever was taken over is read by the code that will read it."""
        found = workload(
            "--default-ssl-certificate=web/all", "--default-backend-service=web/none", "--watch-namespace=shop",
            "--enable-ssl-passthrough", "--annotations-prefix=example.com", "--watch-ingress-without-class",
            "--tcp-services-configmap=a/tcp", "--udp-services-configmap=a/udp", "--http-port=8080", "--https-port=8443", "--healthz-port=10255",
            "--publish-status-address=192.0.2.1,example.com", "--update-status-on-shutdown", "--election-ttl=1m",
            "--shutdown-grace-period=5", "--v=3", "--ingress-class=edge", "--controller-class=example.com/edge",
            "--apiserver-host=https://192.0.2.2", hostNetwork=True,
        )  # fmt: skip
        taken = taken_arguments(found)
        self.assertEqual([one.name for one in taken if not one.option], [])
        options = Options()
        options.parseOptions(list(own_arguments(Installation(found), taken)))
        settings = options.settings()
        self.assertEqual((settings.http, settings.https), (("tcp:8080",), ("tcp:8443",)))
        self.assertEqual(settings.namespaces, ("shop",))
        self.assertEqual(settings.config_maps[1:], (ObjectKey("a", "tcp"), ObjectKey("a", "udp")))
        self.assertEqual(settings.translate.ingress_class, "edge")


class OverlayTests(SynchronousTestCase):
    """What stands in ``k8s/``, as ``kubectl kustomize`` builds it."""

    def arguments_of(self, folder: str | Path) -> tuple[str, dict[str, Any]]:
        """The kind of the workload that is built of *folder*, and its pod."""
        (found,) = (one for one in rendered(folder) if one["kind"] in WORKLOADS)
        return found["kind"], pod(found)

    def test_the_overlays_have_these_arguments(self) -> None:
        """In this order, and of this kind."""
        for overlay in (LOAD_BALANCER, NODE_PORT, HOST_NETWORK):
            kind, spec = self.arguments_of(f"overlays/{overlay.name}")
            self.assertEqual(kind, overlay.kind)
            wanted = [f"--{name}={value}" for name, value in overlay.arguments.items()]
            self.assertEqual(sorted(spec["containers"][0]["args"]), sorted(wanted))
            services = [one for one in rendered(f"overlays/{overlay.name}") if one["kind"] == "Service"]
            types = [overlay.service_type] if overlay.service_type else []
            self.assertEqual([one["spec"]["type"] for one in services], types)
        beside = self.arguments_of("overlays/beside")[1]["containers"][0]["args"][-2:]
        self.assertEqual(beside, IN_TIME)

    def build(self, *args: str, **fields: Any) -> tuple[dict[str, Any], list[str]]:
        """The pod that comes of the kustomization for *args*, and what arguments it was to have: beside ingress-nginx."""
        found = workload(*args, **fields)
        arguments = own_arguments(Installation(found), taken_arguments(found))
        folder = self.folder(arguments_report(found, Surroundings(())).files[KUSTOMIZATION])
        return self.arguments_of(folder)[1], [*arguments[:-2], *IN_TIME]

    def folder(self, text: str) -> Path:
        """A folder with the kustomization *text*, which has paths from there in the place of those that are beside."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir(parents=True)
        text = text.replace("../txingress/k8s", f"{self.above(folder)}{K8S}")
        (folder / "kustomization.yaml").write_text(text, "utf-8")
        return folder

    def above(self, folder: Path) -> str:
        """The way up from *folder*, since kustomize takes no absolute paths."""
        return "/".join([".."] * len(folder.parts[1:]))

    def test_the_kustomization_gives_the_arguments(self) -> None:
        """As they are, whatever stands in a value; and nothing else is another."""
        for args in ((), ("--default-ssl-certificate=web/all", "--annotations-prefix=example.com", "--v=4")):
            spec, wanted = self.build(*args)
            self.assertEqual(spec["containers"][0]["args"], wanted)
            usual = self.arguments_of("overlays/deployment-loadbalancer")[1]
            usual["containers"][0]["args"] = wanted
            self.assertEqual(spec, usual)

    def test_it_stands_beside_until_the_other_one_is_gone(self) -> None:
        """No Ingress of ingress-nginx's is served, nor shown its address, and its IngressClass is left; then comments have it in its place."""
        args = (
            "--ingress-class=edge",
            "--controller-class=example.com/edge",
            "--watch-ingress-without-class",
            "--publish-status-address=192.0.2.1",
        )
        waiting = {"--watch-without-class", "--publish-status-address=192.0.2.1"}
        for fields in ({}, {"hostNetwork": True}):
            report = arguments_report(workload(*args, **fields), Surroundings(()))
            self.assertLessEqual(waiting, set(report.own))
            text = report.files[KUSTOMIZATION]
            beside, gone = rendered(self.folder(text)), rendered(self.folder(in_its_place(text)))
            for built, (name, controller), arguments in (
                (beside, BESIDE.values(), {*report.own[:-2], *IN_TIME} - waiting),
                (gone, ("edge", "example.com/edge"), set(report.own)),
            ):
                (found,) = (one for one in built if one["kind"] == "IngressClass")
                self.assertEqual((found["metadata"]["name"], found["spec"]["controller"]), (name, controller))
                (found,) = (one for one in built if one["kind"] in WORKLOADS)
                self.assertEqual(set(pod(found)["containers"][0]["args"]), arguments)

    def test_zones(self) -> None:
        """The component for them is there, and gives the pod the name of its node."""
        spec, wanted = self.build("--enable-topology-aware-routing")
        controller = spec["containers"][0]
        self.assertEqual(controller["args"], wanted)
        self.assertIn("NODE_NAME", [one["name"] for one in controller["env"]])

    def test_nodes(self) -> None:
        """The component for addresses of nodes is there, too, with its rights, alone and beside that for zones."""
        for args in ((), ("--enable-topology-aware-routing", "--report-node-internal-ip-address")):
            found = workload(*args, hostNetwork=True)
            arguments = own_arguments(Installation(found), taken_arguments(found))
            objects = rendered(self.folder(arguments_report(found, Surroundings(())).files[KUSTOMIZATION]))
            (daemon_set,) = (one for one in objects if one["kind"] == "DaemonSet")
            self.assertEqual(pod(daemon_set)["containers"][0]["args"], [*arguments[:-2], *IN_TIME])
            roles = {one["metadata"]["name"] for one in objects if one["kind"] == "ClusterRole"}
            self.assertIn("txingress-node-addresses", roles)
            self.assertEqual("txingress-topology" in roles, bool(args))
            options = Options()
            options.parseOptions(list(arguments))
            reporting = options.settings().reporting
            self.assertEqual(
                (reporting.looks_for_nodes, reporting.reports_internal_addresses), (True, bool(args))
            )

    def test_webhook(self) -> None:
        """Who had one may have the component's: the list, with the lines that wait for it, has what it would add, and ports are kept apart."""
        args = ("--validating-webhook=:8443", "--healthz-port=10255")
        found = workload(*args)
        text = arguments_report(found, Surroundings(())).files[KUSTOMIZATION]
        without = arguments_report(workload("--validating-webhook="), Surroundings(())).files[KUSTOMIZATION]
        self.assertNotIn("admission", without)
        folder = self.folder(text.replace("# - --admission", "- --admission"))
        with_component = f"components: [{self.above(folder)}{K8S}/components/admission]\npatches:"
        path = folder / "kustomization.yaml"
        path.write_text(path.read_text("utf-8").replace("patches:", with_component), "utf-8")
        spec = self.arguments_of(folder)[1]
        controller = spec["containers"][0]
        path.write_text(path.read_text("utf-8").partition("patches:")[0], "utf-8")
        added = self.arguments_of(folder)[1]["containers"][0]["args"][-3:]
        self.assertEqual(
            sorted(controller["args"]),
            sorted([*own_arguments(Installation(found), taken_arguments(found))[:-2], *IN_TIME, *added]),
        )
        ports = {one["name"]: one["containerPort"] for one in controller["ports"]}
        self.assertEqual(ports, {"http": 80, "https": 443, "probes": 10255, "admission": 8443})

    def test_ports_and_the_end_of_the_pod_go_with_them(self) -> None:
        """The kubelet finds the ports by their names, and waits long enough."""
        for fields, ports in (
            ({}, {"http": 80, "https": 443, "probes": 10255}),
            ({"hostNetwork": True}, {"http": 8080, "https": 8443, "probes": 10255}),
        ):
            args = (
                "--http-port=8080",
                "--https-port=8443",
                "--healthz-port=10255",
                "--shutdown-grace-period=61",
            )
            spec, wanted = self.build(*args, **fields)
            controller = spec["containers"][0]
            self.assertEqual(controller["args"], wanted)
            self.assertEqual({one["name"]: one["containerPort"] for one in controller["ports"]}, ports)
            self.assertEqual(spec["terminationGracePeriodSeconds"], 101)
            probe = controller["readinessProbe"]
            self.assertGreater(probe["periodSeconds"] * (probe["failureThreshold"] - 1), 61)

    def test_the_rule_for_the_end_is_that_of_the_overlays(self) -> None:
        """The delay that an overlay has leads to the figures that it has."""
        for fields, other in (({}, HOST_NETWORK), ({"hostNetwork": True}, LOAD_BALANCER)):
            delay = other.arguments["shutdown-delay"]
            spec, _ = self.build(f"--shutdown-grace-period={delay}", **fields)
            wanted = self.arguments_of(f"overlays/{other.name}")[1]
            for one in (spec, wanted):
                one["figures"] = (
                    one["terminationGracePeriodSeconds"],
                    one["containers"][0]["readinessProbe"]["failureThreshold"],
                )
            self.assertEqual(spec["figures"], wanted["figures"])


class TextTests(SynchronousTestCase):
    """Values as YAML."""

    def test_whatever_stands_in_a_value(self) -> None:
        """It is read as it was, also where YAML has a meaning for it."""
        for value in (
            "a: b",
            "a #b",
            "é",
            "'",
            '"',
            "a:",
            "\\",
            "{x}",
            "*",
            "&a",
            "a\tb",
            "tcp6:80:interface=\\:\\:1",
        ):
            argument = f"--annotations-prefix={value}"
            arguments = ("--shutdown-delay=35", argument, f"--ingress-class={value}", "--controller-class=x")
            files = kustomization(Installation(workload()), arguments, traffic_of(()))
            text = files.texts[KUSTOMIZATION]
            _, patch = yaml.safe_load(text)["patches"]
            (change,) = yaml.safe_load(patch["patch"])
            self.assertEqual(change["value"], ["--shutdown-delay=35", argument, *IN_TIME])
            _, patch = yaml.safe_load(text.replace("          # - ", "          - "))["patches"]
            (change,) = yaml.safe_load(patch["patch"])
            self.assertIn(f"--ingress-class={value}", change["value"])
