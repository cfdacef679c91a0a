"""``make bench-feed``: what it costs to hand 10,000 Ingresses to workers, in milliseconds, bytes and memory.

Without processes: what is different in a snapshot, made and read.  With them: how long a change takes from the API server to every
worker, beside the same without workers; and the proportional set size of all processes, beside that of one alone.
"""

import argparse
import asyncio
import os
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bench.cluster.feed.cluster import COUNT, Cluster
from bench.cluster.feed.controller import Controller, memory_mib
from bench.cluster.feed.delays import delays, replaced
from bench.cluster.feed.subject import COLLECT, THAW
from bench.cluster.feed.values import costs, sharing
from bench.cluster.watch import objects
from bench.reports.tables import text_table

_REST_SECONDS: Final = 1.0
_WALK_SECONDS: Final = 3.0
MUST: Final = 0.6
AIM: Final = 0.35
MUST_MS: Final = 20.0


def _values(count: int) -> None:
    """Print what pieces cost."""
    rows = [["a change", "pieces", "bytes", "made, ms", "longest", "read, ms", "longest"]]
    cluster = Cluster(count)
    here, there, remembered = sharing(cluster)
    print(
        f"tables {here:.1f} MiB where they are translated, {there:.1f} where they are followed, where {remembered:,} values are remembered"
    )
    for cost in costs(cluster, count):
        times = (cost.making, cost.longest_making, cost.reading, cost.longest_reading)
        rows.append([cost.what, f"{cost.pieces:,}", f"{cost.octets:,}", *(f"{one:.2f}" for one in times)])
    print(text_table(rows), end="\n\n", flush=True)


async def _memory(controller: Controller, count: int) -> dict[str, float]:
    """Return the memory of all processes: after the start, after traffic, and after walks through all that lives."""
    found = {}
    await asyncio.sleep(_REST_SECONDS)
    found["started"] = _total(controller)
    for client in (await controller.clients()).values():
        for index in range(count):
            status, _ = await client.get(objects.HOST.format(index=index))
            if status != 200:
                raise SystemExit(f"bench.cluster.feed: {status} for host {index}")
        client.close()
    await asyncio.sleep(_REST_SECONDS)
    found["each host asked, in each worker"] = _total(controller)
    for what, number in (("garbage collected", COLLECT), ("all that lives walked through", THAW)):
        # The fork server never collects.
        for pid in {controller.parent, *controller.workers}:
            os.kill(pid, number)
        await asyncio.sleep(_WALK_SECONDS)
        found[what] = _total(controller)
    return found


def _total(controller: Controller) -> float:
    fork_server = controller.fork_server
    pids = {controller.parent, *controller.workers, *([] if fork_server is None else [fork_server])}
    parts = {pid: memory_mib(pid) for pid in pids}
    names = {controller.parent: "parent", fork_server: "fork server"}
    told = (
        f"{names.get(pid, 'worker')} {of['pss']:.0f} ({of['own']:.0f} its own)" for pid, of in parts.items()
    )
    print(f"    {', '.join(told)}", flush=True)
    return sum(of["pss"] for of in parts.values())


async def _processes(count: int, workers: int, times: int, what: str) -> dict[str, float]:
    """Print what there is to say of so many workers; return the memory."""
    print(f"{workers or 'no'} workers", flush=True)
    memory: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        controller = Controller(Path(folder), count, workers)
        try:
            await controller.start()
            print(f"    served after {controller.seconds:.1f} s", flush=True)
            if what != "delays":
                memory = await _memory(controller, count)
            if what != "memory":
                rows = [["from the API server to every worker", "p50, ms", "p99, ms", "failed"]]
                for one in await delays(controller, times):
                    rows.append([one.what, f"{one.p50:.1f}", f"{one.p99:.1f}", str(one.failed)])
                print(text_table(rows), flush=True)
                if workers:
                    print(
                        f"    a worker that was killed is replaced within {await replaced(controller):.2f} s"
                    )
        finally:
            await controller.stop()
    print(flush=True)
    return memory


def _shares(alone: Mapping[str, float], by_workers: Mapping[int, Mapping[str, float]]) -> str:
    """Return the memory of workers beside that of one process, and what each worker adds to that."""
    rows = [["memory of all, PSS, MiB", "one process", *(f"{number} workers" for number in by_workers)]]
    for what, one in alone.items():
        cells = []
        for number, memory in by_workers.items():
            share = (memory[what] / one - 1) / number
            cells.append(f"{memory[what]:.0f} = 1 + {share:.2f} N")
        rows.append([what, f"{one:.0f}", *cells])
    return f"{text_table(rows)}\nmust be at most 1 + {MUST} N, aim 1 + {AIM} N; a change at most {MUST_MS:.0f} ms, p99"


async def _run(count: int, numbers: list[int], times: int, what: str) -> None:
    memory = {number: await _processes(count, number, times, what) for number in (0, *numbers)}
    alone = memory.pop(0)
    if alone:
        print(_shares(alone, memory))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.feed", description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="Ingresses")
    parser.add_argument("--workers", default="2,4", help="numbers of workers, separated by commas")
    parser.add_argument("--times", type=int, default=200, help="changes of each sort")
    parser.add_argument("--only", choices=["values", "memory", "delays"], default="", help="one part of it")
    known = parser.parse_args()
    # Whoever ends this ends the processes, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if known.only in ("", "values"):
        _values(known.count)
    if known.only != "values":
        asyncio.run(
            _run(known.count, [int(one) for one in known.workers.split(",")], known.times, known.only)
        )
