"""Backends that misbehave as a script tells them, inside of this process; they remember what reached them."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic

from attrs import frozen

from bench.setup.processes import HOST

_MAX_HEAD = 128 * 1024
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@frozen
class Request:
    """A request as it reached a backend."""

    method: bytes
    target: bytes
    fields: dict[bytes, bytes]
    """By name in lower case; of repeated ones the last."""
    body: bytes
    connection: int
    """Number of the connection, from 1."""
    number: int
    """Number on the connection, from 1."""
    at: float
    """On the monotonic clock."""


class Peer:
    """The connection on which a request came."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def write(self, data: bytes) -> None:
        """Send *data*, as fast as it is taken."""
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, body: bytes, *fields: bytes) -> None:
        """Send a good answer."""
        lines = b"".join(field + b"\r\n" for field in fields)
        await self.write(b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (lines, len(body), body))

    def close(self) -> None:
        """End the connection in order, after what was written."""
        self.writer.close()

    def reset(self) -> None:
        """End the connection by RST."""
        sock: socket.socket = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.writer.transport.abort()

    @property
    def is_closing(self) -> bool:
        """Whether this side has ended it."""
        return self.writer.is_closing()


Behavior = Callable[[Request, Peer], Awaitable[None]]
"""What a backend does with a request; the connection is kept unless it closes it."""


class Backend:
    """A server at *port* of 127.0.0.1; a context manager for ``async with`` is not needed, ``stop`` ends it."""

    def __init__(self, behavior: Behavior, *, reads_body: bool = True) -> None:
        self.seen: list[Request] = []
        self.connections = 0
        self.open = 0
        self.ended_at: list[float] = []
        """When connections ended, on the monotonic clock."""
        self.port = 0
        self._behavior = behavior
        self._reads_body = reads_body
        self._server: asyncio.Server | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def start(self, port: int, addresses: Sequence[str] = (HOST,)) -> None:
        """Listen."""
        self.port = port
        self._server = await asyncio.start_server(self._serve, addresses, port, limit=_MAX_HEAD, backlog=4096)

    async def stop(self) -> None:
        """Close everything."""
        if self._server is not None:
            self._server.close()
            self._server = None
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        self.connections += 1
        self.open += 1
        try:
            await self._requests(Peer(reader, writer), self.connections)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the proxy went away, or the script is over
        finally:
            self.open -= 1
            self.ended_at.append(monotonic())
            self._running.discard(task)
            writer.transport.abort() if not writer.is_closing() else writer.close()

    async def _requests(self, peer: Peer, connection: int) -> None:
        number = 0
        while not peer.is_closing:
            number += 1
            request = await _read_request(peer.reader, connection, number, self._reads_body)
            self.seen.append(request)
            await self._behavior(request, peer)


async def _read_request(reader: asyncio.StreamReader, connection: int, number: int, whole: bool) -> Request:
    head = await reader.readuntil(b"\r\n\r\n")
    at = monotonic()
    first, *lines = head[:-4].split(b"\r\n")
    method, target, _ = first.split(b" ")
    fields = {}
    for line in lines:
        name, _, value = line.partition(b":")
        fields[name.lower()] = value.strip()
    body = b""
    if whole and b"transfer-encoding" in fields:
        body = await read_chunks(reader)
    elif whole and b"content-length" in fields:
        body = await reader.readexactly(int(fields[b"content-length"]))
    return Request(method, target, fields, body, connection, number, at)


async def read_chunks(reader: asyncio.StreamReader) -> bytes:
    """Return the body in chunks that comes now."""
    body = bytearray()
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    while (await reader.readline()).strip():
        pass
    return bytes(body)


class BlackHole:
    """A port on which no connect ever ends: a listener whose queue is full, so that the kernel drops each SYN."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((HOST, port))
        self._listener.listen(0)
        self._fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex((HOST, port))
            self._fillers.append(filler)

    def close(self) -> None:
        """Answer again, with refusals."""
        for one in (*self._fillers, self._listener):
            one.close()
