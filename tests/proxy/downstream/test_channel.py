"""Tests for ``ingress.proxy.downstream.channel``: downstream connections from first byte to last."""

from ingress.model.serving.limits import Limits
from ingress.proxy.contract.limits import MAX_AHEAD
from ingress.proxy.downstream.channel import DownstreamChannel
from tests.proxy.downstream.heads import GET_1_0, POST
from tests.proxy.playing import GET, OK, ProxyCase, body_of, fields_of


class KeepAliveTests(ProxyCase):
    """Connections that serve more than one exchange."""

    def test_upstream_connection_is_reused(self) -> None:
        """A second request goes out on the connection that answered the first."""
        down = self.stage.open()
        for _ in range(3):
            down.say(GET)
            self.assertTrue(self.upstream().take().startswith(b"GET / HTTP/1.1\r\nHost: shop.test\r\n"))
            self.upstream().say(OK)
            answer = down.take()
            self.assert_status(answer, 200)
            self.assertEqual(body_of(answer), b"ok")
        self.assert_upstreams(1)
        self.assert_ended(200, 200, 200)
        self.assertFalse(down.saw_end)

    def test_upstream_connection_is_shared(self) -> None:
        """A request of another downstream connection goes out on it too."""
        for _ in range(2):
            down = self.stage.open()
            down.say(GET)
            self.upstream().say(OK)
        self.assert_upstreams(1)
        self.assert_ended(200, 200)

    def test_connection_close_is_obeyed(self) -> None:
        """A peer that asks for the end of the connection gets it after its answer."""
        down = self.stage.open()
        down.say(b"GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n")
        self.upstream().say(OK)
        self.assertEqual(fields_of(down.received)[b"connection"], b"close")
        self.assertTrue(down.saw_end)

    def test_http_1_0_closes(self) -> None:
        """HTTP/1.0 without keep-alive ends with its answer."""
        down = self.stage.open()
        down.say(GET_1_0)
        self.assertIn(b"GET / HTTP/1.1\r\n", self.upstream().received)
        self.upstream().say(OK)
        self.assertEqual(fields_of(down.received)[b"connection"], b"close")
        self.assertTrue(down.saw_end)

    def test_http_1_0_keep_alive(self) -> None:
        """HTTP/1.0 with keep-alive goes on, and is told so."""
        down = self.stage.open()
        for _ in range(2):
            down.say(GET_1_0.replace(b"\r\n\r\n", b"\r\nConnection: Keep-Alive\r\n\r\n"))
            self.upstream().say(OK)
            self.assertEqual(fields_of(down.take())[b"connection"], b"keep-alive")
            self.assertFalse(down.saw_end)

    def test_most_requests(self) -> None:
        """The last request that a connection may send is told to be the last."""
        down = self.stage.open()
        for number in range(1, Limits().keep_alive_requests + 1):
            down.say(GET)
            self.upstream().say(OK)
            is_last = number == Limits().keep_alive_requests
            self.assertEqual(b"connection" in fields_of(down.take()), is_last, number)
            self.assertEqual(down.saw_end, is_last, number)

    def test_server_and_date(self) -> None:
        """Server and Date are added where upstream sent none, and left alone where it did."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK)
        fields = fields_of(down.take())
        self.assertEqual(fields[b"server"], b"txingress")
        self.assertEqual(fields[b"date"], b"Thu, 01 Jan 1970 00:00:00 GMT")
        down.say(GET)
        self.upstream().say(OK.replace(b"\r\n\r\n", b"\r\nServer: own\r\nDate: today\r\n\r\n"))
        fields = fields_of(down.take())
        self.assertEqual((fields[b"server"], fields[b"date"]), (b"own", b"today"))


class MemoryTests(ProxyCase):
    """What a channel takes."""

    def test_attributes(self) -> None:
        """No channel has a dictionary of attributes, which thousands of connections at rest would keep."""
        channel = DownstreamChannel(self.stage.site, secure=False)
        self.assertFalse(hasattr(channel, "__dict__"))


class PipeliningTests(ProxyCase):
    """Requests that come before the answer to the one ahead of them."""

    def test_order(self) -> None:
        """Pipelined requests go out one by one, and are answered in their order."""
        down = self.stage.open()
        down.say(b"".join(GET.replace(b" / ", b" /%d " % number) for number in range(3)))
        for number in range(3):
            self.assertIn(b"GET /%d HTTP/1.1" % number, self.upstream().take())
            self.upstream().say(OK.replace(b"ok", b"%d!" % number))
        answers = down.received
        self.assertEqual([answers.find(b"%d!" % number) > 0 for number in range(3)], [True] * 3)
        self.assertLess(answers.find(b"0!"), answers.find(b"1!"))
        self.assertLess(answers.find(b"1!"), answers.find(b"2!"))
        self.assert_upstreams(1)
        self.assert_ended(200, 200, 200)

    def test_behind_a_body(self) -> None:
        """What follows a request body is the next request."""
        down = self.stage.open()
        down.say(POST + b"0123456789" + GET)
        self.assertEqual(body_of(self.upstream().take()), b"0123456789")
        self.upstream().say(OK)
        self.assertTrue(self.upstream().take().startswith(b"GET / "))
        self.upstream().say(OK)
        self.assert_ended(200, 200)

    def test_last_answer(self) -> None:
        """What is ahead when a connection takes no more requests must not turn its end into a reset."""
        down = self.stage.open()
        down.say(GET[:-2] + b"Connection: close\r\n\r\n" + GET * 10)
        down.say(*[GET * 1000] * 4)
        self.upstream().say(OK)
        self.assertTrue(down.saw_end)
        self.assertEqual((down.saw_reset, down.unread), (False, 0))
        down.finish()
        self.assertTrue(down.closed)
        self.assert_ended(200)

    def test_answered_without_upstream(self) -> None:
        """Many pipelined requests that the proxy answers itself are answered, in one go."""
        down = self.stage.open()
        down.say(GET.replace(b"shop", b"none") * 200)
        self.assertEqual(down.received.count(b"HTTP/1.1 404 Not Found\r\n"), 200)
        self.assertEqual(len(self.metrics.ended), 200)

    def test_ahead_is_bounded(self) -> None:
        """While a request is answered, only so much of what follows is read."""
        down = self.stage.open()
        down.say(GET)
        down.say(*[GET * 100] * 400)
        held = 400 * 100 * len(GET) - down.unread
        self.assertLessEqual(held, MAX_AHEAD + 100 * len(GET))
        self.upstream().say(OK)
        self.assertEqual(self.upstream().received.count(b"GET / "), 2)

    def test_refused_behind_a_good_one(self) -> None:
        """A request that cannot be read does not disturb the answer ahead of it."""
        down = self.stage.open()
        down.say(GET + b"nonsense\r\n\r\n" + GET)
        self.upstream().say(OK)
        self.assertEqual(down.received.count(b"HTTP/1.1 "), 2)
        self.assertIn(b"HTTP/1.1 400 Bad Request", down.received)
        self.assertTrue(down.saw_end)
        self.assert_ended(200, 400)

    def test_slow_reader_asks_no_more(self) -> None:
        """A peer that does not take its answers has no further request begun."""
        down = self.stage.open(window=0)
        big = b"x" * 200_000
        down.say(GET + GET)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n")
        self.upstream().say(big)
        self.assertEqual(self.upstream().received.count(b"GET / "), 1)
        down.widen()
        self.assertEqual(self.upstream().received.count(b"GET / "), 2)
        self.upstream().say(OK)
        self.assertEqual(len(body_of(bytes(down.received)).partition(b"HTTP/1.1")[0]), 200_000)


class HalfCloseTests(ProxyCase):
    """Peers that end their side while they wait for an answer, where they may."""

    limits = Limits(allow_half_close=True)

    def test_answer_still_comes(self) -> None:
        """A peer that sends a request and then its end gets its answer, and then our end."""
        down = self.stage.open()
        down.say(GET)
        down.finish()
        self.assertFalse(down.saw_end)
        self.upstream().say(OK)
        self.assert_status(down.received, 200)
        self.assertTrue(down.saw_end)
        self.assertFalse(down.saw_reset)
        self.assert_ended(200)

    def test_pipelined_requests_are_answered(self) -> None:
        """All the requests that came before the end are answered."""
        down = self.stage.open()
        down.say(GET + GET + b"GET /incom")
        down.finish()
        self.upstream().say(OK)
        self.upstream().say(OK)
        self.assertEqual(down.received.count(b"HTTP/1.1 200 OK"), 2)
        self.assertTrue(down.saw_end)
        self.assert_ended(200, 200)

    def test_long_body_behind_another(self) -> None:
        """A body of which as much came before its turn as is taken ahead is read on once its turn comes."""
        head = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: %d\r\n\r\n" % (2 * MAX_AHEAD)
        for more in (1, len(head), len(head) + 1):
            with self.subTest(more=more):
                down = self.stage.open()
                down.say(GET)
                down.say(head + bytes(MAX_AHEAD + more - len(head)))
                down.say(bytes(MAX_AHEAD + len(head) - more))
                self.assertTrue(down.unread)
                self.upstream().say(OK)
                self.assertFalse(down.unread)
                self.assertTrue(self.upstream().take().endswith(b"\r\n\r\n" + bytes(2 * MAX_AHEAD)))
                self.upstream().say(OK)
                self.assertEqual(down.received.count(b"HTTP/1.1 200 OK"), 2)
                down.finish()

    def test_short_body_behind_another(self) -> None:
        """A body that ends too early behind another request is refused when its turn comes."""
        down = self.stage.open()
        down.say(GET + POST + b"0123")
        down.finish()
        self.upstream().say(OK)
        self.assert_ended(200, 400)
        self.assertTrue(down.closed)
        self.assertEqual(self.upstream().received.count(b"HTTP/1.1"), 1)

    def test_at_rest(self) -> None:
        """A peer that ends between requests has its connection closed, and nothing is counted."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK)
        down.finish()
        self.assertTrue(down.saw_end)
        self.assert_ended(200)

    def test_slow_reader(self) -> None:
        """A peer that ended and takes its answer slowly is let go as soon as it has it."""
        down = self.stage.open(window=0)
        down.say(GET)
        down.finish()
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 65000\r\n" + b"X: %b\r\n" % (b"x" * 450) + b"\r\n"
        self.upstream().say(head + b"x" * 65_000)
        self.assert_ended(200)
        self.assertFalse(down.saw_end)
        down.widen()
        self.assertEqual(len(body_of(down.received)), 65_000)
        self.assertTrue(down.saw_end)


class ConnectionCountTests(ProxyCase):
    """Gauges of connections."""

    def test_gauges(self) -> None:
        """Downstream and upstream connections are counted when they open and when they end."""
        downs = [self.stage.open(secure=secure) for secure in (True, False, False)]
        for down in downs:
            down.say(GET)
        value = self.metrics.value
        self.assertEqual(value("ingress_downstream_connections", tls="false"), 2)
        self.assertEqual(value("ingress_downstream_connections", tls="true"), 1)
        self.assertEqual(value("ingress_upstream_connections"), 3)
        for down in downs:
            down.reset()
        self.assertEqual(value("ingress_downstream_connections"), 0)
        self.assertEqual(value("ingress_upstream_connections"), 0)

    def test_scheme(self) -> None:
        """A connection over TLS tells upstream so."""
        for secure, scheme in ((False, b"http"), (True, b"https")):
            self.stage.open(secure=secure).say(GET)
            fields = fields_of(self.upstream().received)
            self.assertEqual(fields[b"x-forwarded-proto"], scheme)
            self.assertEqual(fields[b"x-forwarded-for"], b"198.51.100.7")
            self.assertEqual(fields[b"x-forwarded-port"], b"8080")
