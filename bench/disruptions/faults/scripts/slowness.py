"""Clients that are slow on purpose: heads, bodies and readers that never come to an end."""

import asyncio
from time import monotonic

from bench.disruptions.faults.backends import Peer, Request, read_chunks
from bench.disruptions.faults.fault import OURS, Fault
from bench.disruptions.faults.gauges import established
from bench.disruptions.faults.proxies import Deadlines
from bench.disruptions.faults.stage import Stage
from bench.disruptions.faults.visitors import Probe, Visitor, ask, get
from bench.measuring import gauges

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
"""Half of them get chunks, of which 64 KiB and a read of 32 KiB may wait; what the others get waits in the kernel."""
_FRAMINGS = ("/length", "/chunks")
_STEADY_READERS = 20
_STEADY_SECONDS = 8.0
_STEADY_PIECE = 4000
_STEADY_PAUSE_SECONDS = 0.1
_WAITING_UPLOADS = 3
_WAITING_BYTES = 20_000_000
_TUNNELS = 10
# A window and segments as of a slow visitor far away; loopback would take a megabyte into the kernel.
_WINDOW_BYTES = 4096
_SEGMENT_BYTES = 1400


async def slow_heads(stage: Stage) -> None:
    """500 connections send a byte of their head every 9 s; the deadline for a head is 10 s."""
    (pod,) = await stage.pods(1)
    proxy = await stage.proxy(pod.port)
    await Probe(proxy.http).run(1)
    idle = await Probe(proxy.http).run(4)
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


async def _answer_megabyte(request: Request, peer: Peer) -> None:
    """Answer in the framing that is asked for: proxies may move one in another way than the other."""
    body = b"x" * _ANSWER_BYTES
    if request.target == b"/length":
        await peer.answer(body)
    else:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        await peer.write(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))


async def slow_readers(stage: Stage) -> None:
    """150 clients ask for 1 MB each and read nothing; the deadline for taking something is set to 5 s, by default it is a minute."""

    async def pour(request: Request, peer: Peer) -> None:
        if request.target == b"/":
            await peer.answer(b"ok")
        else:
            await _answer_megabyte(request, peer)

    backend = await stage.backend(pour)
    proxy = await stage.proxy(backend.port, deadlines=Deadlines(send_gap=_SEND_GAP_SECONDS))
    await Probe(proxy.http).run(1)
    resident = proxy.resident_kib()
    gauges.reset_peak(proxy.pid)
    visitors = [await Visitor.arrive(proxy.http, _WINDOW_BYTES, _SEGMENT_BYTES) for _ in range(_SLOW_READERS)]
    for number, visitor in enumerate(visitors):
        transport = visitor.writer.transport
        assert isinstance(transport, asyncio.ReadTransport)
        transport.pause_reading()
        visitor.writer.write(get(_FRAMINGS[number % 2]))
    began = monotonic()
    first = last = float("inf")
    while last == float("inf") and monotonic() - began < _SEND_GAP_SECONDS + 8:
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


async def steady_readers(stage: Stage) -> None:
    """20 clients take their 1 MB slowly but steadily, 40 kB/s for 8 s; the deadline for taking something is set to 3 s."""

    backend = await stage.backend(_answer_megabyte)
    proxy = await stage.proxy(backend.port, deadlines=Deadlines(send_gap=_GAP_SECONDS))
    visitors = [
        await Visitor.arrive(proxy.http, _WINDOW_BYTES, _SEGMENT_BYTES) for _ in range(_STEADY_READERS)
    ]
    for number, visitor in enumerate(visitors):
        visitor.writer.write(get(_FRAMINGS[number % 2]))
    cut = await asyncio.gather(*(_is_cut_short(visitor) for visitor in visitors))
    for first, framing in enumerate(_FRAMINGS):
        stage.checks.none(f"cut although they took something ({framing[1:]})", sum(cut[first::2]))
    for visitor in visitors:
        visitor.leave()


async def _is_cut_short(visitor: Visitor) -> bool:
    """Read slowly; return whether the connection ends meanwhile."""
    until = monotonic() + _STEADY_SECONDS
    try:
        while monotonic() < until:
            await visitor.reader.readexactly(_STEADY_PIECE)
            await asyncio.sleep(_STEADY_PAUSE_SECONDS)
    except (asyncio.IncompleteReadError, OSError):
        return True
    return False


async def waiting_uploads(stage: Stage) -> None:
    """The backend takes nothing of bodies of 20 MB for 6 s; the deadline for gaps in what clients send is set to 3 s."""

    async def take_late(request: Request, peer: Peer) -> None:
        await asyncio.sleep(2 * _GAP_SECONDS)
        if b"transfer-encoding" in request.fields:
            await read_chunks(peer.reader)
        else:
            await peer.reader.readexactly(int(request.fields[b"content-length"]))
        await peer.answer(b"ok")

    backend = await stage.backend(take_late, reads_body=False)
    proxy = await stage.proxy(backend.port, deadlines=Deadlines(body_gap=_GAP_SECONDS))
    body = b"x" * _WAITING_BYTES
    chunked = b"POST / HTTP/1.1\r\nHost: fault.test\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunked += b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    requests = [get("/", "POST", body), chunked] * _WAITING_UPLOADS
    told = await asyncio.gather(*(ask(proxy.http, request) for request in requests))
    for first, name in enumerate(("length", "chunks")):
        bad = [str(one) for one in told[first::2] if (one.status, one.body) != (200, b"ok")]
        stage.checks.none(f"failed ({name})", len(bad))
        if bad:
            stage.checks.note("namely", ", ".join(bad))


async def slow_tunnels(stage: Stage) -> None:
    """10 upgraded connections carry a byte a second in both directions; the deadline for bodies is set to 3 s."""

    async def switch(request: Request, peer: Peer) -> None:
        await peer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        )
        while data := await peer.reader.read(100):
            await peer.write(data)
        peer.close()

    backend = await stage.backend(switch)
    proxy = await stage.proxy(backend.port, deadlines=Deadlines(body_gap=_GAP_SECONDS))
    ended = sum(await asyncio.gather(*(_tunnel_breaks(proxy.http) for _ in range(_TUNNELS))))
    stage.checks.none("tunnels that ended", ended)


async def _tunnel_breaks(port: int) -> bool:
    """Send a byte a second through a tunnel, and wait for it to come back; return whether that fails."""
    visitor = await Visitor.arrive(port)
    visitor.writer.write(
        b"GET / HTTP/1.1\r\nHost: fault.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    )
    try:
        async with asyncio.timeout(_STEADY_SECONDS + 5):
            await visitor.reader.readuntil(b"\r\n\r\n")
            for _ in range(int(_STEADY_SECONDS)):
                visitor.writer.write(b"x")
                if await visitor.reader.readexactly(1) != b"x":
                    return True
                await asyncio.sleep(1)
    except (asyncio.IncompleteReadError, OSError, TimeoutError):
        return True
    finally:
        visitor.leave()
    return False


FAULTS = (
    Fault("slow-heads", "408 at 10 s, +-1; another's p99 under twice idle, or 5 ms", slow_heads),
    Fault("slow-bodies", "408 at the deadline", slow_bodies),
    Fault("slow-readers", "cut at the deadline; 64 KiB each at most", slow_readers),
    Fault("steady-readers", "nobody is cut", steady_readers),
    Fault("waiting-uploads", "0 failed: the client is not to blame", waiting_uploads),
    Fault("slow-tunnels", "nobody is cut", slow_tunnels, OURS),
)
