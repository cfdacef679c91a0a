"""The commands that ``k8s/examples/README.md`` shows."""

import shlex
import shutil
import subprocess
from pathlib import Path

import yaml
from twisted.trial.unittest import SkipTest, SynchronousTestCase

EXAMPLES = Path(__file__).resolve().parent.parent / "k8s" / "examples"


class ExampleCommandTests(SynchronousTestCase):
    """The commands of ``k8s/examples/README.md``."""

    def test_certificate(self) -> None:
        """The openssl commands make a certificate for the host of the HTTPS example that its authority vouches for."""
        openssl = shutil.which("openssl")
        if openssl is None or "OpenSSL 3" not in subprocess.check_output([openssl, "version"], text=True):
            raise SkipTest("OpenSSL 3 is not installed")
        text = (EXAMPLES / "README.md").read_text("utf-8").replace("\\\n", " ")
        commands = [shlex.split(line) for line in text.splitlines() if line.startswith("    openssl ")]
        self.assertEqual(len(commands), 3)
        folder = self.mktemp()
        Path(folder).mkdir(parents=True)
        for command in commands:
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        https = yaml.safe_load((EXAMPLES / "https-ingress.yaml").read_text("utf-8"))
        host = https["spec"]["tls"][0]["hosts"][0]
        verify = [openssl, "verify", "-CAfile", "ca.crt", "-verify_hostname", host, "tls.crt"]
        done = subprocess.run(verify, cwd=folder, capture_output=True, text=True)
        self.assertEqual(done.stdout, "tls.crt: OK\n", done.stderr)
