"""How long a change of the cluster takes to every worker, and a worker to be replaced."""

import asyncio
import os
import signal
from time import monotonic
from typing import Final

from attrs import frozen

from bench.cluster.feed.controller import Controller
from bench.cluster.watch import objects
from bench.cluster.watch.traffic import Client, Load, quantile

_TIMEOUT_SECONDS: Final = 20.0
_PAUSE_SECONDS: Final = 0.005
_BETWEEN_LOOKS: Final = 0.0005
_HOST: Final = objects.LIVE_HOSTS - 1
"""That whose endpoint changes; the first one is that of the Ingress that does, and the load goes to those between."""
LOAD_RATE: Final = 400
"""Requests a second, where there are some beside."""


@frozen
class Delay:
    """From the byte of the API server to the first request that each worker answers by it, in milliseconds."""

    what: str
    p50: float
    p99: float
    failed: int


async def delays(controller: Controller, times: int) -> list[Delay]:
    """Measure changes of endpoints and of Ingresses, at rest and under load."""
    clients = list((await controller.clients()).values())
    found = []
    for load in (0, LOAD_RATE):
        suffix = f", {load} requests/s beside" if load else ""
        hosts = tuple(objects.HOST.format(index=index) for index in range(1, _HOST))
        beside = Load(controller.http, hosts, load or 1)
        running = asyncio.create_task(beside.run()) if load else None
        endpoints = [await _endpoint(controller, clients, number) for number in range(times)]
        routes = [await _route(controller, clients, f"/live-{load}-{number}") for number in range(times)]
        beside.is_over = True
        if running is not None:
            await running
        for what, some in (("endpoint", endpoints), ("Ingress", routes)):
            p50, p99 = quantile(some, 0.5) * 1000, quantile(some, 0.99) * 1000
            found.append(Delay(f"{what}{suffix}", p50, p99, beside.failed))
    for client in clients:
        client.close()
    return found


async def _endpoint(controller: Controller, clients: list[Client], number: int) -> float:
    name = (b"b", b"a")[number % 2]
    at = await controller.command(do="slice", index=_HOST, port=controller.pods[name])
    return await _longest(clients, _HOST, "/", (200, name), at)


async def _route(controller: Controller, clients: list[Client], path: str) -> float:
    at = await controller.command(do="route", index=0, path=path)
    return await _longest(clients, 0, path, (200, b"a"), at)


async def _longest(
    clients: list[Client], index: int, path: str, wanted: tuple[int, bytes], at: float
) -> float:
    """Return how long after *at* the last of the workers answered as *wanted*."""
    host = objects.HOST.format(index=index)

    async def live(client: Client) -> float:
        while True:
            began = monotonic()
            if await client.get(host, path) == wanted:
                return began - at
            if began - at > _TIMEOUT_SECONDS:
                raise SystemExit(f"bench.cluster.feed: {host}{path} never came to life")
            await asyncio.sleep(_BETWEEN_LOOKS)

    longest = max(await asyncio.gather(*map(live, clients)))
    await asyncio.sleep(_PAUSE_SECONDS)
    return longest


async def replaced(controller: Controller) -> float:
    """Kill a worker; return how many seconds later there is another one that has answered a request."""
    before = set(controller.workers)
    os.kill(min(before), signal.SIGKILL)
    began = monotonic()
    while set(controller.workers) <= before:
        await asyncio.sleep(0.001)
    clients = await controller.clients()
    seconds = monotonic() - began
    for client in clients.values():
        client.close()
    return seconds
