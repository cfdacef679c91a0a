"""Who terminates TLS: ``ssl-passthrough``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import DEFAULTS, AnnotationReader
from ingress.annotations.passthrough import PASSTHROUGH, NotTerminatedHere
from ingress.model.client_authentication import NO_EVIDENCE
from ingress.model.objects import ObjectKey
from ingress.model.problems import Reason
from ingress.translate.readers.ingress.objects import Ingress
from tests.fakes.filter_parts import FakeFacts

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
