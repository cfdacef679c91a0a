"""What is imported of the ``kubernetes`` package, each time in a process of its own."""

import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from tests.test_layers import REPOSITORY

SECONDS = 60.0
NOT_OURS = ("dateutil", "oauthlib", "pydantic", "requests", "websocket")


class PackagePartsTests(SynchronousTestCase):
    """A process that talks to an API server, and one that has use for the package itself."""

    def printed(self, *statements: str) -> str:
        ended = subprocess.run(
            [sys.executable, "-c", "; ".join(("import sys", *statements))],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        return ended.stdout.strip()

    def test_nothing_besides(self) -> None:
        """The client of the API server brings nothing that only other parts of the package need."""
        printed = self.printed(
            "import ingress.cluster.api.api_client",
            f"print([name for name in {NOT_OURS!r} if name in sys.modules])",
        )
        self.assertEqual(printed, "[]")

    def test_whole_package_afterwards(self) -> None:
        """Whoever imports the package later gets all of it, and there what we have."""
        printed = self.printed(
            "from ingress.cluster.api import package_parts as ours",
            "import kubernetes, kubernetes.config.kube_config as reading",
            "print(kubernetes.client.Configuration is ours.Configuration is reading.Configuration,"
            " kubernetes.config.ConfigException is ours.ConfigException,"
            " kubernetes.client.ApiClient().rest_client.__class__ is ours.RESTClientObject,"
            " callable(kubernetes.config.load_kube_config), callable(kubernetes.utils.create_from_yaml))",
        )
        self.assertEqual(printed, "True True True True True")

    def test_whole_package_before(self) -> None:
        """Where somebody has imported the package already, it stays as it is."""
        printed = self.printed(
            "import kubernetes, kubernetes.config",
            "before = kubernetes, kubernetes.config, kubernetes.utils",
            "from ingress.cluster.api import package_parts as ours",
            "after = tuple(sys.modules[name] for name in ('kubernetes', 'kubernetes.config', 'kubernetes.utils'))",
            "print(before == after, kubernetes.config.ConfigException is ours.ConfigException)",
        )
        self.assertEqual(printed, "True True")
