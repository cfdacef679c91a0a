"""What runs when one controller takes the place of another: uploads, downloads, WebSockets, and clients that never cease."""

from __future__ import annotations

import os
import sys

from twisted.internet.utils import getProcessOutputAndValue

from tests.end_to_end.takeover.takeover_case import TakeoverCase
from tests.fakes.bodies import MEGABYTE
from tests.fakes.objects import NAMESPACE, ingress_object, service_object
from tests.fakes.peers.upstreams import UpstreamWire
from tests.fakes.peers.web_sockets import TEXT, EchoUpstream, MessageReader, message
from tests.fakes.processes import ROOT

CHAT = "chat.test"
UPGRADE = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


class TrafficTests(TakeoverCase):
    """Connections that are open amid a takeover."""

    async def test_websocket(self) -> None:
        """A WebSocket goes on for the grace, and is cut at its end; what is new meanwhile is the new process's."""
        echo = EchoUpstream(self.reactor)
        port = echo.listen().port
        self.addCleanup(echo.stop)
        self.write("chat", service_object("chat"), ingress_object("chat", CHAT))
        options = (f"--endpoint={NAMESPACE}/chat=127.0.0.1:{port}", "--shutdown-grace=6")
        old = await self.serving(*options)
        client = await self.connect(self.http)
        client.get(b"/room", CHAT.encode(), UPGRADE)
        await self.until(lambda: [answer.status for answer in client.answers] == [101])
        self.start_next(*self.options)
        await self.until_told(old, b"has taken over")
        began = self.reactor.seconds()
        client.send(message(TEXT, b"still there?", masked=True))
        await self.until(lambda: client.tunnel)
        self.assertEqual(
            [one.octets for one in MessageReader().feed(bytes(client.tunnel))], [b"still there?"]
        )
        self.assertIsNone(client.lost)
        await self.taken_over(old)
        await self.until(lambda: client.lost is not None)
        self.assertGreater(self.reactor.seconds() - began, 1.0)

    async def test_download(self) -> None:
        """A download that runs ends whole, from the process in which it began."""
        old = await self.serving()
        client = await self.connect(self.http)
        client.get(b"/slow", b"shop.test")
        await self.until(lambda: self.held)
        wire, half = self.held[0], 4 * MEGABYTE
        wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (2 * half) + bytes(half))
        self.start_next(*self.options)
        await self.until_told(old, b"has taken over")
        wire.write(bytes(half))
        await client.answer(1)
        [answer] = client.answers
        self.assertEqual((answer.status, answer.size, answer.whole), (200, 2 * half, True))
        await self.taken_over(old)

    async def test_upload(self) -> None:
        """So does an upload, of which the endpoint gets every byte."""
        old = await self.serving()
        got: list[UpstreamWire] = []
        self.app.on_request = got.append
        client = await self.connect(self.http)
        half = MEGABYTE // 4
        client.send(
            b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: %d\r\n\r\n" % (2 * half) + bytes(half)
        )
        await self.until(lambda: self.app.wires)
        self.start_next(*self.options)
        await self.until_told(old, b"has taken over")
        client.send(bytes(half))
        await self.until(lambda: got)
        got[0].write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await client.answer(1)
        self.assertEqual([answer.status for answer in client.answers], [200])
        await self.taken_over(old)


class LoadTests(TakeoverCase):
    """The benchmark of takeovers, with few requests."""

    timeout = 180

    async def nothing_is_lost(self, *options: str) -> None:
        """Play it, and check that it says so."""
        command = [
            sys.executable,
            "-m",
            "bench.disruptions.takeover",
            "--takeovers=1",
            "--requests=60",
            "--pause=0.01",
            *options,
        ]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        out, errors, status = await getProcessOutputAndValue(
            command[0], command[1:], env=environment, path=str(ROOT), reactor=self.reactor
        )
        said = out.decode()
        self.assertEqual((status, errors), (0, b""), said)
        self.assertEqual(said.count(" 0 failed of "), 5, said)
        self.assertIn("\n0 processes are left behind\n", said)

    async def test_one_process(self) -> None:
        """Not one request fails, on new connections or kept ones, plain, over TLS or HTTP/2."""
        await self.nothing_is_lost()

    async def test_workers(self) -> None:
        """Nor with workers."""
        await self.nothing_is_lost("--option=--workers=2")
