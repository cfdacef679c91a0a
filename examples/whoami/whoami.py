"""``python -m examples.whoami``: a small backend that tells what reached it.

Any request is answered with the name of this backend and the request as it was
received, so one sees which endpoint was chosen and what the proxy made of the
head.  The end of the path may ask for something else; it is looked at wherever
it stands, because an Ingress forwards ``/shop/json`` as ``/shop/json``:

- ``…/json``: the same as JSON
- ``…/status/CODE``: that status, 200 to 599
- ``…/bytes/N``: N bytes, at most ``MAX_BYTES``
- ``…/slow/SECONDS``: the usual answer later, at most ``MAX_SECONDS``

A WebSocket handshake on any path gets an echo.  Bodies of requests are counted
and never kept.  Nothing of the controller is used here, so that its faults do
not show on both sides.
"""

import argparse
import json
import re
import socket
import sys
from collections.abc import Sequence
from http.client import responses
from typing import Any

from attrs import frozen
from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import connectionDone
from twisted.internet.task import react
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel, HTTPFactory, Request

from examples.whoami.websocket_echo import WebSocketEcho
from examples.whoami.websocket_frames import handshake, wants_websocket

MAX_BYTES = 16 * 1024 * 1024
MAX_SECONDS = 60.0
TEXT = (b"Content-Type", b"text/plain; charset=utf-8")

_SPECIAL = re.compile(
    rb"/(?:(?P<json>json)|status/(?P<status>\d{3})|bytes/(?P<bytes>\d{1,9})"
    rb"|slow/(?P<slow>\d{1,3}(?:\.\d{1,3})?))$"
)


@frozen
class Reply:
    """What is answered: status, fields, body."""

    status: int
    fields: tuple[tuple[bytes, bytes], ...]
    body: bytes


@frozen
class Received:
    """A request as it arrived; header names keep their case and order."""

    name: str
    peer: str
    method: bytes
    target: bytes
    version: bytes
    fields: tuple[tuple[bytes, bytes], ...]
    body_bytes: int

    def as_text(self) -> bytes:
        """Name, peer and size of the body, then the head as received."""
        head = b"".join(b"%s: %s\n" % pair for pair in self.fields)
        about = f"name: {self.name}\npeer: {self.peer}\nbody: {self.body_bytes} bytes\n\n"
        return about.encode() + b"%s %s %s\n" % (self.method, self.target, self.version) + head

    def as_json(self) -> bytes:
        """The same for programs; bytes that are not ASCII appear as Latin-1."""
        return (
            json.dumps(
                {
                    "name": self.name,
                    "peer": self.peer,
                    "method": self.method.decode("latin-1"),
                    "target": self.target.decode("latin-1"),
                    "version": self.version.decode("latin-1"),
                    "headers": [
                        [name.decode("latin-1"), value.decode("latin-1")] for name, value in self.fields
                    ],
                    "body_bytes": self.body_bytes,
                },
                indent=2,
            ).encode()
            + b"\n"
        )


def answer(received: Received) -> tuple[Reply, float]:
    """What to answer, and after how many seconds."""
    special = _SPECIAL.search(received.target.partition(b"?")[0])
    asked = special.groupdict() if special else {}
    if asked.get("json"):
        return Reply(200, ((b"Content-Type", b"application/json"),), received.as_json()), 0.0
    if status := asked.get("status"):
        if not 200 <= int(status) <= 599:
            return Reply(400, (TEXT,), b"whoami: a status is a number from 200 to 599\n"), 0.0
        return Reply(int(status), (TEXT,), received.as_text()), 0.0
    if size := asked.get("bytes"):
        if int(size) > MAX_BYTES:
            return Reply(400, (TEXT,), b"whoami: at most %d bytes\n" % MAX_BYTES), 0.0
        return Reply(200, ((b"Content-Type", b"application/octet-stream"),), b"." * int(size)), 0.0
    if seconds := asked.get("slow"):
        return Reply(200, (TEXT,), received.as_text()), min(float(seconds), MAX_SECONDS)
    return Reply(200, (TEXT,), received.as_text()), 0.0


