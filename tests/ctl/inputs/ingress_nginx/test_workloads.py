"""What runs ingress-nginx among raw objects."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.ingress_nginx.workloads import arguments_in, controller_of, workload_of
from ingress.model.cluster.objects import ObjectKey
from tests.ctl.inputs.controllers import IMAGE, container, deployment, workload
from tests.ctl.inputs.files.files_case import FilesCase, an_ingress

HELM = {"app.kubernetes.io/name": "ingress-nginx", "app.kubernetes.io/component": "controller"}
_json: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


def is_found(**fields: Any) -> bool:
    """Whether a Deployment with one container, which has these *fields* alone, runs ingress-nginx."""
    return workload_of(deployment(containers=[fields]), "default") is not None


class FindingTests(SynchronousTestCase):
    """By what it is told."""

    def test_by_its_image(self) -> None:
        """From whatever registry, with or without tag and digest, and its older names."""
        for image in (
            IMAGE,
            "registry.k8s.io/ingress-nginx/controller",
            "registry.k8s.io/ingress-nginx/controller-chroot:v1.12.1",
            "localhost:5000/mirror/ingress-nginx/controller:v1",
            "quay.io/kubernetes-ingress-controller/nginx-ingress-controller:0.30.0",
            "rancher/nginx-ingress-controller:nginx-1.12.1-rancher1",
        ):
            self.assertTrue(is_found(image=image, args=["--v=2"]), image)
        for image in (
            "nginx/nginx-ingress:5.0",
            "registry.k8s.io/ingress-nginx/kube-webhook-certgen:v1",
            "other/controller:v1",
            "registry.k8s.io/ingress-nginx/controller-tests/nginx:1",
        ):
            self.assertFalse(is_found(image=image, args=["--v=2"]), image)

    def test_by_its_program(self) -> None:
        """Among the arguments, in the command, or in a line for a shell."""
        self.assertTrue(is_found(image="mirror/a:1", args=["/nginx-ingress-controller", "--v=2"]))
        self.assertTrue(is_found(image="mirror/a:1", command=["/nginx-ingress-controller"]))
        self.assertTrue(is_found(command=["/bin/sh", "-c", "exec /nginx-ingress-controller --v=2"]))

    def test_by_its_class(self) -> None:
        """This controller serves that class, too, and is told apart by its image and its other options."""
        class_ = "--controller-class=k8s.io/ingress-nginx"
        self.assertTrue(is_found(image="mirror/a:1", args=[class_]))
        self.assertFalse(is_found(image="mirror/txingress:0.1.0", args=[class_]))
        self.assertFalse(is_found(image="mirror/a:1", args=["--probes=tcp:10254", class_]))

    def test_by_the_labels_of_helm(self) -> None:
        """The default backend has the same name, and is another component."""
        own = container("--v=2", image="mirror/a:1", args=["--v=2"])
        beside = {"name": "sidecar", "image": "mirror/log:1"}
        found = workload_of(deployment(labels=HELM, containers=[beside, own]), "default")
        assert found is not None
        self.assertEqual(found.words, ("--v=2",))
        backend = {**HELM, "app.kubernetes.io/component": "default-backend"}
        self.assertIsNone(workload_of(deployment(labels=backend, containers=[own]), "default"))

    def test_what_runs_something_else(self) -> None:
        """Other kinds, other programs, and no object at all."""
        self.assertIsNone(workload_of(deployment(kind="StatefulSet"), "default"))
        self.assertFalse(is_found(image="nginx:1.29", args=["-g", "daemon off;"]))
        nothing: tuple[object, ...] = (None, [], "Deployment", {}, {"kind": "Deployment"})
        for raw in nothing:
            self.assertIsNone(workload_of(raw, "default"))

    def test_what_is_known_of_it(self) -> None:
        """Its kind and key, and whether it is on the network of the node; a name that is missing is nobody's."""
        found = workload("--v=2", kind="DaemonSet", hostNetwork=True)
        self.assertEqual(str(found), "DaemonSet ingress-nginx/ingress-nginx-controller")
        self.assertTrue(found.on_host_network)
        self.assertFalse(workload().on_host_network)
        self.assertEqual(workload(namespace="").key, ObjectKey("default", "ingress-nginx-controller"))
        nameless = deployment()
        del nameless["metadata"]["name"]
        self.assertIsNone(workload_of(nameless, "default"))

    def test_what_somebody_has_named(self) -> None:
        """It may be another controller, or one that nothing else tells."""
        own = deployment(
            containers=[{"args": ["--quiet"]}, {"args": ["twistd", "ingress", "--watch-without-class"]}]
        )
        found = controller_of(own, "system")
        assert found is not None
        self.assertEqual(found.words[0], "twistd")
        self.assertIsNone(controller_of(deployment(containers=[{"args": ["--quiet"]}]), "system"))
        self.assertIsNone(controller_of(None, "system"))

    @given(_json, st.sampled_from(["metadata", "spec", "containers", "args", "env"]))
    def test_whatever_stands_there(self, value: object, where: str) -> None:
        """No shape of an object is an exception."""
        raw = deployment("--v=2")
        if where in ("metadata", "spec"):
            raw[where] = value
        elif where == "containers":
            raw["spec"]["template"]["spec"][where] = value
        else:
            raw["spec"]["template"]["spec"]["containers"][0][where] = value
        workload_of(raw, "default")
        controller_of(raw, "default")
        workload_of(value, "default")


