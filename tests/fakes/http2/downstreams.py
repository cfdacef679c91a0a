"""A client on a real socket that speaks HTTP/2 by the ``h2`` package: a stranger to the proxy's own code."""

from __future__ import annotations

from typing import Any

import h2.config
import h2.connection
import h2.events
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

Fields = list[tuple[str, str]]


class Http2Answer:
    """What comes on one stream, and what is still to be sent on it."""

    def __init__(self, wire: Http2Downstream, stream: int) -> None:
        self.stream = stream
        self.statuses: list[int] = []
        self.fields: dict[str, str] = {}
        """Of the last head."""
        self.trailers: dict[str, str] = {}
        self.body = b""
        self.has_ended = False
        self.reset_by: int | None = None
        self._wire = wire
        self._waiting = b""
        self._is_ending = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more can come."""
        return self.has_ended or self.reset_by is not None

    def take(self) -> bytes:
        """Return the body that has come since the last time."""
        body, self.body = self.body, b""
        return body

    def send(self, octets: bytes, ended: bool = False) -> None:
        """Send some of the request body, as the windows allow."""
        self._waiting += octets
        self._is_ending = self._is_ending or ended
        self.go_on()

    def go_on(self) -> None:
        """Send what the windows allow now."""
        h2 = self._wire.h2
        while self._waiting and self.reset_by is None:
            size = min(h2.local_flow_control_window(self.stream), h2.max_outbound_frame_size)
            if size <= 0:
                break
            piece, self._waiting = self._waiting[:size], self._waiting[size:]
            h2.send_data(self.stream, piece)
        if self._is_ending and not self._waiting and self.reset_by is None:
            self._is_ending = False
            h2.end_stream(self.stream)
        self._wire.flush()

    def reset(self) -> None:
        """Give up."""
        self._wire.h2.reset_stream(self.stream, 8)
        self._wire.flush()


class Http2Downstream(Protocol):
    """One connection to the proxy; *answers* are by stream, *lost* is why it ended."""

    transport: Any

    def __init__(self) -> None:
        self.answers: dict[int, Http2Answer] = {}
        self.settings: dict[int, int] = {}
        """What the proxy set."""
        self.goodbye: int | None = None
        """The code of the last GOAWAY."""
        self.lost: BaseException | None = None
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))

    def connectionMade(self) -> None:
        self.h2.initiate_connection()
        self.flush()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.lost = reason.value

    def flush(self) -> None:
        """Send what there is to send."""
        octets = self.h2.data_to_send()
        if octets:
            self.transport.write(octets)

    def ask(self, fields: Fields, ended: bool = True) -> Http2Answer:
        """Begin a request."""
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, fields, end_stream=ended)
        self.flush()
        answer = self.answers[stream] = Http2Answer(self, stream)
        return answer

    def dataReceived(self, data: bytes) -> None:
        for event in self.h2.receive_data(data):
            self._happened(event)
        self.flush()

    def _happened(self, event: Any) -> None:
        if isinstance(event, h2.events.RemoteSettingsChanged):
            self.settings.update({int(name): each.new_value for name, each in event.changed_settings.items()})
        if isinstance(event, h2.events.RemoteSettingsChanged | h2.events.WindowUpdated):
            for answer in self.answers.values():
                answer.go_on()
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.goodbye = int(event.error_code or 0)
        elif getattr(event, "stream_id", None) in self.answers:
            self._answered(event, self.answers[event.stream_id])

    def _answered(self, event: Any, answer: Http2Answer) -> None:
        if isinstance(event, h2.events.ResponseReceived | h2.events.InformationalResponseReceived):
            answer.fields = dict(event.headers)  # type: ignore[arg-type]  # texts
            answer.statuses.append(int(answer.fields[":status"]))
        elif isinstance(event, h2.events.TrailersReceived):
            answer.trailers = dict(event.headers)  # type: ignore[arg-type]  # texts
        elif isinstance(event, h2.events.DataReceived):
            answer.body += event.data
            if event.flow_controlled_length:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            answer.has_ended = True
        elif isinstance(event, h2.events.StreamReset):
            answer.reset_by = int(event.error_code)
