"""Services that fail to decide, and tunnels, which are decided about before they open."""

from __future__ import annotations

from twisted.logger import ILogObserver, LogEvent, globalLogPublisher
from zope.interface import provider

from ingress.annotations.external_auth.settings import AuthSettings
from ingress.proxy.contract.transport import REFUSED, TIMED_OUT
from tests.proxy.exchange.external_auth_case import AUTH, UNKNOWN, AuthCase
from tests.proxy.playing import OK, ONE, fields_of


class FailureTests(AuthCase):
    """Services that fail: nobody passes by that."""

    def assert_failed(self, answer: bytes = b"", *, ends: bool = False, reset: bool = False) -> None:
        """Check that a request gets 500 where the service says this, and goes away."""
        client = self.get()
        self.peers()[-1].take()
        if answer:
            self.peers()[-1].say(answer)
        if ends:
            self.peers()[-1].finish()
        if reset:
            self.peers()[-1].reset()
        self.assertEqual(client.heard().status, 500, answer)
        self.assertEqual(self.peers(ONE), [])

    def test_away(self) -> None:
        """A service that cannot be reached is told of in the log, once in a while, and by a counter."""
        lines: list[str] = []

        @provider(ILogObserver)
        def observe(event: LogEvent) -> None:
            if "No answer of" in str(event.get("log_format")):
                lines.append(f"{event['service']}: {event['why']}{event['again']}")

        globalLogPublisher.addObserver(observe)
        self.addCleanup(globalLogPublisher.removeObserver, observe)
        for why in (REFUSED, TIMED_OUT):
            self.connector.unreachable[AUTH] = why
            self.serve()
            for _ in range(3):
                self.assertEqual(self.get().heard().status, 500)
        self.assertEqual(self.peers(ONE), [])
        self.assertEqual(self.events("unanswered"), 6)
        self.assertEqual(lines, [f"auth.test:4180: {REFUSED}"])

    def test_slow(self) -> None:
        """One that takes longer than it may is not waited for, in the middle of its answer neither."""
        self.serve(AuthSettings(seconds=3.0))
        for said in (
            b"",
            b"HTTP/1.1 100 Continue\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
        ):
            client = self.get()
            if said:
                self.peers()[-1].say(said)
            self.reactor.advance(2.9)
            self.assertEqual(client.heard().status, 0)
            self.reactor.advance(0.2)
            self.assertEqual(client.heard().status, 500, said)
        self.assertEqual(self.peers(ONE), [])

    def test_dies(self) -> None:
        """One that dies, in the middle of its answer or before, lets nobody pass."""
        self.serve()
        self.assert_failed(ends=True)
        self.assert_failed(reset=True)
        self.assert_failed(b"HTTP/1.1 200 O", ends=True)
        self.assert_failed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", ends=True)
        self.assert_failed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", reset=True)

    def test_nonsense(self) -> None:
        """What is no answer, or can be read in two ways, lets nobody pass."""
        self.serve()
        for said in (
            b"\x15\x03\x01\0\2\2\n",
            b"SSH-2.0-OpenSSH\r\n\r\n",
            b"HTTP/1.1 200 OK\nX: y\n\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX-User: a\0b\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000,
        ):
            self.assert_failed(said)

    def test_interim_and_chunked(self) -> None:
        """Interim answers are passed over, and a body in chunks is as good as any."""
        self.serve()
        client = self.get()
        self.asked(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nX-User: x\r\n\r\n")
        self.asked(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
        self.peers(ONE)[0].say(OK)
        self.assertEqual((client.heard().status, client.heard().interim), (200, ()))
        self.get()
        self.assertEqual(len(self.peers()), 1)

    def test_large(self) -> None:
        """Its head decides, whatever is in its body; a large one is not read."""
        self.serve()
        for head in (b"Content-Length: 1073741824", b"Transfer-Encoding: chunked"):
            client = self.get()
            body = b"" if b"Length" in head else b"11000\r\n" + b"x" * 0x11000
            self.asked(b"HTTP/1.1 200 OK\r\n%b\r\n\r\n%b" % (head, body))
            self.assertTrue(self.peers()[-1].closed)
            self.peers(ONE)[-1].say(OK)
            self.assertEqual(client.heard().status, 200, head)

    def test_leaves(self) -> None:
        """A client that leaves meanwhile ends what is asked, and what is said later changes nothing."""
        self.serve()
        client = self.get()
        client.leave()
        self.reactor.settle()
        self.assertTrue(self.peers()[0].closed)
        self.assertEqual(self.peers(ONE), [])
        self.assertEqual(self.metrics.value("ingress_sub_requests_total", kind="ask", outcome="cancelled"), 1)
        self.assert_ended(499)


class FailureTestsHttp2(FailureTests):
    """The same over HTTP/2."""

    is_http2 = True


class TunnelTests(AuthCase):
    """WebSockets are judged before there is a tunnel."""

    UPGRADE = (
        b"GET /chat HTTP/1.1\r\nHost: shop.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Key: x\r\nCookie: a=b\r\n\r\n"
    )

    def test_refused(self) -> None:
        """Who may not gets no tunnel, and the endpoint hears nothing of it."""
        self.serve()
        down = self.stage.open()
        down.say(self.UPGRADE)
        heard = fields_of(self.asked(UNKNOWN))
        self.assertEqual(heard[b"cookie"], b"a=b")
        self.assertNotIn(b"upgrade", heard)
        self.assertNotIn(b"connection", heard)
        self.assert_status(down.take(), 401)
        self.assertEqual(self.peers(ONE), [])

    def test_passes(self) -> None:
        """Who may gets one, and what was learned goes with the request that asks for it."""
        self.serve(auth_response_headers="X-User")
        down = self.stage.open()
        down.say(self.UPGRADE)
        self.asked(b"HTTP/1.1 200 OK\r\nX-User: anna\r\nSet-Cookie: c=d\r\nContent-Length: 0\r\n\r\n")
        (one,) = self.peers(ONE)
        self.assertEqual(fields_of(one.take())[b"x-user"], b"anna")
        one.say(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello")
        self.assertTrue(down.take().endswith(b"\r\n\r\nhello"))
        down.say(b"more")
        self.assertEqual(one.take(), b"more")
