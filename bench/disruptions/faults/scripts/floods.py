"""What HTTP/2 lets a hostile client do cheaply; each flood must cost the proxy little, and end its connection."""

import asyncio
from collections.abc import Callable, Iterator

from bench.disruptions.faults.backends import Peer, Request
from bench.disruptions.faults.beside import REQUIRED, check_p99
from bench.disruptions.faults.fault import OURS, Fault
from bench.disruptions.faults.http2 import Raider, block
from bench.disruptions.faults.load import Load
from bench.disruptions.faults.stage import Proxy, Stage
from bench.disruptions.faults.visitors import Probe
from bench.measuring import gauges
from ingress.http2.frames import (
    CONTINUATION,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    frame,
    ping_frame,
    reset_frame,
    settings_frame,
    window_update,
)

_COUNT = 20_000
_CPU_SECONDS = 0.3
_MEMORY_KIB = 1024
_CALM = 11
_RESETS = 1500
_FRAMES = 1000
_FRAMES_OF_BLOCK = 64
_RAIDERS = 10
_STREAMS = 100
# Half a megabyte of answers, and what a hundred requests and their connections take besides.
_BYTES_OF_EACH = 3 << 19
_HEAD_REQUESTS = 20_000
_HEADS_KIB = 4 * 1024

_BLOCK = block()

Pieces = Callable[[], Iterator[bytes]]


async def rapid_reset(stage: Stage) -> None:
    """A client begins requests over HTTP/2 and resets each at once."""
    await _flood(stage, lambda: (_request(each) + reset_frame(each, 8) for each in _streams()), _RESETS)


async def made_you_reset(stage: Stage) -> None:
    """A client begins requests over HTTP/2 and has the proxy reset each, by a window update of nothing."""
    await _flood(stage, lambda: (_request(each) + window_update(each, 0) for each in _streams()), _RESETS)


async def continuation(stage: Stage) -> None:
    """A client sends a field block over HTTP/2 that never ends."""

    def pieces() -> Iterator[bytes]:
        yield frame(HEADERS, END_STREAM, 1, _BLOCK)
        for _ in range(_COUNT):
            yield frame(CONTINUATION, 0, 1, b"\x00\x01x\x01y")

    await _flood(stage, pieces, _FRAMES_OF_BLOCK)


async def pings(stage: Stage) -> None:
    """A client sends PING after PING over HTTP/2."""
    await _flood(stage, lambda: (ping_frame(bytes(8)) for _ in range(_COUNT)), _FRAMES)


async def settings(stage: Stage) -> None:
    """A client changes its mind about its settings over HTTP/2 all the time."""
    await _flood(
        stage,
        lambda: (settings_frame(((INITIAL_WINDOW_SIZE, 65_535),)) for _ in range(_COUNT)),
        _FRAMES,
    )


async def hpack_bomb(stage: Stage) -> None:
    """A client puts a field of 4 kB into the table of HPACK, and names it thousands of times by one byte."""
    large = b"\x40\x07x-large\x7f\xbd\x1d" + b"x" * 3900
    await _flood(
        stage,
        lambda: (
            frame(HEADERS, END_STREAM | END_HEADERS, each, _BLOCK + large + b"\xbe" * 12_000)
            for each in _streams()
        ),
        _FRAMES_OF_BLOCK,
    )


async def zero_window(stage: Stage) -> None:
    """10 clients ask for 100 answers of 1 MB each over HTTP/2, and never open a window for them."""
    backend = await stage.backend(_large)
    proxy = await _warm(stage, backend.port)
    resident = proxy.resident_kib()
    raiders = [await Raider.arrive(proxy.site.https, (INITIAL_WINDOW_SIZE, 0)) for _ in range(_RAIDERS)]
    for raider in raiders:
        for each in range(1, 2 * _STREAMS, 2):
            await raider.send(_request(each, block(b"/large")))
    probe = await Probe(proxy.http).run(3)
    of_each = (proxy.resident_kib() - resident) * 1024 / _RAIDERS
    stage.checks.at_most("memory of each", max(0, of_each), _BYTES_OF_EACH, "B")
    stage.checks.none("failed of another client", probe.failed)
    for raider in raiders:
        raider.leave()


