"""What commands of the Makefile say where something is missing that they do not install."""

import os
import shutil
import subprocess
from pathlib import Path

from twisted.trial.unittest import SkipTest, SynchronousTestCase

REPOSITORY = Path(__file__).resolve().parent.parent


class MissingTests(SynchronousTestCase):
    """Each is one line, and nothing is made."""

    def said(self, target: str, *variables: str) -> str:
        """Return what make says of *target*, which is below the environment, where no program is found; it has to fail."""
        make = shutil.which("make")
        if make is None:
            raise SkipTest("make is not installed")
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        venv = folder / "venv"
        command = [
            make,
            "--no-print-directory",
            f"VENV={venv}",
            "PATH=/nowhere",
            *variables,
            f"{venv}{target}",
        ]
        # Not as a part of the make that may run this.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(list(folder.iterdir()), [])
        return done.stderr

    def test_python(self) -> None:
        """Every environment asks for an interpreter, by the name that was given."""
        for target in (
            "/.installed",
            "/.installed-dev",
            "/.installed-page",
            "-fuzz/.installed",
            "-site/.installed",
        ):
            said = self.said(target, "PYTHON=python9", "axe=")
            self.assertIn("error: python9 is not here; install Python 3.11 or later", said, target)

    def test_others(self) -> None:
        """Go builds Helm, and npm brings axe-core."""
        self.assertIn("error: go is not here", self.said("/helm/helm"))
        self.assertIn("error: npm is not here", self.said("/axe/axe.min.js"))
