"""Which versions run."""

import platform

from twisted.trial.unittest import SynchronousTestCase

import twisted
from ingress.admin.pages.versions import versions
from ingress.metrics.metrics import Metrics
from ingress.metrics.series.build import LABELS


class VersionTests(SynchronousTestCase):
    """``versions``, and what metrics show of them."""

    def test_named(self) -> None:
        """There is a version for each label, in figures, and those that Python and Twisted say of themselves are among them."""
        found = versions()
        self.assertEqual(tuple(found), LABELS)
        self.assertEqual(
            (found["python"], found["twisted"]), (platform.python_version(), twisted.__version__)
        )
        self.assertRegex(found["openssl"], r"\A\d+\.\d+\.\d+")
        metrics = Metrics()
        metrics.build.versions = found
        self.assertIn(
            f'twisted="{twisted.__version__}",version="{found["version"]}"}} 1.0\n', metrics.render().decode()
        )