async def unread_heads(stage: Stage) -> None:
    """A client asks 20,000 times over HTTP/2 for an answer of 20 kB of fields without a body, and reads none of them."""
    backend = await stage.backend(_large)
    proxy = await _warm(stage, backend.port)
    await _visit(proxy)
    resident = proxy.resident_kib()
    gauges.reset_peak(proxy.pid)
    probe = Probe(proxy.http)
    probe.start()
    raider = await Raider.arrive(proxy.site.https, reads=False)
    heads = block(method=b"HEAD")
    asking = asyncio.create_task(
        raider.send(b"".join(_request(each, heads) for each in range(1, 2 * _HEAD_REQUESTS, 2)))
    )
    await asyncio.sleep(3)
    await probe.stop()
    grown = max(0, gauges.peak_kib(proxy.pid) - resident)
    stage.checks.at_most("memory grew by", grown / 1024, _HEADS_KIB / 1024, "MiB")
    stage.checks.none("failed of another client", probe.failed)
    asking.cancel()
    raider.leave()


async def _large(request: Request, peer: Peer) -> None:
    if request.method == b"HEAD":
        await peer.answer(b"", *(b"X-%d: %b" % (number, b"x" * 1000) for number in range(20)))
    else:
        await peer.answer(bytes(1_000_000) if request.target == b"/large" else b"ok")


async def _flood(stage: Stage, pieces: Pieces, within: int) -> None:
    (pod,) = await stage.pods(1)
    proxy = await _warm(stage, pod.port)
    await _visit(proxy)
    probe = Probe(proxy.http)
    resident, files = proxy.resident_kib(), proxy.open_files()
    gauges.reset_peak(proxy.pid)
    busy = gauges.cpu_seconds(proxy.pid)
    raider = await Raider.arrive(proxy.site.https)
    sent = await raider.flood(pieces())
    busy = gauges.cpu_seconds(proxy.pid) - busy
    stage.checks.at_most("sent until the end", sent, within)
    stage.checks.equal("said", "nothing" if raider.end is None else raider.end, _CALM)
    stage.checks.holds("the connection is closed", raider.is_closed)
    stage.checks.at_most("CPU", busy, _CPU_SECONDS, "s")
    grown = max(0, gauges.peak_kib(proxy.pid) - resident)
    stage.checks.at_most("memory grew by", grown / 1024, _MEMORY_KIB / 1024, "MiB")
    stage.checks.note("connections to the backend", max(0, proxy.open_files() - files))
    raider.leave()
    rest = await Probe(proxy.http).run(1)
    probe.start()
    for _ in range(_RAIDERS):
        raider = await Raider.arrive(proxy.site.https)
        await raider.flood(pieces())
        raider.leave()
    await probe.stop()
    stage.checks.none(f"failed of another client beside {_RAIDERS} more", probe.failed)
    check_p99(stage.checks, rest, probe)


async def _warm(stage: Stage, port: int) -> Proxy:
    proxy = await stage.proxy(port)
    await Load(proxy.http).send(200)
    return proxy


async def _visit(proxy: Proxy) -> None:
    """Be the first client of HTTP/2: what is loaded and made once is not what a flood costs."""
    first = await Raider.arrive(proxy.site.https)
    await first.send(_request(1))
    await asyncio.sleep(0.2)
    first.leave()


def _streams() -> Iterator[int]:
    return iter(range(1, 2 * _COUNT, 2))


def _request(stream: int, fields: bytes = _BLOCK) -> bytes:
    return frame(HEADERS, END_STREAM | END_HEADERS, stream, fields)


_ENDED = f"GOAWAY 11 and closed within {{:,}}; CPU under 0.3 s; memory +1 MiB at most; {REQUIRED}"
FAULTS = (
    Fault("rapid-reset", _ENDED.format(_RESETS), rapid_reset, OURS),
    Fault("made-you-reset", _ENDED.format(_RESETS), made_you_reset, OURS),
    Fault("continuation", _ENDED.format(_FRAMES_OF_BLOCK), continuation, OURS),
    Fault("pings", _ENDED.format(_FRAMES), pings, OURS),
    Fault("settings", _ENDED.format(_FRAMES), settings, OURS),
    Fault("hpack-bomb", _ENDED.format(_FRAMES_OF_BLOCK), hpack_bomb, OURS),
    Fault("zero-window", "under 1.5 MiB for each client; others served", zero_window, OURS),
    Fault("unread-heads", "memory +4 MiB at most; others served", unread_heads, OURS),
)
