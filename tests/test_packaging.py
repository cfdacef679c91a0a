"""What is installed: the wheel's content, the commands, and the declared requirements."""

import ast
import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from configparser import ConfigParser
from importlib.metadata import packages_distributions
from pathlib import Path
from shutil import copytree, rmtree
from subprocess import PIPE, STDOUT
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from twisted.application.service import IServiceMaker
from twisted.plugin import getPlugins
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from compiling.wish import SWITCH
from ingress.ctl.main import COMMANDS
from ingress.process.version import running_code
from ingress.tap import Options
from scripts.image_check import copy_context
from scripts.versions_check import constraints, failures, requirements, withdrawn
from tests.import_statements import import_statements

REPOSITORY = Path(__file__).resolve().parent.parent

# Compiling takes a minute; make compiled does it.
PLAIN = {SWITCH: "0"}
# The console script, without a script: what it runs, and none of the current directory on the path.
TWISTD = "import sys; sys.argv[0] = 'twistd'; from twisted.scripts.twistd import run; run()"
WHERE = "import ingress.tap; print(ingress.tap.__file__)"

ALL_COMMANDS = """
from click import Context
from ingress.ctl.main import COMMANDS, commands
for name in COMMANDS:
    print(commands.get_command(Context(commands), name).name)
"""


def run(*command: str, directory: str | Path = "/", variables: Mapping[str, str] = PLAIN) -> str:
    """The output of *command*, with these *variables* besides; its errors are the message of the failure."""
    # The workers of trial have the whole path, this checkout included, in PYTHONPATH.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment.pop(SWITCH, None)
    done = subprocess.run(
        command, cwd=directory, env={**environment, **variables}, stdout=PIPE, stderr=STDOUT, text=True
    )
    if done.returncode:
        raise AssertionError(f"status {done.returncode} of {command}:\n{done.stdout}")
    return done.stdout


OF_EXTRAS = dict.fromkeys(("ingress/tracing/bounded_http.py", "ingress/tracing/otlp.py"), "tracing")
"""Modules that are imported only where an extra is installed, with that."""


def _names(requirements: str) -> set[str]:
    """Return the names of the distributions in a list of setup.cfg."""
    lines = (line for line in requirements.split("\n") if line and not line.startswith("#"))
    return {canonicalize_name(Requirement(line).name) for line in lines}


class CheckoutTests(SynchronousTestCase):
    """The repository as it stands."""

    def test_twistd_finds_the_command(self) -> None:
        """The drop-in imports, and announces one command of the right name."""
        found = [maker for maker in getPlugins(IServiceMaker) if maker.tapname == "ingress"]
        self.assertEqual([maker.options for maker in found], [Options])

    def test_twisted_is_not_hidden(self) -> None:
        """No ``__init__.py`` stands below ``twisted/``: it would replace Twisted, or hide the command."""
        self.assertEqual(
            [path.name for path in (REPOSITORY / "twisted").rglob("*.py")], ["ingress_plugin.py"]
        )

    def test_pages_say_that_it_compiles(self) -> None:
        """Whoever is told to install the sources is told how to do it without waiting for a compiler."""
        pages = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
        telling = re.compile(r"pip install(?: -\S+)* (?:\.|PATH-OF|PATH-OR-WHEEL)|pre-commit\.com")
        found = [page for page in pages if telling.search(page.read_text("utf-8"))]
        self.assertIn(REPOSITORY / "README.md", found)
        self.assertEqual([page.name for page in found if f"{SWITCH}=0" not in page.read_text("utf-8")], [])

    def test_pages_install_nothing_that_is_not_published(self) -> None:
        """As long as no index has the package, no page has an empty environment ask one for it: somebody else may own the name there."""
        installing = (REPOSITORY / "docs" / "install.md").read_text("utf-8")
        if "no package in a public registry yet" not in installing:
            raise SkipTest("the package is published")
        # With an extra it is for an environment that has the package, which pip leaves as it is.
        by_name = re.compile(r"pip install(?: -\S+)* ['\"]?txingress(?![\w\[])")
        pages = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("**/*.md"))]
        self.assertEqual([page.name for page in pages if by_name.search(page.read_text("utf-8"))], [])

    def test_bounds(self) -> None:
        """Each requirement names its lowest version, and an upper bound where something without a public name is used."""
        text = (REPOSITORY / "setup.cfg").read_text(encoding="utf-8")
        config = ConfigParser()
        config.read_string(text)
        required = [Requirement(line) for line in config["options"]["install_requires"].splitlines() if line]
        lowest = requirements(text)
        self.assertEqual(list(lowest), [one.name for one in required])
        for one in required:
            self.assertIn(lowest[one.name], one.specifier, one)
            if one.name in ("pyOpenSSL", "cryptography", "twisted"):
                self.assertIn("<", {bound.operator for bound in one.specifier}, one)
        pinned = constraints("lowest", lowest).splitlines()
        self.assertIn(f"pyOpenSSL == {lowest['pyOpenSSL']}", pinned)
        self.assertEqual(len(pinned), len(required))
        self.assertEqual(constraints("newest", lowest), "")

    def test_withdrawn_versions_are_noticed(self) -> None:
        """``make versions`` fails where a lowest version is one that an index has withdrawn, of which pip warns and goes on."""
        told = (
            "WARNING: The candidate selected for download or install is a yanked version: 'some-thing' candidate (version "
            "4.1.0 at https://files.example.com/a-4.1.0-cp37.whl (from https://example.com/simple/a/))\n"
            "Reason for being yanked: it does not work.\n"
        )
        self.assertEqual(withdrawn(told), ["some-thing 4.1.0"])
        self.assertEqual(withdrawn("WARNING: something else (version 4.1.0 at a)\n"), [])

    def test_failures_of_versions_are_told(self) -> None:
        """Of tests that fail with some versions ``make versions`` tells what failed and how many, and where none did, all that was said."""
        rule, last = f"{'=' * 79}\n", f"{'-' * 79}\nRan 3 tests in 1.0s\n\nFAILED (failures=1)\n"
        paragraphs = [
            "tests.a\n  T\n    test_a ... [OK]\n\n",
            "[SKIPPED]\nnot here\n\na.b\n",
            f"[FAIL]\nc\n{last}",
        ]
        self.assertEqual(failures(rule.join(paragraphs), "noise"), f"\n[FAIL]\nc\n{last}")
        self.assertEqual(failures("", "no module named twisted"), "no module named twisted")

    def test_imports_are_required(self) -> None:
        """Every distribution that the package imports is in ``install_requires``, or in the extra of the one module that needs it."""
        config = ConfigParser()
        config.read(REPOSITORY / "setup.cfg", encoding="utf-8")
        always = _names(config["options"]["install_requires"])
        distributions = packages_distributions()
        undeclared = set()
        for path in (REPOSITORY / "ingress").rglob("*.py"):
            extra = OF_EXTRAS.get(str(path.relative_to(REPOSITORY)))
            required = always if extra is None else always | _names(config["options.extras_require"][extra])
            for node in import_statements(path.read_text("utf-8")):
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                else:
                    names = [node.module or ""]
                for name in names:
                    top = name.split(".")[0]
                    providers = {canonicalize_name(one) for one in distributions.get(top, [])}
                    if top not in sys.stdlib_module_names and top != "ingress" and not providers & required:
                        undeclared.add(top)
        self.assertEqual(undeclared, set())


