"""``ingressctl man``."""

import shutil
import subprocess
from pathlib import Path

from twisted.trial.unittest import SkipTest

from ingress.ctl.main import COMMANDS
from tests.ctl.ctl_case import CtlCase


class ManTests(CtlCase):
    """The manual pages of all commands."""

    def test_each_command_has_a_page(self) -> None:
        """The program itself has one, too; each has a name line, a synopsis, and the statuses."""
        result = self.run_command("man", str(self.folder / "man1"))
        self.assertEqual(result.exit_code, 0)
        names = {path.name for path in (self.folder / "man1").iterdir()}
        self.assertEqual(names, {"ingressctl.1", *(f"ingressctl-{name}.1" for name in COMMANDS)})
        for name in names:
            text = (self.folder / "man1" / name).read_text("utf-8")
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"):
                self.assertIn(f".SH {section}\n", text, name)

    def test_pages_are_read_without_a_warning(self) -> None:
        """``groff`` formats each with all warnings on."""
        groff = shutil.which("groff")
        if groff is None:
            raise SkipTest("groff is not installed")
        self.run_command("man", str(self.folder))
        pages = sorted(map(str, Path(self.folder).glob("*.1")))
        done = subprocess.run(
            [groff, "-man", "-ww", "-z", *pages], capture_output=True, text=True, timeout=60
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_folder_that_cannot_be_made_is_a_mistake(self) -> None:
        """One line, status 2."""
        result = self.run_command("man", self.manifest("", "file"))
        self.assertEqual(result.exit_code, 2)
        self.assertIn("file: File exists", result.stderr)
