"""The GitHub Action: its steps, run by bash as a runner runs them."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.ctl.ctl_case import CtlCase, ingress

REPOSITORY = Path(__file__).resolve().parent.parent.parent
ACTION: dict[str, Any] = yaml.safe_load((REPOSITORY / "action.yml").read_text("utf-8"))
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}
RUN = "from ingress.ctl.main import run; run()"


class ActionCase(CtlCase):
    """Runs a step with the environment that its inputs make, in a folder with manifests."""

    def setUp(self) -> None:
        super().setUp()
        self.temporary = (self.folder / "runner").absolute()
        self.bin = self.temporary / "ingressctl" / "bin"
        self.work = self.folder / "work"
        self.work.mkdir()

    def program(self, path: Path, text: str) -> None:
        """Write a program for bash."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/bash\n{text}\n", "utf-8")
        path.chmod(0o755)

    def step(self, name: str, path: str | None = None, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run a step as GitHub's runner does: ``bash -eo pipefail`` on its text, its variables with inputs in them."""
        step = STEPS[name]
        given = {name: one["default"] for name, one in ACTION["inputs"].items()}
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        values = {f"${{{{ inputs.{name} }}}}": value for name, value in given.items()}
        values["${{ github.action_path }}"] = "/the/action"
        environment = {name: values[value] for name, value in step["env"].items()}
        self.assertEqual(step["shell"], "bash")
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.work,
            env={"PATH": path or os.environ["PATH"], "RUNNER_TEMP": str(self.temporary), **environment},
            capture_output=True,
            text=True,
        )


class InstallTests(ActionCase):
    """The first step, with a Python that notes what it is asked for."""

    def asked_of_pip(self, version: str) -> str:
        """What pip is to install."""
        self.program(self.bin / "python3", 'printf "%s\\n" "$@" > "$(dirname "$0")/asked"')
        self.program(self.folder / "path" / "python3", "exit 0")
        found = self.step(
            "Install ingressctl", f"{(self.folder / 'path').absolute()}:{os.environ['PATH']}", version=version
        )
        self.assertEqual(found.returncode, 0, found.stderr)
        return (self.bin / "asked").read_text("utf-8").splitlines()[-1]

    def test_the_version_is_that_of_the_action_unless_one_is_named(self) -> None:
        """A name is one word, whatever is in it."""
        self.assertEqual(self.asked_of_pip(""), "/the/action")
        self.assertEqual(self.asked_of_pip("1.2.3"), "txingress==1.2.3")
        self.assertEqual(self.asked_of_pip("1; touch x"), "txingress==1; touch x")

    def test_the_repository_brings_no_modules(self) -> None:
        """What is checked out is looked at, and no part of the program that looks."""
        for name in ("sys", "secrets"):
            (self.work / f"{name}.py").write_text("open('harmed', 'w')\n")
        self.program(self.bin / "ingressctl", "exit 0")
        self.assertEqual(self.step("Lint").returncode, 0)
        self.assertFalse((self.work / "harmed").exists())

    def test_no_step_has_python_look_for_modules_there(self) -> None:
        """To install for each test would take seconds, so the option that does it is looked for: ``-I``."""
        text = (REPOSITORY / "action.yml").read_text("utf-8")
        started = re.findall(r'python3"? (\S+)', text.partition("\nruns:\n")[2])
        self.assertGreater(len(started), 3)
        self.assertEqual(set(started), {"-I"})

    def test_an_old_python_is_told(self) -> None:
        """With what helps, and nothing is installed."""
        self.program(self.folder / "path" / "python3", "exit 1")
        found = self.step("Install ingressctl", f"{(self.folder / 'path').absolute()}:{os.environ['PATH']}")
        self.assertEqual(found.returncode, 2)
        self.assertIn("actions/setup-python", found.stdout)
        self.assertFalse(self.temporary.exists())


class LintTests(ActionCase):
    """The second step, with the command itself."""

    def setUp(self) -> None:
        super().setUp()
        text = f"exec env PYTHONPATH={REPOSITORY} {sys.executable} -c '{RUN}' \"$@\""
        self.program(self.bin / "ingressctl", text)

    def test_findings_are_annotations_and_the_table_is_in_the_log(self) -> None:
        """Commands of the action come before, and what people read is told not to be any."""
        self.manifest(ingress(proxy_read_timeout="soon"), "work/deploy/a.yaml")
        found = self.step("Lint")
        self.assertEqual(found.returncode, 1, found.stderr)
        lines = found.stdout.splitlines()
        self.assertTrue(lines[0].startswith("::error file=deploy/a.yaml,line="), lines[0])
        (start,) = [place for place, line in enumerate(lines) if line.startswith("::stop-commands::")]
        token = lines[start].rpartition("::")[2]
        self.assertEqual(len(token), 32)
        self.assertEqual(lines[-1], f"::{token}::")
        self.assertIn("1 Ingress: ", "\n".join(lines[start:]))

    def test_inputs_are_arguments_and_no_program(self) -> None:
        """Paths one a line, a level, a file of SARIF."""
        self.manifest(ingress(nonsense="1"), "work/one folder/a.yaml")
        self.manifest(ingress(), "work/$(touch x)/b.yaml")
        found = self.step("Lint", paths="one folder\n\n$(touch x)\n", fail_on="warning", sarif_file="x.sarif")
        self.assertEqual(found.returncode, 1, found.stdout + found.stderr)
        self.assertEqual(
            sorted(one.name for one in self.work.iterdir()), ["$(touch x)", "one folder", "x.sarif"]
        )

    def test_a_mistake_is_a_mistake(self) -> None:
        """A path that is not there is status 2."""
        found = self.step("Lint", paths="absent")
        self.assertEqual(found.returncode, 2)
        self.assertIn("absent", found.stderr)


class ShapeTests(ActionCase):
    def test_no_input_is_pasted_into_a_script(self) -> None:
        """Each goes by a variable of the environment, and no action of others is used."""
        for step in ACTION["runs"]["steps"]:
            self.assertNotIn("${{", step["run"])
            self.assertNotIn("uses", step)
