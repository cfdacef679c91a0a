"""WebSockets inside of HTTP/2 (RFC 8441), through the whole controller as a process, over TLS, to HTTP/1.1 upstreams."""

from __future__ import annotations

import signal

from h2.settings import SettingCodes
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol, wrapClientTLS
from twisted.internet.ssl import Certificate, optionsForClientTLS

from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.bodies import MEGABYTE
from tests.fakes.certificates import issue, make_authority
from tests.fakes.http2.downstreams import Fields, Http2Answer, Http2Downstream
from tests.fakes.objects import NAMESPACE, ingress_object, secret_object, service_object
from tests.fakes.peers.web_sockets import (
    BINARY,
    CLOSE,
    GOODBYE,
    TEXT,
    EchoUpstream,
    Message,
    MessageReader,
    message,
)

HOST = "chat.test"
LARGE = bytes(range(256)) * (MEGABYTE // 256)


class WebSocketTests(EndToEndCase):
    """An upstream that echoes, and one client with one connection."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Start all, and connect."""
        super().setUp()
        authority = make_authority()
        self.echo = EchoUpstream(self.reactor)
        port = self.echo.listen().port
        self.addCleanup(self.echo.stop)
        pair = issue(authority, [HOST])
        self.write(
            "all", service_object("chat"), ingress_object("chat", HOST, "cert"), secret_object("cert", *pair)
        )
        self.controller = self.start_with_manifests(f"--endpoint={NAMESPACE}/chat=127.0.0.1:{port}")
        await self.until_ready(self.controller)
        options = optionsForClientTLS(
            HOST, trustRoot=Certificate.loadPEM(authority.pem), acceptableProtocols=[b"h2"]
        )
        self.client = Http2Downstream()
        endpoint = wrapClientTLS(options, TCP4ClientEndpoint(self.reactor, "127.0.0.1", self.https))
        await connectProtocol(endpoint, self.client)
        self.addCleanup(self.leave)
        await self.until(lambda: self.client.settings)

    async def leave(self) -> None:
        """End the connection."""
        if self.client.lost is None:
            self.client.transport.abortConnection()
        await self.until(lambda: self.client.lost)

    def ask(self) -> Http2Answer:
        """Ask for a WebSocket."""
        fields: Fields = [
            (":method", "CONNECT"),
            (":protocol", "websocket"),
            (":scheme", "https"),
            (":authority", HOST),
            (":path", "/room?id=7"),
            ("sec-websocket-version", "13"),
            ("origin", f"https://{HOST}"),
        ]
        return self.client.ask(fields, ended=False)

    async def open(self) -> Http2Answer:
        """Open a WebSocket."""
        socket = self.ask()
        await self.until(lambda: socket.statuses)
        self.assertEqual(socket.statuses, [200])
        return socket

    async def messages(self, socket: Http2Answer, count: int) -> list[Message]:
        """Return the next messages."""
        reader, found = MessageReader(), list[Message]()

        def look() -> bool:
            found.extend(reader.feed(socket.take()))
            return len(found) >= count

        await self.until(look)
        return found

    async def works(self) -> None:
        """Check that the connection is as good as before, then that the process stops cleanly."""
        socket = await self.open()
        socket.send(message(TEXT, b"still here", masked=True))
        self.assertEqual(await self.messages(socket, 1), [Message(TEXT, b"still here", masked=False)])
        socket.reset()
        await self.until(lambda: not self.echo.open_wires)
        await self.leave()
        self.controller.signal(signal.SIGTERM)
        await self.stopped(self.controller)

    async def test_echo(self) -> None:
        """What is said comes back, small and large, on several streams of one connection at once."""
        self.assertEqual(self.client.settings[SettingCodes.ENABLE_CONNECT_PROTOCOL], 1)
        sockets = [await self.open() for _ in range(3)]
        for socket in sockets:
            self.assertNotIn("sec-websocket-accept", socket.fields)
            self.assertNotIn("upgrade", socket.fields)
            socket.send(message(TEXT, "häh?".encode(), masked=True))
            socket.send(message(BINARY, LARGE, masked=True))
        for socket in sockets:
            self.assertEqual(
                await self.messages(socket, 2),
                [Message(TEXT, "häh?".encode(), masked=False), Message(BINARY, LARGE, masked=False)],
            )
        self.assertEqual(len(set(self.echo.keys)), 3)
        self.assertEqual([each.masked for each in self.echo.messages], [True] * 6)
        head = self.echo.wires[0].heads[0]
        self.assertTrue(head.startswith(b"GET /room?id=7 HTTP/1.1\r\nHost: chat.test\r\n"), head)
        for socket in sockets:
            socket.reset()
        await self.works()

    async def test_closed_by_client(self) -> None:
        """A client that closes hears upstream close, too, even if it ended its side with that; one that goes away just goes."""
        for ended in (False, True):
            socket = await self.open()
            socket.send(message(CLOSE, GOODBYE, masked=True), ended=ended)
            self.assertEqual(await self.messages(socket, 1), [Message(CLOSE, GOODBYE, masked=False)])
            await self.until(lambda one=socket: one.has_ended)  # type: ignore[misc]
            await self.until(lambda: not self.echo.open_wires)
        gone = await self.open()
        gone.reset()
        await self.until(lambda: not self.echo.open_wires)
        await self.works()

    async def test_closed_by_upstream(self) -> None:
        """An upstream that closes is heard to its last word; one that is reset ends the stream, and no other."""
        socket, other = await self.open(), await self.open()
        socket.send(message(BINARY, LARGE, masked=True) + message(TEXT, b"bye", masked=True))
        self.assertEqual(
            [(each.kind, len(each.octets)) for each in await self.messages(socket, 3)],
            [(BINARY, MEGABYTE), (TEXT, 3), (CLOSE, 2)],
        )
        await self.until(lambda: socket.has_ended)
        [wire] = self.echo.open_wires
        wire.reset()
        await self.until(lambda: other.is_over)
        await self.works()

    async def test_refused(self) -> None:
        """Upstream's no is passed on; a yes that is none of a WebSocket is 502, and so is one that read no key."""
        shake_hands = self.echo.on_request
        switch = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        wrong = b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
        for said, status, body in (
            (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", 403, b"no"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 502, b""),
            (switch + b"\r\n", 502, b""),
            (switch + wrong + b"\r\n", 502, b""),
        ):
            self.echo.on_request = lambda wire, said=said: wire.write(said)  # type: ignore[misc]
            socket = self.ask()
            await self.until(lambda one=socket: one.is_over)  # type: ignore[misc]
            self.assertEqual((socket.statuses, socket.body), ([status], body), said)
        await self.until(lambda: self.access_log.read_bytes().count(b"\n") == 4)
        lines = [line.split(b" ") for line in self.access_log.read_bytes().splitlines()]
        self.assertEqual([line[5] for line in lines], [b"403", b"502", b"502", b"502"])
        self.echo.on_request = shake_hands
        await self.works()
