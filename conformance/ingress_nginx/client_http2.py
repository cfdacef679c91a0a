"""One request by HTTP/2 on a connection of its own, and its answer.  Source: RFC 9113.

The connection is that of the library ``h2``, which shares nothing with ours.
"""

import socket
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    InformationalResponseReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.exceptions import ProtocolError

from conformance.ingress_nginx.case import Ask, fields_of
from conformance.ingress_nginx.got import PATIENCE_SECONDS, TIMEOUT_SECONDS, Got

STREAM = 1
CHUNK = 65_536


def head_of(ask: Ask, cookies: str = "") -> list[tuple[str, str]]:
    """Pseudo-header fields and fields, names in lowercase; nothing else is changed, so what HTTP/2 forbids can be asked."""
    head = [(":method", ask.method), (":scheme", "https"), (":path", ask.target)]
    if ask.host:
        head.append((":authority", ask.host))
    return [*head, *((name.lower(), value) for name, value in fields_of(ask, cookies))]


@dataclass
class _Answer:
    status: int = 0
    fields: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    ended: str = ""
    interim: list[int] = field(default_factory=list)
    trailers: tuple[tuple[str, str], ...] = ()
    over: bool = False

    def take(self, event: Event) -> None:
        if isinstance(event, InformationalResponseReceived):
            self.interim.append(int(dict(texts(event.headers))[":status"]))
        elif isinstance(event, ResponseReceived):
            found = texts(event.headers)
            self.status = int(dict(found)[":status"])
            self.fields = tuple((name, value) for name, value in found if not name.startswith(":"))
        elif isinstance(event, DataReceived):
            self.body += event.data
        elif isinstance(event, TrailersReceived):
            self.trailers = tuple(texts(event.headers))
        elif isinstance(event, StreamEnded):
            self.over = True
        elif isinstance(event, StreamReset) and not self.over:
            self.ended, self.over = f"reset: {int(event.error_code)}", True
        elif isinstance(event, ConnectionTerminated) and not self.over and event.error_code:
            self.ended, self.over = f"gone: {int(event.error_code)}", True

    def got(self) -> Got:
        ended = self.ended or ("" if self.over else "cut" if self.status else "closed without an answer")
        return Got(
            self.status, self.fields, self.body, ended, interim=tuple(self.interim), trailers=self.trailers
        )


def texts(fields: object) -> list[tuple[str, str]]:
    """Fields as the library has them."""
    assert isinstance(fields, list | tuple)
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in fields]


def exchange_http2(connection: socket.socket, ask: Ask, cookies: str) -> Got:
    """Ask, and take the answer as far as it comes.  Raises OSError."""
    settings = H2Configuration(
        client_side=True,
        header_encoding=False,
        validate_outbound_headers=False,
        normalize_outbound_headers=False,
        validate_inbound_headers=True,
    )
    http2 = H2Connection(settings)
    http2.initiate_connection()
    http2.increment_flow_control_window(1 << 24)
    answer = _Answer()
    http2.send_headers(STREAM, head_of(ask, cookies), end_stream=not (ask.body or ask.trailers))
    body = ask.body
    is_sent = not (ask.body or ask.trailers)
    waits = ask.waits
    while not answer.over:
        if not is_sent and not waits:
            body, is_sent = _send_some(http2, body, ask)
        connection.sendall(http2.data_to_send())
        if waits:
            connection.settimeout(PATIENCE_SECONDS)
        try:
            said = connection.recv(CHUNK)
        except TimeoutError:
            if not waits:
                answer.ended = "no end in time" if answer.status else "nothing came in time"
                break
            waits = False
            connection.settimeout(TIMEOUT_SECONDS)
            continue
        if not said:
            break
        try:
            for event in http2.receive_data(said):
                answer.take(event)
                if isinstance(event, DataReceived):
                    http2.acknowledge_received_data(event.flow_controlled_length, STREAM)
        except ProtocolError as error:
            answer.ended = type(error).__name__
            break
        waits = waits and not (answer.interim or answer.status)
    return answer.got()


def _send_some(http2: H2Connection, body: bytes, ask: Ask) -> tuple[bytes, bool]:
    """Send what the windows allow of the rest of a body; returns what is left, and whether all was sent with its end."""
    while body:
        size = min(http2.local_flow_control_window(STREAM), http2.max_outbound_frame_size, len(body))
        if not size:
            return body, False
        piece, body = body[:size], body[size:]
        http2.send_data(STREAM, piece, end_stream=not (body or ask.trailers))
    if ask.trailers:
        http2.send_headers(STREAM, list(ask.trailers), end_stream=True)
    return b"", True
