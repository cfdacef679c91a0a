"""Tests for ``examples.whoami.whoami``."""

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionLost
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

import ingress
from examples.whoami.websocket_frames import Frame, Opcode
from examples.whoami.whoami import MAX_BYTES, MAX_SECONDS, Received, WhoamiChannel, WhoamiFactory, answer
from tests.examples.test_websocket_frames import UPGRADE, masked

PEER = IPv4Address("TCP", "192.0.2.7", 4711)


def received(target: bytes = b"/") -> Received:
    """A request for *target*."""
    return Received("shop-1", "192.0.2.7:4711", b"GET", target, b"HTTP/1.1", ((b"hOst", b"a.example"),), 3)


class AnswerTests(SynchronousTestCase):
    """What is answered to which path."""

    def test_text(self) -> None:
        """Any path is answered with the name, the peer and the request as received."""
        reply, delay_seconds = answer(received(b"/any/path?q=1"))
        self.assertEqual((reply.status, delay_seconds), (200, 0.0))
        self.assertEqual(
            reply.body,
            b"name: shop-1\npeer: 192.0.2.7:4711\nbody: 3 bytes\n\nGET /any/path?q=1 HTTP/1.1\nhOst: a.example\n",
        )

    def test_json(self) -> None:
        """A path that ends in /json is answered with the same as JSON."""
        for target in (b"/json", b"/shop/json", b"/json?x=1"):
            reply, _ = answer(received(target))
            self.assertEqual(reply.fields, ((b"Content-Type", b"application/json"),))
            self.assertEqual(
                json.loads(reply.body),
                {
                    "name": "shop-1",
                    "peer": "192.0.2.7:4711",
                    "method": "GET",
                    "target": target.decode(),
                    "version": "HTTP/1.1",
                    "headers": [["hOst", "a.example"]],
                    "body_bytes": 3,
                },
            )

    def test_status(self) -> None:
        """The path may ask for a status from 200 to 599; any other number is a 400."""
        for target, status in ((b"/status/503", 503), (b"/a/status/200", 200), (b"/status/100", 400)):
            self.assertEqual(answer(received(target))[0].status, status)

    def test_bytes(self) -> None:
        """The path may ask for so many bytes, up to a bound."""
        self.assertEqual(len(answer(received(b"/bytes/1000"))[0].body), 1000)
        self.assertEqual(len(answer(received(b"/bytes/%d" % MAX_BYTES))[0].body), MAX_BYTES)
        self.assertEqual(answer(received(b"/bytes/%d" % (MAX_BYTES + 1)))[0].status, 400)

    def test_slow(self) -> None:
        """The path may ask for a delay, up to a bound."""
        self.assertEqual(answer(received(b"/slow/1.5"))[1], 1.5)
        self.assertEqual(answer(received(b"/slow/999"))[1], MAX_SECONDS)

    def test_near_misses(self) -> None:
        """A path that only resembles these is an ordinary one."""
        for target in (b"/xjson", b"/json/", b"/status/1", b"/bytes/x", b"/slow/-1"):
            reply, delay_seconds = answer(received(target))
            self.assertEqual((reply.status, delay_seconds), (200, 0.0), target)
            self.assertIn(b"name: shop-1", reply.body)


