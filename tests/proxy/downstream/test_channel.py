"""Tests for ``ingress.proxy.downstream.channel``: downstream connections from first byte to last."""

from ingress.http.grammar import MAX_HEAD, MAX_REQUEST_LINE
from ingress.model.limits import Limits
from ingress.proxy.contract.limits import MAX_AHEAD
from tests.proxy.playing import GET, OK, ProxyCase, body_of, fields_of

GET_1_0 = b"GET / HTTP/1.0\r\nHost: shop.test\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 10\r\n\r\n"
LARGE_POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 900000\r\n\r\n"


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
            (b"GET /%2f HTTP/1.1\r\nHost: shop.test\r\n\r\n", 400),
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
        """Over TLS there is no closing of one side: the connection stays for the gap, and then ends."""
        down = self.stage.open(secure=True)
        down.say(POST + b"0123")
        self.upstream().say(OK)
        self.assert_status(down.received, 200)
        self.assertFalse(down.saw_end)
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


class DeadlineTests(ProxyCase):
    """What the deadlines ends, each within about a second of its time."""

    def test_head(self) -> None:
        """A head that is not complete in 10 seconds is answered by 408, however it trickles."""
        down = self.stage.open()
        for octet in b"GET / HTT":
            down.say(bytes([octet]))
            self.assertEqual(down.received, b"")
            self.reactor.pass_time(1)
        self.reactor.pass_time(2)
        self.assert_status(down.received, 408)
        self.assertTrue(down.saw_end)
        self.assert_ended(408)

    def test_silent_connection(self) -> None:
        """A connection that never says anything is closed without a word."""
        down = self.stage.open()
        self.reactor.pass_time(12)
        self.assertEqual(down.received, b"")
        self.assertTrue(down.closed)
        self.assert_ended()

    def test_empty_lines_do_not_count(self) -> None:
        """Empty lines are no way to stay connected without a request."""
        down = self.stage.open()
        for _ in range(4):
            self.reactor.pass_time(8)
            down.say(b"\r\n")
        self.assertTrue(down.saw_end)

    def test_keep_alive(self) -> None:
        """Between two requests a peer may rest for 75 seconds."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK)
        down.take()
        self.reactor.pass_time(Limits().keep_alive_seconds - 1)
        self.assertFalse(down.closed)
        self.reactor.pass_time(2)
        self.assertTrue(down.closed)
        self.assertEqual(down.received, b"")

    def test_body_gap(self) -> None:
        """A body that stops for 30 seconds is answered by 408, and upstream is aborted."""
        down = self.stage.open()
        down.say(LARGE_POST)
        for _ in range(3):
            self.reactor.pass_time(25)
            down.say(b"1" * 30_000)
        self.assertEqual(down.received, b"")
        self.reactor.pass_time(32)
        self.assert_status(down.received, 408)
        self.assertTrue(self.upstream().saw_reset)
        self.assert_ended(408)

    def test_body_rate(self) -> None:
        """A body that never stops, but comes at less than 1 kB a second, is answered by 408 all the same."""
        down = self.stage.open()
        down.say(LARGE_POST)
        for _ in range(5):
            self.reactor.pass_time(5)
            down.say(b"1")
        self.assertEqual(down.received, b"")
        for _ in range(3):
            self.reactor.pass_time(5)
            down.say(b"1")
        self.assert_status(down.received, 408)
        self.assertTrue(self.upstream().saw_reset)

    def test_body_rate_while_upstream_is_slow(self) -> None:
        """The time in which upstream takes nothing is not held against the sender of a body."""
        down = self.stage.open()
        down.say(LARGE_POST)
        self.upstream().widen(0)
        down.say(b"1" * 100_000)
        self.reactor.pass_time(50)
        self.assertEqual(down.received, b"")
        self.upstream().widen()
        self.reactor.pass_time(5)
        down.say(b"1")
        self.assertEqual(down.received, b"")
        self.assertFalse(self.upstream().closed)

    def test_answer_may_take_time(self) -> None:
        """Waiting for upstream is not held against downstream."""
        down = self.stage.open()
        down.say(GET)
        for _ in range(5):
            self.reactor.pass_time(50)
            self.upstream().say(b"HTTP/1.1 102 Processing\r\n\r\n")
        self.upstream().say(OK)
        self.assertIn(b"200 OK", down.received)

    def test_peer_that_takes_nothing(self) -> None:
        """A peer that takes nothing of its answer for 60 seconds is cut, and upstream freed."""
        down = self.stage.open(window=0)
        down.say(GET)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n")
        self.upstream().say(b"x" * 100_000)
        self.reactor.pass_time(58)
        self.assertFalse(down.closed)
        self.reactor.pass_time(4)
        self.assertTrue(down.closed)
        self.assertTrue(self.upstream().closed)

    def test_peer_that_takes_slowly(self) -> None:
        """A peer that takes its answer bit by bit is given time, as long as it takes enough."""
        down = self.stage.open(window=0)
        down.say(GET)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n")
        for _ in range(3):
            self.upstream().say(b"x" * 100_000)
            self.reactor.pass_time(50)
            self.assertFalse(down.closed)
            down.widen(150_000)
        self.assertEqual(len(body_of(bytes(down.received))), 300_000)
        self.assertFalse(down.closed)


class DrainTests(ProxyCase):
    """The end of the process."""

    def test_drain(self) -> None:
        """Draining closes what rests, lets what runs finish with Connection: close, and then fires."""
        resting, busy, beginning = self.stage.open(), self.stage.open(), self.stage.open()
        resting.say(GET)
        self.upstream().say(OK)
        busy.say(GET)
        beginning.say(GET[:10])
        drained = self.stage.site.connections.drain()
        self.reactor.settle()
        self.assertTrue(resting.closed)
        self.assertFalse(busy.closed)
        self.upstream().say(OK)
        self.assertEqual(fields_of(busy.received)[b"connection"], b"close")
        self.assertTrue(busy.closed)
        self.assertNoResult(drained)
        beginning.say(GET[10:])
        self.upstream().say(OK)
        self.assertEqual(fields_of(beginning.received)[b"connection"], b"close")
        self.assertTrue(beginning.closed)
        self.successResultOf(drained)
        self.assert_ended(200, 200, 200)

    def test_drain_without_connections(self) -> None:
        """Draining with nothing open is over at once."""
        self.successResultOf(self.stage.site.connections.drain())

    def test_abort(self) -> None:
        """What does not finish in time is aborted, both ways."""
        down = self.stage.open()
        down.say(GET)
        drained = self.stage.site.connections.drain()
        self.stage.site.abort()
        self.reactor.settle()
        self.assertTrue(down.saw_reset)
        self.assertTrue(self.upstream().saw_reset)
        self.successResultOf(drained)


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
