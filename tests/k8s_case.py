"""What tests of ``k8s/`` read of its manifests: objects, pods and their options, rights, and the calls that the code makes."""

import configparser
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from ingress.cluster.kinds import EVENTS, GATEWAY_SERVICES, KINDS, LEASES, STATUSES
from ingress.tap import Options
from ingress.translate.readers.gateway.objects.names import DEFINITION, GROUP
from ingress.translate.readers.reader import KindRead

REPOSITORY = Path(__file__).resolve().parent.parent
K8S = REPOSITORY / "k8s"
CHART = K8S / "chart"
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
    return [one for one in yaml.load_all(text, yaml.CSafeLoader) if one is not None]


def raw() -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every object as the files have it; kustomizations, patches and templates of the chart are none."""
    for path in (*sorted(K8S.rglob("*.yaml")), *sorted(WHOAMI.glob("*.yaml"))):
        if path.is_relative_to(CHART):
            continue
        for one in objects(path.read_text("utf-8")):
            if isinstance(one, dict) and one["kind"] not in ("Kustomization", "Component"):
                yield path, one


def _text(folder: str | Path) -> str:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        raise SkipTest("kubectl is not installed")
    # It ends before it has much garbage: to look for it would be a third of the work.
    environment = {**os.environ, "GOGC": "off"}
    command = [kubectl, "kustomize", str(K8S / folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"kubectl kustomize {folder}: {done.stderr}")
    return done.stdout


_text_of_ours = cache(_text)
"""Of folders below ``k8s/``, which no test changes, and several look at."""


def rendered(folder: str | Path) -> list[dict[str, Any]]:
    """The objects that ``kubectl kustomize`` makes of a folder below ``k8s/``, by its name there, or of any other."""
    return objects(_text(folder) if isinstance(folder, Path) else _text_of_ours(folder))


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
