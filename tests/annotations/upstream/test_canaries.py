"""What makes a canary, and what its annotations take; what becomes of it is in ``tests.translate.hosts.test_canaries``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import DEFAULTS, AnnotationReader
from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.upstream.canaries import (
    CANARIES,
    parse_cookie,
    parse_header,
    parse_header_pattern,
    parse_header_value,
    parse_total,
)
from ingress.model.cluster.objects import Kind, ObjectKey
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
    """The annotations of the family."""

    def test_only_the_annotation_canary_makes_one(self) -> None:
        """Shares without it, and a value that is false or none, leave an ordinary Ingress; its other annotations count."""
        for annotations in ({"canary": "false"}, {"canary_weight": "100"}, {"canary": "yes"}):
            with self.subTest(str(annotations)):
                settings, _ = AnnotationReader(PREFIX).read(ingress(**annotations))
                self.assertFalse(settings.of(CANARIES).is_canary)
        settings, _ = AnnotationReader(PREFIX).read(ingress(canary="no"))
        self.assertEqual(settings, DEFAULTS)

    def test_shares_without_canary_are_told(self) -> None:
        """Whoever wrote a weight and no canary learns that it does nothing."""
        _, (problem,) = AnnotationReader(PREFIX).read(ingress(canary_weight="10"))
        self.assertIn('canary-weight: has no effect without canary: "true"', problem.message)

    def test_what_does_not_go_together_is_told(self) -> None:
        """A canary that nothing gives requests, and values that nothing looks at, are told in notes."""
        for annotations, told in (
            ({}, "gives it any request"),
            ({"canary_by_header_value": "x", "canary_weight": "1"}, "without canary-by-header"),
            (
                {"canary_by_header": "x", "canary_by_header_value": "x", "canary_by_header_pattern": "x"},
                "beside canary-by-header-value",
            ),
        ):
            _, (problem,) = AnnotationReader(PREFIX).read(ingress(canary="true", **annotations))
            self.assertTrue(problem.is_note)
            self.assertIn(told, problem.message)

    def test_refused(self) -> None:
        """What is no name, no value, no number or no expression that RE2 can read is refused."""
        for parse, texts in (
            (parse_header, ("a b", "a:", "a\r\nb", "ä", "a" * 200)),
            (parse_cookie, ("a;b", "a=b", "\0")),
            (parse_header_value, ("a\r\nb", "\x7f", "ä", "a" * 1025)),
            (parse_header_pattern, ("(", ")(", "a)|(b", "(?=a)", r"(a)\1", "a" * 10_000, "*")),
            (parse_total, ("", "-1", "1.5", "10%", "99999999", "\u0663")),
        ):
            for text in texts:
                self.assertRaises(ValueRefused, parse, text)

    def test_total(self) -> None:
        """A total below a hundred is a hundred, as in ingress-nginx."""
        self.assertEqual([parse_total(one) for one in ("0", "10", "100", "1000")], [100, 100, 100, 1000])

    def test_canary_needs_no_secret(self) -> None:
        """The Secrets that a canary names are not read: none of them would be used."""
        options = TranslateOptions()
        self.assertEqual(needs_of(ingress(canary="true"), Kind.SECRET, annotation_reader(options)), {})
        self.assertEqual(len(needs_of(ingress(canary="false"), Kind.SECRET, annotation_reader(options))), 1)