class ChannelTests(SynchronousTestCase):
    """Requests on a connection in memory."""

    def setUp(self) -> None:
        self.clock = Clock()
        factory = WhoamiFactory("shop-1", self.clock)
        channel = factory.buildProtocol(PEER)
        assert isinstance(channel, WhoamiChannel)
        self.channel = channel
        self.transport = StringTransport(peerAddress=PEER)
        self.channel.makeConnection(self.transport)

    def send(self, request: bytes) -> bytes:
        """Send bytes; return what was written since the last time."""
        self.transport.clear()
        self.channel.dataReceived(request)
        return bytes(self.transport.value())

    def test_head_as_received(self) -> None:
        """Names keep their case and order, repeated ones included, and bodies are counted."""
        sent = self.send(
            b"POST /x HTTP/1.1\r\nhost: a\r\nX-oDD:  1 \r\nAccept: */*\r\nx-Odd: 2\r\nContent-Length: 5\r\n\r\nhello"
        )
        head, _, body = sent.partition(b"\r\n\r\n")
        self.assertTrue(head.startswith(b"HTTP/1.1 200 OK\r\n"))
        self.assertIn(b"Content-Length: %d" % len(body), head)
        self.assertIn(b"peer: 192.0.2.7:4711\nbody: 5 bytes\n", body)
        self.assertTrue(
            body.endswith(b"POST /x HTTP/1.1\nhost: a\nX-oDD: 1\nAccept: */*\nx-Odd: 2\nContent-Length: 5\n")
        )

    def test_chunked_body(self) -> None:
        """A chunked body is counted by its content."""
        sent = self.send(
            b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        )
        self.assertIn(b"body: 5 bytes", sent)

    def test_persistent(self) -> None:
        """A connection serves one request after the other, each with its own fields."""
        self.send(b"GET /1 HTTP/1.1\r\nHost: a\r\nX-First: 1\r\n\r\n")
        sent = self.send(b"GET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assertIn(b"GET /2 HTTP/1.1\nHost: a\n", sent)
        self.assertNotIn(b"X-First", sent)
        self.assertFalse(self.transport.disconnecting)

    def test_head(self) -> None:
        """HEAD gets the head alone, with the length that GET would have."""
        sent = self.send(b"HEAD /bytes/10 HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assertTrue(sent.endswith(b"\r\n\r\n"))
        self.assertIn(b"Content-Length: 10\r\n", sent)

    def test_no_content(self) -> None:
        """A status that has no body gets neither one nor a length."""
        sent = self.send(b"GET /status/204 HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assertTrue(sent.startswith(b"HTTP/1.1 204 "))
        self.assertNotIn(b"Content-Length", sent)
        self.assertTrue(sent.endswith(b"\r\n\r\n"))

    def test_slow(self) -> None:
        """A slow answer comes when its time has passed."""
        self.assertEqual(self.send(b"GET /slow/2 HTTP/1.1\r\nHost: a\r\n\r\n"), b"")
        self.clock.advance(2)
        self.assertTrue(self.transport.value().startswith(b"HTTP/1.1 200 OK"))

    def test_slow_and_gone(self) -> None:
        """A downstream that leaves early leaves no timer behind."""
        self.send(b"GET /slow/2 HTTP/1.1\r\nHost: a\r\n\r\n")
        self.channel.connectionLost(Failure(ConnectionLost()))
        self.clock.advance(2)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_websocket(self) -> None:
        """A handshake is answered with 101, and frames sent right behind it are echoed."""
        head = b"GET /ws HTTP/1.1\r\n" + b"".join(b"%s: %s\r\n" % field for field in UPGRADE) + b"\r\n"
        sent = self.send(head + masked(1, b"early"))
        self.assertTrue(sent.startswith(b"HTTP/1.1 101 Switching Protocols\r\n"))
        self.assertIn(b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n", sent)
        self.assertTrue(sent.endswith(b"\r\n\r\n" + Frame(Opcode.TEXT, b"early").as_bytes()))
        self.assertEqual(self.send(masked(1, b"later")), Frame(Opcode.TEXT, b"later").as_bytes())

    def test_websocket_is_never_idle(self) -> None:
        """The idle limit for requests does not end a WebSocket."""
        self.send(b"GET / HTTP/1.1\r\n" + b"".join(b"%s: %s\r\n" % field for field in UPGRADE) + b"\r\n")
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_bad_handshake(self) -> None:
        """A handshake that cannot be accepted is answered as an ordinary request."""
        sent = self.send(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
        self.assertTrue(sent.startswith(b"HTTP/1.1 426 Upgrade Required\r\n"), sent)
        self.assertIn(b"Sec-Websocket-Version: 13", sent)
        self.assertTrue(self.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").startswith(b"HTTP/1.1 200 OK"))


class ProcessTests(SynchronousTestCase):
    """The program as a process."""

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start it; the test's end ends it."""
        process = subprocess.Popen(
            [sys.executable, "-m", "examples.whoami", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(ingress.__file__).parents[1],
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_serves_and_stops(self) -> None:
        """It tells its address, answers there, and SIGTERM ends it with status 0."""
        process = self.start("--port", "0", "--name", "pod-1")
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"whoami pod-1 answers on 127\.0\.0\.1:(\d+)\n", line)
        assert found is not None, line
        with socket.create_connection(("127.0.0.1", int(found[1])), timeout=60) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            with connection.makefile("rb") as answered:
                self.assertIn(b"name: pod-1\n", answered.read())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0)

    def test_port_in_use(self) -> None:
        """A port that is taken is one line on standard error and status 1."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            process = self.start("--port", str(port))
            _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(errors, f"whoami: cannot listen on 127.0.0.1:{port}: Address already in use\n")
