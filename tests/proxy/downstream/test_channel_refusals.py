"""Requests that the channel refuses, and what becomes of their connection."""

from ingress.http.grammar import MAX_HEAD, MAX_REQUEST_LINE
from tests.proxy.downstream.heads import POST
from tests.proxy.playing import GET, OK, ProxyCase, body_of, fields_of


class RefusalTests(ProxyCase):
    """Requests that cannot be read in one way."""

    def refused(self, request: bytes, status: int) -> None:
        """Check that *request* is answered by *status* and the end, and reaches no upstream."""
        down = self.stage.open()
        down.say(request)
        self.assert_status(down.received, status)
        fields = fields_of(down.received)
        self.assertEqual(fields[b"connection"], b"close")
        self.assertEqual(int(fields[b"content-length"]), len(body_of(down.received)))
        self.assertTrue(down.saw_end)
        self.assert_upstreams(0)
        self.assertEqual(self.metrics.ended[-1][1], status)

    def test_heads(self) -> None:
        """Each sort of unreadable head has its status, and the connection ends."""
        line = b"GET /" + b"a" * MAX_REQUEST_LINE
        for request, status in (
            (b"nonsense\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\n\r\n", 400),
            (b"GET / HTTP/1.1\nHost: shop.test\n\n", 400),
            (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400),
            (b"GET /%2f/../x HTTP/1.1\r\nHost: shop.test\r\n\r\n", 400),
            (b"GET /../x HTTP/1.1\r\nHost: shop.test\r\n\r\n", 400),
            (line, 414),
            (line + b" HTTP/1.1\r\nHost: shop.test\r\n\r\n", 414),
            (b"GET / HTTP/1.1\r\nHost: shop.test\r\nX: " + b"a" * MAX_HEAD, 431),
            (b"\r\n\r\n" + GET, 400),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
            (b"CONNECT shop.test:443 HTTP/1.1\r\nHost: shop.test\r\n\r\n", 501),
            (b"CONNECT / HTTP/1.1\r\nHost: shop.test\r\n\r\n", 501),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        ):
            self.refused(request, status)

    def test_one_empty_line(self) -> None:
        """One empty line before a request is ignored, also between requests."""
        down = self.stage.open()
        for _ in range(2):
            down.say(b"\r\n" + GET)
            self.upstream().say(OK)
            self.assert_status(down.take(), 200)

    def test_host_is_kept_as_received(self) -> None:
        """What goes upstream is the Host that came; only the match ignores case and port."""
        down = self.stage.open()
        down.say(b"GET / HTTP/1.1\r\nHost: SHOP.Test.:8080\r\n\r\n")
        self.assertEqual(fields_of(self.upstream().received)[b"host"], b"SHOP.Test.:8080")

    def test_absolute_target(self) -> None:
        """The authority of an absolute target is the host, whatever Host says."""
        down = self.stage.open()
        down.say(b"GET http://shop.test/x?y HTTP/1.1\r\nHost: other.test\r\n\r\n")
        got = self.upstream().received
        self.assertTrue(got.startswith(b"GET /x?y HTTP/1.1\r\n"), got)
        self.assertEqual(fields_of(got)[b"host"], b"shop.test")

    def test_what_follows_is_ignored(self) -> None:
        """Behind a refusal nothing is read as a request."""
        down = self.stage.open()
        down.say(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + GET)
        down.say(GET)
        self.assert_upstreams(0)
        self.assert_status(down.received, 400)


