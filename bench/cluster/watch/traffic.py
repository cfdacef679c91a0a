"""Requests to the proxy, and the pods that answer them."""

import asyncio
from time import monotonic

from attrs import Factory, define

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%b"


class Pod(asyncio.Protocol):
    """One connection to a pod, which answers each request with its name."""

    def __init__(self, name: bytes) -> None:
        self._answer = _ANSWER % name
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every head that is complete."""
        *heads, self._received = (self._received + data).split(b"\r\n\r\n")
        if heads:
            self._transport.write(self._answer * len(heads))


async def start_pod(name: bytes) -> int:
    """Start a pod; return its port."""
    server = await asyncio.get_running_loop().create_server(lambda: Pod(name), "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    return port


class Client:
    """One connection to a server, one request at a time; it connects when it has to."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def get(self, host: str, path: str = "/", body: bytes | None = None) -> tuple[int, bytes]:
        """Ask; return status and body.  Raises OSError when there is no answer."""
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._reader, self._writer
        assert reader is not None
        method = "GET" if body is None else "POST"
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{length}\r\n".encode() + (body or b""))
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            size = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
            answer = await reader.readexactly(size)
        except (asyncio.IncompleteReadError, OSError, IndexError) as error:
            self.close()
            raise ConnectionError(str(error)) from None
        if b"connection: close" in head:
            self.close()
        return int(head.split(b" ", 2)[1]), answer

    @property
    def local_port(self) -> int:
        """Our own port of the connection, which is there."""
        assert self._writer is not None
        port: int = self._writer.get_extra_info("sockname")[1]
        return port

    def close(self) -> None:
        """Close the connection."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


@define
class Load:
    """Requests at a fixed rate, whether or not the ones before were answered."""

    port: int
    hosts: tuple[str, ...]
    rate: int
    latencies: list[float] = Factory(list)
    failed: int = 0
    is_over: bool = False

    async def run(self) -> None:
        """Send until ``is_over``; then wait for the answers."""
        idle: list[Client] = []
        asking: set[asyncio.Task[None]] = set()
        start, sent = monotonic(), 0
        while not self.is_over:
            due = int((monotonic() - start) * self.rate)
            while sent < due:
                sent += 1
                client = idle.pop() if idle else Client(self.port)
                task = asyncio.create_task(self._ask(client, self.hosts[sent % len(self.hosts)], idle))
                asking.add(task)
                task.add_done_callback(asking.discard)
            await asyncio.sleep(0.001)
        await asyncio.gather(*asking)
        for client in idle:
            client.close()

    async def _ask(self, client: Client, host: str, idle: list[Client]) -> None:
        began = monotonic()
        try:
            status, _ = await client.get(host)
        except OSError:
            status = 0
        if status == 200:
            self.latencies.append(monotonic() - began)
        else:
            self.failed += 1
        idle.append(client)


def quantile(values: list[float], share: float) -> float:
    """The value that so large a share of *values* does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
