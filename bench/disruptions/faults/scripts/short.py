"""The other long ones: many short connections, of each kind a visitor can make, and what memory remains of them."""

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cache
from time import monotonic

from bench.disruptions.faults.fault import OURS, Fault
from bench.disruptions.faults.http2 import Raider, block
from bench.disruptions.faults.scripts.soak import DEFAULT_SECONDS, MIB_PER_MINUTE, SECONDS_VARIABLE
from bench.disruptions.faults.stage import Proxy, Stage
from bench.disruptions.faults.trend import slope
from bench.disruptions.faults.visitors import Visitor, get
from bench.setup.processes import HOST
from ingress.http2.frames import field_block_frames
from ingress.proxy.contract.limits import MAX_UPSTREAM_IDLE

_RATE = 100
"""Connections a second."""
_SHARE = 3
"""Each of the five has the time of the soak test, divided by this."""
_WARM_UP_SHARE = 0.6
"""After so much of it there is as much memory as all that are open at once need."""
_SAMPLE_SECONDS = 0.5
_HELD_SECONDS = 10.0
"""How long each connection stays: long enough for whatever looks through memory meanwhile to take it for something that lasts."""
_MOST_AT_ONCE = int(1.5 * _RATE * _HELD_SECONDS)
"""As many come at the very beginning: what they need is not given back, and a machine that pauses must not look like growth later on."""
_SPARE_FILES = MAX_UPSTREAM_IDLE + 16
"""Descriptors that may be there at the end and were not at the beginning: kept connections to the backend, above all."""
_HEADS = 8
_HEAD_BYTES = 900
_PIECE = 65536
_PATIENCE_SECONDS = 20.0
_SETTLE_SECONDS = 1.0

_Visit = Callable[[Proxy, int], Awaitable[None]]
"""One connection, of this number."""


async def _get(proxy: Proxy, number: int) -> None:
    visitor = await Visitor.arrive(proxy.http)
    told = await visitor.ask(get())
    await asyncio.sleep(_HELD_SECONDS)
    visitor.leave()
    if told.status != 200:
        raise ConnectionError(str(told))


async def _get_over_tls(proxy: Proxy, number: int) -> None:
    reader, writer = await asyncio.open_connection(HOST, proxy.site.https, ssl=_trusting())
    try:
        writer.write(get())
        if not (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200"):
            raise ConnectionError("no answer")
        await asyncio.sleep(_HELD_SECONDS)
    finally:
        writer.transport.abort()


async def _get_over_http2(proxy: Proxy, number: int) -> None:
    """Some requests whose heads nobody has sent before, each long enough that remembering it shows."""
    raider = await Raider.arrive(proxy.site.https)
    for each in range(_HEADS):
        path = b"/%d/%d/" % (number, each)
        head = block(path + b"x" * (_HEAD_BYTES - len(path)))
        await raider.send(field_block_frames(2 * each + 1, head, True))
    await asyncio.sleep(_HELD_SECONDS)
    if raider.is_closed:
        raise ConnectionError("ended early")
    raider.leave()


async def _abort_handshake(proxy: Proxy, number: int) -> None:
    """Say hello and leave, by turns before and after what is answered."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    shaking = _trusting().wrap_bio(incoming, outgoing)
    with suppress(ssl.SSLWantReadError):
        shaking.do_handshake()
    reader, writer = await asyncio.open_connection(HOST, proxy.site.https)
    hello = outgoing.read()
    writer.write(hello if number % 3 else hello[:50])
    if number % 3 == 1:
        await reader.read(_PIECE)
    await asyncio.sleep(_HELD_SECONDS)
    writer.transport.abort()


async def _half_head(proxy: Proxy, number: int) -> None:
    """Begin a head, and leave."""
    _, writer = await asyncio.open_connection(HOST, proxy.http)
    writer.write(get()[:-2])
    await asyncio.sleep(_HELD_SECONDS)
    if number % 2:
        writer.transport.abort()
    else:
        writer.close()


@cache
def _trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _soak(stage: Stage, visit: _Visit) -> None:
    seconds = float(os.environ.get(SECONDS_VARIABLE, DEFAULT_SECONDS)) / _SHARE
    (pod,) = await stage.pods(1)
    proxy = await stage.proxy(pod.port)
    times: list[float] = []
    resident: list[float] = []
    under_way: set[asyncio.Task[None]] = set()
    count = failed = 0

    async def one(number: int) -> None:
        nonlocal failed
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await visit(proxy, number)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            failed += 1

    files = proxy.open_files()
    began = sampled = monotonic()
    due = began - _MOST_AT_ONCE / _RATE
    while (now := monotonic()) - began < seconds:
        if now >= due and len(under_way) < _MOST_AT_ONCE:
            due += 1 / _RATE
            task = asyncio.create_task(one(count))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            count += 1
        if now - sampled >= _SAMPLE_SECONDS:
            sampled = now
            if now - began > seconds * _WARM_UP_SHARE:
                times.append((now - began) / 60)
                resident.append(proxy.resident_kib() / 1024)
        await asyncio.sleep(max(0.0, min(due - monotonic(), _SAMPLE_SECONDS)) if under_way else 0.001)
    await asyncio.gather(*under_way)
    await asyncio.sleep(_SETTLE_SECONDS)
    stage.checks.note("seconds", seconds)
    stage.checks.note("connections", count)
    stage.checks.none("failed", failed)
    stage.checks.at_most("memory grows by", slope(times, resident), MIB_PER_MINUTE, "MiB/min")
    stage.checks.note("to", resident[-1] if resident else 0, "MiB")
    stage.checks.at_most("descriptors left", proxy.open_files() - files, _SPARE_FILES)


async def short_plain(stage: Stage) -> None:
    """100 connections a second, each with one request and held for 10 s, for a third of SOAK_SECONDS."""
    await _soak(stage, _get)


async def short_tls(stage: Stage) -> None:
    """The same over TLS."""
    await _soak(stage, _get_over_tls)


async def short_sessions(stage: Stage) -> None:
    """The same over HTTP/2, each connection with eight requests of 1 kB that nobody has sent before."""
    await _soak(stage, _get_over_http2)


async def short_handshakes(stage: Stage) -> None:
    """The same of handshakes that are broken off, in three places."""
    await _soak(stage, _abort_handshake)


async def short_heads(stage: Stage) -> None:
    """The same of connections that end amid a head."""
    await _soak(stage, _half_head)


_REQUIRED = "memory under 1 MiB/min; no descriptor lost"

FAULTS = (
    Fault("short-plain", _REQUIRED, short_plain, OURS),
    Fault("short-tls", _REQUIRED, short_tls, OURS),
    Fault("short-sessions", _REQUIRED, short_sessions, OURS),
    Fault("short-handshakes", _REQUIRED, short_handshakes, OURS),
    Fault("short-heads", _REQUIRED, short_heads, OURS),
)
