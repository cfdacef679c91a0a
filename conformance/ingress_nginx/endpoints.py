"""What stands behind both controllers: endpoints that write down what reaches them, and answer as a case says.

One server in a thread takes all addresses of a network, so every endpoint has an address of its own and costs nothing.  Who asked is told
by the address that it came from.
"""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread

from conformance.ingress_nginx.endpoint_http2 import Http2Answer, Http2Connection, Http2Request

PLAIN_PORT = 8080
TLS_PORT = 8443
LONGEST_HEAD = 256 * 1024


@dataclass(frozen=True)
class Answer:
    """``fields`` are name and value; ``delay`` seconds pass before it.  ``breaks``: the connection ends instead of an answer.

    A status of 101 is followed by whatever the endpoint hears, said again.  By HTTP/2 ``trailers`` follow, and an answer with
    ``grpc-status`` among its fields has no body, as that of gRPC for a call that fails at once.
    """

    status: int = 200
    fields: tuple[tuple[str, str], ...] = (("Content-Type", "text/plain"),)
    body: str = ""
    delay: float = 0.0
    breaks: bool = False
    trailers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Arrival:
    """One request as an endpoint got it: its address, the request line, the fields in order, and the body without its framing.

    By HTTP/2 the line ends so, the authority is the field ``host``, and trailers are fields called ``trailer: NAME``.
    """

    address: str
    line: str
    fields: tuple[tuple[str, str], ...]
    body: bytes
    secure: bool
    server_name: str


@dataclass
class Endpoints:
    """All endpoints.  ``answers`` has what each address answers, by the path that it is asked for, or ``""`` for all others."""

    certificate: Path
    key: Path
    answers: dict[str, Mapping[str, Answer]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._arrivals: dict[str, list[Arrival]] = {}
        self._lock = Lock()
        self._loop = asyncio.new_event_loop()

    def start(self) -> None:
        """Listen, and return.  Raises OSError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        context.set_alpn_protocols(["h2", "http/1.1"])
        names: dict[ssl.SSLObject | ssl.SSLSocket, str] = {}

        def note(connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
            names[connection] = name or ""

        context.sni_callback = note
        self._server_names = names
        start = asyncio.start_server
        for listening in (
            start(self._serve, ("0.0.0.0", "::"), PLAIN_PORT, limit=LONGEST_HEAD),
            start(self._serve, ("0.0.0.0", "::"), TLS_PORT, limit=LONGEST_HEAD, ssl=context),
        ):
            self._loop.run_until_complete(listening)
        Thread(target=self._loop.run_forever, daemon=True).start()

    def take(self, *clients: str) -> list[Arrival]:
        """What came from these addresses since the last time."""
        with self._lock:
            return [arrival for client in clients for arrival in self._arrivals.pop(client, [])]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ssl.SSLError):
            # Whoever asked has left, or does not speak HTTP; what had come is written down.
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether there may be another."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, _, rest = head[:-4].partition("\r\n")
        if line == "PRI * HTTP/2.0":
            await Http2Connection(reader, writer, head.encode(), self._answer_http2).serve()
            return False
        fields = tuple(field_of(one) for one in rest.split("\r\n") if one)
        by_name = {name.lower(): value for name, value in fields}
        if by_name.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await read_body(reader, by_name)
        arrival = self._write_down(writer, line, fields, body)
        answer = await self._answer(arrival)
        if answer.breaks:
            return False
        closes = by_name.get("connection", "").lower() == "close" or line.endswith("HTTP/1.0")
        writer.write(answer_bytes(answer, arrival, line.partition(" ")[0], closes and answer.status != 101))
        await writer.drain()
        if answer.status == 101:
            while heard := await reader.read(LONGEST_HEAD):
                writer.write(heard)
                await writer.drain()
            return False
        return not closes

    def _write_down(
        self, writer: asyncio.StreamWriter, line: str, fields: tuple[tuple[str, str], ...], body: bytes
    ) -> Arrival:
        tls = writer.get_extra_info("ssl_object")
        arrival = Arrival(
            writer.get_extra_info("sockname")[0],
            line,
            fields,
            body,
            tls is not None,
            self._server_names.get(tls, "") if tls else "",
        )
        with self._lock:
            self._arrivals.setdefault(writer.get_extra_info("peername")[0], []).append(arrival)
        return arrival

    async def _answer(self, arrival: Arrival) -> Answer:
        """What the case says, when it is time."""
        path = arrival.line.partition(" ")[2].rpartition(" ")[0].partition("?")[0]
        answers = self.answers.get(arrival.address, {})
        answer = answers.get(path) or answers.get("") or Answer()
        if answer.delay:
            await asyncio.sleep(answer.delay)
        return answer

    async def _answer_http2(self, writer: asyncio.StreamWriter, request: Http2Request) -> Http2Answer | None:
        """The same by HTTP/2; None breaks the connection."""
        arrival = self._write_down(writer, request.line, request.fields, request.body)
        answer = await self._answer(arrival)
        return None if answer.breaks else http2_answer(answer, arrival)


def http2_answer(answer: Answer, arrival: Arrival) -> Http2Answer:
    """What an answer is by HTTP/2."""
    fields = [(":status", str(answer.status)), *((name.lower(), value) for name, value in answer.fields)]
    fails = any(name == "grpc-status" for name, _ in fields)
    bodyless = fails or answer.status in (204, 304) or arrival.line.startswith("HEAD ")
    body = b"" if bodyless else (answer.body or f"{arrival.line}\n").encode("latin-1")
    return Http2Answer(tuple(fields), body, answer.trailers)


def field_of(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name, value.strip(" \t")


async def read_body(reader: asyncio.StreamReader, fields: Mapping[str, str]) -> bytes:
    if "chunked" in fields.get("transfer-encoding", "").lower():
        body = b""
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        while await reader.readuntil(b"\r\n") != b"\r\n":
            pass
        return body
    return await reader.readexactly(int(fields.get("content-length") or 0))


def answer_bytes(answer: Answer, arrival: Arrival, method: str, closes: bool) -> bytes:
    body = (answer.body or f"{arrival.line}\n").encode()
    bodyless = answer.status in (204, 304) or answer.status < 200
    lines = [f"HTTP/1.1 {answer.status} Told", *(f"{name}: {value}" for name, value in answer.fields)]
    if not bodyless and not any(name.lower() == "transfer-encoding" for name, _ in answer.fields):
        lines.append(f"Content-Length: {len(body)}")
    if closes:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (b"" if bodyless or method == "HEAD" else body)
