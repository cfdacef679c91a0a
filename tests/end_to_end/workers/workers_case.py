"""What tests of several worker processes share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.objects import ingress_object, service_object, slice_object
from tests.fakes.peers.downstreams import DownstreamWire
from tests.fakes.peers.upstreams import Upstream
from tests.fakes.processes import ControllerProcess


def children(pid: int) -> list[int]:
    """Return the processes that *pid* has forked and that still run, or wait to be reaped."""
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def runs(pid: int) -> bool:
    """Whether there is a process *pid*, and it has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def sockets(pid: int) -> int:
    """Return how many sockets the process *pid* has open."""
    names = Path(f"/proc/{pid}/fd").iterdir()
    return sum(os.readlink(name).startswith("socket:") for name in names)


class WorkersCase(EndToEndCase):
    """A controller with two workers, on manifests."""

    def setUp(self) -> None:
        super().setUp()
        self.known: set[int] = set()
        self.shop = self.upstream(b"shop")
        self.serve("shop", self.shop)

    def serve(self, name: str, upstream: Upstream) -> None:
        """Have the host of this name led to *upstream*."""
        objects = [
            service_object(name),
            slice_object(name, upstream.endpoint),
            ingress_object(name, f"{name}.test"),
        ]
        self.write(name, *objects)

    def start_workers(self, *options: str, workers: int = 2) -> ControllerProcess:
        """Start a controller whose workers end with the test, whatever becomes of it."""
        controller = self.start_with_manifests(f"--workers={workers}", *options)
        self.addCleanup(self.end_all)
        self.controller = controller
        return controller

    def end_all(self) -> None:
        """End what is left of the processes that were seen."""
        for pid in self.known:
            if runs(pid):
                os.kill(pid, signal.SIGKILL)

    @property
    def fork_server(self) -> int:
        """The process id of the fork server."""
        (pid,) = children(self.controller.pid)
        self.known.add(pid)
        return pid

    @property
    def workers(self) -> list[int]:
        """The process ids of the workers that run."""
        pids = [pid for pid in children(self.fork_server) if runs(pid)]
        self.known.update(pids)
        return pids

    async def connected(self, count: int) -> list[DownstreamWire]:
        """Return so many connections, of which each has had an answer."""
        found = []
        for _ in range(count):
            client = await self.connect(self.http)
            client.get(b"/", b"shop.test")
            await client.answer()
            found.append(client)
        return found
