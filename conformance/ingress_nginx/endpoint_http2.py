"""The endpoints' side of a connection by HTTP/2, which the library ``h2`` understands.  Source: RFC 9113.

It knows nothing of cases: it reads requests, and writes what it is told to.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, Event, RequestReceived, StreamEnded, StreamReset, TrailersReceived
from h2.exceptions import ProtocolError

CHUNK = 65_536


@dataclass(frozen=True)
class Http2Request:
    """``line`` as HTTP/1.1 would have it, ``fields`` with the authority as ``host`` first, and trailers last.

    Which of the two a client says makes no difference to anybody (RFC 9113, section 8.3.1).
    """

    line: str
    fields: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True)
class Http2Answer:
    """``fields`` with ``:status`` first."""

    fields: tuple[tuple[str, str], ...]
    body: bytes
    trailers: tuple[tuple[str, str], ...]


Answering = Callable[[asyncio.StreamWriter, Http2Request], Awaitable[Http2Answer | None]]


@dataclass
class _Stream:
    pseudo: dict[str, str]
    fields: list[tuple[str, str]]
    body: bytes = b""

    def request(self) -> Http2Request:
        line = f"{self.pseudo.get(':method')} {self.pseudo.get(':path')} HTTP/2"
        authority = self.pseudo.get(":authority")
        host = [] if authority is None else [("host", authority)]
        return Http2Request(line, (*host, *self.fields), self.body)


@dataclass
class Http2Connection:
    """One connection.  ``said`` is what was read of it already; ``answers`` is asked once a request is whole."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    said: bytes
    answers: Answering
    streams: dict[int, _Stream] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settings = H2Configuration(client_side=False, header_encoding=False, validate_inbound_headers=False)
        self._http2 = H2Connection(settings)
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Until the other side ends.  Raises ConnectionError."""
        self._http2.initiate_connection()
        said = self.said
        try:
            while said:
                try:
                    events = self._http2.receive_data(said)
                except ProtocolError:
                    # What is left to say tells the other side why.
                    self.writer.write(self._http2.data_to_send())
                    return
                for event in events:
                    self._take(event)
                self.writer.write(self._http2.data_to_send())
                await self.writer.drain()
                said = await self.reader.read(CHUNK)
        finally:
            for task in self._tasks:
                task.cancel()

    def _take(self, event: Event) -> None:
        if isinstance(event, RequestReceived):
            found = texts(event.headers)
            pseudo = {name: value for name, value in found if name.startswith(":")}
            self.streams[event.stream_id] = _Stream(pseudo, [one for one in found if one[0] not in pseudo])
        elif isinstance(event, DataReceived):
            self.streams[event.stream_id].body += event.data
            self._http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, TrailersReceived):
            trailers = [(f"trailer: {name}", value) for name, value in texts(event.headers)]
            self.streams[event.stream_id].fields += trailers
        elif isinstance(event, StreamEnded):
            task = asyncio.ensure_future(self._answer(event.stream_id))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif isinstance(event, StreamReset):
            self.streams.pop(event.stream_id, None)

    async def _answer(self, number: int) -> None:
        answer = await self.answers(self.writer, self.streams[number].request())
        if answer is None:
            self.writer.close()
            return
        if self.streams.pop(number, None) is None:
            # It was reset meanwhile.
            return
        self._http2.send_headers(number, answer.fields, end_stream=not (answer.body or answer.trailers))
        if answer.body:
            # Bodies of cases are smaller than any window.
            self._http2.send_data(number, answer.body, end_stream=not answer.trailers)
        if answer.trailers:
            self._http2.send_headers(number, answer.trailers, end_stream=True)
        self.writer.write(self._http2.data_to_send())
        await self.writer.drain()


def texts(fields: object) -> list[tuple[str, str]]:
    """Fields as the library has them."""
    assert isinstance(fields, list | tuple)
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in fields]
