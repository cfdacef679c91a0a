"""The hook for pre-commit: what it would run."""

import shlex
from contextlib import chdir
from pathlib import Path

import yaml

from tests.ctl.ctl_case import CtlCase, ingress

HOOKS = Path(__file__).resolve().parent.parent.parent / ".pre-commit-hooks.yaml"


class HookTests(CtlCase):
    def test_it_lints_the_whole_repository(self) -> None:
        """Its entry is the command, which fails by an error and by nothing less; other YAML of a repository is no fault."""
        (hook,) = yaml.safe_load(HOOKS.read_text("utf-8"))
        program, *arguments = shlex.split(hook["entry"]) + hook["args"]
        self.assertEqual((program, hook["language"], hook["pass_filenames"]), ("ingressctl", "python", False))
        self.manifest("on: push\njobs: {}\n", ".github/workflows/ci.yml")
        self.manifest("services: {web: {image: nginx}}\n", "compose.yaml")
        self.manifest("repos: []\n", ".pre-commit-config.yaml")
        self.manifest(ingress(nonsense="1"), "deploy/web.yaml")
        with chdir(self.folder):
            self.assertEqual(self.run_command(*arguments).exit_code, 0)
            self.manifest(ingress(proxy_read_timeout="soon"), "deploy/web.yaml")
            self.assertEqual(self.run_command(*arguments).exit_code, 1)
