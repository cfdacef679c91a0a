"""The image: what the Dockerfile says, how its check reads it, and why the interpreter has a capability."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from configparser import ConfigParser
from pathlib import Path

import yaml
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from ingress.settings import Settings
from scripts import image_check

REPOSITORY = Path(__file__).resolve().parent.parent
NET_BIND_SERVICE = 1 << 10
USER_ID = 65532
STARTED_LATER = (
    "ingress.admission.webhook",
    "ingress.cluster.manifests.manifests",
    "ingress.cluster_side",
    "ingress.firewall.process",
    "ingress.options.config_map_source",
    "ingress.tap",
    "ingress.workers.forking.fork_server",
    "ingress.workers.worker",
)
"""What a process in a cluster imports with the options that need it, besides what ``twistd --help`` does."""


def instructions(word: str) -> list[str]:
    """What follows *word* in the Dockerfile, once for each of its instructions."""
    text = (REPOSITORY / "Dockerfile").read_text("utf-8")
    return [rest for name, rest in image_check.instructions(text) if name == word]


_SHOWN = """
import sys
for name, module in [*sys.modules.items()]:
    print(name, getattr(module, "__file__", None))
print()
"""


def library_of(*statements: str) -> list[set[str]]:
    """The modules of Python's own library that *statements* import, of those that are compiled into files: after each of them."""
    done = subprocess.run(
        [sys.executable, "-c", _SHOWN.join((*statements, ""))],
        check=True,
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
    )
    library = sysconfig.get_path("stdlib")
    return [
        {
            name
            for name, file in (line.split(" ", 1) for line in shown.splitlines())
            if file.startswith(library) and file.endswith(".py") and "site-packages" not in file
        }
        for shown in done.stdout.split("\n\n")[:-1]
    ]


class DockerfileTests(SynchronousTestCase):
    """The Dockerfile fits the manifests, the settings and the tests."""

    def test_no_shell(self) -> None:
        """The entry point is ``twistd`` itself, in the foreground, with room for options behind it."""
        (text,) = instructions("ENTRYPOINT")
        entrypoint = json.loads(text)
        self.assertEqual(entrypoint[1:], ["-n", "--pidfile=", "ingress"])
        self.assertTrue(entrypoint[0].startswith("/") and entrypoint[0].endswith("/twistd"))
        self.assertEqual(instructions("CMD"), [])

    def test_user_is_the_pods(self) -> None:
        """The image runs as the numeric user that the pods ask for."""
        deployment = yaml.safe_load((REPOSITORY / "k8s" / "base" / "deployment.yaml").read_text("utf-8"))
        of_pod = deployment["spec"]["template"]["spec"]["securityContext"]
        self.assertEqual(instructions("USER"), [f"{of_pod['runAsUser']}:{of_pod['runAsGroup']}"])

    def test_ports_are_the_defaults(self) -> None:
        """The exposed ports are those that the controller listens on by default."""
        settings = Settings()
        descriptions = (*settings.http, *settings.https, settings.admin)
        self.assertEqual(instructions("EXPOSE"), [" ".join(text.split(":")[1] for text in descriptions)])

    def test_firewall_is_an_option(self) -> None:
        """Without a word the image has no firewall; with one it has what a firewall process looks for, or its build fails."""
        self.assertEqual(instructions("ARG")[1:], ["FIREWALL=no"])
        (asked,) = (text for text in instructions("RUN") if "$FIREWALL" in text)
        for package in ("libmodsecurity3", "modsecurity-crs"):
            self.assertIn(package, asked)
        self.assertIn("-m ingress.firewall.main --check", asked)

    def test_the_library_is_compiled(self) -> None:
        """What a process in a cluster imports of Python's own library was imported when the image was made, by who may write there."""
        (imports,) = re.findall(r'-c "(import [^"]+)"', "".join(instructions("RUN")))
        made, later = library_of(f"{imports}, twisted.scripts.twistd", f"import {', '.join(STARTED_LATER)}")
        self.assertIn("http.server", made)
        self.assertEqual(later - made, set())

    def test_python_is_supported(self) -> None:
        """Both stages are one Python version, which the package declares."""
        argument = instructions("ARG")[0]
        config = ConfigParser()
        config.read(REPOSITORY / "setup.cfg", encoding="utf-8")
        self.assertIn(
            f"Programming Language :: Python :: {argument.removeprefix('PYTHON=')}",
            config["metadata"]["classifiers"].splitlines(),
        )
        self.assertEqual([text.split()[0] for text in instructions("FROM")], ["python:${PYTHON}-slim"] * 2)


