"""Completion, manual pages and the version."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SkipTest

from ingress.ctl.main import COMMANDS
from tests.ctl.ctl_case import CtlCase


def completions(words: str) -> list[str]:
    """What a shell would offer behind *words*, with the kinds that click gives them."""
    typed = words.split(" ")
    asked = {
        **os.environ,
        "_INGRESSCTL_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(typed) - 1),
    }
    command = [sys.executable, "-c", "from ingress.ctl.main import main; main()"]
    return subprocess.check_output(command, env=asked, text=True, timeout=60).splitlines()


class CompletionTests(CtlCase):
    """``ingressctl completion``, and what its scripts ask for."""

    def test_each_shell_has_a_script(self) -> None:
        """It has the shell call the program again with the words typed so far."""
        for shell in ("bash", "zsh", "fish"):
            result = self.run_command("completion", shell)
            self.assertEqual(result.exit_code, 0)
            self.assertIn(f"_INGRESSCTL_COMPLETE={shell}_complete", result.stdout)

    def test_scripts_are_read_by_the_shells_that_are_here(self) -> None:
        """No syntax error; shells that are not installed are left out."""
        found = [shell for shell in ("bash", "zsh", "fish") if shutil.which(shell)]
        if not found:
            raise SkipTest("no shell is installed")
        for shell in found:
            path = self.manifest(self.run_command("completion", shell).stdout, f"completion.{shell}")
            subprocess.run([shell, "-n", path], check=True, timeout=60)

    def test_commands_are_completed(self) -> None:
        """A beginning gives the commands that begin so."""
        self.assertEqual(completions("ingressctl li"), ["plain,lint"])

    def test_options_of_the_controller_are_completed(self) -> None:
        """Those with a value end in an equals sign."""
        self.assertEqual(completions("ingressctl lint -o ingress-cl"), ["plain,ingress-class="])


class ManTests(CtlCase):
    """``ingressctl man``."""

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


class VersionTests(CtlCase):
    """``ingressctl version``."""

    def test_it_is_that_of_the_package(self) -> None:
        """One line with name and version."""
        self.assertRegex(self.run_command("version").stdout, r"^txingress \d+\.\d+\.\d+\n$")
