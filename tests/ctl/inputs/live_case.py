"""A case that reads a cluster: the tests' API server, over HTTP on loopback, with objects and rights."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from attrs import evolve
from click.testing import CliRunner, Result

from ingress.ctl.inputs.input import Input
from ingress.ctl.inputs.live.live_cluster import LiveCluster
from ingress.ctl.inputs.live.reading import read_live
from ingress.ctl.main import commands
from ingress.options.option import DEFAULTS
from tests.cluster.api_server_case import ApiServerTestCase, in_thread
from tests.ctl.ctl_case import usual_terminal
from tests.fakes.apiserver.access import Grant

NOW = datetime.now(UTC)
KINDS = {
    "": ("services", "namespaces"),
    "networking.k8s.io": ("ingresses", "ingressclasses"),
    "discovery.k8s.io": ("endpointslices",),
}


def grant(group: str, resource: str, *verbs: str, namespace: str | None = None, names: Any = ()) -> Grant:
    """A right to *verbs*, in all namespaces unless one is named."""
    rule = {"apiGroups": [group], "resources": [resource], "verbs": list(verbs), "resourceNames": list(names)}
    return Grant(rule, namespace)


def lists(*besides: str, namespace: str | None = None) -> tuple[Grant, ...]:
    """The rights to list all kinds but *besides*, in all namespaces unless one is named."""
    return tuple(
        grant(group, resource, "list", namespace=namespace)
        for group, resources in KINDS.items()
        for resource in resources
        if resource not in besides
    )


class LiveCase(ApiServerTestCase):
    """Reads the cluster of ``self.server``; what waits is noted in ``waited`` and not waited for."""

    def setUp(self) -> Any:
        usual_terminal(self)
        self.waited: list[float] = []
        self.clock: Callable[[], float] = lambda: 0.0
        self.silence_seconds = 10.0
        return super().setUp()

    def permit(self, *grants: Grant) -> None:
        """Leave the person these rights alone."""
        self.server.access.tokens = {self.server.token or "": grants}

    async def read(self, **asked: Any) -> Input:
        """Read the cluster as *asked*; a ``Mistake`` is raised as it is."""
        cluster = evolve(LiveCluster(kubeconfig=str(self.kubeconfig)), **asked)
        return await in_thread(
            lambda: read_live(
                cluster,
                DEFAULTS,
                NOW,
                environ={},
                clock=self.clock,
                sleep=self.waited.append,
                silence_seconds=self.silence_seconds,
            )
        )

    async def run_command(self, *arguments: str) -> Result:
        """Run ``ingressctl`` with *arguments* and the kubeconfig."""
        line = [*arguments, "--kubeconfig", str(self.kubeconfig)]
        return await in_thread(lambda: CliRunner().invoke(commands, line, prog_name="ingressctl"))
