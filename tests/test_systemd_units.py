"""The units of ``examples/systemd/``: what they say is what the command line and the page have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from shutil import which

import yaml
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from ingress.process.systemd.descriptions import read_handed_over
from ingress.tap import Options
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import secret_object
from tests.fakes.units import DIRECTORY, SERVICE, SOCKETS, Unit

MOST_EXPOSED = 20
"""Tenths of what ``systemd-analyze security`` calls exposure, of at most 100."""


class UnitsTests(SynchronousTestCase):
    """What the units say."""

    def setUp(self) -> None:
        self.service = Unit(DIRECTORY / SERVICE)
        command = self.service.command("ExecStart", {})
        manifests = "--manifests=/etc/txingress/manifests"
        command[command.index(manifests)] = f"--manifests={DIRECTORY}"
        self.options = Options()
        self.options.parseOptions(command[command.index("ingress") + 1 :])

    def test_sockets(self) -> None:
        """Each listener that is handed over is the one of a socket unit, which belongs to the service."""
        names = {Unit(DIRECTORY / one).one("FileDescriptorName") for one in SOCKETS}
        settings = self.options.settings()
        asked = {read_handed_over(one).name for one in (*settings.http, *settings.https)}
        self.assertEqual(asked, names)
        for one in SOCKETS:
            self.assertEqual(Unit(DIRECTORY / one).one("Service"), SERVICE)
        self.assertEqual(self.service.one("Sockets").split(), list(SOCKETS))
        self.assertEqual(self.service.one("Requires").split(), list(SOCKETS))

    def test_end(self) -> None:
        """There is time for the delay and the grace, and the workers are not killed before the process has told them."""
        serving = self.options.settings().serving
        asked = serving.shutdown_delay_seconds + serving.shutdown_grace_seconds
        self.assertGreater(self.service.seconds("TimeoutStopSec"), asked)
        self.assertEqual(self.service.one("KillMode"), "mixed")
        self.assertEqual(self.service.one("OOMPolicy"), "continue")

    def test_told(self) -> None:
        """The process tells of itself, and nothing that it starts does."""
        self.assertEqual(
            (self.service.one("Type"), self.service.one("NotifyAccess"), self.service.seconds("WatchdogSec")),
            ("notify", "main", 30),
        )

    def test_foreground(self) -> None:
        """The process is the one that systemd has started: it neither leaves nor writes a file of its number."""
        runner = self.service.command("ExecStart", {})
        self.assertEqual(runner[1 : runner.index("ingress")], ["--nodaemon", "--pidfile="])


class AnalyzeTests(SynchronousTestCase):
    """Systemd's own judgement, where it is installed."""

    def setUp(self) -> None:
        tool = which("systemd-analyze")
        if tool is None:
            raise SkipTest("there is no systemd-analyze here")
        self.tool = tool
        self.directory = Path(self.mktemp()).resolve()
        self.directory.mkdir(parents=True)
        for name in (SERVICE, *SOCKETS):
            text = (DIRECTORY / name).read_text("utf-8")
            # The program has to be there to be judged.
            text = text.replace("/opt/txingress/bin/twistd", sys.executable)
            (self.directory / name).write_text(text, "utf-8")

    def analyzed(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.tool, *arguments], capture_output=True, text=True, timeout=60, check=False
        )

    def test_verify(self) -> None:
        """``systemd-analyze verify`` has nothing to say."""
        paths = [str(self.directory / name) for name in (SERVICE, *SOCKETS)]
        ended = self.analyzed("--man=no", "verify", *paths)
        self.assertEqual((ended.stdout, ended.stderr, ended.returncode), ("", "", 0))

    def test_verify_can_fail(self) -> None:
        """It would say what is wrong: the same with a mistake."""
        path = self.directory / SERVICE
        path.write_text(path.read_text("utf-8").replace("WatchdogSec=30", "WatchdogSex=30"), "utf-8")
        self.assertIn("WatchdogSex", self.analyzed("--man=no", "verify", str(path)).stderr)

    def test_security(self) -> None:
        """``systemd-analyze security`` finds the service well enclosed."""
        ended = self.analyzed(
            "security",
            "--offline=true",
            f"--threshold={MOST_EXPOSED}",
            "--no-pager",
            str(self.directory / SERVICE),
        )
        if "unrecognized option" in ended.stderr:
            raise SkipTest("this systemd-analyze reads no units offline")
        self.assertEqual(ended.returncode, 0, ended.stdout[-300:])


class CertificateTests(SynchronousTestCase):
    """``renewed-certificate.sh``."""

    def setUp(self) -> None:
        self.directory = Path(self.mktemp()).resolve()
        self.directory.mkdir(parents=True)

    def run_script(self, chain: bytes, key: bytes) -> int:
        """Run it on these PEM files; return its status."""
        for name, content in (("chain.pem", chain), ("key.pem", key)):
            (self.directory / name).write_bytes(content)
        script = str(DIRECTORY / "renewed-certificate.sh")
        paths = [str(self.directory / name) for name in ("chain.pem", "key.pem")]
        return subprocess.run(
            [script, "shop", "shop-tls", *paths, str(self.directory)],
            timeout=60,
            check=False,
            capture_output=True,
        ).returncode

    def test_secret(self) -> None:
        """It writes a Secret of what it is given, which nobody else can read, and leaves nothing else behind."""
        chain, key = issue(make_authority(), ["shop.example.com"])
        self.assertEqual(self.run_script(chain, key), 0)
        path = self.directory / "secret-shop-shop-tls.yaml"
        self.assertEqual(
            yaml.safe_load(path.read_bytes()),
            {**secret_object("shop-tls", chain, key), "metadata": {"name": "shop-tls", "namespace": "shop"}},
        )
        self.assertEqual(path.stat().st_mode & 0o7777, 0o640)
        self.assertEqual(
            sorted(one.name for one in self.directory.iterdir()),
            ["chain.pem", "key.pem", "secret-shop-shop-tls.yaml"],
        )

    def test_usage(self) -> None:
        """Without what it needs it says what that is."""
        script = str(DIRECTORY / "renewed-certificate.sh")
        ended = subprocess.run([script, "shop"], timeout=60, check=False, capture_output=True, text=True)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("NAMESPACE NAME FULLCHAIN.PEM KEY.PEM DIRECTORY", ended.stderr)

    def test_unreadable(self) -> None:
        """A file that is not there changes nothing."""
        script = str(DIRECTORY / "renewed-certificate.sh")
        ended = subprocess.run(
            [script, "shop", "shop-tls", "/none", "/none", str(self.directory)],
            timeout=60,
            check=False,
            capture_output=True,
        )
        self.assertNotEqual(ended.returncode, 0)
        self.assertEqual(list(self.directory.iterdir()), [])
