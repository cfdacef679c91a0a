"""The text of a manifest file becomes objects and problems with lines."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.manifests.manifest_files import ManifestContent, read_manifest, read_manifest_text
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Secret
from ingress.model.cluster.problems import Problem, Reason
from ingress.translate.readers.ingress.objects import Ingress
from tests.properties import examples

PREFIX = "nginx.ingress.kubernetes.io"
PARTS = (
    "apiVersion: v1\n",
    "kind: Service\n",
    "kind: List\n",
    "metadata: {name: a}\n",
    "items:\n",
    "- {a: b}\n",
    "---\n",
    "spec: [",
    "{{ x }}\n",
    "spec: {}\n",
    " ",
    "&a ",
    "*a",
    "\x00",
)


def read(text: str, name: str = "a.yaml") -> ManifestContent:
    """The content of the text of a file."""
    return read_manifest_text(text, name, PREFIX)


def ids(content: ManifestContent) -> list[tuple[ObjectId, int]]:
    """What objects were found, and on which lines."""
    return [(found.id, found.line) for found in content.objects]


def service(name: str, namespace: str = "web") -> ObjectId:
    """The id of a Service."""
    return Kind.SERVICE, ObjectKey(namespace, name)


class ObjectTests(SynchronousTestCase):
    """Finding the objects of a file."""

    def test_documents(self) -> None:
        """Objects of several documents are found with their lines; other kinds are passed over."""
        content = read(
            "apiVersion: v1\n"
            "kind: Service\n"
            "metadata: {name: a, namespace: web}\n"
            "spec: {ports: [{port: 80}]}\n"
            "---\n"
            "apiVersion: apps/v1\n"
            "kind: Deployment\n"
            "metadata: {name: a, name: b}\n"
            "---\n"
            "# nothing\n"
            "---\n"
            "apiVersion: v1\n"
            "kind: Service\n"
            "metadata: {name: b}\n"
            "spec: {ports: [{port: 80}]}\n"
        )
        self.assertEqual(ids(content), [(service("a"), 1), (service("b", "default"), 12)])
        self.assertEqual((content.problems, content.is_broken), ((), False))

    def test_other_groups(self) -> None:
        """Kinds of other groups that share a name with ours are passed over."""
        content = read(
            "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\n"
            "---\n"
            "apiVersion: config.openshift.io/v1\nkind: Ingress\nmetadata: {name: a}\n"
        )
        self.assertEqual(content, ManifestContent())

    def test_wrong_version(self) -> None:
        """A kind of ours in a version that is not read is a problem, as it is a likely mistake."""
        content = read("apiVersion: v1\nkind: Ingress\nmetadata: {name: a}\n")
        message = "line 1: apiVersion 'v1' has no kind Ingress that can be read; write networking.k8s.io/v1"
        problem = Problem("Manifest", "", "a.yaml", Reason.MALFORMED_OBJECT, message, "apiVersion")
        self.assertEqual(content, ManifestContent((), (problem,)))

    def test_slips_of_kinds(self) -> None:
        """A kind in other letters, or one letter off, and a group that is hardly another, are told with what is meant."""
        for version, kind, message in (
            ("networking.k8s.io/v1", "ingress", "there is no kind 'ingress'; write Ingress"),
            ("networking.k8s.io/v1beta1", "Ingres", "there is no kind 'Ingres'; write Ingress"),
            ("v1", "Services", "there is no kind 'Services'; write Service"),
            ("gateway.networking.k8s.io/v1", "HttpRoute", "there is no kind 'HttpRoute'; write HTTPRoute"),
            (
                "networking/v1",
                "Ingress",
                "apiVersion 'networking/v1' is none of kind Ingress; write networking.k8s.io/v1",
            ),
            (
                "network.k8s.io/v1",
                "IngressClass",
                "apiVersion 'network.k8s.io/v1' is none of kind IngressClass; write networking.k8s.io/v1",
            ),
        ):
            (problem,) = read(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n").problems
            self.assertEqual(problem.message, f"line 1: {message}")

    def test_kinds_that_are_like_ours(self) -> None:
        """Others have their own, and these are passed over."""
        for version, kind in (
            ("networking.k8s.io/v1", "NetworkPolicy"),
            ("gateway.networking.k8s.io/v1alpha2", "XMesh"),
            ("gateway.networking.k8s.io/v1alpha2", "BackendLBPolicy"),
            ("gateway.networking.x-k8s.io/v1alpha1", "XListenerSet"),
            ("networking.internal.knative.dev/v1alpha1", "Ingress"),
            ("networking.gke.io/v1", "Gateway"),
            ("networking.istio.io/v1", "Gateway"),
            ("apps/v1", "Deployment"),
            ("v1", "ServiceAccount"),
            ("v1", "x" * 10_000),
        ):
            content = read(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n")
            self.assertEqual(content, ManifestContent(), (version, kind[:20]))

    def test_lists(self) -> None:
        """Objects are found in ``List``, in typed lists that leave out kinds, and in lists in lists."""
        content = read(
            "apiVersion: v1\n"
            "kind: List\n"
            "items:\n"
            "- apiVersion: v1\n"
            "  kind: Service\n"
            "  metadata: {name: a, namespace: web}\n"
            "  spec: {ports: []}\n"
            "- apiVersion: v1\n"
            "  kind: ServiceList\n"
            "  items:\n"
            "  - metadata: {name: b, namespace: web}\n"
            "    spec: {ports: []}\n"
            "  - metadata: {name: c, namespace: web}\n"
            "    spec: {ports: []}\n"
            "- apiVersion: v1\n"
            "  kind: PodList\n"
            "  items: [{}]\n"
        )
        self.assertEqual(ids(content), [(service("a"), 4), (service("b"), 11), (service("c"), 13)])
        self.assertEqual(content.problems, ())

    def test_old_list(self) -> None:
        """The objects of an old typed list are read as old ones."""
        content = read(
            "apiVersion: extensions/v1beta1\nkind: IngressList\nitems:\n"
            "- metadata: {name: a}\n  spec: {backend: {serviceName: s, servicePort: 80}}\n"
        )
        (found,) = content.objects
        assert isinstance(found.projection.value, Ingress)
        backend = found.projection.value.default_backend
        self.assertEqual(backend and backend.service, "s")
        self.assertEqual([p.reason for p in found.projection.problems], [Reason.DEPRECATED_VERSION])

    def test_bad_lists(self) -> None:
        """A list without a list, or with lists without end, is a problem of the file; null is empty."""
        self.assertEqual(read("{apiVersion: v1, kind: List, items: null}"), ManifestContent())
        content = read("apiVersion: v1\nkind: List\nitems: 5\n")
        self.assertEqual([problem.field for problem in content.problems], ["items"])
        deep = '{"apiVersion": "v1", "kind": "List", "items": [' * 20 + "]}" * 20
        content = read(deep)
        self.assertEqual(
            [problem.message for problem in content.problems], ["line 1: lists stand too deep in lists"]
        )

    def test_json(self) -> None:
        """JSON is read, in files of any name."""
        text = '{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "web"}, "spec": {"ports": []}}\n'
        for name in ("a.json", "a.yaml", "a"):
            self.assertEqual(
                ids(read(text + text.replace('"a"', '"b"'), name)), [(service("a"), 1), (service("b"), 2)]
            )
        flow = "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: web}, spec: {x: 1}}"
        self.assertEqual(ids(read(flow)), [(service("a"), 1)])

    def test_times_stay_text(self) -> None:
        """A time without quotes stays the text that it is."""
        content = read(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"
            "metadata: {name: a, creationTimestamp: 2026-01-02T03:04:05Z}\n"
            "spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}\n"
        )
        (found,) = content.objects
        assert isinstance(found.projection.value, Ingress)
        self.assertEqual(found.projection.value.created, "2026-01-02T03:04:05Z")

    def test_secret_keys(self) -> None:
        """Of a Secret all keys are kept, since anybody may need them; which are missed nobody knows yet."""
        keys = ("tls.crt", "tls.key", "ca.crt", "ca.crl", "password")
        text = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: web}\nstringData: {"
        content = read(text + ", ".join(f"{key}: x" for key in keys) + "}\n")
        value = content.objects[0].projection.value
        assert isinstance(value, Secret)
        self.assertEqual(set(value.content), set(keys))
        self.assertEqual(value.asked, {"tls.crt", "tls.key"})

    def test_secret_text(self) -> None:
        """``stringData`` of a Secret is read, as manifests may have it."""
        content = read(
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: kubernetes.io/tls\n"
            "stringData:\n  tls.crt: |\n    one\n    two\n"
        )
        (found,) = content.objects
        assert isinstance(found.projection.value, Secret)
        self.assertEqual(found.projection.value.content, {"tls.crt": b"one\ntwo\n"})

    def test_twice(self) -> None:
        """An object that stands twice is given twice: who puts files together decides."""
        text = "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: web}\nspec: {ports: []}\n"
        self.assertEqual(ids(read(f"{text}---\n{text}")), [(service("a"), 1), (service("a"), 6)])

    def test_shared_metadata(self) -> None:
        """Objects that share a value by an alias keep their own namespaces."""
        content = read(
            "apiVersion: v1\nkind: List\nitems:\n"
            "- apiVersion: v1\n  kind: Service\n  metadata: &m {name: a}\n  spec: {ports: []}\n"
            "- apiVersion: networking.k8s.io/v1\n  kind: IngressClass\n  metadata: *m\n  spec: {}\n"
        )
        self.assertEqual(
            ids(content), [(service("a", "default"), 4), ((Kind.INGRESS_CLASS, ObjectKey("", "a")), 8)]
        )


class ProblemTests(SynchronousTestCase):
    """What is wrong with a file is said with its line, and spoils as little as possible."""

    def messages(self, text: str) -> list[str]:
        """The file's problems."""
        return [problem.message for problem in read(text).problems]

    def test_broken(self) -> None:
        """A file that is cut off or no YAML is broken as a whole: nothing of it counts."""
        good = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: []}\n---\n"
        content = read(f"{good}a: [1,\n")
        self.assertTrue(content.is_broken)
        self.assertEqual(content.objects, ())
        (problem,) = content.problems
        self.assertEqual(
            (problem.kind, problem.name, problem.reason), ("Manifest", "a.yaml", Reason.MALFORMED_MANIFEST)
        )
        self.assertTrue(problem.message.startswith("line 7: column 1: "), problem.message)

    def test_broken_json(self) -> None:
        """A JSON file's faults are told as JSON's."""
        content = read_manifest_text('{"apiVersion": "v1",\n "kind" "Service"}', "a.json", PREFIX)
        self.assertEqual([p.message for p in content.problems], ["line 2: column 9: Expecting ':' delimiter"])

    def test_templates(self) -> None:
        """A Helm template is told to be rendered first."""
        for text in (
            "kind: Ingress\n{{- if .Values.on }}\na: b\n{{ end }}\n",
            "a: 1\nhost: {{ .Values.host }}\n",
        ):
            (message,) = self.messages(text)
            self.assertIn(
                "; line 2 holds {{: a template must be rendered first, as with 'helm template'", message
            )

    def test_habits_that_are_no_yaml(self) -> None:
        """A tab that indents, and a text that begins with a sign of YAML's own, are told with what to write."""
        tab, quotes = (
            "; the line is indented by a tab, and YAML is by spaces",
            "; what begins with {} has to stand in quotes",
        )
        for text, hint in (
            ("a:\n\tb: 1\n", tab),
            ("a:\n  b:\n  \tc: 1\n", tab),
            ("a: 1\nhost: *.example.com\n", quotes.format("*")),
            ("a:\n- *.example.com\n", quotes.format("*")),
            ("a:\n  hosts: [*.example.com]\n", quotes.format("*")),
            ("a: 1\norigin: *\n", quotes.format("*")),
            ("a: 1\nrealm: @all\n", quotes.format("@")),
            ("a: 1\nb: `x`\n", quotes.format("`")),
            ("a: 1\nb: *undefined\n", ""),
            ("a: 1\n  b: 2 * 3\n", ""),
            ("a: 1\n b\n", ""),
        ):
            (message,) = self.messages(text)
            self.assertRegex(message, r"\Aline [1-4]: ", text)
            self.assertEqual(message.partition(";")[1:], (hint[:1], hint[1:]), text)

    def test_overlays(self) -> None:
        """An overlay of kustomize is told to be built first, also where its file does not say what it is."""
        for text in ("patches:\n- path: a.yaml\n", "resources: [../base]\nnamePrefix: prod-\n"):
            for head in ("", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"):
                (problem,) = read(head + text, "overlays/prod/kustomization.yaml").problems
                self.assertEqual(problem.reason, Reason.UNRENDERED_MANIFEST)
                self.assertIn("'kubectl kustomize DIRECTORY'", problem.message)

    def test_plain_kustomization(self) -> None:
        """A kustomization that lists resources as they are is nothing to tell of."""
        for head in ("", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"):
            self.assertEqual(read(head + "resources: [a.yaml]\n", "kustomization.yaml"), ManifestContent())

    def test_bytes(self) -> None:
        """Bytes that are no UTF-8 are refused with their line; a byte order mark is not minded."""
        content = read_manifest(b"a: 1\nb: \xff\n", "a.yaml", PREFIX)
        self.assertTrue(content.is_broken)
        self.assertEqual([p.message for p in content.problems], ["line 2: is not UTF-8 text"])
        marked = b'\xef\xbb\xbf{"apiVersion": "v1", "kind": "List"}'
        self.assertEqual(read_manifest(marked, "a.json", PREFIX), ManifestContent())

    def test_no_objects(self) -> None:
        """Documents that are no Kubernetes objects are named, one by one, and harm no other."""
        content = read(
            "- a\n---\nimage: x\n---\napiVersion: v1\nkind: 5\n---\njust text\n---\napiVersion: v1\nkind: List\nitems: [x]\n"
        )
        self.assertFalse(content.is_broken)
        self.assertEqual(
            [problem.message for problem in content.problems],
            [
                "line 1: an object is wanted, but this is a list",
                "line 3: is no Kubernetes object: apiVersion and kind must both be there, as text",
                "line 5: is no Kubernetes object: apiVersion and kind must both be there, as text",
                "line 7: an object is wanted, but this is text",
                "line 9: an object is wanted, but this is text",
            ],
        )

    def test_a_list_without_a_kind(self) -> None:
        """What jq makes of the items of a list says how they can be read."""
        (message,) = self.messages('[{"apiVersion": "v1", "kind": "Service"}]')
        self.assertIn("this is a list of them; write them as documents of their own", message)

    def test_an_object_without_metadata(self) -> None:
        """It lacks a name, and is in the usual namespace as any that names none."""
        told = self.messages("apiVersion: networking.k8s.io/v1\nkind: Ingress\n")
        self.assertEqual(told, ["line 1: Ingress: metadata.name is missing"])

    def test_a_table_of_kubectl(self) -> None:
        """What ``kubectl get`` prints unless it is told otherwise is no object, and says how it becomes one."""
        for text in ("NAME CLASS HOSTS\nweb nginx a.example.com\n", "NAMESPACE   NAME\nshop   web\n"):
            (message,) = self.messages(text)
            self.assertIn(": a table, as kubectl prints it; have it print YAML by --output=yaml", message)

    def test_nameless(self) -> None:
        """An object without a name is a problem of the file, with its line; the others count."""
        content = read(
            "apiVersion: v1\nkind: Service\nmetadata: {labels: {}}\n---\n"
            "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: web}\nspec: {ports: []}\n"
        )
        self.assertEqual(ids(content), [(service("a"), 5)])
        self.assertEqual([p.message for p in content.problems], ["line 1: Service: metadata.name is missing"])

    def test_bad_fields(self) -> None:
        """What is wrong within an object is a problem of the object."""
        content = read("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: x}\n")
        self.assertEqual(content.problems, ())
        (found,) = content.objects
        (problem,) = found.projection.problems
        self.assertEqual(
            str(problem), "Service default/a: spec.ports: must be a list, but is text (MalformedObject)"
        )

    def test_repeated_fields(self) -> None:
        """A field that stands twice has its last value, and is told of in objects that are read."""
        content = read("apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n  name: b\nspec: {ports: []}\n")
        self.assertEqual(ids(content), [(service("b", "default"), 1)])
        self.assertEqual(
            [p.message for p in content.problems],
            ["line 5: the field 'name' stands twice; its last value is used"],
        )

    def test_slice_of_nobody(self) -> None:
        """An EndpointSlice of a manifest that belongs to no Service is told of."""
        content = read("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: a}\n")
        (found,) = content.objects
        self.assertIsNone(found.projection.value)
        (problem,) = found.projection.problems
        self.assertEqual(problem.field, "metadata.labels")

    @settings(deadline=None, max_examples=examples(200), derandomize=True)
    @given(
        st.lists(
            st.sampled_from(PARTS),
            max_size=12,
        )
    )
    def test_any_text(self, parts: list[str]) -> None:
        """Whatever stands in a file, it is content or a problem that can be shown."""
        content = read("".join(parts))
        self.assertTrue(content.problems or not content.is_broken)
        for problem in content.problems:
            str(problem).encode()
