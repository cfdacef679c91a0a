"""A controller with workers, an API server before it, and a pod behind it: each a process, or several."""

import asyncio
import json
import os
import sys
from pathlib import Path
from time import monotonic
from typing import Any, Final

from bench.cluster.watch.traffic import Client
from bench.setup.processes import free_ports

_TIMEOUT_SECONDS: Final = 90.0
_KIB: Final = 1024


class ClosingPod(asyncio.Protocol):
    """A connection to a pod, which answers one request with its name: of ten thousand pods none is to stay connected."""

    def __init__(self, name: bytes) -> None:
        self._answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n" + name

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer, and end: heads come at once."""
        self._transport.write(self._answer)
        self._transport.close()


class Controller:
    """A controller with so many *workers*, 0 for none, and *count* Ingresses; *folder* is for its log."""

    def __init__(self, folder: Path, count: int, workers: int) -> None:
        self._folder = folder
        self._count = count
        self._workers = workers
        self._children: list[asyncio.subprocess.Process] = []
        self.http = 0
        self.pods: dict[bytes, int] = {}
        """The ports of two, by what they answer."""
        self.seconds = 0.0
        """From its start until it served."""

    async def start(self) -> None:
        """Start everything, and wait until requests are served."""
        loop = asyncio.get_running_loop()
        for name in (b"a", b"b"):
            server = await loop.create_server(lambda name=name: ClosingPod(name), "0.0.0.0", 0)  # type: ignore[misc]
            self.pods[name] = server.sockets[0].getsockname()[1]
        self.http, https, admin = free_ports(3)
        port = self.pods[b"a"]
        api_server = await self._child(
            "bench.cluster.watch.server", f"--count={self._count}", f"--port={port}", "--network=127"
        )
        assert api_server.stdout is not None
        self._api = Client(int(await api_server.stdout.readline()))
        began = monotonic()
        controller = await self._child(
            "bench.cluster.feed.subject",
            "--nodaemon",
            "--pidfile=",
            f"--logfile={self._folder / 'log'}",
            "ingress",
            f"--server=http://127.0.0.1:{self._api.port}",
            "--access-log=/dev/null",
            "--allow-endpoint-networks=127.0.0.0/8",
            f"--http=tcp:{self.http}:interface=127.0.0.1",
            f"--https=tcp:{https}:interface=127.0.0.1",
            f"--admin=tcp:{admin}:interface=127.0.0.1",
            *([f"--workers={self._workers}"] if self._workers else []),
        )
        self._pid = controller.pid
        while not await self._is_ready(admin):
            if monotonic() - began > _TIMEOUT_SECONDS or controller.returncode is not None:
                raise SystemExit(f"bench.cluster.feed: not ready; see {self._folder / 'log'}")
            await asyncio.sleep(0.05)
        self.seconds = monotonic() - began

    async def _is_ready(self, admin: int) -> bool:
        client = Client(admin)
        try:
            status, _ = await client.get("localhost", "/readyz")
        except OSError:
            return False
        finally:
            client.close()
        return status == 200

    async def _child(self, module: str, *arguments: str) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, *arguments, stdout=asyncio.subprocess.PIPE, start_new_session=True
        )
        self._children.append(process)
        return process

    async def stop(self) -> None:
        """End everything."""
        for process in reversed(self._children):
            if process.returncode is None:
                process.terminate()
                await process.wait()
        self._children.clear()

    async def command(self, **command: Any) -> float:
        """Have the API server do something; return when it did."""
        status, answer = await self._api.get("api", "/control", json.dumps(command).encode())
        assert status == 200, answer
        at: float = json.loads(answer)["at"]
        return at

    # Its processes

    @property
    def parent(self) -> int:
        """Its process id."""
        return self._pid

    @property
    def fork_server(self) -> int | None:
        """That of its fork server, where it has workers."""
        found = children(self._pid)
        return found[0] if found else None

    @property
    def workers(self) -> list[int]:
        """Those of its workers; the controller itself where it has none."""
        fork_server = self.fork_server
        return [self._pid] if fork_server is None else children(fork_server)

    async def clients(self) -> dict[int, Client]:
        """Return a connection to each worker."""
        found: dict[int, Client] = {}
        spare: list[Client] = []
        wanted = set(self.workers)
        while wanted - found.keys():
            client = Client(self.http)
            await client.get("nobody.test")
            worker = _owner(client.local_port, self.http, wanted)
            if worker is None or worker in found:
                spare.append(client)
            else:
                found[worker] = client
        for client in spare:
            client.close()
        return found


def children(pid: int) -> list[int]:
    """Return the processes that *pid* has forked."""
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _owner(port: int, listening: int, pids: set[int]) -> int | None:
    """Return which of *pids* has the connection that came from *port*."""
    wanted = (f":{listening:04X}", f":{port:04X}")
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(wanted[0]) and fields[2].endswith(wanted[1]):
            inode = f"socket:[{fields[9]}]"
            for pid in pids:
                for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                    try:
                        if os.readlink(descriptor) == inode:
                            return pid
                    except FileNotFoundError:
                        continue
    return None


def memory_mib(pid: int) -> dict[str, float]:
    """Return the proportional set size of *pid*, and what of its memory nobody else has, in MiB."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    fields = dict(line.split(":", 1) for line in text.splitlines()[1:])
    read = {name: int(value.split()[0]) / _KIB for name, value in fields.items()}
    return {"pss": read["Pss"], "own": read["Private_Dirty"] + read["Private_Clean"]}
