"""The manifests of ``k8s/`` agree with the code that they run, as the files stand."""

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from re import findall
from textwrap import dedent

import yaml
from attrs import evolve

from examples.whoami import whoami
from ingress.cluster.kinds import KINDS, LEASES, NODES, REFERRED_TO, WHOLE_NODES
from ingress.cluster.manifests.manifest_files import read_manifest
from ingress.cluster.store import Store
from ingress.model.cluster.objects import EndpointSlice, Kind, ObjectKey, Projection, SlicePort
from ingress.options.config_map import read_config_map
from ingress.settings import Settings
from ingress.translate.options import ANNOTATIONS_PREFIX
from ingress.translate.translate import translate
from tests.k8s_case import (
    CHART,
    K8S,
    LEASE,
    READING,
    REPOSITORY,
    WHOAMI,
    WORKLOADS,
    WRITING,
    PodTestCase,
    called_for_gateways,
    called_in_namespaces,
    called_in_the_cluster,
    objects,
    options_of,
    pod,
    raw,
    rights,
    version,
)


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
            paths = [
                *content.get("resources", []),
                *(p["path"] for p in content.get("patches", []) if "path" in p),
            ]
            paths += [path for one in content.get("configMapGenerator", []) for path in one["files"]]
            for path in paths:
                target = (kustomization.parent / path).resolve()
                self.assertTrue(target.exists(), f"{kustomization}: {path}")
                named.add(target)
            named.add(kustomization)
        files = (*K8S.rglob("*.yaml"), *WHOAMI.iterdir())
        left = {path for path in files if path not in named and not path.is_relative_to(CHART)}
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
                "txingress-topology": {("", NODES.plural, verb, "") for verb in NODES.verbs},
                "txingress-node-addresses": {
                    ("", WHOLE_NODES.plural, verb, "") for verb in WHOLE_NODES.verbs
                },
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

    def test_pages_forward_a_port_of_pods(self) -> None:
        """Whoever forwards a port of a pod gets all pages, or the admission webhook: the probes show hardly any."""
        template = pod(yaml.safe_load((K8S / "base/deployment.yaml").read_text("utf-8")))["containers"][0]
        component = (K8S / "components/admission/kustomization.yaml").read_text("utf-8")
        ports = {
            options_of(template).settings().admin.split(":")[1],
            *findall(r"--admission=tcp:(\d+)", component),
        }
        forwarded = [
            (page.name, port)
            for page in (REPOSITORY / "README.md", *REPOSITORY.glob("docs/**/*.md"), *K8S.glob("**/*.md"))
            for port in findall(r"(?m)^ +kubectl .*port-forward \S+ (\d+)", page.read_text("utf-8"))
        ]
        self.assertEqual({port for _, port in forwarded}, ports, forwarded)

    def test_unknown_option_is_noticed(self) -> None:
        """An option that the controller does not have would fail these tests."""
        with self.assertRaises(SystemExit) as caught:
            options_of({"args": ["--no-such-option"]})
        self.assertIn("no-such-option", str(caught.exception))
