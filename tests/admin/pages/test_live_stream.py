"""The stream over HTTP: who gets it, who is let go, and how it ends."""

import gc
import socket
from typing import Any
from unittest import SkipTest
from weakref import ref

from attrs import evolve
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from ingress.admin.pages.live_stream import GONE_SECONDS, MOST_WAITING, PATIENCE_SECONDS, bound_silence
from ingress.admin.port.site import admin_site
from ingress.live.live import MOST_VIEWERS
from tests.admin.live_case import live_of
from tests.admin.site_case import SiteCase

REQUEST = b"GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\n"


class Transport(StringTransport):
    """A connection in memory, which may be cut."""

    is_cut = False
    producer: Any

    def abortConnection(self) -> None:
        """Note that it was."""
        self.is_cut = True


class LiveStreamTests(SiteCase):
    """One stream, and connections to it."""

    def setUp(self) -> None:
        super().setUp()
        self.live = live_of(self.known(), self.clock)
        self.site = admin_site(evolve(self.known(), live=self.live), self.clock)

    def look(self, fields: bytes = b"") -> tuple[Any, Transport]:
        """Return a connection that asks for the stream, with more *fields*, and its transport."""
        connection: Any = self.site.buildProtocol(IPv4Address("TCP", "127.0.0.1", 4000))
        transport = Transport()
        connection.makeConnection(transport)
        connection.dataReceived(REQUEST + fields + b"\r\n")
        self.pass_seconds(0)
        return connection, transport

    def pass_seconds(self, seconds: int = 1) -> None:
        """Let time pass, and whatever is done in slices be done."""
        for step in [0.0] + [1.0] * seconds:
            self.clock.advance(step)
            while any(call.getTime() <= self.clock.seconds() for call in self.clock.getDelayedCalls()):
                self.clock.advance(0)

    def test_begins(self) -> None:
        """The answer is a stream that nobody keeps, and begins with all that there is."""
        _, transport = self.look()
        head, _, body = transport.value().partition(b"\r\n\r\n")
        self.assertTrue(head.startswith(b"HTTP/1.1 200 "))
        self.assertIn(b"\r\nContent-Type: text/event-stream", head)
        self.assertIn(b"\r\nCache-Control: no-store", head)
        for name in (b"status", b"watches", b"workers", b"numbers", b"snapshot"):
            self.assertIn(b"event: " + name + b"\n", body)

    def test_silence(self) -> None:
        """A peer that vanished is not waited for as long as TCP would."""
        if not hasattr(socket, "TCP_USER_TIMEOUT"):
            raise SkipTest("this system has no bound for that")
        with socket.socket() as sock, socket.socket(socket.AF_UNIX) as other:
            bound_silence(sock)
            bound_silence(other)
            bound = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        self.assertEqual(bound, GONE_SECONDS * 1000)

    def test_leaving(self) -> None:
        """Who leaves is told no more, and nothing is left of it."""
        connection, _ = self.look()
        self.assertEqual(self.live.viewers, 1)
        connection.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(self.live.viewers, 0)
        self.pass_seconds(2)

    def test_leaves_no_cycle(self) -> None:
        """No collector is needed for who has left: who looked on for long is none of those that it walks through."""
        connection, transport = self.look()
        left = ref(connection.requests[0].producer)
        gc.disable()
        self.addCleanup(gc.enable)
        connection.connectionLost(Failure(ConnectionDone()))
        # As transports of sockets do by themselves.
        transport.producer = None
        del connection, transport
        self.pass_seconds(2)
        self.assertIsNone(left())

    def test_one_too_many(self) -> None:
        """Beside as many viewers as there may be another one is answered 503, with why, and when to come again."""
        for _ in range(MOST_VIEWERS):
            self.look()
        _, transport = self.look()
        self.assertTrue(transport.value().startswith(b"HTTP/1.1 503 "))
        self.assertIn(b"\r\nRetry-After: 5\r\n", transport.value())
        self.assertTrue(transport.value().endswith(b"\r\n\r\n20 look already\n"))
        self.assertEqual(self.live.viewers, MOST_VIEWERS)

    def test_takes_nothing(self) -> None:
        """Who takes nothing for some seconds is cut, and holds up nobody."""
        _, transport = self.look()
        _, other = self.look()
        transport.producer.pauseProducing()
        self.pass_seconds(int(PATIENCE_SECONDS))
        self.assertFalse(transport.is_cut)
        other.clear()
        self.pass_seconds(2)
        self.assertTrue(transport.is_cut)
        self.assertEqual(self.live.viewers, 1)
        self.assertTrue(other.value())

    def test_takes_again(self) -> None:
        """Who takes what was sent in time stays."""
        _, transport = self.look()
        for _ in range(5):
            transport.producer.pauseProducing()
            self.pass_seconds(int(PATIENCE_SECONDS) - 2)
            transport.producer.resumeProducing()
            self.pass_seconds(1)
        self.assertEqual((transport.is_cut, self.live.viewers), (False, 1))

    def test_leaves_too_much(self) -> None:
        """Who leaves more than so many bytes is cut at once."""
        _, transport = self.look()
        transport.producer.pauseProducing()
        viewer = transport.producer
        while not transport.is_cut:
            before = len(transport.value())
            self.live._tell(b":" + b"x" * 65536 + b"\n\n")  # What no test can have happen so often.
            self.assertLess(len(transport.value()) - before, 70_000)
        self.assertLess(len(transport.value()), MOST_WAITING + 80_000)
        self.assertEqual((self.live.viewers, viewer is not None), (0, True))

    def test_ends(self) -> None:
        """At the end a stream says why, and is whole; nobody begins another one."""
        _, transport = self.look()
        self.live.end("the process is stopping")
        self.assertTrue(
            transport.value().endswith(b'data: {"why":"the process is stopping"}\n\n\r\n0\r\n\r\n')
        )
        _, late = self.look()
        self.assertTrue(late.value().endswith(b"\r\n\r\nthe process is stopping\n"))

    def test_end_of_who_takes_nothing(self) -> None:
        """One that takes nothing is not waited for at the end."""
        _, transport = self.look()
        transport.producer.pauseProducing()
        self.live.end("the process is stopping")
        self.assertTrue(transport.is_cut)

    def test_head(self) -> None:
        """HEAD is answered, and begins nothing."""
        connection: Any = self.site.buildProtocol(IPv4Address("TCP", "127.0.0.1", 4000))
        transport = Transport()
        connection.makeConnection(transport)
        connection.dataReceived(REQUEST.replace(b"GET", b"HEAD") + b"\r\n")
        self.pass_seconds(0)
        self.assertTrue(transport.value().startswith(b"HTTP/1.1 200 "))
        self.assertEqual(self.live.viewers, 0)