class InstallTests(SynchronousTestCase):
    """An installation into an environment that sees our requirements, but not this checkout."""

    def setUp(self) -> None:
        """Copy what a wheel is made of, and make an environment."""
        if running_code() == "compiled":
            raise SkipTest("this is an installation, and no checkout of which one could be made")
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(rmtree, self.folder)
        self.source = self.folder / "source"
        copy_context(self.source)
        venv.create(self.folder / "venv", symlinks=True)
        self.python = str(self.folder / "venv" / "bin" / "python")
        (packages,) = (self.folder / "venv").glob("lib/python*/site-packages")
        # Entries of a path file are not searched for path files: an editable installation of
        # this checkout stays out.
        visible = [
            entry
            for entry in sys.path
            if entry and Path(entry).is_dir() and not Path(entry).samefile(REPOSITORY)
        ]
        (packages / "requirements.pth").write_text("\n".join(visible))

    def install(self, *what: str) -> None:
        """Install into the environment, from nothing but local files."""
        pip = [sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet"]
        options = ("--no-index", "--no-deps", "--no-build-isolation", "--no-warn-script-location")
        # What is imported compiles by itself, and that is not all.
        run(*pip, *options, "--no-compile", *what)

    def assert_installed(self, folder: Path) -> None:
        """From another directory, ``twistd`` lists the command and starts the code in *folder*, and so does ``ingressctl``."""
        listed = run(self.python, "-P", "-c", TWISTD, "--help").splitlines()
        self.assertEqual(len([line for line in listed if line.split()[:1] == ["ingress"]]), 1, listed)
        self.assertIn("--ingress-class", run(self.python, "-P", "-c", TWISTD, "ingress", "--help"))
        where, *names = run(self.python, "-P", "-c", WHERE + ALL_COMMANDS).splitlines()
        self.assertTrue(Path(where).is_relative_to(folder))
        self.assertEqual(names, list(COMMANDS))
        script = str(Path(self.python).with_name("ingressctl"))
        self.assertRegex(run(script, "version"), r"^txingress \d\S+ \(plain\)$")

    def test_wheel(self) -> None:
        """The wheel that is made of the source distribution holds package, marker and drop-in, no tests, and brings the commands.

        Made without a compiler it is plain Python, and one line says so.
        """
        said = run(
            sys.executable,
            "-m",
            "build",
            "--no-isolation",
            # A build that lacks what it needs fails by itself.
            "--skip-dependency-check",
            "--outdir",
            str(self.folder),
            str(self.source),
            variables={"PATH": str(self.folder), "CC": "no-compiler"},
        )
        self.assertIn("txingress: plain Python, nothing is compiled: no C compiler", said)
        (wheel,) = self.folder.glob("txingress-*-py3-none-any.whl")
        with ZipFile(wheel) as archive:
            names = set(archive.namelist())
        self.assertLessEqual(
            {
                "ingress/py.typed",
                "ingress/admin/pages/page.html",
                "ingress/tap.py",
                "twisted/plugins/ingress_plugin.py",
            },
            names,
        )
        self.assertEqual(
            [name for name in names if name.startswith("twisted/")], ["twisted/plugins/ingress_plugin.py"]
        )
        self.assertEqual(
            {name.split("/")[0] for name in names if ".dist-info/" not in name}, {"ingress", "twisted"}
        )
        sources = {path.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / "ingress").rglob("*.py")}
        self.assertEqual(sources - names, set())
        self.install(str(wheel))
        self.assert_installed(self.folder / "venv")

    def test_editable(self) -> None:
        """An editable installation brings the commands from any directory, and runs the checkout."""
        # With the bytecode of this one, which is that of the same files: compiling would take longer than all the rest.
        copytree(REPOSITORY / "ingress", self.source / "ingress", dirs_exist_ok=True)
        self.install("--editable", str(self.source))
        self.assert_installed(self.source)
