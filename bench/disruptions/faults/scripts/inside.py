"""What goes wrong inside of the proxy, and what objects must not make it do."""

import asyncio
import socket

from attrs import evolve

from bench.disruptions.faults import objects
from bench.disruptions.faults.backends import Peer, Request
from bench.disruptions.faults.fault import OURS, Fault
from bench.disruptions.faults.load import Load
from bench.disruptions.faults.stage import Stage
from bench.disruptions.faults.subject import BUG
from bench.disruptions.faults.visitors import Visitor, ask, get
from bench.setup.processes import HOST

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
    """Services of type ExternalName name this machine in many ways, and the address of cloud metadata.

    A name that is allowed cannot be shown here, since all of one machine's addresses are its own.
    """

    async def trap(request: Request, peer: Peer) -> None:
        await peer.answer(b"trapped")

    outer = _outer_address()
    backend = await stage.backend(trap, addresses=(HOST, *outer))
    for options in ((), ("--allow-external-name",)):
        site = evolve(stage.site(), options=options)
        targets = [(name, backend.port) for name in (*_INNER_NAMES, socket.gethostname().lower(), *outer)]
        targets.append(("localhost", site.admin))
        written = []
        for number, (target, port) in enumerate(targets):
            name = f"e{number}"
            written.append(objects.external_name(name, target, port))
            written.append(objects.ingress(name, f"{name}.test", name, port))
        site.write(written)
        proxy = await stage.start(site)
        asking = (ask(proxy.http, get(host=f"e{number}.test"), 8) for number in range(len(targets)))
        told = await asyncio.gather(*asking)
        reached = [
            f"{target} (port {port}): {one}"
            for (target, port), one in zip(targets, told, strict=True)
            if one.status not in (502, 503)
        ]
        when = "when allowed" if options else "when off"
        stage.checks.none(f"of {len(targets)} answered other than 502 or 503 {when}", len(reached))
        if reached:
            stage.checks.note("namely", ", ".join(reached))
    stage.checks.none("requests that came through", len(backend.seen))


def _outer_address() -> tuple[str, ...]:
    """An address of this machine that is not a loopback one, if there is any.  Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))
        except OSError:
            return ()
        address = str(asking.getsockname()[0])
    return () if address.startswith("127.") else (address,)


FAULTS = (
    Fault("exception", "500 or 502 for it alone, logged once", exception, OURS),
    Fault("external-names", "off by default; else refused", external_names, OURS),
)
