"""The long one: half load for minutes or an hour, with routes and endpoints that come and go."""

import asyncio
import os
from time import monotonic

from bench.disruptions.faults import gauges, objects
from bench.disruptions.faults.fault import OURS, Fault
from bench.disruptions.faults.load import Load
from bench.disruptions.faults.stage import Pod, Stage
from bench.disruptions.faults.trend import growth, slope

SECONDS_VARIABLE = "SOAK_SECONDS"
DEFAULT_SECONDS = 300.0
_WARM_UP_SHARE = 0.2
_WARM_UP_SECONDS = 60.0
_SAMPLE_SECONDS = 1.0
_CHURN_SECONDS = 2.0
_CHURNED_ROUTES = 100
_NEW_ROUTES = 10
_HALF = 0.5
MIB_PER_MINUTE = 1.0


def _churned(pods: list[Pod], step: int) -> list[objects.Object]:
    """All objects at a *step*: two of three pods in turn, and a hundred routes of which some are new each time."""
    leaving = pods[step % len(pods)]
    made = objects.one_service(pod.port for pod in pods if pod is not leaving)
    for number in range(_CHURNED_ROUTES):
        name = f"churned-{step * _NEW_ROUTES + number}"
        made.append(objects.ingress(name, f"{name}.test", "pods"))
    return made


async def soak(stage: Stage) -> None:
    """Half of the load that the client can make the proxy take, for SOAK_SECONDS, while endpoints and 10 of 100 routes change every 2 s."""
    seconds = float(os.environ.get(SECONDS_VARIABLE, DEFAULT_SECONDS))
    warm_up = min(_WARM_UP_SECONDS, seconds * _WARM_UP_SHARE)
    pods = await stage.pods(3)
    site = stage.site()
    site.write(_churned(pods, 0))
    proxy = await stage.start(site)
    bodies = [pod.body for pod in pods]
    full = await Load(proxy.http, bodies=bodies).run(3)
    rate = full.sent / 3 * _HALF
    load = Load(proxy.http, rate=rate, bodies=bodies, keeps_latencies=False)
    load.start()
    began = monotonic()
    times: list[float] = []
    resident: list[float] = []
    files: list[int] = []
    threads: list[int] = []
    changes = 0
    while (elapsed := monotonic() - began) < seconds:
        if elapsed >= (changes + 1) * _CHURN_SECONDS:
            changes += 1
            site.write(_churned(pods, changes))
        if elapsed > warm_up:
            times.append(elapsed / 60)
            resident.append(proxy.resident_kib() / 1024)
            files.append(proxy.open_files())
            threads.append(gauges.threads(proxy.pid))
        await asyncio.sleep(_SAMPLE_SECONDS)
    tally = await load.stop()
    stage.checks.note("seconds", seconds)
    stage.checks.note("requests", tally.sent)
    stage.checks.note("a second", tally.sent / seconds)
    stage.checks.none("failed", tally.bad)
    if tally.bad:
        stage.checks.note("namely", tally.reasons())
    stage.checks.at_most("memory grows by", slope(times, resident), MIB_PER_MINUTE, "MiB/min")
    stage.checks.note("to", resident[-1] if resident else 0, "MiB")
    stage.checks.at_most("descriptors grew by", growth(files), 0)
    stage.checks.at_most("threads grew by", growth(threads), 0)


FAULTS = (Fault("soak", "memory under 1 MiB/min; descriptors, threads flat", soak, OURS),)
