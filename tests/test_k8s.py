"""The manifests of ``k8s/`` agree with the code that they run.

They are read twice: as the files stand, always, and as ``kubectl kustomize`` renders
them, where there is a ``kubectl``.
"""

import configparser
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from re import findall
from textwrap import dedent
from typing import Any

import yaml
from attrs import evolve
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from examples.whoami import whoami
from ingress.cluster.kinds import EVENTS, GATEWAY_SERVICES, KINDS, LEASES, REFERRED_TO, STATUSES
from ingress.cluster.manifests.manifest_files import read_manifest
from ingress.cluster.store import Store
from ingress.model.objects import EndpointSlice, Kind, ObjectKey, Projection, SlicePort
from ingress.options.config_map import read_config_map
from ingress.settings import Settings
from ingress.tap import Options
from ingress.translate.options import ANNOTATIONS_PREFIX
from ingress.translate.readers.gateway.names import DEFINITION, GROUP
from ingress.translate.readers.reader import KindRead
from ingress.translate.translate import translate

REPOSITORY = Path(__file__).resolve().parent.parent
K8S = REPOSITORY / "k8s"
WHOAMI = REPOSITORY / "examples" / "whoami"
OVERLAYS = ("beside", "daemonset-hostnetwork", "deployment-loadbalancer", "deployment-nodeport", "namespaced")
WORKLOADS = ("DaemonSet", "Deployment")
USER_ID = 65532
READING = ("get", "list", "watch")
WRITING = ("create", "update", "patch")
LEASE = (LEASES.group, LEASES.resource, "update", "")

# A process has to stop by itself before the kubelet kills it.
STOP_MARGIN_SECONDS = 5.0


def objects(text: str) -> list[dict[str, Any]]:
    """The Kubernetes objects of a YAML text."""
    return [one for one in yaml.safe_load_all(text) if one is not None]


def raw() -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every object as the files have it; kustomizations and patches are none."""
    for path in (*sorted(K8S.rglob("*.yaml")), *sorted(WHOAMI.glob("*.yaml"))):
        for one in objects(path.read_text("utf-8")):
            if isinstance(one, dict) and one["kind"] != "Kustomization":
                yield path, one


def rendered(folder: str) -> list[dict[str, Any]]:
    """The objects that ``kubectl kustomize`` makes of a folder below ``k8s/``."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        raise SkipTest("kubectl is not installed")
    done = subprocess.run([kubectl, "kustomize", str(K8S / folder)], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"kubectl kustomize {folder}: {done.stderr}")
    return objects(done.stdout)


def pod(workload: Mapping[str, Any]) -> dict[str, Any]:
    """The pod spec of a Deployment or DaemonSet."""
    spec: dict[str, Any] = workload["spec"]["template"]["spec"]
    return spec


def options_of(container: Mapping[str, Any]) -> Options:
    """The arguments of a controller's container, parsed by the code that will parse them."""
    options = Options()
    options.parseOptions(container.get("args", []))
    return options


def version() -> str:
    """The version of the package as ``setup.cfg``, its one source, has it."""
    config = configparser.ConfigParser()
    config.read(REPOSITORY / "setup.cfg", encoding="utf-8")
    return config["metadata"]["version"]


