"""What a command imports: whoever lints a small file does not wait for what that does not need."""

import subprocess
import sys

from tests.ctl.inputs.files.files_case import FilesCase, an_ingress

UNNEEDED = (
    "concurrent.futures",
    "cryptography",
    "email",
    "http",
    "importlib.metadata",
    "ingress.cluster.api",
    "ingress.controller",
    "ingress.ctl.inputs.files.building",
    "ingress.ctl.inputs.live.reading",
    "ingress.identity.key_pairs",
    "ingress.proxy",
    "ingress.service",
    "ingress.tls",
    "kubernetes",
    "logging",
    "multiprocessing",
    "opentelemetry",
    "OpenSSL",
    "requests",
    "service_identity",
    "ssl",
    "subprocess",
    "twisted",
    "urllib3",
    "zope.interface",
)
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: web-tls}
type: kubernetes.io/tls
data: {tls.crt: eA==, tls.key: eA==}
"""
PROGRAM = (
    "import sys; from ingress.ctl.main import commands; commands.main(sys.argv[1:], standalone_mode=False)"
)
SHOW = (
    "import atexit, sys; atexit.register(lambda: print(*sorted(sys.modules), sep='\\n', file=sys.stderr)); "
)


class StartTests(FilesCase):
    """Modules are counted, not seconds: the machine that runs the tests is not the one of whoever waits."""

    def imported(self, *arguments: str) -> set[str]:
        """Return the modules of a process that ran ``ingressctl`` with *arguments*."""
        process = subprocess.run(
            [sys.executable, "-c", SHOW + PROGRAM, *arguments], capture_output=True, check=False, text=True
        )
        modules = set(process.stderr.split())
        self.assertIn("ingress.ctl.main", modules, process.stderr)
        return modules

    def test_linting_a_file_without_secrets(self) -> None:
        """No reactor, no client of an API server, no cryptography, nothing that starts programs."""
        imported = self.imported("lint", self.manifest(an_ingress()))
        self.assertIn("ingress.ctl.lint.linting", imported)
        self.assertEqual(sorted(imported.intersection(UNNEEDED)), [])

    def test_a_secret_is_judged_all_the_same(self) -> None:
        """Where there is one that an Ingress names, what judges it is imported."""
        text = an_ingress().replace(
            "  rules:", "  tls: [{hosts: [shop.example.com], secretName: web-tls}]\n  rules:"
        )
        imported = self.imported("lint", self.manifest(f"{text}---\n{SECRET}"))
        self.assertIn("cryptography", imported)

    def test_looking_at_a_controller(self) -> None:
        """Whoever looks waits neither for what translates nor, before anything is asked, for what speaks HTTP."""
        imported = self.imported("top", "--help")
        self.assertIn("ingress.ctl.top.picture", imported)
        self.assertEqual(
            sorted(imported.intersection({*UNNEEDED, "ingress.translate", "ingress.annotations"})), []
        )

    def test_the_help(self) -> None:
        """Who asks what commands there are waits for none of them."""
        imported = self.imported("--help")
        self.assertEqual([name for name in imported if name.startswith("ingress.annotations")], [])
