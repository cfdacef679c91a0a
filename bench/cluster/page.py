"""``python -m bench.cluster.page``: what the page of the admin port costs with nobody, one and twenty who look.

A controller reads 10,000 Ingresses from manifests, answers a request for each, and some a second from then on.  Then the processor
time that it takes is read over some seconds, with 0, 1 and 20 connections to the stream, and once more with a viewer whose page
reads all routes.  Printed are shares of one processor; what counts is how much more it is than with nobody.
"""

import argparse
import asyncio
import contextlib
import json
import random
import sys
import tempfile
from pathlib import Path
from time import monotonic
from typing import Final

from bench.cluster.admin import manifests
from bench.cluster.watch.__main__ import Child
from bench.cluster.watch.traffic import Client, start_pod
from bench.setup.ending import status_of
from bench.setup.processes import free_ports

VIEWERS: Final = (0, 1, 20)
BOUND_PERCENT: Final = 1.0
_HOST: Final = "h{index}.bench.test"
_START_SECONDS: Final = 180.0


def processor_seconds(pid: int) -> float:
    """Return the processor time that the threads of a process have had."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text("ascii").split()[0]) for task in tasks) / 1e9


class Viewer:
    """Reads the stream, and throws it away."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.octets = 0
        self._reading = asyncio.ensure_future(self._read(reader))

    @classmethod
    async def begin(cls, port: int) -> "Viewer":
        """Return one whose stream has begun."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head, head
        return cls(reader, writer)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(ConnectionError):
            while some := await reader.read(65536):
                self.octets += len(some)

    def end(self) -> None:
        """Leave."""
        self._writer.close()


async def all_pages(port: int, name: str) -> int:
    """Read a list as the page does; return how many bytes that were."""
    size = 0
    after: str | None = ""
    while after is not None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        query = f"limit=500{f'&after={after}' if after else ''}"
        writer.write(f"GET /api/v1/{name}?{query} HTTP/1.0\r\n\r\n".encode())
        _, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
        writer.close()
        size += len(body)
        after = json.loads(body)["next"]
    return size


async def _ask(client: Client, count: int, per_second: float) -> None:
    while True:
        await client.get(_HOST.format(index=random.randrange(count)))
        await asyncio.sleep(1 / per_second)


async def _share(pid: int, seconds: float) -> float:
    began, before = monotonic(), processor_seconds(pid)
    await asyncio.sleep(seconds)
    return 100 * (processor_seconds(pid) - before) / (monotonic() - began)


async def _measure(controller: Child, admin: int, count: int, seconds: float, per_second: float) -> bool:
    pid = controller.pid
    print(f"{count} routes, {per_second:g} requests a second, {seconds:g} s each; % of one processor")
    print(f"{'viewers':>8} {'controller':>11} {'more than without':>18} {'bytes/s to each':>16}")
    alone, is_good = 0.0, True
    for viewers in VIEWERS:
        those = [await Viewer.begin(admin) for _ in range(viewers)]
        # What is told at first is no matter of each second.
        await asyncio.sleep(5)
        before = sum(one.octets for one in those)
        share = await _share(pid, seconds)
        alone = alone if viewers else share
        each = (sum(one.octets for one in those) - before) / seconds / max(1, viewers)
        print(f"{viewers:8} {share:9.2f} % {share - alone:16.2f} % {each:16.0f}")
        is_good = is_good and (viewers != 1 or share - alone <= BOUND_PERCENT)
        for one in those:
            one.end()
        await asyncio.sleep(1)
    before_seconds = processor_seconds(pid)
    sizes = [await all_pages(admin, name) for name in ("routes", "certificates", "problems")]
    spent = processor_seconds(pid) - before_seconds
    print(f"opening the page, once: {sum(sizes) / 1e6:.1f} MB of lists in {spent:.2f} s of processor time")
    return is_good


async def _run(count: int, seconds: float, per_second: float, folder: Path) -> bool:
    pod = await start_pod(b"a")
    (folder / "manifests").mkdir()
    text = "\n---\n".join(map(json.dumps, manifests(count)))
    (folder / "manifests" / "all.yaml").write_text(text, encoding="utf-8")
    http, https, admin = free_ports(3)
    options = {"http": http, "https": https, "admin": admin}
    controller = await Child.start(
        1,
        "bench.cluster.watch.subject",
        "plain",
        str(folder / "log"),
        f"--manifests={folder / 'manifests'}",
        f"--endpoint=*=127.0.0.1:{pod}",
        "--access-log=/dev/null",
        *(f"--{name}=tcp:{number}:interface=127.0.0.1" for name, number in options.items()),
    )
    asking: asyncio.Future[None] | None = None
    try:
        deadline = monotonic() + _START_SECONDS
        while (await controller.report("look"))["ready"] is None:
            if monotonic() > deadline:
                raise SystemExit(f"bench.cluster.page: not ready; see {folder / 'log'}")
            await asyncio.sleep(0.2)
        client = Client(http)
        for index in range(count):
            status, _ = await client.get(_HOST.format(index=index))
            assert status == 200, status
        asking = asyncio.ensure_future(_ask(client, count, per_second))
        return await _measure(controller, admin, count, seconds, per_second)
    finally:
        if asking is not None:
            asking.cancel()
        await controller.stop()


def main() -> None:
    """Measure and print; status 1 when one viewer costs more than ``BOUND_PERCENT``."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.page", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="Ingresses")
    parser.add_argument(
        "--seconds", type=float, default=30.0, help="for how long to look at each number of viewers"
    )
    parser.add_argument("--per-second", type=float, default=20.0, help="requests")
    known = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="txingress-page-") as folder:
        is_good = asyncio.run(_run(known.count, known.seconds, known.per_second, Path(folder)))
    raise SystemExit(0 if is_good else f"bench.cluster.page: one viewer costs more than {BOUND_PERCENT:g} %")


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
