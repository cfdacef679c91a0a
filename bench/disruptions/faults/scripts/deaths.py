"""Backends that die, come back, or cannot be reached."""

import asyncio
from time import monotonic

from bench.disruptions.faults.fault import OURS, Fault
from bench.disruptions.faults.load import Load
from bench.disruptions.faults.stage import Pod, Stage
from bench.disruptions.faults.visitors import ask, get

_BACK_SECONDS = 12.0
_DOWN_ANSWER_MS = 100.0
_RECOVERY_SECONDS = 1.0
_CONNECT_SECONDS = 5.0
_KNOWN_HOLE_SECONDS = 1.0


async def killed(stage: Stage) -> None:
    """One of three backends is killed (SIGKILL) under load, and started again 2 s later."""
    pods = await stage.pods(3)
    proxy = await stage.proxy(*(pod.port for pod in pods))
    load = Load(proxy.http, bodies=[pod.body for pod in pods])
    load.start()
    await asyncio.sleep(2)
    pods[1].kill()
    await asyncio.sleep(2)
    await pods[1].start()
    back = await _until_it_answers(load, pods[1])
    await asyncio.sleep(0.5)
    tally = await load.stop()
    stage.checks.note("requests", tally.sent)
    _check_failures(stage, load)
    stage.checks.at_most("back in rotation after", back, _BACK_SECONDS, "s")


async def rolling(stage: Stage) -> None:
    """Each of three backends in turn is killed (SIGKILL) under load, and started again half a second later."""
    pods = await stage.pods(3)
    proxy = await stage.proxy(*(pod.port for pod in pods))
    load = Load(proxy.http, bodies=[pod.body for pod in pods])
    load.start()
    for pod in pods:
        await asyncio.sleep(0.5)
        pod.kill()
        await asyncio.sleep(0.5)
        await pod.start()
    await asyncio.sleep(0.5)
    tally = await load.stop()
    stage.checks.note("requests", tally.sent)
    _check_failures(stage, load)


async def replaced(stage: Stage) -> None:
    """All three pods are replaced under load as Kubernetes does it: the new one is ready, the old one leaves its slice, then gets SIGTERM."""
    from bench.disruptions.faults import objects

    old, new = (pods := await stage.pods(6))[:3], pods[3:]
    proxy = await stage.proxy(*(pod.port for pod in old))
    load = Load(proxy.http, bodies=[pod.body for pod in pods])
    load.start()
    current = list(old)
    for leaving, coming in zip(old, new, strict=True):
        await asyncio.sleep(0.3)
        current = [pod for pod in current if pod is not leaving] + [coming]
        proxy.site.write(objects.one_service(pod.port for pod in current))
        await asyncio.sleep(1.0)
        leaving.terminate()
    await asyncio.sleep(1.0)
    tally = await load.stop()
    stage.checks.note("requests", tally.sent)
    _check_failures(stage, load)
    stage.checks.none("new pods without requests", sum(pod.body not in tally.moments for pod in new))


async def down(stage: Stage) -> None:
    """Both backends are dead; then one comes back."""
    pods = await stage.pods(2)
    proxy = await stage.proxy(*(pod.port for pod in pods))
    await Load(proxy.http, connections=4).send(40)
    for pod in pods:
        pod.kill()
    await asyncio.sleep(0.2)
    told = [await ask(proxy.http, get()) for _ in range(10)]
    told += await asyncio.gather(*(ask(proxy.http, get()) for _ in range(20)))
    wrong = sum(one.status not in (502, 503) for one in told)
    stage.checks.none("answers other than 502 or 503", wrong)
    slowest = max(one.seconds for one in told[:10])
    stage.checks.at_most("slowest of ten", slowest * 1000, _DOWN_ANSWER_MS, "ms")
    await pods[0].start()
    began = monotonic()
    while (await ask(proxy.http, get())).status != 200 and monotonic() - began < _BACK_SECONDS:
        await asyncio.sleep(0.02)
    stage.checks.at_most("recovered after", monotonic() - began, _RECOVERY_SECONDS, "s")


