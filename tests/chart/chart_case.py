"""What tests of the chart share: a ``helm`` that renders it, and objects without what is Helm's own."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from tests.k8s_case import CHART, objects

IMAGE = {"image": {"repository": "registry.example.com/txingress"}}
NOTES = "NOTES:"


def helm_program() -> str:
    """The ``helm`` that ``TXINGRESS_TEST_HELM`` names, or that on the path."""
    program = os.environ.get("TXINGRESS_TEST_HELM") or shutil.which("helm")
    if program is None:
        raise SkipTest("helm is not installed; make test-helm does that")
    return program


@cache
def helm(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """What came of a command of it that asks no cluster, and reads *text*; the same one is run once."""
    # Nobody's repositories, plugins and cluster.
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "KUBECONFIG": "/nonexistent"}
    command = [helm_program(), *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, env=environment, timeout=60)


def with_image(values: Mapping[str, Any]) -> str:
    """A file with *values*, and an image."""
    return yaml.safe_dump({**IMAGE, **values})


class ChartTestCase(SynchronousTestCase):
    """A test that renders the chart."""

    release = "txingress"
    namespace = "txingress"

    def template(self, values: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        """What ``helm template`` said of *values*."""
        return helm(
            "template", self.release, str(CHART), f"--namespace={self.namespace}", "--kube-version=1.32.0", "--values=-",
            text=with_image(values),
        )  # fmt: skip

    def rendered(self, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The objects that become of *values*."""
        done = self.template(values)
        self.assertEqual(done.returncode, 0, done.stderr)
        return objects(done.stdout)

    def refused(self, values: Mapping[str, Any]) -> str:
        """What is said where *values* make the render fail."""
        done = self.template(values)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def notes(self, values: Mapping[str, Any]) -> str:
        """What whoever installs it reads."""
        done = helm(
            "install", self.release, str(CHART), f"--namespace={self.namespace}", "--dry-run=client", "--values=-",
            text=with_image(values),
        )  # fmt: skip
        if "cluster unreachable" in done.stderr:
            raise SkipTest("helm 3 asks a cluster for its version, also in a dry run")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.partition(NOTES)[2]

    def only(self, found: list[dict[str, Any]], kind: str, name: str | None = None) -> dict[str, Any]:
        """The one object of *kind*, by its *name* if there are several."""
        (one,) = (one for one in found if one["kind"] == kind and name in (None, one["metadata"]["name"]))
        return one
