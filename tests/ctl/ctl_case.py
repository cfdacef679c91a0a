"""A case that runs ``ingressctl`` in this process, with manifests of its own."""

import os
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

from click.testing import CliRunner, Result
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.main import commands

INGRESS = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations: {{{annotations}}}
spec:
  ingressClassName: nginx
  rules:
    - host: shop.example.com
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: {{service: {{name: web, port: {{number: 80}}}}}}
"""


def ingress(**annotations: str) -> str:
    """An Ingress with *annotations*, named with ``_`` for ``-`` and without prefix."""
    written = ", ".join(
        f'"nginx.ingress.kubernetes.io/{name.replace("_", "-")}": "{value}"'
        for name, value in annotations.items()
    )
    return INGRESS.format(annotations=written)


def usual_terminal(case: SynchronousTestCase) -> None:
    """Let commands of *case* find the same terminal in the environment, whatever the one is at which tests are run."""
    surroundings = patch.dict(os.environ, COLUMNS="100", TERM="xterm")
    surroundings.start()
    case.addCleanup(surroundings.stop)
    os.environ.pop("NO_COLOR", None)


class CtlCase(SynchronousTestCase):
    """Runs commands; *manifest* puts texts into files of a folder that goes with the test."""

    def setUp(self) -> None:
        usual_terminal(self)
        self.folder = Path(self.mktemp())
        self.folder.mkdir(parents=True)

    def manifest(self, text: str, name: str = "objects.yaml") -> str:
        """Write *text* to the file *name* of the test's folder; return its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return str(path)

    def run_command(
        self, *arguments: str, given: str | bytes | None = None, env: Mapping[str, str] | None = None
    ) -> Result:
        """Run ``ingressctl`` with *arguments*, *given* on standard input, and *env* besides the environment that there is.

        An exception of ours fails the test.
        """
        result = CliRunner().invoke(commands, list(arguments), input=given, env=env, prog_name="ingressctl")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result
