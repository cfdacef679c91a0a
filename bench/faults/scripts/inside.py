"""What goes wrong inside of the proxy, and what objects must not make it do."""

import asyncio

from attrs import evolve

from bench.faults import objects
from bench.faults.backends import Peer, Request
from bench.faults.fault import OURS, Fault
from bench.faults.load import Load
from bench.faults.stage import Stage
from bench.faults.subject import BUG
from bench.faults.visitors import Visitor, ask, get

_INNER_NAMES = (
    "localhost",
    "localhost.",
    "127.0.0.1",
    "127.8.8.8",
    "0.0.0.0",
    "127.1",
    "2130706433",
    "0x7f000001",
    "169.254.169.254",
    "::1",
    "::ffff:127.0.0.1",
    "fe80::1",
)


async def exception(stage: Stage) -> None:
    """A bug is planted in the proxy: one request raises an exception, while others run."""

    async def answer(request: Request, peer: Peer) -> None:
        if request.target == b"/slow":
            await asyncio.sleep(1)
        await peer.answer(b"ok")

    stage.tracebacks_allowed = 1
    backend = await stage.backend(answer)
    proxy = await stage.proxy(backend.port, plants_bug=True)
    load = Load(proxy.http, connections=5, rate=200)
    load.start()
    slow = asyncio.create_task(ask(proxy.http, get("/slow")))
    await asyncio.sleep(0.3)
    visitor = await Visitor.arrive(proxy.http)
    told = await visitor.ask(get("/bug"), 5)
    stage.checks.holds(f"answered {told.status} (500 or 502)", told.status in (500, 502))
    stage.checks.holds("its connection is closed", await visitor.is_left())
    stage.checks.equal("status of another one that was running", (await slow).status, 200)
    await asyncio.sleep(0.3)
    tally = await load.stop()
    stage.checks.none("others that failed", tally.bad)
    log = proxy.running.log.read_text(errors="replace")
    logged = log.count(f"RuntimeError: {BUG}")
    stage.checks.equal("times logged", logged, 1)
    stage.checks.equal("status afterwards", (await ask(proxy.http, get())).status, 200)


async def external_names(stage: Stage) -> None:
    """Services of type ExternalName name this machine in many ways, and the address of cloud metadata."""

    async def trap(request: Request, peer: Peer) -> None:
        await peer.answer(b"trapped")

    backend = await stage.backend(trap)
    for options in ((), ("--allow-external-name",)):
        site = evolve(stage.site(), options=options)
        written = []
        for number, target in enumerate(_INNER_NAMES):
            name = f"e{number}"
            written += [
                objects.ingress(name, f"{name}.test", name),
                objects.external_name(name, target, backend.port),
            ]
        written += [
            objects.ingress("admin", "admin.test", "admin"),
            objects.external_name("admin", "localhost", site.admin),
        ]
        site.write(written)
        proxy = await stage.start(site)
        hosts = [*(f"e{number}.test" for number in range(len(_INNER_NAMES))), "admin.test"]
        told = await asyncio.gather(*(ask(proxy.http, get(host=host), 8) for host in hosts))
        reached = [
            target
            for target, one in zip((*_INNER_NAMES, "own admin port"), told, strict=True)
            if one.status not in (502, 503)
        ]
        allowed = "allowed" if options else "off"
        stage.checks.none(f"answers other than 502 or 503 when {allowed}", len(reached))
        if reached:
            stage.checks.note("namely", ", ".join(reached))
    stage.checks.none("requests that came through", len(backend.seen))


FAULTS = (
    Fault("exception", "500 or 502 for it alone, logged once", exception, OURS),
    Fault("external-names", "off by default; else refused", external_names, OURS),
)