async def black_hole(stage: Stage) -> None:
    """The only endpoint is a black hole: no connect to it ends."""
    proxy = await stage.proxy(stage.black_hole())
    before = proxy.open_files()
    asking = [asyncio.create_task(ask(proxy.http, get())) for _ in range(20)]
    await asyncio.sleep(2)
    during = proxy.open_files()
    told = await asyncio.gather(*asking)
    stage.checks.none("answers other than 504", sum(one.status not in (503, 504) for one in told))
    took = [one.seconds for one in told]
    stage.checks.between("first after", min(took), _CONNECT_SECONDS - 1, _CONNECT_SECONDS + 1.5, "s")
    stage.checks.between("last after", max(took), _CONNECT_SECONDS - 1, _CONNECT_SECONDS + 1.5, "s")
    stage.checks.at_most("sockets for each request", (during - before) / len(told), 2)
    await asyncio.sleep(1)
    stage.checks.at_most("descriptors left", proxy.open_files() - before, 2)


async def black_hole_beside(stage: Stage) -> None:
    """One of three endpoints is a black hole; the other two work."""
    pods = await stage.pods(2)
    proxy = await stage.proxy(stage.black_hole(), *(pod.port for pod in pods))
    bodies = [pod.body for pod in pods]
    load = Load(proxy.http, rate=200, bodies=bodies)
    tally = await load.run(_CONNECT_SECONDS + 1)
    stage.checks.note("requests", tally.sent)
    _check_failures(stage, load)
    stage.checks.note("slowest", max(tally.latencies, default=0.0), "s")
    # By now each client has met the hole once, and the proxy knows it.
    load = Load(proxy.http, rate=200, bodies=bodies)
    tally = await load.run(4)
    stage.checks.note("then, requests", tally.sent)
    _check_failures(stage, load)
    stage.checks.at_most("slowest", max(tally.latencies, default=float("inf")), _KNOWN_HOLE_SECONDS, "s")


async def no_endpoints(stage: Stage) -> None:
    """A Service has no endpoint, only one that is not ready, or one that is terminating but still serves."""
    from bench.disruptions.faults import objects

    (pod, other) = await stage.pods(2)
    site = stage.site()
    written = []
    for name in ("none", "unready", "leaving", "both"):
        written += [objects.ingress(name, f"{name}.test", name), objects.service(name)]
    leaving = {"ready": False, "serving": True, "terminating": True}
    written += [
        objects.endpoint_slice("unready-1", "unready", pod.port, ready=False, serving=False),
        objects.endpoint_slice("leaving-1", "leaving", pod.port, **leaving),
        objects.endpoint_slice("both-1", "both", pod.port, **leaving),
        objects.endpoint_slice("both-2", "both", other.port),
    ]
    site.write(written)
    proxy = await stage.start(site)
    for name in ("none", "unready"):
        told = await ask(proxy.http, get(host=f"{name}.test"))
        stage.checks.equal(f"status with endpoint {name}", told.status, 503)
        stage.checks.at_most("after", told.seconds * 1000, _DOWN_ANSWER_MS, "ms")
    told = await ask(proxy.http, get(host="leaving.test"))
    stage.checks.equal("with only a terminating one", told.status, 200)
    bodies = {(await ask(proxy.http, get(host="both.test"))).body for _ in range(10)}
    stage.checks.holds("a terminating one beside a ready one gets nothing", bodies == {other.body})


def _check_failures(stage: Stage, load: Load) -> None:
    stage.checks.none("failed", load.tally.bad)
    if load.tally.bad:
        stage.checks.note("namely", load.tally.reasons())


async def _until_it_answers(load: Load, pod: Pod) -> float:
    """Return after how many seconds *pod*, which has just started, gave its first answer."""
    began = monotonic()
    while load.tally.last_from(pod.body) < began and monotonic() - began < _BACK_SECONDS + 1:
        await asyncio.sleep(0.02)
    return monotonic() - began


FAULTS = (
    Fault("killed", "0 failed; back within 12 s", killed),
    Fault("rolling", "0 failed", rolling),
    Fault("replaced", "0 failed", replaced, OURS),
    Fault("down", "502 or 503 within 100 ms; recovery within 1 s", down),
    Fault("black-hole", "504 after 5 s; sockets bounded", black_hole),
    Fault("black-hole-beside", "0 failed; after 6 s nobody waits for it", black_hole_beside),
    Fault("no-endpoints", "503 at once; terminating only if nothing else", no_endpoints, OURS),
)