def rights(role: Mapping[str, Any]) -> set[tuple[str, str, str, str]]:
    """Group, resource, verb and name (empty: any) of all that a role grants."""
    return {
        (group, resource, verb, name)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def is_of_gateways(read: KindRead) -> bool:
    """Whether a kind is asked for because of the Gateway API alone."""
    return bool(read.definition) or read.kind is DEFINITION


def called_for_gateways() -> set[tuple[str, str, str, str]]:
    """The rights that the code needs for the Gateway API."""
    reads = {
        (read.group, read.plural, verb, "")
        for read in KINDS.values()
        if is_of_gateways(read)
        for verb in read.verbs
    }
    writes = {
        (one.group, one.resource, verb, "")
        for one in (*(one for one in STATUSES if one.group == GROUP), GATEWAY_SERVICES)
        for verb in one.verbs
    }
    return reads | writes


def called_in_namespaces() -> set[tuple[str, str, str, str]]:
    """The rights that the code needs in each namespace that it serves."""
    reads = {
        (read.group, read.plural, verb, "")
        for read in KINDS.values()
        if read.namespaced and not is_of_gateways(read)
        for verb in read.verbs
    }
    written = (*(one for one in STATUSES if one.group != GROUP), EVENTS)
    writes = {(one.group, one.resource, verb, "") for one in written for verb in one.verbs}
    return reads | writes


def called_in_the_cluster() -> set[tuple[str, str, str, str]]:
    """The rights that the code needs for what belongs to no namespace."""
    return {
        (read.group, read.plural, verb, "")
        for read in KINDS.values()
        if not read.namespaced and not is_of_gateways(read)
        for verb in read.verbs
    }


def breaches(level: str, spec: Mapping[str, Any]) -> set[str]:
    """What this pod spec does that a level of the Pod Security Standards forbids, by the names that these have.

    https://kubernetes.io/docs/concepts/security/pod-security-standards/, for Linux.  What is not used here is forbidden in any
    case, so that whoever uses it looks here.
    """
    if level == "privileged":
        return set()
    found = {name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)}
    found |= {"volumes" for _ in spec.get("volumes", ())}
    of_pod = spec.get("securityContext", {})
    found |= {name for name in ("sysctls", "seLinuxOptions", "appArmorProfile") if name in of_pod}
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        context = container.get("securityContext", {})
        found |= {"hostPorts" for port in container.get("ports", ()) if port.get("hostPort")}
        found |= {name for name in ("privileged", "procMount") if context.get(name)}
        capabilities = context.get("capabilities", {})
        if set(capabilities.get("add", ())) - {"NET_BIND_SERVICE"}:
            found.add("capabilities")
        if level == "restricted":
            if "ALL" not in capabilities.get("drop", ()):
                found.add("capabilities")
            if context.get("allowPrivilegeEscalation") is not False:
                found.add("allowPrivilegeEscalation")
            if not {**of_pod, **context}.get("runAsNonRoot") or {**of_pod, **context}.get("runAsUser") == 0:
                found.add("runAsNonRoot")
            if {**of_pod, **context}.get("seccompProfile", {}).get("type") not in (
                "RuntimeDefault",
                "Localhost",
            ):
                found.add("seccompProfile")
    return found


class PodTestCase(SynchronousTestCase):
    """What holds for each pod of this image, whether read from a file or rendered."""

    def check_security(self, workload: Mapping[str, Any]) -> None:
        """The pod is not root, keeps one capability, and cannot write its file system."""
        spec = pod(workload)
        of_pod = spec["securityContext"]
        self.assertIs(of_pod["runAsNonRoot"], True)
        self.assertEqual((of_pod["runAsUser"], of_pod["runAsGroup"]), (USER_ID, USER_ID))
        self.assertEqual(of_pod["seccompProfile"], {"type": "RuntimeDefault"})
        for container in spec["containers"]:
            of_container = container["securityContext"]
            self.assertIs(of_container["readOnlyRootFilesystem"], True)
            self.assertIs(of_container["allowPrivilegeEscalation"], False)
            # An interpreter with a file capability starts only where that is allowed.
            self.assertEqual(of_container["capabilities"], {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]})
            self.assertIn("requests", container["resources"])

    def check_controller(self, workload: Mapping[str, Any]) -> None:
        """Options, ports, probes and the grace period fit the controller."""
        spec = pod(workload)
        (container,) = spec["containers"]
        self.assertNotIn("command", container)  # the entry point of the image
        settings = options_of(container).settings()

        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        listening = {"http": settings.http[0], "https": settings.https[0], "probes": settings.probes or ""}
        for name, description in listening.items():
            self.assertEqual(description.split(":")[1], str(ports[name]), name)

        for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
            request = container[probe]["httpGet"]
            self.assertEqual((request["path"], request["port"]), (path, "probes"))
            # The kubelet asks at the pod's address unless told otherwise.
            interface = "127.0.0.1" if "interface=127.0.0.1" in (settings.probes or "") else None
            self.assertEqual(request.get("host"), interface)

        # What names routes and objects is for who may forward a port to the pod.
        self.assertTrue(settings.admin.endswith(":interface=127.0.0.1"))
        self.assertNotIn(int(settings.admin.split(":")[1]), ports.values())

        stopping = settings.serving.shutdown_delay_seconds + settings.serving.shutdown_grace_seconds
        self.assertGreaterEqual(spec["terminationGracePeriodSeconds"], stopping + STOP_MARGIN_SECONDS)
        self.assertNotIn("lifecycle", container)  # --shutdown-delay does what a preStop hook would

        # Nodes whose last pod ends send connections there until the probe has failed so often (docs/shutdown.md).
        probe = container["readinessProbe"]
        not_serving = probe["periodSeconds"] * (probe["failureThreshold"] - 1)
        self.assertGreater(not_serving, settings.serving.shutdown_delay_seconds)


