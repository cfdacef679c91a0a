"""The options about HTTP/2 to clients."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.settings import Settings
from ingress.tap import Options


class Http2OptionsTests(SynchronousTestCase):
    """From the command line to ``Settings``."""

    def settings(self, *arguments: str) -> Settings:
        """Return what the command line comes to."""
        options = Options()
        options.parseOptions(list(arguments))
        return options.settings()

    def test_defaults(self) -> None:
        """HTTP/2 is spoken over TLS, and nowhere else."""
        found = self.settings()
        self.assertEqual((found.http2, found.http2_prior_knowledge), (True, False))
        self.assertEqual(found, Settings())

    def test_each(self) -> None:
        """One option turns it off, another one turns it on without TLS."""
        self.assertFalse(self.settings("--no-http2").http2)
        found = self.settings("--http2-prior-knowledge")
        self.assertEqual((found.http2, found.http2_prior_knowledge), (True, True))

    def test_contradiction(self) -> None:
        """Who wants no HTTP/2 cannot want it without TLS."""
        told = self.assertRaises(SystemExit, self.settings, "--no-http2", "--http2-prior-knowledge")
        self.assertEqual(str(told), "ingress: --no-http2 and --http2-prior-knowledge exclude each other")

    def test_other_contradictions(self) -> None:
        """Those of other options are still found."""
        told = self.assertRaises(SystemExit, self.settings, "--no-http2", "--endpoint=*=127.0.0.1:80")
        self.assertIn("--endpoint needs --manifests", str(told))
