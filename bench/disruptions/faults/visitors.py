"""Visitors who behave as a script wants: single requests with all that came back, and connections that are held."""

import asyncio
import errno
import socket
from time import monotonic

from attrs import frozen

from bench.disruptions.faults.answers import AnswerError, AnswerReader
from bench.measuring.summary import percentile
from bench.setup.processes import HOST

ASK_SECONDS = 20.0
_PROBE_RATE = 100
_PIECE = 65536


def get(target: str = "/", method: str = "GET", body: bytes | None = None, host: str = "fault.test") -> bytes:
    """A request."""
    length = "" if body is None else f"Content-Length: {len(body)}\r\n"
    return f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{length}\r\n".encode() + (body or b"")


@frozen
class Told:
    """What came back.  *end* is ``whole``, ``cut``, ``malformed``, ``late``, ``nothing`` or ``refused``."""

    end: str
    status: int
    body: bytes
    received: bytes
    seconds: float

    @property
    def status_lines(self) -> int:
        """How many answers seem to begin in what came."""
        return self.received.count(b"HTTP/1.")

    def __str__(self) -> str:
        return f"{self.status or ''} {self.end}".strip()


class Visitor:
    """One connection to the proxy at *port*."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def arrive(
        cls, port: int, receive_buffer: int | None = None, segment: int | None = None
    ) -> "Visitor":
        """Connect, with a small window if asked for."""
        connecting = socket.socket()
        connecting.setblocking(False)
        if receive_buffer is not None:
            connecting.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if segment is not None:
            connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, segment)
        try:
            await asyncio.get_running_loop().sock_connect(connecting, (HOST, port))
        except OSError:
            connecting.close()
            raise
        return cls(*await asyncio.open_connection(sock=connecting))

    async def ask(self, request: bytes, seconds: float = ASK_SECONDS) -> Told:
        """Send *request*, and read the answer to its end, or to that of the connection."""
        began = monotonic()
        answer = AnswerReader(request.split(b" ", 1)[0])
        received = bytearray()
        end = ""
        try:
            async with asyncio.timeout(seconds):
                self.writer.write(request)
                while not (end or answer.is_whole):
                    try:
                        data = await self.reader.read(_PIECE)
                    except OSError:
                        data = b""
                    received += data
                    answer.feed(data)
                    if not data:
                        if not isinstance(self.reader.exception(), OSError):
                            answer.end()
                        end = "" if answer.is_whole else "cut" if answer.is_begun else "nothing"
                        break
        except TimeoutError:
            end = "late"
        except AnswerError:
            end = "malformed"
        return Told(end or "whole", answer.status, bytes(answer.body), bytes(received), monotonic() - began)

    async def is_left(self, seconds: float = 1.0) -> bool:
        """Whether the proxy ends the connection within so long; what still comes is thrown away."""
        try:
            async with asyncio.timeout(seconds):
                while await self.reader.read(_PIECE):
                    pass
        except TimeoutError:
            return False
        except OSError:
            pass
        return True

    def leave(self) -> None:
        """Close the connection."""
        self.writer.transport.abort()


async def ask(port: int, request: bytes, seconds: float = ASK_SECONDS) -> Told:
    """Ask on a connection of its own."""
    try:
        visitor = await Visitor.arrive(port)
    except OSError as error:
        return Told("refused" if error.errno == errno.ECONNREFUSED else "nothing", 0, b"", b"", 0.0)
    try:
        return await visitor.ask(request, seconds)
    finally:
        visitor.leave()


class Probe:
    """A patient client beside the others: *rate* requests a second on one connection, each timed."""

    def __init__(self, port: int, rate: float = _PROBE_RATE) -> None:
        self._pause = 1 / rate
        self.latencies: list[float] = []
        self.failed = 0
        self._port = port
        self._visitor: Visitor | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def p99_ms(self) -> float:
        """Of all that was asked so far; infinite if nothing was answered."""
        return percentile(self.latencies, 0.99) * 1000 if self.latencies else float("inf")

    def start(self) -> None:
        """Begin to ask."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Ask no more, and leave."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._leave()

    def _leave(self) -> None:
        if self._visitor is not None:
            self._visitor.leave()
            self._visitor = None

    async def run(self, seconds: float) -> "Probe":
        """Ask for so long."""
        self.start()
        await asyncio.sleep(seconds)
        await self.stop()
        return self

    async def _run(self) -> None:
        due = monotonic()
        while True:
            due = max(due + self._pause, monotonic())
            await asyncio.sleep(due - monotonic())
            try:
                if self._visitor is None:
                    self._visitor = await Visitor.arrive(self._port)
                told = await self._visitor.ask(get())
            except OSError:
                self.failed += 1
                self._leave()
                continue
            if told.end != "whole" or told.status != 200:
                self.failed += 1
            else:
                self.latencies.append(told.seconds)
            if told.end != "whole" or b"connection: close" in told.received.lower():
                self._leave()
