"""Who terminates TLS: ``ssl-passthrough``."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import DEFAULTS, AnnotationReader
from ingress.annotations.hosts.passthrough import PASSTHROUGH, NotTerminatedHere
from ingress.model.cluster.objects import ClusterObject, ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.requests.client_authentication import NO_EVIDENCE
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    ServicePortReference,
)
from ingress.translate.translate import translate
from tests.fakes.filter_parts import FakeFacts
from tests.translate.golden import NOW, state_of
from tests.translate.tls.test_client_authentication import ingress

PREFIX = "nginx.ingress.kubernetes.io"


def asking(value: str) -> Ingress:
    """Return an Ingress with the annotation."""
    return Ingress(ObjectKey("demo", "vault"), annotations={f"{PREFIX}/ssl-passthrough": value})


class PassthroughTests(SynchronousTestCase):
    """The annotation, with the option and without."""

    def test_on(self) -> None:
        """With the option, the annotation is a setting."""
        reader = AnnotationReader(PREFIX, passes_tls=True)
        settings, problems = reader.read(asking("true"))
        self.assertTrue(settings.of(PASSTHROUGH).passes_tls)
        self.assertEqual(problems, ())
        self.assertEqual(reader.read(asking("false")), (DEFAULTS, ()))

    def test_off(self) -> None:
        """Without the option it sets nothing, and whoever wrote it is told; "false" asks for nothing."""
        reader = AnnotationReader(PREFIX)
        settings, (problem,) = reader.read(asking("true"))
        self.assertEqual(settings, DEFAULTS)
        self.assertIs(problem.reason, Reason.UNSUPPORTED_ANNOTATION)
        self.assertEqual(problem.field, f"metadata.annotations[{PREFIX}/ssl-passthrough]")
        self.assertIn("--enable-ssl-passthrough", problem.message)
        self.assertEqual(reader.read(asking("false")), (DEFAULTS, ()))

    def test_refused(self) -> None:
        """What is no boolean turns nothing on."""
        settings, (problem,) = AnnotationReader(PREFIX, passes_tls=True).read(asking("on"))
        self.assertEqual(settings, DEFAULTS)
        self.assertIs(problem.reason, Reason.INVALID_ANNOTATION)


class NotTerminatedHereTests(SynchronousTestCase):
    """Requests for a host whose TLS passes through."""

    def test_over_tls_of_ours(self) -> None:
        """What was decrypted here belongs on another connection; plain HTTP does not, whatever a proxy says."""
        policy = NotTerminatedHere()
        reply = policy.judge(FakeFacts(scheme=b"https", client_evidence=NO_EVIDENCE))
        assert reply is not None
        self.assertEqual(reply.status, 421)
        for scheme in (b"http", b"https"):
            self.assertIsNone(policy.judge(FakeFacts(scheme=scheme)))


class HostGuardTests(SynchronousTestCase):
    """What another Ingress guards the host as a whole with."""

    def passed(self, *others: ClusterObject) -> tuple[bool, list[Problem]]:
        """Say whether TLS passes to the oldest Ingress of the host, beside *others*, and what is told of that."""
        objects = [ingress("a", "/", ssl_passthrough="true"), *others]
        found = translate(state_of(objects), TranslateOptions(ssl_passthrough=True), NOW)
        conflicts = [one for one in found.problems if one.reason is Reason.PASSTHROUGH_CONFLICT]
        return any(route.passthrough is not None for route in found.table.routes), conflicts

    def other(self, namespace: str = "demo", **annotations: str) -> Ingress:
        """Return a younger Ingress that leads elsewhere."""
        backend = IngressBackend("other", ServicePortReference("", 80))
        found = ingress("bb", **annotations)
        rules = (IngressRule("a.test", (IngressPath("/x", "Prefix", backend),)),)
        return evolve(found, key=ObjectKey(namespace, "bb"), rules=rules)

    def test_guards(self) -> None:
        """TLS does not lead past client certificates, nor past a server-snippet that keeps somebody out, and that is told."""
        for annotations in (
            {"auth_tls_secret": "demo/people"},
            {"server_snippet": "deny all;"},
            {"server_snippet": "location /secret { return 403; }"},
        ):
            passes, (problem,) = self.passed(self.other(**annotations))
            self.assertFalse(passes, annotations)
            self.assertEqual(problem.name, "a")
            self.assertIn("guards the host as a whole", problem.message)

    def test_others(self) -> None:
        """What guards other paths alone, or is of strangers, has nothing to say about it."""
        for other in (
            self.other(server_snippet="add_header X y;"),
            self.other(configuration_snippet="deny all;"),
            self.other("strangers", server_snippet="deny all;"),
            self.other("strangers", auth_tls_secret="strangers/people"),
        ):
            self.assertTrue(self.passed(other)[0])