class ImageCheckTests(SynchronousTestCase):
    """``make image-check`` reads its two files as a container engine does."""

    def test_instructions(self) -> None:
        """Continuation lines are joined, comments and empty lines dropped, also within an instruction."""
        text = "# first\nFROM a AS b\n\nrun one \\\n# within\n && two\n"
        self.assertEqual(
            [(word, " ".join(rest.split())) for word, rest in image_check.instructions(text)],
            [("FROM", "a AS b"), ("RUN", "one && two")],
        )

    def test_commands(self) -> None:
        """Each command of a RUN instruction is one that a shell reads, also of one that an argument of the build asks for."""
        for asked in ("yes", "no"):
            for text in instructions("RUN"):
                parts, others = image_check.commands(text, {"FIREWALL": asked})
                self.assertEqual(bool(others), "$FIREWALL" in text and asked == "no", text)
                self.assertEqual(bool(parts), not others)
                for part in (*parts, *others):
                    done = subprocess.run(["sh", "-n", "-c", part], capture_output=True, text=True)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), part)

    def test_arguments(self) -> None:
        """What is given takes the place of an ARG's default."""
        check = image_check.ImageCheck(Path("/tmp/x"), {"FIREWALL": "yes"})
        check.obey("ARG", "PYTHON=3.13")
        check.obey("ARG", "FIREWALL=no")
        self.assertEqual(check.arguments, {"PYTHON": "3.13", "FIREWALL": "yes"})

    def test_last_pattern_wins(self) -> None:
        """Of the patterns that match a file or a folder above it, the last decides."""
        patterns = ["*", "!ingress", "!setup.cfg", "**/__pycache__", "**/*.pyc"]
        for path, ignored in {
            "README.md": True,
            "tests/test_image.py": True,
            "setup.cfg": False,
            "ingress/tap.py": False,
            "ingress/model/cluster/objects.py": False,
            "ingressive/tap.py": True,
            "ingress/model/cluster/__pycache__/objects.py": True,
            "ingress/tap.pyc": True,
        }.items():
            self.assertEqual(image_check.is_ignored(path, patterns), ignored, path)

    def test_folders_are_mapped(self) -> None:
        """Only whole folders at the image's root move to the temporary folder."""
        check = image_check.ImageCheck(Path("/tmp/x"))
        self.assertEqual(
            check.mapped("/opt/a/bin/pip install /dist/*.whl -d /src /options ./src a/opt"),
            "/tmp/x/opt/a/bin/pip install /tmp/x/dist/*.whl -d /tmp/x/src /options ./src a/opt",
        )


class CapabilityTests(SynchronousTestCase):
    """What Linux does with NET_BIND_SERVICE for a user that is not root.

    Shown with a copy of ``cat`` that prints its own status, because the kernel's rules
    do not depend on the program, and every user may read what ``cat`` needs.
    """

    def setUp(self) -> None:
        """Make two copies of one program, of which one carries the capability, for everyone to run."""
        if os.geteuid() != 0:
            raise SkipTest("needs root, to become another user")
        tools = {name: shutil.which(name) for name in ("setpriv", "setcap", "cat", "env")}
        if missing := [name for name, path in tools.items() if path is None]:
            raise SkipTest(f"not installed: {', '.join(missing)}")
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        folder.chmod(0o755)
        self.plain = folder / "plain" / "cat"
        self.capable = folder / "capable" / "cat"
        for path in (self.plain, self.capable):
            path.parent.mkdir()
            shutil.copy(str(tools["cat"]), path)
        done = subprocess.run(
            ["setcap", "cap_net_bind_service=+ep", str(self.capable)], capture_output=True, text=True
        )
        if done.returncode:
            raise SkipTest(f"no file capabilities in {folder}: {done.stderr.strip()}")

    def run_as_user(self, *command: str, bounding: str, options: tuple[str, ...] = ()) -> tuple[int, str]:
        """Status and output of *command*, run by a user that may have at most the *bounding* capabilities."""
        identity = [f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups", "--inh-caps=-all"]
        done = subprocess.run(
            ["setpriv", *identity, f"--bounding-set={bounding}", *options, *command, "/proc/self/status"],
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    def assert_may_bind(self, expected: bool, result: tuple[int, str]) -> None:
        """The program ran, and NET_BIND_SERVICE was effective or not."""
        status, output = result
        self.assertEqual(status, 0, output)
        effective = re.search(r"^CapEff:\s*([0-9a-f]+)$", output, re.MULTILINE)
        assert effective is not None, output
        self.assertEqual(bool(int(effective[1], 16) & NET_BIND_SERVICE), expected, output)

    def test_adding_is_not_enough(self) -> None:
        """A capability that the pod adds has no effect on a program that does not carry it."""
        self.assert_may_bind(False, self.run_as_user(str(self.plain), bounding="-all,+net_bind_service"))

    def test_adding_and_carrying(self) -> None:
        """A program that carries the capability has it where the pod adds it."""
        self.assert_may_bind(True, self.run_as_user(str(self.capable), bounding="-all,+net_bind_service"))

    def test_carrying_without_adding(self) -> None:
        """A program that carries the capability does not start where the pod does not add it."""
        status, output = self.run_as_user(str(self.capable), bounding="-all")
        self.assertNotEqual(status, 0)
        self.assertIn("Operation not permitted", output)

    def test_no_escalation_at_the_entry_point(self) -> None:
        """With ``allowPrivilegeEscalation: false`` the first program of a container keeps what it was handed."""
        result = self.run_as_user(
            str(self.capable), bounding="-all,+net_bind_service", options=("--no-new-privs",)
        )
        self.assert_may_bind(True, result)

    def test_no_escalation_behind_a_wrapper(self) -> None:
        """With ``allowPrivilegeEscalation: false`` a wrapper before the entry point loses the capability."""
        result = self.run_as_user(
            "env", str(self.capable), bounding="-all,+net_bind_service", options=("--no-new-privs",)
        )
        self.assert_may_bind(False, result)