class WordTests(SynchronousTestCase):
    """What it is started with."""

    def test_command_and_arguments_are_one_line(self) -> None:
        """What starts the program, and stands before it, is none of its arguments."""
        for words in (
            ["/nginx-ingress-controller", "--a=1", "--b"],
            ["/usr/bin/dumb-init", "--", "/nginx-ingress-controller", "--a=1", "--b"],
            ["--a=1", "--b"],
            ["/usr/bin/dumb-init", "--", "--a=1", "--b"],
            ["/bin/sh", "-c", "exec /nginx-ingress-controller '--a=1' --b # as ever"],
        ):
            self.assertEqual(arguments_in(words), ["--a=1", "--b"], words)
        self.assertEqual(arguments_in(["sh", "-c", "/nginx-ingress-controller 'open"]), [])
        found = workload(containers=[container(command=["/nginx-ingress-controller", "--a"], args=["--b"])])
        self.assertEqual(arguments_in(found.words), ["--a", "--b"])

    def test_variables_have_the_values_that_stand_in_the_object(self) -> None:
        """The namespace, texts, and what is made of these; a dollar that is doubled is one."""
        env = [
            {"name": "NS", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            {"name": "NAME", "value": "web"},
            {"name": "BOTH", "value": "$(NS)/$(NAME)"},
        ]
        found = workload(
            containers=[container("--a=$(BOTH)", "--b=$$(NAME)", "--c=$(NAME)-$(NAME)", env=env)]
        )
        self.assertEqual(found.words[1:], ("--a=ingress-nginx/web", "--b=$(NAME)", "--c=web-web"))

    def test_the_namespace_is_known_without_being_said(self) -> None:
        """Where the object says otherwise, that counts."""
        self.assertEqual(workload("--a=$(POD_NAMESPACE)/x").words[1], "--a=ingress-nginx/x")
        bare = container("--a=$(POD_NAMESPACE)/x", env=[])
        self.assertEqual(workload(containers=[bare]).words[1], "--a=ingress-nginx/x")
        said = container("--a=$(POD_NAMESPACE)/x", env=[{"name": "POD_NAMESPACE", "value": "other"}])
        self.assertEqual(workload(containers=[said]).words[1], "--a=other/x")

    def test_what_stands_elsewhere_stays(self) -> None:
        """Such as the name of the pod, and what a ConfigMap has."""
        env = [{"name": "FROM", "valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}}}]
        found = workload(containers=[container("--a=$(FROM)", "--b=$(POD_NAME)", env=env)])
        self.assertEqual(found.words[1:], ("--a=$(FROM)", "--b=$(POD_NAME)"))


class FileTests(FilesCase):
    """In files, where they are no objects that are served."""

    def test_in_a_file_that_is_named_or_found(self) -> None:
        """Among other objects, by itself, and in a list as kubectl writes it, each with its line."""
        text = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: edge, namespace: system}
spec: {template: {spec: {containers: [{image: registry.k8s.io/ingress-nginx/controller:v1, args: [--v=2]}]}}}
"""
        self.manifest(an_ingress() + "---\n" + text, "all.yaml")
        self.manifest(text.replace("edge", "alone"), "alone/controller.yaml")
        listed = text.replace("edge", "listed").replace("\n", "\n    ").rstrip()
        self.manifest(f"apiVersion: v1\nkind: List\nitems:\n  - {listed}\n", "list.yaml")
        found = self.read().workloads
        places = {one.key.name: str(one.place).removeprefix(f"{self.folder}/") for one in found}
        self.assertEqual(
            places, {"edge": "all.yaml:15", "alone": "alone/controller.yaml:1", "listed": "list.yaml:4"}
        )
        self.assertEqual([one.key.name for one in self.read("alone/controller.yaml").workloads], ["alone"])

    def test_a_file_that_is_read_for_that_alone_is_told_of_to_nobody(self) -> None:
        """A broken one, a template, and other Deployments that only speak of ingress-nginx."""
        self.manifest(an_ingress(), "web.yaml")
        self.manifest("kind: Deployment\nimage: ingress-nginx/controller\n\t- x", "broken.yaml")
        self.manifest("kind: Deployment\nmetadata: {name: {{ ingress-nginx }}}\n", "template.yaml")
        self.manifest(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: not-ingress-nginx}\n", "other.yaml"
        )
        found = self.read()
        self.assertEqual((found.workloads, self.told_of_files(found), self.unread(found)), ((), [], []))

    def test_the_same_in_two_files_is_one(self) -> None:
        """With other arguments it is another."""
        for name, level in (("a.yaml", 2), ("b.yaml", 2), ("c.yaml", 3)):
            text = (
                "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: edge}\nspec: {template: {spec: {containers:"
                f" [{{image: ingress-nginx/controller, args: [--v={level}]}}]}}}}}}\n"
            )
            self.manifest(text, name)
        found = self.read().workloads
        self.assertEqual([one.words for one in found], [("--v=2",), ("--v=3",)])
        self.assertEqual({str(one.key) for one in found}, {"default/edge"})
