"""``proxy-connect-timeout``, ``proxy-read-timeout`` and ``proxy-send-timeout``."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.upstream.timeouts import MAX_SECONDS, TIMEOUTS, parse_timeout
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.serving.limits import AskedTimeouts, Timeouts
from ingress.translate.readers.ingress.objects import Ingress

PREFIX = "nginx.ingress.kubernetes.io"


class TimeoutTests(SynchronousTestCase):
    """Values, and what becomes of them."""

    def test_values(self) -> None:
        """Whole seconds without a unit are accepted, and nothing else."""
        for text, seconds in (
            ("1", 1.0),
            ("0600", 600.0),
            (" 3600 ", 3600.0),
            (str(MAX_SECONDS), float(MAX_SECONDS)),
        ):
            self.assertEqual(parse_timeout(text), seconds)
        for text in ("", "0", "-1", "1.5", "60s", "1m", "1e3", "inf", "٣", "9" * 9, "9" * 100_000, "60; x"):
            self.assertRaises(ValueRefused, parse_timeout, text)

    def test_units(self) -> None:
        """A unit is refused, and the message says what to write in its place."""
        for text, number in (
            ("600s", 600),
            ("60 s", 60),
            ("5m", 300),
            ("1h", 3600),
            ("500ms", 1),
            ("1d", 86400),
        ):
            refusal = self.assertRaises(ValueRefused, parse_timeout, text)
            self.assertIn(f'write "{number}"', str(refusal))

    def test_asked(self) -> None:
        """Each is asked for by itself; a value that is refused is a problem, and spoils no other."""
        annotations = {
            f"{PREFIX}/proxy-connect-timeout": "2",
            f"{PREFIX}/proxy-read-timeout": "3600",
            f"{PREFIX}/proxy-send-timeout": "60s",
        }
        ingress = Ingress(ObjectKey("shop", "web"), annotations=annotations)
        settings, problems = AnnotationReader(PREFIX).read(ingress)
        asked = settings.of(TIMEOUTS).asked()
        self.assertEqual(asked, AskedTimeouts(2.0, 3600.0, None))
        self.assertEqual([problem.reason for problem in problems], [Reason.INVALID_ANNOTATION])
        self.assertIn('proxy-send-timeout: "60s" is not a number of seconds', problems[0].message)
        assert asked is not None
        self.assertEqual(asked.completed_by(Timeouts(9.0, 9.0, 9.0)), Timeouts(2.0, 3600.0, 9.0))

    def test_nothing_asked(self) -> None:
        """Where nothing is asked, routes have no timeouts of their own."""
        settings, _ = AnnotationReader(PREFIX).read(Ingress(ObjectKey("shop", "web")))
        self.assertIsNone(settings.of(TIMEOUTS).asked())