class WhoamiRequest(Request):
    """A request that is answered as soon as all of it has arrived."""

    channel: "WhoamiChannel"

    def __init__(self, channel: "WhoamiChannel", queued: object = True) -> None:
        super().__init__(channel, queued)
        self.fields: list[tuple[bytes, bytes]] = []
        self._body_bytes = 0

    def gotLength(self, length: int | None) -> None:
        """Prepare nothing: bodies are not kept."""

    def handleContentChunk(self, data: bytes) -> None:
        """Count the body."""
        self._body_bytes += len(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        """Answer, now or later, or become a WebSocket."""
        self.method, self.uri, self.clientproto = command, path, version
        factory = self.channel.factory
        if wants_websocket(self.fields):
            status, fields = handshake(command, self.fields)
            if status == 101:
                self.channel.become_websocket(fields)
            else:
                self._send(Reply(status, (TEXT, *fields), b"whoami: bad WebSocket handshake\n"))
            return
        peer = self.channel.getPeer()
        reply, delay_seconds = answer(
            Received(
                factory.name,
                f"{getattr(peer, 'host', '')}:{getattr(peer, 'port', '')}",
                command,
                path,
                version,
                tuple(self.fields),
                self._body_bytes,
            )
        )
        if not delay_seconds:
            self._send(reply)
            return
        waiting = factory.reactor.callLater(delay_seconds, self._send, reply)
        # The downstream may leave first; nobody is left to answer then.
        self.notifyFinish().addErrback(lambda _: waiting.cancel())

    def _send(self, reply: Reply) -> None:
        self.setResponseCode(reply.status, responses.get(reply.status, "").encode())
        for name, value in reply.fields:
            self.responseHeaders.addRawHeader(name, value)
        if reply.status not in (204, 304):
            self.responseHeaders.addRawHeader(b"Content-Length", b"%d" % len(reply.body))
        self.write(reply.body)
        self.finish()


class WhoamiChannel(HTTPChannel):
    """Keeps header lines as they came, and can hand its connection to a WebSocket."""

    requestFactory: type[Request] = WhoamiRequest  # noqa: N815 (Twisted's name)
    factory: "WhoamiFactory"
    _websocket: WebSocketEcho | None = None

    def headerReceived(self, line: bytes) -> bool:
        """Keep the name before it is brought to Twisted's spelling."""
        name, _, value = line.partition(b":")
        self.requests[-1].fields.append((name, value.strip(b" \t")))
        return bool(super().headerReceived(line))

    def become_websocket(self, fields: Sequence[tuple[bytes, bytes]]) -> None:
        """Send the 101; from here on the connection is an echo."""
        lines = [b"HTTP/1.1 101 Switching Protocols", *(b"%s: %s" % pair for pair in fields), b"", b""]
        self.write(b"\r\n".join(lines))
        self.setTimeout(None)
        self._networkProducer.unregisterProducer()  # type: ignore[attr-defined]
        self._websocket = WebSocketEcho()
        self._websocket.makeConnection(self.transport)

    def dataReceived(self, data: bytes) -> None:
        """Give bytes to whoever owns the connection now."""
        if self._websocket is not None:
            self._websocket.dataReceived(data)
        else:
            super().dataReceived(data)

    def rawDataReceived(self, data: bytes) -> None:
        """Frames may follow the head in the same segment."""
        if self._websocket is not None:
            self._websocket.dataReceived(data)
        else:
            super().rawDataReceived(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Tell both owners."""
        super().connectionLost(reason)
        if self._websocket is not None:
            self._websocket.connectionLost(reason)


class WhoamiFactory(HTTPFactory):
    """Makes channels that know the name of this backend."""

    protocol = WhoamiChannel  # type: ignore[assignment]

    def __init__(self, name: str, reactor: IReactorTime) -> None:
        super().__init__(reactor=reactor)
        self.name = name

    def log(self, request: Request) -> None:
        """Keep quiet: the proxy writes the access log."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m examples.whoami",
        description="A small backend that answers every request with its name and the request as received.",
    )
    made.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    made.add_argument(
        "--port", type=int, default=8080, help="port, 0 for any free one (default: %(default)s)"
    )
    made.add_argument("--name", default=socket.gethostname(), help="name to answer with (default: host name)")
    return made


async def serve(reactor: Any, host: str, port: int, name: str) -> None:
    """Listen until the reactor stops.  Raises SystemExit when the port cannot be had."""
    try:
        listening = reactor.listenTCP(port, WhoamiFactory(name, reactor), interface=host)
    except (CannotListenError, OverflowError) as error:
        why = getattr(error, "socketError", error)
        sys.stderr.write(f"whoami: cannot listen on {host}:{port}: {getattr(why, 'strerror', None) or why}\n")
        raise SystemExit(1) from None
    address = listening.getHost()
    sys.stdout.write(f"whoami {name} answers on {address.host}:{address.port}\n")
    sys.stdout.flush()
    await Deferred()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until SIGTERM or Ctrl-C; both end with status 0."""
    options = parser().parse_args(arguments)
    react(serve, (options.host, options.port, options.name))
