"""How much is held of a request before an endpoint is asked, and of the head of an answer."""

from __future__ import annotations

from ingress.annotations.requests.buffers import MOST_HEAD_BYTES, MOST_HELD, RequestBuffering
from ingress.model.serving.limits import AskedTimeouts
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import GET, OK, ONE, ProxyCase, body_of


class RequestBufferingTests(FilterCase):
    """``proxy-request-buffering: on``."""

    def setUp(self) -> None:
        super().setUp()
        self.stage.publish((ONE,), filters=(RequestBuffering(1024),), max_body_bytes=4096)

    def test_whole(self) -> None:
        """The endpoint is asked once the body is there, in whatever framing and pieces it came."""
        for length in (10, -1):
            client = self.client()
            client.ask(b"POST", length=length)
            client.send(b"01234")
            self.assertEqual(
                [peer.take() for peer in self.connector.peers], [b""] * len(self.connector.peers)
            )
            client.send(b"56789", ended=True)
            said = body_of(self.upstream().take())
            self.assertIn(said, (b"0123456789", b"a\r\n0123456789\r\n0\r\n\r\n"))
            self.upstream().say(OK)
            self.assertEqual(client.heard().status, 200)

    def test_longer(self) -> None:
        """Of a body that is longer than what is held, the rest is streamed."""
        client = self.client()
        client.ask(b"PUT", length=3000)
        client.send(b"x" * 1000)
        self.assert_upstreams(0)
        client.send(b"x" * 1000)
        self.assertEqual(len(body_of(self.upstream().take())), 2000)
        client.send(b"x" * 1000, ended=True)
        self.assertEqual(self.upstream().take(), b"x" * 1000)

    def test_much(self) -> None:
        """As much as may be held at all is held, whatever credit the client begins with."""
        self.stage.publish((ONE,), filters=(RequestBuffering(MOST_HELD),))
        client = self.client()
        client.ask(b"PUT", length=MOST_HELD)
        for number in range(64):
            self.assert_upstreams(0)
            client.send(b"x" * 16384, ended=number == 63)
        self.assertEqual(len(body_of(self.upstream().take())), MOST_HELD)

    def test_too_large(self) -> None:
        """What the route does not take is refused, and the endpoint learns nothing of it."""
        client = self.client()
        client.ask(b"PUT", length=5000)
        self.assertEqual(client.heard().status, 413)
        self.assert_upstreams(0)

    def test_without_body(self) -> None:
        """A request without body waits for nothing."""
        self.get()
        self.assert_upstreams(1)

    def test_invited(self) -> None:
        """Who waits for an invitation gets it, from us."""
        client = self.client()
        client.ask(b"PUT", fields=((b"expect", b"100-continue"),), length=4)
        self.assertEqual(client.heard().interim, (100,))
        self.assert_upstreams(0)
        client.send(b"body", ended=True)
        self.assertEqual(body_of(self.upstream().take()), b"body")

    def test_slow(self) -> None:
        """Who brings too little is refused, and the endpoint learns nothing of it."""
        client = self.client()
        client.ask(b"PUT", length=10)
        client.send(b"x")
        self.reactor.pass_time(60)
        self.assertEqual(client.heard().status, 408)
        self.assert_upstreams(0)

    def test_left(self) -> None:
        """Who leaves meanwhile leaves nothing behind."""
        client = self.client()
        client.ask(b"PUT", length=10)
        client.send(b"x")
        client.leave()
        self.assert_upstreams(0)
        self.assert_ended(499)


class Http2RequestBufferingTests(RequestBufferingTests):
    """The same over HTTP/2."""

    is_http2 = True

    def test_invited(self) -> None:
        """Who waits for an invitation gets it, from us."""
        client = self.client()
        client.ask(b"PUT", fields=((b"expect", b"100-continue"),), length=4)
        self.assertEqual(client.heard().interim, (100,))
        client.send(b"body", ended=True)
        self.assertEqual(body_of(self.upstream().take()), b"body")


class LongHeadTests(FilterCase):
    """The longest head that a route may have."""

    def test_passed_on(self) -> None:
        """It goes to the client, in either protocol."""
        self.stage.publish((ONE,), timeouts=AskedTimeouts(head_bytes=MOST_HEAD_BYTES))
        client = self.get()
        cookies = [b"c%d=%b" % (number, b"x" * 4000) for number in range(60)]
        lines = b"".join(b"Set-Cookie: %b\r\n" % cookie for cookie in cookies)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n%b\r\nok" % lines)
        heard = client.heard()
        self.assertEqual((heard.status, heard.all(b"set-cookie"), heard.body), (200, cookies, b"ok"))


class Http2LongHeadTests(LongHeadTests):
    """The same over HTTP/2."""

    is_http2 = True


class HeadSizeTests(ProxyCase):
    """``proxy-buffer-size``."""

    def answered(self, asked: int | None, size: int) -> bytes:
        """Return what a client gets where an endpoint answers with a head of *size* bytes."""
        self.stage.publish((ONE,), timeouts=None if asked is None else AskedTimeouts(head_bytes=asked))
        down = self.stage.open()
        down.say(GET)
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: "
        for at in range(0, len(answer := head + b"x" * (size - len(head) - 4) + b"\r\n\r\nok"), 16384):
            if not self.upstream().closed:
                self.upstream().say(answer[at : at + 16384])
        return down.take()

    def test_bounds(self) -> None:
        """A head may be as long as the route says, be that less or more than usual; a longer one is 502."""
        for asked in (1024, 4096, None, MOST_HEAD_BYTES):
            most = asked or 65536
            self.assert_status(self.answered(asked, most), 200)
            self.assert_status(self.answered(asked, most + 1), 502)

    def test_interim(self) -> None:
        """The bound is that of each head, interim ones included."""
        self.stage.publish((ONE,), timeouts=AskedTimeouts(head_bytes=1024))
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(b"HTTP/1.1 103 Early Hints\r\nLink: " + b"x" * 900 + b"\r\n\r\n" + OK)
        self.assertTrue(down.take().endswith(b"ok"))
