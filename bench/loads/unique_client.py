"""A load generator for HTTP/2 over TLS whose requests all differ, since h2load's are all alike.

``python unique_client.py PORT HOST CONNECTIONS STREAMS REQUESTS`` prints how many succeeded, as JSON.
All frames are made before the first one is sent.  Nothing of an answer but its status is read.
"""

import json
import random
import selectors
import socket
import ssl
import sys

from attrs import define, field

from bench.loads.unique_requests import (
    ACK,
    DATA,
    END_STREAM,
    FRAME_HEAD,
    GOAWAY,
    HEADERS,
    PING,
    RST_STREAM,
    SETTINGS,
    frame,
    has_status_200,
    opening,
    request_frames,
)

LOOPBACK = "127.0.0.1"
PATIENCE_SECONDS = 20.0
_AT_ONCE = 65536
_HEADER_TABLE_SIZE = 1
_NEEDED_TABLE = 4096


def client_context() -> ssl.SSLContext:
    """Make a context that trusts whomever it meets and speaks nothing but HTTP/2."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context


class Refused(Exception):  # noqa: N818 - an outcome, told as one
    """The peer does not serve such a load; the message says why."""


@define(eq=False)
class Connection:
    """One connection with its requests; *frames* are theirs."""

    socket: ssl.SSLSocket
    frames: list[bytes]
    good: int = 0
    """Answers with status 200."""
    ended: int = 0
    """Streams that are over, however."""
    _sent: int = 0
    _received: bytes = b""

    def start(self, streams: int) -> None:
        """Send what a connection begins with, and the first requests."""
        self._send(opening())
        self._ask(streams)

    @property
    def is_done(self) -> bool:
        """Whether all streams are over."""
        return self.ended >= len(self.frames)

    def read(self) -> None:
        """Take what has come, and send as many requests as were answered.  Raises Refused."""
        try:
            received = self.socket.recv(_AT_ONCE)
            while self.socket.pending():
                received += self.socket.recv(_AT_ONCE)
        except ssl.SSLWantReadError:
            return
        if not received:
            raise Refused("a connection was closed")
        before = self.ended
        self._take(self._received + received)
        if self.ended > before:
            self._ask(self.ended - before)

    def _take(self, octets: bytes) -> None:
        place, size = 0, len(octets)
        while size - place >= FRAME_HEAD:
            payload = place + FRAME_HEAD
            end = payload + int.from_bytes(octets[place : place + 3], "big")
            if end > size:
                break
            kind, flags = octets[place + 3], octets[place + 4]
            if kind == HEADERS:
                self.good += has_status_200(octets[payload:end])
                self.ended += flags & END_STREAM
            elif kind == DATA:
                self.ended += flags & END_STREAM
            elif kind == RST_STREAM:
                self.ended += 1
            else:
                self._take_other(kind, flags, octets[payload:end])
            place = end
        self._received = octets[place:]

    def _take_other(self, kind: int, flags: int, payload: bytes) -> None:
        if kind == GOAWAY:
            raise Refused(f"GOAWAY after {self.ended} requests, code {int.from_bytes(payload[4:8], 'big')}")
        if kind == SETTINGS and not flags & ACK:
            for place in range(0, len(payload), 6):
                name = int.from_bytes(payload[place : place + 2], "big")
                value = int.from_bytes(payload[place + 2 : place + 6], "big")
                if name == _HEADER_TABLE_SIZE and value < _NEEDED_TABLE:
                    raise Refused(f"the peer's table holds no more than {value} bytes")
            self._send(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            self._send(frame(PING, ACK, 0, payload))

    def _ask(self, count: int) -> None:
        wanted = self.frames[self._sent : self._sent + count]
        if wanted:
            self._sent += len(wanted)
            self._send(b"".join(wanted))

    def _send(self, octets: bytes) -> None:
        try:
            self.socket.send(octets)
        except ssl.SSLWantWriteError:
            self.socket.settimeout(PATIENCE_SECONDS)
            self.socket.sendall(octets)
            self.socket.settimeout(0)


@define
class Load:
    """All connections to *host* at *port*."""

    port: int
    host: str
    connections: list[Connection] = field(factory=list)

    def open(self, count: int, requests: int) -> None:
        """Make the frames, then open *count* connections.  Raises OSError and Refused."""
        share = -(-requests // count)
        # No two runs send the same.
        first = random.randrange(1, 1_000_000) * 1_000_000
        all_frames = [list(request_frames(self.host, share, first + share * one)) for one in range(count)]
        context = client_context()
        for frames in all_frames:
            plain = socket.create_connection((LOOPBACK, self.port), timeout=PATIENCE_SECONDS)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            secure = context.wrap_socket(plain, server_hostname=self.host)
            if secure.selected_alpn_protocol() != "h2":
                raise Refused("no h2 by ALPN")
            secure.settimeout(0)
            self.connections.append(Connection(secure, frames))

    def run(self, streams: int) -> None:
        """Send everything, *streams* at a time on each connection.  Raises OSError and Refused."""
        waiting = selectors.EpollSelector()
        for connection in self.connections:
            waiting.register(connection.socket, selectors.EVENT_READ, connection)
            connection.start(streams)
        open_connections = len(self.connections)
        while open_connections:
            events = waiting.select(PATIENCE_SECONDS)
            if not events:
                raise Refused(f"no answer within {PATIENCE_SECONDS:g} s")
            for key, _ in events:
                connection = key.data
                connection.read()
                if connection.is_done:
                    waiting.unregister(connection.socket)
                    open_connections -= 1

    def outcome(self, reason: str) -> dict[str, int | str]:
        """What has been answered, and why not all was."""
        wanted = sum(len(one.frames) for one in self.connections)
        good = sum(min(one.good, one.ended) for one in self.connections)
        return {"succeeded": good, "failed": wanted - good, "reason": reason}


def main(port: str, host: str, connections: str, streams: str, requests: str) -> None:
    """Run one load and print what came of it."""
    load = Load(int(port), host)
    reason = ""
    try:
        load.open(int(connections), int(requests))
        load.run(int(streams))
    except (OSError, Refused) as error:
        reason = str(error)
    print(json.dumps(load.outcome(reason)))


if __name__ == "__main__":
    main(*sys.argv[1:])