class LingeringTests(ProxyCase):
    """The end of a connection whose peer is still sending."""

    def test_early_answer(self) -> None:
        """An answer before the end of the request is delivered, and upstream never sees that end."""
        down = self.stage.open()
        down.say(POST + b"0123")
        self.upstream().say(OK)
        self.assert_status(down.received, 200)
        self.assertEqual(fields_of(down.received)[b"connection"], b"close")
        self.assertTrue(self.upstream().saw_reset)
        self.assertTrue(down.saw_end, "our side is closed")
        self.assertFalse(down.closed, "and the peer's side is still read")
        down.say(b"456789")
        self.assertEqual(down.unread, 0)
        self.assertEqual(body_of(self.upstream().received), b"0123")
        down.finish()
        self.assertTrue(down.closed)
        self.assertFalse(down.saw_reset)

    def test_over_tls(self) -> None:
        """Over TLS our side is ended, too, and the connection stays for the gap."""
        down = self.stage.open(secure=True)
        down.say(POST + b"0123")
        self.upstream().say(OK)
        self.assert_status(down.received, 200)
        self.assertTrue(down.saw_end)
        down.say(b"456789")
        self.reactor.pass_time(4)
        self.assertFalse(down.closed)
        self.reactor.pass_time(3)
        self.assertTrue(down.closed)

    def test_early_answer_under_way(self) -> None:
        """An answer that begins early goes on while the request does, and both may end well."""
        down = self.stage.open()
        down.say(POST + b"0123")
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
        self.assertTrue(down.received.endswith(b"ab"))
        down.say(b"456789")
        self.assertTrue(self.upstream().received.endswith(b"0123456789"))
        self.upstream().say(b"cd")
        self.assertTrue(down.received.endswith(b"abcd"))
        self.assertFalse(down.saw_end)
        down.say(GET)
        self.assert_upstreams(1)

    def test_gap(self) -> None:
        """A peer that says nothing more is not waited for longer than the gap."""
        down = self.stage.open()
        down.say(POST)
        self.upstream().say(OK)
        self.reactor.pass_time(4)
        self.assertFalse(down.closed)
        self.reactor.pass_time(2)
        self.assertTrue(down.closed)

    def test_total(self) -> None:
        """A peer that goes on and on is cut after the longest time."""
        down = self.stage.open()
        down.say(POST.replace(b": 10", b": 100000"))
        self.upstream().say(OK)
        for _ in range(14):
            self.assertFalse(down.closed)
            self.reactor.pass_time(2)
            down.say(b"x")
        self.reactor.pass_time(4)
        self.assertTrue(down.closed)
        self.assert_ended(200)


class BrokenBodyTests(ProxyCase):
    """Request bodies that break off or cannot be read."""

    def test_short_length(self) -> None:
        """A body that ends before its length aborts upstream, which sees no regular end."""
        for end in ("finish", "reset"):
            down = self.stage.open()
            down.say(POST + b"0123")
            getattr(down, end)()
            self.assertTrue(self.upstream().saw_reset, end)
            self.assertTrue(down.closed, end)
            if end == "finish":
                self.assert_status(down.received, 400)
        self.assert_ended(400, 499)
        self.assert_upstreams(2)

    def test_bad_chunk(self) -> None:
        """A chunk that cannot be read is answered by 400 and aborts upstream."""
        down = self.stage.open()
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        down.say(b"zz\r\n")
        self.assert_status(down.received, 400)
        self.assertTrue(self.upstream().saw_reset)
        self.assertTrue(self.upstream().received.endswith(b"3\r\nabc\r\n"))
        self.assertTrue(down.saw_end)
        self.assert_ended(400)

    def test_bad_chunk_with_the_head(self) -> None:
        """A bad chunk in the first packet never reaches an upstream."""
        down = self.stage.open()
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n")
        self.assert_status(down.received, 400)
        self.assert_upstreams(0)
        self.assert_ended(400)

    def test_bad_chunk_after_the_answer_began(self) -> None:
        """A bad chunk while the answer is under way cuts the answer visibly."""
        down = self.stage.open()
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")
        down.say(b"zz\r\n")
        self.assertTrue(self.upstream().saw_reset)
        self.assertEqual(body_of(down.received), b"01234")
        self.assertTrue(down.closed)
        self.assert_ended(200)

    def test_downstream_gone(self) -> None:
        """A peer that is gone in the middle of its answer frees the upstream connection at once."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")
        down.reset()
        self.assertTrue(self.upstream().saw_reset)
        self.assert_ended(200)

    def test_downstream_gone_before_the_answer(self) -> None:
        """A peer that is gone before its answer is logged as 499."""
        down = self.stage.open()
        down.say(GET)
        down.reset()
        self.assertTrue(self.upstream().saw_reset)
        self.assert_ended(499)
        self.assertIn(b' "/" 499 0 ', self.stage.log_lines()[0])
