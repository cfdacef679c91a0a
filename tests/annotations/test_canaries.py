"""Canaries claim nothing."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import DEFAULTS, AnnotationReader
from ingress.annotations.canaries import CANARIES
from ingress.model.objects import Kind, ObjectKey
from ingress.model.problems import Reason
from ingress.translate.annotation_reading import annotation_reader
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.needs import needs_of
from ingress.translate.readers.ingress.objects import Ingress, IngressTLS

PREFIX = "nginx.ingress.kubernetes.io"


def ingress(**annotations: str) -> Ingress:
    """Return an Ingress with a certificate and these annotations."""
    named = {f"{PREFIX}/{name.replace('_', '-')}": value for name, value in annotations.items()}
    return Ingress(ObjectKey("demo", "web"), annotations=named, tls=(IngressTLS(("a.example.com",), "own"),))


class CanaryTests(SynchronousTestCase):
    """What makes a canary, and what is left of it."""

    def test_canary_is_told_once_and_asks_for_nothing_else(self) -> None:
        """All that it says besides is left unread, and one problem says so."""
        settings, (problem,) = AnnotationReader(PREFIX).read(
            ingress(canary="true", canary_weight="5", auth_type="basic", ssl_redirect="nope", rate_limit="1")
        )
        self.assertTrue(settings.of(CANARIES).is_canary)
        self.assertFalse(settings.lacks_guard)
        self.assertEqual(problem.reason, Reason.UNSUPPORTED_ANNOTATION)
        self.assertEqual(problem.field, f"metadata.annotations[{PREFIX}/canary]")
        self.assertIn("claims nothing", problem.message)

    def test_only_the_annotation_canary_makes_one(self) -> None:
        """Shares without it, and a value that is false or none, leave an ordinary Ingress."""
        for annotations in ({"canary": "false"}, {"canary_weight": "100"}, {"canary": "yes"}):
            with self.subTest(str(annotations)):
                settings, _ = AnnotationReader(PREFIX).read(ingress(**annotations))
                self.assertEqual(settings, DEFAULTS)

    def test_shares_without_canary_are_told(self) -> None:
        """Whoever wrote a weight and no canary learns that it does nothing."""
        _, (problem,) = AnnotationReader(PREFIX).read(ingress(canary_weight="10"))
        self.assertIn('canary-weight has no effect without canary: "true"', problem.message)

    def test_canary_needs_no_secret(self) -> None:
        """The Secrets that a canary names are not read: none of them would be used."""
        options = TranslateOptions()
        self.assertEqual(needs_of(ingress(canary="true"), Kind.SECRET, annotation_reader(options)), {})
        self.assertEqual(len(needs_of(ingress(canary="false"), Kind.SECRET, annotation_reader(options))), 1)
