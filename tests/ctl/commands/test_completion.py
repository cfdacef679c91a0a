"""``ingressctl completion``."""

import os
import shutil
import subprocess
import sys

from twisted.trial.unittest import SkipTest

from tests.ctl.ctl_case import CtlCase


def asking_for(words: str) -> dict[str, str]:
    """The environment in which bash asks what to offer behind *words*."""
    return {
        "_INGRESSCTL_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }


class CompletionCase(CtlCase):
    def completions(self, words: str) -> list[str]:
        """What bash would offer behind *words*, with the kinds that click gives them."""
        return self.run_command(env=asking_for(words)).stdout.splitlines()


class CompletionTests(CompletionCase):
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

    def test_bash_offers_what_begins_so(self) -> None:
        """The function that the script defines fills ``COMPREPLY``."""
        self.assertEqual(
            self.offered(
                "bash",
                "COMP_WORDS=(ingressctl li); COMP_CWORD=1; _ingressctl_completion ingressctl;"
                ' printf "%s\\n" "${COMPREPLY[@]}"',
            ),
            ["lint"],
        )

    def test_fish_offers_what_begins_so(self) -> None:
        """Each with what it does, behind a tab."""
        offered = self.offered("fish", 'complete -C "ingressctl li"')
        self.assertEqual([line.partition("\t")[0] for line in offered], ["lint"])

    def test_zsh_offers_what_begins_so(self) -> None:
        """The function hands commands with what they do to ``_describe``."""
        offered = self.offered(
            "zsh",
            '_describe() { print -l -- "${completions_with_descriptions[@]}" };'
            " words=(ingressctl li); CURRENT=2; _ingressctl_completion",
            before="compdef() { };",
        )
        self.assertEqual([line.partition(":")[0] for line in offered], ["lint"])

    def offered(self, shell: str, ask: str, before: str = "") -> list[str]:
        """Have the shell, if it is installed, read its script and run *ask*; return the lines that this prints."""
        if shutil.which(shell) is None:
            raise SkipTest(f"{shell} is not installed")
        program = self.folder / "bin" / "ingressctl"
        program.parent.mkdir()
        program.write_text(f"#!{sys.executable}\nfrom ingress.ctl.main import run\nrun()\n", "utf-8")
        program.chmod(0o755)
        script = self.manifest(self.run_command("completion", shell).stdout, f"completion.{shell}")
        text = f"{before} source {script}; {ask}"
        found = [str(program.parent.absolute()), os.environ["PATH"]]
        environment = {
            **os.environ,
            "PATH": os.pathsep.join(found),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "HOME": str(self.folder),
        }
        done = subprocess.run(
            [shell, "-c", text], env=environment, capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout.splitlines()

    def test_commands_are_completed(self) -> None:
        """A beginning gives the commands that begin so."""
        self.assertEqual(self.completions("ingressctl li"), ["plain,lint"])

    def test_a_process_completes(self) -> None:
        """As the script of a shell starts it."""
        done = subprocess.run(
            [sys.executable, "-c", "from ingress.ctl.main import run; run()"],
            env={**os.environ, **asking_for("ingressctl expl")},
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual((done.stdout, done.stderr), ("plain,explain\n", ""))

    def test_options_of_the_controller_are_completed(self) -> None:
        """Those with a value end in an equals sign, and flags do not."""
        self.assertEqual(
            self.completions("ingressctl lint -o ingress-cl"),
            ["plain,ingress-class-by-name", "plain,ingress-class="],
        )
