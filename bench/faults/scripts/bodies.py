"""Bodies of a gigabyte between peers of different speed, and clients that leave in the middle."""

import asyncio
import zlib
from collections.abc import Callable
from time import monotonic

from bench import gauges
from bench.faults import gauges as more_gauges
from bench.faults.backends import Peer, Request
from bench.faults.fault import Fault
from bench.faults.stage import Proxy, Stage
from bench.faults.visitors import Visitor, ask, get

_BODY_BYTES = 1 << 30
_PIECE = bytes(range(256)) * 256
_SLOW_SECONDS = 5.0
_SLOW_BYTES_PER_SECOND = 1_000_000
_MEMORY_KIB = 8 * 1024
_DISK_BYTES = 1 << 20
# What the kernel keeps on the way: two connections, each with the buffers of both ends.
_KERNEL_BYTES = 32 << 20
_LEAVERS = 10


class _Pace:
    """How fast a body is taken: a megabyte a second for a while, then as fast as it comes."""

    def __init__(self) -> None:
        self.taken = 0
        self.checksum = 0
        self._began = monotonic()

    async def take(self, data: bytes) -> None:
        """Take *data*, in its time."""
        self.taken += len(data)
        self.checksum = zlib.crc32(data, self.checksum)
        elapsed = monotonic() - self._began
        if elapsed < _SLOW_SECONDS:
            due = min(self.taken / _SLOW_BYTES_PER_SECOND, _SLOW_SECONDS)
            await asyncio.sleep(max(0.0, due - elapsed))


class _Filling:
    """Sends the body, and knows how much of it was taken, and what its checksum is."""

    def __init__(self) -> None:
        self.sent = 0
        self.checksum = 0

    async def into(self, writer: asyncio.StreamWriter) -> None:
        """Send all of it."""
        writer.transport.set_write_buffer_limits(high=len(_PIECE))
        while self.sent < _BODY_BYTES:
            writer.write(_PIECE)
            await writer.drain()
            self.sent += len(_PIECE)
            self.checksum = zlib.crc32(_PIECE, self.checksum)


class _Watch:
    """What a body costs a proxy: memory, and disk."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._written = more_gauges.written_bytes(proxy.pid)
        self._files = more_gauges.regular_file_bytes(proxy.pid)
        self._most_files = 0
        self._resident = proxy.resident_kib()
        gauges.reset_peak(proxy.pid)
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            self._most_files = max(self._most_files, more_gauges.regular_file_bytes(self._proxy.pid))
            await asyncio.sleep(0.1)

    async def report(self, stage: Stage) -> None:
        """Stop, and add what was found to the checks."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        grown = gauges.peak_kib(self._proxy.pid) - self._resident
        stage.checks.at_most("memory grew by", max(0, grown) / 1024, _MEMORY_KIB / 1024, "MiB")
        written = more_gauges.written_bytes(self._proxy.pid) - self._written
        on_disk = max(written, self._most_files - self._files)
        stage.checks.at_most("on disk", on_disk / 1e6, _DISK_BYTES / 1e6, "MB")


async def _held_back(stage: Stage, filling: _Filling, taken: Callable[[], int]) -> None:
    """Look, while the reader is slow, how far the sender is ahead of it."""
    await asyncio.sleep(_SLOW_SECONDS - 0.5)
    stage.checks.at_most("sender ahead by", (filling.sent - taken()) / 1e6, _KERNEL_BYTES / 1e6, "MB")


async def upload(stage: Stage) -> None:
    """A client sends 1 GiB to a backend that takes 1 MB/s for 5 s, and then all it gets."""
    pace = _Pace()

    async def swallow(request: Request, peer: Peer) -> None:
        nonlocal pace
        if request.method == b"GET":
            await peer.answer(b"ok")
            return
        length = int(request.fields[b"content-length"])
        pace = _Pace()
        while pace.taken < length:
            data = await peer.reader.read(1 << 18)
            if not data:
                return
            await pace.take(data)
        await peer.answer(b"ok")

    backend = await stage.backend(swallow, reads_body=False)
    proxy = await stage.proxy(backend.port)
    for _ in range(20):
        await ask(proxy.http, get())
    watch, filling = _Watch(proxy), _Filling()
    visitor = await Visitor.arrive(proxy.http)
    began = monotonic()
    visitor.writer.write(b"POST / HTTP/1.1\r\nHost: fault.test\r\nContent-Length: %d\r\n\r\n" % _BODY_BYTES)
    looking = asyncio.create_task(_held_back(stage, filling, lambda: pace.taken))
    try:
        await filling.into(visitor.writer)
    except OSError as error:
        stage.checks.note("the upload broke off", str(error))
    told = await visitor.ask(b"", 60)
    await looking
    stage.checks.equal("status", told.status, 200)
    stage.checks.holds("every byte arrived", (pace.taken, pace.checksum) == (filling.sent, filling.checksum))
    stage.checks.note("took", monotonic() - began, "s")
    visitor.leave()
    await watch.report(stage)


async def download(stage: Stage) -> None:
    """A backend sends 1 GiB to a client that takes 1 MB/s for 5 s, and then all it gets."""
    filling = _Filling()

    async def pour(request: Request, peer: Peer) -> None:
        if request.target != b"/body":
            await peer.answer(b"ok")
            return
        await peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % _BODY_BYTES)
        await filling.into(peer.writer)

    backend = await stage.backend(pour)
    proxy = await stage.proxy(backend.port)
    for _ in range(20):
        await ask(proxy.http, get())
    watch = _Watch(proxy)
    visitor = await Visitor.arrive(proxy.http)
    began = monotonic()
    visitor.writer.write(get("/body"))
    await visitor.reader.readuntil(b"\r\n\r\n")
    pace = _Pace()
    looking = asyncio.create_task(_held_back(stage, filling, lambda: pace.taken))
    while pace.taken < _BODY_BYTES and (data := await visitor.reader.read(1 << 18)):
        await pace.take(data)
    await looking
    stage.checks.holds("every byte arrived", (pace.taken, pace.checksum) == (filling.sent, filling.checksum))
    stage.checks.note("took", monotonic() - began, "s")
    visitor.leave()
    await watch.report(stage)


async def leavers(stage: Stage) -> None:
    """Clients close their connection in the middle of an endless answer."""

    async def pour_forever(request: Request, peer: Peer) -> None:
        await peer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await peer.write(b"10000\r\n" + _PIECE + b"\r\n")
            await asyncio.sleep(0.01)

    backend = await stage.backend(pour_forever)
    proxy = await stage.proxy(backend.port)
    before = proxy.open_files()
    visitors = [await Visitor.arrive(proxy.http) for _ in range(_LEAVERS)]
    for visitor in visitors:
        visitor.writer.write(get())
        await visitor.reader.readexactly(100_000)
    left = monotonic()
    already = len(backend.ended_at)
    for visitor in visitors:
        visitor.leave()
    while len(backend.ended_at) < already + _LEAVERS and monotonic() - left < 5:
        await asyncio.sleep(0.01)
    stage.checks.equal("upstream connections ended", len(backend.ended_at) - already, _LEAVERS)
    last = max(backend.ended_at[already:], default=float("inf"))
    stage.checks.at_most("the last one after", last - left, 1.0, "s")
    await asyncio.sleep(0.2)
    stage.checks.at_most("descriptors left", proxy.open_files() - before, 0)


FAULTS = (
    Fault("upload", "memory +8 MiB at most, nothing on disk", upload),
    Fault("download", "memory +8 MiB at most, nothing on disk", download),
    Fault("leavers", "upstream ended within 1 s", leavers),
)