class FileTests(PodTestCase):
    """The files as they stand."""

    def test_everything_is_labeled(self) -> None:
        """Every object has the fields that each needs, and a label to find it by."""
        seen = 0
        for path, one in raw():
            self.assertIn("apiVersion", one, path)
            self.assertIn("app.kubernetes.io/name", one["metadata"]["labels"], path)
            seen += 1
        self.assertGreater(seen, 10)

    def test_resources_exist(self) -> None:
        """Every file and folder that a kustomization names exists, and no manifest is left over by accident."""
        # One needs a Secret first, the other definitions: examples/README.md.
        named = {K8S / "examples" / "https-ingress.yaml", K8S / "examples" / "gateway.yaml"}
        for kustomization in (*sorted(K8S.rglob("kustomization.yaml")), WHOAMI / "kustomization.yaml"):
            content = yaml.safe_load(kustomization.read_text("utf-8"))
            paths = [*content["resources"], *(p["path"] for p in content.get("patches", []) if "path" in p)]
            paths += [path for one in content.get("configMapGenerator", []) for path in one["files"]]
            for path in paths:
                target = (kustomization.parent / path).resolve()
                self.assertTrue(target.exists(), f"{kustomization}: {path}")
                named.add(target)
            named.add(kustomization)
        left = {path for path in (*K8S.rglob("*.yaml"), *WHOAMI.iterdir()) if path not in named}
        self.assertEqual({path.name for path in left}, {"__pycache__"} & {path.name for path in left})

    def test_pods(self) -> None:
        """The template of the controller and the example backend obey the rules of the image."""
        workloads = {one["metadata"]["name"]: one for _, one in raw() if one["kind"] in WORKLOADS}
        self.assertEqual(set(workloads), {"txingress", "whoami"})
        for workload in workloads.values():
            self.check_security(workload)
        self.check_controller(workloads["txingress"])

    def test_rights_are_the_calls(self) -> None:
        """The ClusterRoles grant what the tables of kinds say is called: nothing less, nothing more, and the Gateway API by itself."""
        roles = {one["metadata"]["name"]: rights(one) for _, one in raw() if one["kind"] == "ClusterRole"}
        self.assertEqual(
            roles,
            {
                "txingress": called_in_namespaces() | called_in_the_cluster(),
                "txingress-gateway-api": called_for_gateways(),
            },
        )

    def test_promised_calls(self) -> None:
        """SECURITY.md names what is read and written, for Ingresses and for the Gateway API: all of it, and nothing else."""
        promises = (REPOSITORY / "SECURITY.md").read_text("utf-8")
        for beginning, called in (
            ("- The process needs no root.", called_in_namespaces() | called_in_the_cluster() | {LEASE}),
            ("- Unless `--no-gateway-api` is given", called_for_gateways()),
        ):
            promise = promises.partition(beginning)[2].partition("\n- ")[0].partition("\n\n")[0]
            for said, verbs in zip(promise.split("It writes"), (READING, WRITING), strict=True):
                named = findall("`([a-z/]+)`", said)
                self.assertEqual(
                    sorted(named), sorted({what for _, what, verb, _ in called if verb in verbs})
                )

    def test_rights_of_whoever_looks(self) -> None:
        """The ClusterRole that the page shows for ``--live`` lists what is listed there, and can nothing else."""
        page = (K8S / "README.md").read_text("utf-8")
        _, _, rest = page.partition("## Rights of whoever looks\n")
        shown = [line for line in rest.partition("\n|")[0].splitlines() if line.startswith("    ")]
        (role,) = objects(dedent("\n".join(shown)))
        listed = {
            (read.group, read.plural, "list", "")
            for read in KINDS.values()
            if read not in REFERRED_TO and not read.metadata_only
        }
        self.assertEqual(rights(role), listed)

    def test_roles_are_the_calls(self) -> None:
        """The Role for each namespace grants what is called there: all but what belongs to no namespace."""
        roles = [one for path, one in raw() if one["kind"] == "Role" and path.parent.name == "namespaced"]
        of_service = [one for one in roles if one["metadata"]["name"] == "txingress-service"]
        self.assertEqual(len(roles), 2 + len(of_service))
        for role in roles:
            if role not in of_service:
                self.assertEqual(rights(role), called_in_namespaces())

    def test_rights_in_our_namespace(self) -> None:
        """The Role of the controller's own namespace grants one Lease, as far as a right can name it, and the ConfigMap."""
        (role,) = (one for path, one in raw() if one["kind"] == "Role" and path.parent.name == "base")
        name = Settings().reporting.election_id
        expected = {(LEASES.group, LEASES.resource, verb, name) for verb in LEASES.verbs if verb != "create"}
        read = KINDS[Kind.CONFIG_MAP]
        expected |= {(read.group, read.plural, verb, "txingress") for verb in (*read.verbs, "list", "watch")}
        self.assertEqual(rights(role), expected | {(LEASES.group, LEASES.resource, "create", "")})

    def test_config_map(self) -> None:
        """The ConfigMap that the option names is there, in every overlay, and says nothing that is wrong."""
        (written,) = (one for path, one in raw() if one["kind"] == "ConfigMap" and path.parent.name == "base")
        key = ObjectKey(written["metadata"]["namespace"], written["metadata"]["name"])
        for path, one in raw():
            if one["kind"] in WORKLOADS and one["metadata"]["name"] == "txingress":
                (container,) = pod(one)["containers"]
                self.assertEqual(options_of(container).settings().config_map, key, path)
        self.assertEqual(read_config_map(key, written["data"]).problems, ())

    def test_rights_to_the_service(self) -> None:
        """Where other namespaces are read, the Service whose addresses are shown is granted by its name."""
        (role,) = (
            one
            for _, one in raw()
            if one["metadata"]["name"] == "txingress-service" and one["kind"] == "Role"
        )
        read = KINDS[Kind.SERVICE]
        expected = {(read.group, read.plural, verb, "txingress") for verb in read.verbs}
        self.assertEqual(rights(role), expected)
        self.assertEqual(role["metadata"]["namespace"], "txingress")

    def test_rights_reach_the_pods(self) -> None:
        """The bindings name the account under which the pods run, and the roles that exist."""
        self.check_bindings("gateway-api.yaml")
        self.check_bindings("rbac.yaml")

    def check_bindings(self, besides: str) -> None:
        """The base with the roles of one file alone."""
        files = {"gateway-api.yaml", "rbac.yaml"} - {besides}
        base = [one for path, one in raw() if path.is_relative_to(K8S / "base") and path.name not in files]
        by_kind = {one["kind"]: one for one in base}
        account = by_kind["ServiceAccount"]["metadata"]
        subject = {"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}
        for kind in {"ClusterRole", "Role"} & set(by_kind):
            binding, role = by_kind[f"{kind}Binding"], by_kind[kind]
            self.assertEqual(binding["subjects"], [subject])
            self.assertEqual(
                (binding["roleRef"]["kind"], binding["roleRef"]["name"]), (kind, role["metadata"]["name"])
            )
            self.assertEqual(binding["metadata"].get("namespace"), role["metadata"].get("namespace"))
        self.assertEqual(pod(by_kind["Deployment"])["serviceAccountName"], account["name"])
        self.assertEqual(account["namespace"], by_kind["Namespace"]["metadata"]["name"])
        if "Role" in by_kind:
            self.assertEqual(by_kind["Role"]["metadata"]["namespace"], account["namespace"])

    def test_pods_know_who_they_are(self) -> None:
        """The pods are told their name, and the namespace in which their Lease is."""
        (workload,) = (
            one for path, one in raw() if one["kind"] == "Deployment" and path.parent.name == "base"
        )
        told = {
            one["name"]: one["valueFrom"]["fieldRef"]["fieldPath"]
            for one in pod(workload)["containers"][0]["env"]
        }
        self.assertEqual(told, {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace"})

    def test_class_is_served(self) -> None:
        """The IngressClass that is shipped is the one that the controller serves by default."""
        (shipped,) = (
            one for path, one in raw() if one["kind"] == "IngressClass" and path.parent.name == "base"
        )
        settings = Settings()
        self.assertEqual(shipped["metadata"]["name"], settings.translate.ingress_class)
        self.assertEqual(shipped["spec"]["controller"], settings.translate.controller_class)

    def test_image_is_this_version(self) -> None:
        """The tag of the image is the version of the package, everywhere."""
        tags = [
            image["newTag"]
            for path in sorted(K8S.rglob("kustomization.yaml"))
            for image in yaml.safe_load(path.read_text("utf-8")).get("images", [])
        ]
        self.assertEqual(tags, [version()] * 2)

    def test_example_backend_starts(self) -> None:
        """The command of the example backend is one that ``whoami`` understands, on the port of its Service."""
        (workload,) = (
            one for _, one in raw() if one["metadata"]["name"] == "whoami" and one["kind"] in WORKLOADS
        )
        (container,) = pod(workload)["containers"]
        self.assertEqual(container["command"][:3], ["python", "-m", "examples.whoami"])
        options = whoami.parser().parse_args(container["command"][3:])
        self.assertEqual(options.port, container["ports"][0]["containerPort"])
        self.assertEqual(options.host, "0.0.0.0")  # the pod's address, whatever it is

    def test_example_backend_is_complete(self) -> None:
        """What the pod of the example backend is given starts where the pod has it, without this repository."""
        (workload,) = (one for path, one in raw() if path.parent == WHOAMI and one["kind"] in WORKLOADS)
        (container,) = pod(workload)["containers"]
        (mount,), (volume,) = container["volumeMounts"], pod(workload)["volumes"]
        self.assertEqual(mount["name"], volume["name"])
        (given,) = yaml.safe_load((WHOAMI / "kustomization.yaml").read_text("utf-8"))["configMapGenerator"]
        self.assertEqual(volume["configMap"], {"name": given["name"]})
        root = Path(self.mktemp()).absolute()
        target = root / Path(mount["mountPath"]).relative_to(container["workingDir"])
        target.mkdir(parents=True)
        for name in given["files"]:
            shutil.copy(WHOAMI / name, target)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [sys.executable, *container["command"][1:3], "--help"]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--name", done.stdout)

    def test_examples_lead_to_the_backend(self) -> None:
        """The example Ingresses name the class, the Service and the port that exist."""
        examples = [one for path, one in raw() if path.parent in (K8S / "examples", WHOAMI)]
        (service,) = (one for one in examples if one["kind"] == "Service")
        found = [one["spec"] for one in examples if one["kind"] == "Ingress"]
        self.assertEqual(len(found), 2)
        for spec in found:
            self.assertEqual(spec["ingressClassName"], Settings().translate.ingress_class)
            backend = spec["rules"][0]["http"]["paths"][0]["backend"]["service"]
            self.assertEqual(backend["name"], service["metadata"]["name"])
            self.assertEqual(backend["port"]["name"], service["spec"]["ports"][0]["name"])

    def test_gateway_example_is_served(self) -> None:
        """The example of the Gateway API is of our class, and leads to the Service and the port that exist."""
        store = Store()
        for path in (K8S / "examples" / "gateway.yaml", WHOAMI / "whoami.yaml"):
            content = read_manifest(path.read_bytes(), path.name, ANNOTATIONS_PREFIX)
            store.changed({one.id: one.projection for one in content.objects})
        slice_key = ObjectKey("default", "whoami-1")
        service = ObjectKey("default", "whoami")
        ports = (SlicePort("http", 8080),)
        slice_value = EndpointSlice(slice_key, service, ports=ports, ready=("10.0.0.1",))
        store.changed({(Kind.ENDPOINT_SLICE, slice_key): Projection(slice_value)})
        options = evolve(Settings().translate, listeners=())
        snapshot = translate(store.state(), options, datetime(2026, 1, 1, tzinfo=UTC))
        self.assertEqual(snapshot.problems, ())
        ((name, table),) = snapshot.others.items()
        self.assertEqual(name, "gateway *:80")
        route = table.routes.find(b"gateway.example.com", b"/")
        assert route is not None
        self.assertEqual(str(route.owner), "HTTPRoute default/whoami")

    def test_unknown_option_is_noticed(self) -> None:
        """An option that the controller does not have would fail these tests."""
        with self.assertRaises(SystemExit) as caught:
            options_of({"args": ["--no-such-option"]})
        self.assertIn("no-such-option", str(caught.exception))


class RenderedTests(PodTestCase):
    """What ``kubectl kustomize`` makes of the overlays."""

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
