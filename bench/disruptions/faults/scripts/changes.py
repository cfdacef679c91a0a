"""What changes under load: shares, endpoints that go, routes that come and go."""

import asyncio
import json
from time import monotonic
from typing import Any

from attrs import evolve

from bench.cluster.watch import objects as large
from bench.cluster.watch.traffic import Client
from bench.disruptions.faults import objects
from bench.disruptions.faults.backends import Peer, Request
from bench.disruptions.faults.fault import OURS, Fault
from bench.disruptions.faults.load import Load
from bench.disruptions.faults.stage import Stage
from bench.disruptions.faults.visitors import ask, get
from bench.setup.errors import BenchError

_SHARED_REQUESTS = 10_000
_UNEVEN_PERCENT = 5.0
_SLOW_ANSWER_SECONDS = 2.5
_LEAVE_SECONDS = 1.0
_CHURN_COUNT = 1000
_CHURN_RATE = 500
_CHURN_SECONDS = 10.0
_START_SECONDS = 30.0


async def shares(stage: Stage) -> None:
    """10,000 requests are shared by three endpoints."""
    pods = await stage.pods(3)
    proxy = await stage.proxy(*(pod.port for pod in pods))
    tally = await Load(proxy.http, bodies=[pod.body for pod in pods]).send(_SHARED_REQUESTS)
    even = _SHARED_REQUESTS / len(pods)
    found = [tally.shares[pod.body] for pod in pods]
    stage.checks.none("failed", tally.bad)
    stage.checks.note("shares", ", ".join(map(str, found)))
    stage.checks.at_most(
        "off even by", max(abs(one - even) for one in found) / even * 100, _UNEVEN_PERCENT, "%"
    )


async def removed(stage: Stage) -> None:
    """One of three endpoints is taken out of its EndpointSlice under load, while it still answers slow requests."""

    async def answer(request: Request, peer: Peer) -> None:
        if request.target == b"/slow":
            await asyncio.sleep(_SLOW_ANSWER_SECONDS)
        await peer.answer(b"ok")

    backends = [await stage.backend(answer) for _ in range(3)]
    proxy = await stage.proxy(*(backend.port for backend in backends))
    load = Load(proxy.http, rate=500)
    load.start()
    await asyncio.sleep(0.5)
    slow = [asyncio.create_task(ask(proxy.http, get("/slow"))) for _ in range(9)]
    await asyncio.sleep(0.2)
    leaving = backends[0]
    running = sum(request.target == b"/slow" for request in leaving.seen)
    proxy.site.write(objects.one_service(backend.port for backend in backends[1:]))
    event = monotonic()
    await asyncio.sleep(3)
    tally = await load.stop()
    told = await asyncio.gather(*slow)
    late = sum(request.at > event + _LEAVE_SECONDS for request in leaving.seen)
    last = max(request.at for request in leaving.seen) - event
    stage.checks.note("requests", tally.sent)
    stage.checks.none("failed", tally.bad)
    stage.checks.none("new requests 1 s after the event", late)
    stage.checks.note("last one after", last, "s")
    stage.checks.holds("slow requests were running there", running > 0)
    stage.checks.none("slow requests that did not finish", sum(one.status != 200 for one in told))


async def route_churn(stage: Stage) -> None:
    """An API server changes 500 Ingresses a second for 10 s, under load on hosts that do not change."""
    pods = await stage.pods(2)
    server = stage.spawn(
        "apiserver",
        [
            stage.python,
            "-u",
            "-m",
            "bench.cluster.watch.server",
            f"--count={_CHURN_COUNT}",
            f"--port={pods[0].port}",
        ],
        stage.load_cpu,
    )
    deadline = monotonic() + _START_SECONDS
    while not (said := server.log.read_text().strip()).isdigit():
        server.check()
        if monotonic() > deadline:
            raise BenchError(f"the API server does not start; see {server.log}")
        await asyncio.sleep(0.05)
    site = stage.site()
    proxy = await stage.start(
        evolve(site, source=(f"--server=http://127.0.0.1:{said}", "--allow-endpoint-networks=127.0.0.0/8"))
    )
    control = Client(int(said))
    # The hosts of one half are served by one pod, those of the other half by the other.
    hosts = [large.HOST.format(index=index) for index in range(1, large.LIVE_HOSTS)]
    for index in range(large.LIVE_HOSTS // 2, large.LIVE_HOSTS):
        await _command(control, do="slice", index=index, port=pods[1].port)
    await _until_body(proxy.http, hosts[-1], pods[1].body)
    loads = []
    for number, host in enumerate((hosts[0], hosts[3], hosts[-1], hosts[-3])):
        body = pods[number // 2].body
        request = f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
        loads.append(Load(proxy.http, connections=4, rate=150, request=request, bodies=[body]))
    for load in loads:
        load.start()
    told = await _command(control, do="updates", rate=_CHURN_RATE, seconds=_CHURN_SECONDS, path="/last")
    while (await ask(proxy.http, get("/last", host=large.HOST.format(index=0)))).status != 200:
        if monotonic() - told["at"] > _START_SECONDS:
            break
        await asyncio.sleep(0.01)
    live = monotonic() - told["at"]
    tallies = [await load.stop() for load in loads]
    control.close()
    latencies = sorted(latency for tally in tallies for latency in tally.latencies)
    stage.checks.note("requests", sum(tally.sent for tally in tallies))
    stage.checks.none("failed or answered by the wrong backend", sum(tally.bad for tally in tallies))
    stage.checks.at_most("last change live after", live, 1.0, "s")
    stage.checks.note("p99", latencies[int(len(latencies) * 0.99)] * 1000 if latencies else "-", "ms")


async def _command(control: Client, **command: Any) -> dict[str, Any]:
    status, answer = await control.get("api", "/control", json.dumps(command).encode())
    if status != 200:
        raise BenchError(f"the API server answered {command} with {status}")
    told: dict[str, Any] = json.loads(answer)
    return told


async def _until_body(port: int, host: str, body: bytes) -> None:
    deadline = monotonic() + _START_SECONDS
    while (await ask(port, get(host=host))).body != body:
        if monotonic() > deadline:
            raise BenchError(f"{host} is never served by the pod that it was given")
        await asyncio.sleep(0.02)


FAULTS = (
    Fault("shares", "within 5 % of even", shares),
    Fault("removed", "no new request 1 s after; running ones finish", removed, OURS),
    Fault("route-churn", "0 failed or wrong; live within 1 s", route_churn, OURS),
)
