"""Bodies of a gigabyte between peers of different speed, and clients that leave in the middle."""

import asyncio
import zlib
from collections.abc import Callable
from time import monotonic

from bench.disruptions.faults import gauges as more_gauges
from bench.disruptions.faults.backends import Peer, Request
from bench.disruptions.faults.fault import Fault
from bench.disruptions.faults.stage import Proxy, Stage
from bench.disruptions.faults.visitors import Visitor, ask, get
from bench.measuring import gauges

_BODY_BYTES = 1 << 30
_PIECE = bytes(range(256)) * 256
_SLOW_SECONDS = 3.0
_SLOW_BYTES_PER_SECOND = 1_000_000
_MEMORY_KIB = 8 * 1024
_DISK_BYTES = 1 << 20
# What the kernel keeps on the way: two connections, each with the buffers of both ends.
_KERNEL_BYTES = 32 << 20
_LEAVERS = 10
_BOUNDED = "memory +8 MiB at most, nothing on disk"


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
    """Sends the body, in chunks or not, and knows how much of it was taken, and what its checksum is."""

    def __init__(self, is_chunked: bool) -> None:
        self.sent = 0
        self.checksum = 0
        self._piece = b"%x\r\n%b\r\n" % (len(_PIECE), _PIECE) if is_chunked else _PIECE
        self._end = b"0\r\n\r\n" if is_chunked else b""
        self.framing = b"Transfer-Encoding: chunked" if is_chunked else b"Content-Length: %d" % _BODY_BYTES

    async def into(self, writer: asyncio.StreamWriter) -> None:
        """Send all of it."""
        writer.transport.set_write_buffer_limits(high=len(_PIECE))
        while self.sent < _BODY_BYTES:
            writer.write(self._piece)
            await writer.drain()
            self.sent += len(_PIECE)
            self.checksum = zlib.crc32(_PIECE, self.checksum)
        writer.write(self._end)


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


async def _take_chunks(reader: asyncio.StreamReader, pace: _Pace) -> None:
    while size := int(await reader.readuntil(b"\r\n"), 16):
        while size:
            data = await reader.read(min(size, 1 << 18))
            if not data:
                return
            size -= len(data)
            await pace.take(data)
        await reader.readexactly(2)
    await reader.readexactly(2)


async def _take(reader: asyncio.StreamReader, pace: _Pace, is_chunked: bool) -> None:
    """Take the body, or what there is of it."""
    if is_chunked:
        await _take_chunks(reader, pace)
        return
    while pace.taken < _BODY_BYTES and (data := await reader.read(1 << 18)):
        await pace.take(data)


async def _upload(stage: Stage, is_chunked: bool) -> None:
    pace = _Pace()

    async def swallow(request: Request, peer: Peer) -> None:
        nonlocal pace
        if request.method == b"POST":
            pace = _Pace()
            await _take(peer.reader, pace, b"transfer-encoding" in request.fields)
        await peer.answer(b"ok")

    backend = await stage.backend(swallow, reads_body=False)
    proxy = await stage.proxy(backend.port)
    for _ in range(20):
        await ask(proxy.http, get())
    watch, filling = _Watch(proxy), _Filling(is_chunked)
    visitor = await Visitor.arrive(proxy.http)
    began = monotonic()
    visitor.writer.write(b"POST / HTTP/1.1\r\nHost: fault.test\r\n%b\r\n\r\n" % filling.framing)
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


async def upload(stage: Stage) -> None:
    """A client sends 1 GiB to a backend that takes 1 MB/s for 3 s, and then all it gets."""
    await _upload(stage, is_chunked=False)


async def upload_chunks(stage: Stage) -> None:
    """The same in chunks."""
    await _upload(stage, is_chunked=True)


async def _download(stage: Stage, is_chunked: bool) -> None:
    filling = _Filling(is_chunked)

    async def pour(request: Request, peer: Peer) -> None:
        if request.target != b"/body":
            await peer.answer(b"ok")
            return
        await peer.write(b"HTTP/1.1 200 OK\r\n%b\r\n\r\n" % filling.framing)
        await filling.into(peer.writer)

    backend = await stage.backend(pour)
    proxy = await stage.proxy(backend.port)
    for _ in range(20):
        await ask(proxy.http, get())
    watch = _Watch(proxy)
    visitor = await Visitor.arrive(proxy.http)
    began = monotonic()
    visitor.writer.write(get("/body"))
    head = await visitor.reader.readuntil(b"\r\n\r\n")
    pace = _Pace()
    looking = asyncio.create_task(_held_back(stage, filling, lambda: pace.taken))
    await _take(visitor.reader, pace, b"chunked" in head.lower())
    await looking
    stage.checks.holds("every byte arrived", (pace.taken, pace.checksum) == (filling.sent, filling.checksum))
    stage.checks.note("took", monotonic() - began, "s")
    visitor.leave()
    await watch.report(stage)


async def download(stage: Stage) -> None:
    """A backend sends 1 GiB to a client that takes 1 MB/s for 3 s, and then all it gets."""
    await _download(stage, is_chunked=False)


async def download_chunks(stage: Stage) -> None:
    """The same in chunks."""
    await _download(stage, is_chunked=True)


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
    Fault("upload", _BOUNDED, upload),
    Fault("upload-chunks", _BOUNDED, upload_chunks),
    Fault("download", _BOUNDED, download),
    Fault("download-chunks", _BOUNDED, download_chunks),
    Fault("leavers", "upstream ended within 1 s", leavers),
)
