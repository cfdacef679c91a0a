"""The options about redirects to HTTPS and Strict-Transport-Security."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.hosts.transport_security import STRICT_TRANSPORT, StrictTransport
from ingress.annotations.operator_settings import NOTHING_SAID
from ingress.annotations.redirects.https_redirect import REDIRECTS, RedirectSettings
from ingress.options.values import read_max_age
from ingress.settings import Settings, translate_options
from ingress.tap import Options
from tests.operator_settings import operator_settings


def settings(*arguments: str) -> Settings:
    """Return what the command line comes to."""
    options = Options()
    options.parseOptions(list(arguments))
    return options.settings()


class HttpsOptionsTests(SynchronousTestCase):
    """Options become settings, and settings become what translation goes by."""

    def test_defaults_are_those_of_ingress_nginx(self) -> None:
        """Hosts with a certificate redirect, and are remembered for a year with their subdomains."""
        found = settings()
        self.assertEqual(found.translate.operators, NOTHING_SAID)
        self.assertEqual(REDIRECTS.settings, RedirectSettings(True, False))
        self.assertEqual(found.translate.strict_transport, STRICT_TRANSPORT)
        self.assertEqual(STRICT_TRANSPORT, StrictTransport(31536000, True, False))

    def test_redirects(self) -> None:
        """Each switch turns its default around."""
        found = settings("--no-ssl-redirect", "--force-ssl-redirect")
        self.assertEqual(
            found.translate.operators, operator_settings((REDIRECTS, RedirectSettings(False, True)))
        )

    def test_strict_transport(self) -> None:
        """Age, subdomains and preload are options; so is to say nothing at all."""
        found = settings("--hsts-max-age=300", "--no-hsts-subdomains", "--hsts-preload")
        self.assertEqual(found.translate.strict_transport, StrictTransport(300, False, True))
        self.assertIsNone(settings("--no-hsts", "--hsts-preload").translate.strict_transport)

    def test_translation_is_told(self) -> None:
        """What was decided reaches translation."""
        options = translate_options(settings("--no-ssl-redirect", "--force-ssl-redirect", "--no-hsts"))
        self.assertEqual(options.operators, operator_settings((REDIRECTS, RedirectSettings(False, True))))
        self.assertIsNone(options.strict_transport)

    def test_age_is_a_whole_number(self) -> None:
        """An age that is no whole number is refused, before a browser would see it."""
        self.assertEqual(read_max_age("0"), 0)
        for text in ("", "-1", "1.5", "1y", "1; preload", "99999999999"):
            with self.assertRaises(ValueError):
                read_max_age(text)
        with self.assertRaisesRegex(SystemExit, "hsts-max-age"):
            settings("--hsts-max-age=forever")
