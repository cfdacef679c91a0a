"""Clients that are slow on purpose: heads, bodies and readers that never come to an end."""

import asyncio
from time import monotonic

from bench import gauges
from bench.faults.backends import Peer, Request
from bench.faults.fault import Fault
from bench.faults.gauges import established
from bench.faults.proxies import Deadlines
from bench.faults.stage import Stage
from bench.faults.visitors import Probe, Visitor, get

_SLOW_HEADS = 500
_HEAD_SECONDS = 10.0
_PACE_SECONDS = 9.0
_SPREAD_SECONDS = 2.0
"""Over which they begin, so that the one process which plays them all is not what delays the other client."""
_QUIET_MS = 5.0
"""Below this, a 99th percentile tells more of the machine than of the proxy."""
_SLOW_BODIES = 20
_GAP_SECONDS = 3.0
_SLOW_READERS = 150
_ANSWER_BYTES = 1_000_000
_SEND_GAP_SECONDS = 5.0
_KIB_PER_READER = 64
# A window and segments as of a slow visitor far away; loopback would take a megabyte into the kernel.
_WINDOW_BYTES = 4096
_SEGMENT_BYTES = 1400


async def slow_heads(stage: Stage) -> None:
    """500 connections send a byte of their head every 9 s; the deadline for a head is 10 s."""
    (pod,) = await stage.pods(1)
    proxy = await stage.proxy(pod.port)
    await Probe(proxy.http).run(1)
    idle = await Probe(proxy.http).run(5)
    visitors = []
    for _ in range(_SLOW_HEADS):
        visitors.append(await Visitor.arrive(proxy.http))
    probe = Probe(proxy.http)
    probe.start()
    dribbling = []
    for visitor in visitors:
        dribbling.append(asyncio.create_task(_dribble(visitor)))
        await asyncio.sleep(_SPREAD_SECONDS / _SLOW_HEADS)
    ends = await asyncio.gather(*dribbling)
    await probe.stop()
    stage.checks.none("ended otherwise than by 408", sum(status != 408 for _, status in ends))
    stage.checks.between(
        "first after", min(took for took, _ in ends), _HEAD_SECONDS - 1, _HEAD_SECONDS + 1, "s"
    )
    stage.checks.between(
        "last after", max(took for took, _ in ends), _HEAD_SECONDS - 1, _HEAD_SECONDS + 1, "s"
    )
    stage.checks.none("failed of another client", probe.failed)
    stage.checks.note("its p99 before", idle.p99_ms, "ms")
    stage.checks.at_most("then", probe.p99_ms, max(2 * idle.p99_ms, _QUIET_MS), "ms")


async def _dribble(visitor: Visitor) -> tuple[float, int]:
    """Send a head slowly; return after how long the connection ended, and with which status."""

    async def send() -> None:
        while True:
            await asyncio.sleep(_PACE_SECONDS)
            visitor.writer.write(b"a")

    began = monotonic()
    visitor.writer.write(b"GET / HTTP/1.1\r\nHost: fault.test\r\nX: ")
    sending = asyncio.create_task(send())
    told = await visitor.ask(b"", _HEAD_SECONDS + 3)
    took = monotonic() - began
    is_left = await visitor.is_left()
    sending.cancel()
    visitor.leave()
    return took, told.status if is_left else 0


async def slow_bodies(stage: Stage) -> None:
    """Bodies come at a byte a second, so that there is never a gap as long as the deadline, which is set to 3 s.

    By default it is 30 s, for a gap and for the time over which at least 1 kB/s must come.
    """

    async def swallow(request: Request, peer: Peer) -> None:
        await peer.answer(b"ok")

    backend = await stage.backend(swallow)
    proxy = await stage.proxy(backend.port, deadlines=Deadlines(body_gap=_GAP_SECONDS))
    ends = await asyncio.gather(*(_drip(proxy.http) for _ in range(_SLOW_BODIES)))
    stage.checks.none("ended otherwise than by 408", sum(status != 408 for _, status in ends))
    took = [seconds for seconds, _ in ends]
    stage.checks.between("first after", min(took), _GAP_SECONDS - 1, _GAP_SECONDS + 2, "s")
    stage.checks.between("last after", max(took), _GAP_SECONDS - 1, _GAP_SECONDS + 2, "s")


async def _drip(port: int) -> tuple[float, int]:
    """Send a body slowly; return after how long it was refused, and with which status."""
    visitor = await Visitor.arrive(port)

    async def send() -> None:
        while True:
            await asyncio.sleep(1)
            visitor.writer.write(b"x")

    began = monotonic()
    visitor.writer.write(b"POST / HTTP/1.1\r\nHost: fault.test\r\nContent-Length: 100000\r\n\r\nx")
    sending = asyncio.create_task(send())
    told = await visitor.ask(b"", _GAP_SECONDS + 4)
    sending.cancel()
    visitor.leave()
    return told.seconds if told.end != "late" else monotonic() - began, told.status


async def slow_readers(stage: Stage) -> None:
    """150 clients ask for 1 MB each and read nothing; the deadline for taking something is set to 5 s, by default it is a minute."""

    async def pour(request: Request, peer: Peer) -> None:
        await peer.answer(b"x" * _ANSWER_BYTES if request.target == b"/big" else b"ok")

    backend = await stage.backend(pour)
    proxy = await stage.proxy(backend.port, deadlines=Deadlines(send_gap=_SEND_GAP_SECONDS))
    await Probe(proxy.http).run(1)
    resident = proxy.resident_kib()
    gauges.reset_peak(proxy.pid)
    visitors = [await Visitor.arrive(proxy.http, _WINDOW_BYTES, _SEGMENT_BYTES) for _ in range(_SLOW_READERS)]
    for visitor in visitors:
        transport = visitor.writer.transport
        assert isinstance(transport, asyncio.ReadTransport)
        transport.pause_reading()
        visitor.writer.write(get("/big"))
    began = monotonic()
    first = last = float("inf")
    while last == float("inf") and monotonic() - began < _SEND_GAP_SECONDS + 5:
        await asyncio.sleep(0.1)
        left = established(proxy.http)
        if left < _SLOW_READERS:
            first = min(first, monotonic() - began)
        if not left:
            last = monotonic() - began
    stage.checks.between("first cut after", first, _SEND_GAP_SECONDS - 1, _SEND_GAP_SECONDS + 3, "s")
    stage.checks.between("last cut after", last, _SEND_GAP_SECONDS - 1, _SEND_GAP_SECONDS + 3, "s")
    grown = max(0, gauges.peak_kib(proxy.pid) - resident)
    stage.checks.at_most("memory of each", grown / _SLOW_READERS, _KIB_PER_READER, "KiB")
    for visitor in visitors:
        visitor.leave()


FAULTS = (
    Fault("slow-heads", "408 at 10 s, +-1; another's p99 under twice idle, or 5 ms", slow_heads),
    Fault("slow-bodies", "408 at the deadline", slow_bodies),
    Fault("slow-readers", "cut at the deadline; 64 KiB each at most", slow_readers),
)
