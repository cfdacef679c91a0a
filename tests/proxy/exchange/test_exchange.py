"""Tests for ``ingress.proxy.exchange.exchange``: what becomes of a request when things go wrong, and when not."""

from twisted.logger import capturedLogs, formatEvent

from ingress.annotations.redirects.https_redirect import HttpsRedirect
from ingress.model.exchanges.reply import Reply
from ingress.proxy.contract.limits import MAX_HELD
from ingress.proxy.contract.transport import TIMED_OUT
from ingress.proxy.exchange.exchange import Exchange
from ingress.proxy.listening.connection_factories import ChannelFactory
from tests.proxy.playing import FOUR, GET, INGRESS, OK, ONE, THREE, TWO, ProxyCase, Stage, body_of, fields_of

POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\n\r\nbody"
REFUSED = "connection refused"


class RequestBodyTests(ProxyCase):
    """Bodies on their way to upstream."""

    def test_length(self) -> None:
        """Head and first bytes of a body go upstream in one write, the rest as it comes."""
        down = self.stage.open()
        self.connector.is_slow = True
        down.say(b"POST /x HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 10\r\n\r\n0123")
        self.connector.let_through()
        got = self.upstream().take()
        self.assertTrue(got.startswith(b"POST /x HTTP/1.1\r\n"))
        self.assertEqual(fields_of(got)[b"content-length"], b"10")
        self.assertEqual(body_of(got), b"0123")
        down.say(b"456", b"789")
        self.assertEqual(self.upstream().take(), b"456789")
        self.upstream().say(OK)
        self.assert_status(down.received, 200)

    def test_one_write(self) -> None:
        """What came with the head goes upstream together with it."""
        self.stage.open().say(POST)
        self.assertEqual(self.upstream().largest_write, len(self.upstream().received))

    def test_chunked(self) -> None:
        """A chunked body goes upstream in chunks, with its end; extensions and trailers stop here."""
        down = self.stage.open()
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n")
        got = self.upstream().take()
        self.assertEqual(fields_of(got)[b"transfer-encoding"], b"chunked")
        self.assertNotIn(b"content-length", fields_of(got))
        self.assertEqual(body_of(got), b"3\r\nabc\r\n")
        down.say(b"2\r\nde\r\n", b"0\r\nTrailer: x\r\n\r\n")
        self.assertEqual(self.upstream().take(), b"2\r\nde\r\n0\r\n\r\n")
        self.upstream().say(OK)
        self.assert_status(down.received, 200)
        self.assert_ended(200)

    def test_empty_bodies(self) -> None:
        """A length of zero and an empty chunked body are bodies that end at once."""
        down = self.stage.open()
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 0\r\n\r\n")
        self.assertTrue(self.upstream().take().endswith(b"Content-Length: 0\r\n\r\n"))
        self.upstream().say(OK)
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        self.assertTrue(self.upstream().take().endswith(b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"))
        self.upstream().say(OK)
        self.assert_ended(200, 200)

    def test_continue(self) -> None:
        """The expectation and the 100 that answers it pass through."""
        down = self.stage.open()
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
        self.assertEqual(fields_of(self.upstream().take())[b"expect"], b"100-continue")
        self.upstream().say(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.assertEqual(down.take(), b"HTTP/1.1 100 Continue\r\n\r\n")
        down.say(b"body")
        self.assertEqual(self.upstream().take(), b"body")
        self.upstream().say(OK)
        self.assert_status(down.received, 200)
        self.assertFalse(down.saw_end)

    def test_expectation_refused_by_upstream(self) -> None:
        """An upstream that does not want the body answers at once, and the connection ends."""
        down = self.stage.open()
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
        self.upstream().say(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        self.assert_status(down.received, 413)
        self.assertTrue(down.saw_end)

    def test_expectation_passed_over(self) -> None:
        """Without the 100 that was asked for nobody knows whether the body is taken for a request: the connection gets no further one."""
        for word, ends in (
            (b"", True),
            (b"HTTP/1.1 103 Early Hints\r\n\r\n", True),
            (b"HTTP/1.1 100 Continue\r\n\r\n", False),
        ):
            down = self.stage.open()
            down.say(
                b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody"
            )
            upstream = self.upstream()
            upstream.say(word + OK)
            self.assert_status(down.received.removeprefix(word), 200)
            self.assertIs(upstream.saw_end, ends, word)


class FailureTests(ProxyCase):
    """Answers that the proxy gives because upstream gave none."""

    def ask(self, request: bytes = GET) -> bytes:
        """Send *request* on a connection of its own and return what comes back."""
        down = self.stage.open()
        down.say(request)
        return down.take()

    def test_no_route(self) -> None:
        """A request that no route takes gets 404: a page for browsers, a line for the rest."""
        elsewhere = GET.replace(b"shop", b"none")
        answer = self.ask(elsewhere)
        self.assert_status(answer, 404)
        self.assertEqual(body_of(answer), b"404 Not Found\n")
        page = self.ask(elsewhere.replace(b"\r\n\r\n", b"\r\nAccept: text/html,*/*;q=0.8\r\n\r\n"))
        self.assert_status(page, 404)
        self.assertEqual(fields_of(page)[b"content-type"], b"text/html; charset=utf-8")
        self.assertIn(b"<h1>404 Not Found</h1>", page)
        self.assertEqual(self.metrics.ended[-1][0], None)

    def test_no_route_keeps_the_connection(self) -> None:
        """A 404 is an answer like any other: the connection goes on."""
        down = self.stage.open()
        down.say(GET.replace(b"shop", b"none") + GET)
        self.assert_status(down.take(), 404)
        self.upstream().say(OK)
        self.assert_status(down.take(), 200)

    def test_head_request(self) -> None:
        """A HEAD request gets the head of the reply alone, with the length it would have."""
        answer = self.ask(b"HEAD / HTTP/1.1\r\nHost: none.test\r\n\r\n")
        self.assertEqual(fields_of(answer)[b"content-length"], b"14")
        self.assertEqual(body_of(answer), b"")

    def test_no_endpoint(self) -> None:
        """A backend without endpoints gets 503, and the log says which and why."""
        self.stage.publish((), "Service shop/web has no ready endpoint")
        with capturedLogs() as events:
            answer = self.ask()
        self.assert_status(answer, 503)
        self.assertIn("shop/web:80: Service shop/web has no ready endpoint", formatEvent(events[0]))
        self.assertIn("503 for shop.test/", formatEvent(events[0]))
        self.assertNotIn(b"shop", body_of(answer))
        self.assertEqual(self.metrics.ended, [(INGRESS, 503, len(body_of(answer)))])

    def test_refused(self) -> None:
        """A connection that is refused by the only endpoint gets 502."""
        self.connector.unreachable[ONE] = REFUSED
        self.assert_status(self.ask(), 502)
        self.assertEqual(self.metrics.value("ingress_upstream_failures_total"), 1)

    def test_connect_timeout(self) -> None:
        """A connection that takes too long gets 504."""
        self.connector.unreachable[ONE] = TIMED_OUT
        self.assert_status(self.ask(), 504)

    def test_next_endpoint(self) -> None:
        """A connection that cannot be made is tried with the next endpoint, whatever the method."""
        self.stage.publish((ONE, TWO))
        self.connector.unreachable = {ONE: REFUSED}
        for _ in range(4):
            down = self.stage.open()
            down.say(POST)
            self.assertTrue(self.upstream().take().endswith(b"\r\n\r\nbody"))
            self.upstream().say(OK)
            self.assert_status(down.received, 200)
        self.assert_ended(200, 200, 200, 200)

    def test_most_attempts(self) -> None:
        """No more than three endpoints are tried, each once."""
        self.stage.publish((ONE, TWO, THREE, FOUR))
        self.connector.unreachable = dict.fromkeys((ONE, TWO, THREE, FOUR), REFUSED)
        self.assert_status(self.ask(), 502)
        self.assertEqual(len(set(self.connector.asked)), 3)
        self.assertEqual(len(self.connector.asked), 3)

    def test_reset_before_the_answer(self) -> None:
        """A fresh connection that breaks before the answer gets 502; the request is not sent again."""
        for end in ("finish", "reset"):
            down = self.stage.open()
            down.say(POST)
            getattr(self.upstream(), end)()
            self.assert_status(down.received, 502)
            self.assertFalse(down.saw_end)
        self.assert_upstreams(2)
        self.assert_ended(502, 502)

    def test_bad_answers(self) -> None:
        """An answer that cannot be read before its head is whole gets 502."""
        for answer in (
            b"SSH-2.0-OpenSSH\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nbad line\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000,
            b"HTTP/1.1 102 Processing\r\n\r\n" * 40,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        ):
            down = self.stage.open()
            down.say(GET)
            self.upstream().say(answer)
            got = down.take().replace(b"HTTP/1.1 102 Processing\r\n\r\n", b"")
            self.assert_status(got, 502)
            self.assertTrue(self.upstream().saw_reset)

    def test_silence(self) -> None:
        """An upstream that says nothing for 60 seconds gets 504, and its connection is aborted."""
        down = self.stage.open()
        down.say(GET)
        self.reactor.pass_time(59)
        self.assertEqual(down.received, b"")
        self.reactor.pass_time(2)
        self.assert_status(down.received, 504)
        self.assertTrue(self.upstream().saw_reset)
        self.assert_ended(504)

    def test_reply_to_nobody(self) -> None:
        """A reply to a client that has left goes nowhere, and counts for nothing; so does an error."""
        channel = ChannelFactory(self.stage.site, False).build()
        down = self.reactor.connect(channel)
        down.say(GET)
        exchange = channel.exchange
        assert isinstance(exchange, Exchange)
        down.finish()
        self.assert_ended(499)
        exchange.reply(Reply(200, body=b"late"))
        exchange.fail(500, "late")
        self.assertEqual(down.received, b"")
        self.assert_ended(499)

    def test_reply_while_the_body_comes(self) -> None:
        """A failure while the request is still coming is answered, and the connection ends."""
        down = self.stage.open()
        down.say(POST[:-2])
        self.upstream().reset()
        self.assert_status(down.received, 502)
        self.assertEqual(fields_of(down.received)[b"connection"], b"close")
        self.assertTrue(down.saw_end)
        self.assert_ended(502)


class NotFoundPageTests(ProxyCase):
    """``--404-page``."""

    def test_page(self) -> None:
        """Everybody gets the page that the operator chose."""
        self.stage = Stage(b"<p>nothing here</p>", self.on_epoll)
        down = self.stage.open()
        down.say(GET.replace(b"shop", b"none").replace(b"\r\n\r\n", b"\r\nAccept: text/html\r\n\r\n"))
        self.assertEqual(body_of(down.take()), b"<p>nothing here</p>")
        down.say(GET.replace(b"shop", b"none"))
        self.assertEqual(body_of(down.take()), b"<p>nothing here</p>")


class StaleConnectionTests(ProxyCase):
    """Reused connections that upstream is just closing."""

    def setUp(self) -> None:
        super().setUp()
        self.down = self.stage.open()
        self.down.say(GET)
        self.upstream().say(OK)
        self.down.take()
        self.first = self.upstream()
        self.first.take()

    def test_get_is_repeated(self) -> None:
        """A GET on a reused connection that dies without a word is sent again on a fresh one."""
        for end in ("finish", "reset"):
            self.down.say(GET)
            dying = self.upstream()
            self.assertTrue(dying.take().startswith(b"GET / "))
            getattr(dying, end)()
            self.assertIsNot(self.upstream(), dying)
            self.assertTrue(self.upstream().take().startswith(b"GET / "))
            self.upstream().say(OK)
            self.assert_status(self.down.take(), 200)
        self.assert_ended(200, 200, 200)
        self.assertEqual(self.metrics.value("ingress_attempts_repeated_total"), 2)

    def test_once_only(self) -> None:
        """The fresh connection is the last attempt."""
        self.down.say(GET)
        self.first.finish()
        self.upstream().finish()
        self.assert_status(self.down.take(), 502)
        self.assert_upstreams(2)

    def test_body_is_sent_again(self) -> None:
        """A PUT whose body is still held is sent again, whole, also when more of it comes meanwhile."""
        self.down.say(b"PUT / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 10\r\n\r\n0123")
        self.connector.is_slow = True
        self.first.finish()
        self.down.say(b"456")
        self.connector.let_through()
        self.assertEqual(body_of(self.upstream().take()), b"0123456")
        self.down.say(b"789")
        self.assertEqual(self.upstream().take(), b"789")
        self.upstream().say(OK)
        self.assert_status(self.down.take(), 200)

    def test_large_body_is_not(self) -> None:
        """A PUT whose body is no longer held whole gets 502."""
        size = MAX_HELD + 10
        self.down.say(b"PUT / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: %d\r\n\r\n" % size)
        self.down.say(b"x" * size)
        self.first.finish()
        self.assert_status(self.down.take(), 502)
        self.assert_upstreams(1)

    def test_post_is_never_sent_twice(self) -> None:
        """A POST on a reused connection that dies gets 502."""
        self.keep_another_idle()
        self.down.say(POST)
        self.assertTrue(self.first.take().endswith(b"body"))
        self.first.finish()
        self.assert_status(self.down.take(), 502)
        self.assert_upstreams(2)

    def keep_another_idle(self) -> None:
        """Let a second connection be idle for long, and the first one for a moment."""
        other = self.stage.open()
        self.down.say(GET)
        other.say(GET)
        self.upstream().say(OK)
        self.reactor.pass_time(2)
        self.first.say(OK)
        self.first.take()
        self.down.take()

    def test_post_waits_for_a_proof(self) -> None:
        """A POST goes out on a fresh connection until upstream has kept one idle for a while."""
        self.down.say(POST)
        self.assertEqual(self.first.take(), b"")
        self.assert_upstreams(2)
        self.assertTrue(self.upstream().take().endswith(b"body"))

    def test_post_avoids_old_connections(self) -> None:
        """A POST goes out on a fresh connection when the idle one may be closing."""
        self.reactor.pass_time(2)
        self.down.say(POST)
        self.assertEqual(self.first.take(), b"")
        self.assert_upstreams(2)
        self.assertTrue(self.upstream().take().endswith(b"body"))

    def test_touched(self) -> None:
        """A GET is not sent again once a byte of an answer was seen."""
        self.down.say(GET)
        self.first.say(b"HTTP/1.1 2")
        self.first.finish()
        self.assert_status(self.down.take(), 502)
        self.assert_upstreams(1)

    def test_silence_is_no_reason(self) -> None:
        """A GET is not sent again because upstream takes long."""
        self.down.say(GET)
        self.reactor.pass_time(62)
        self.assert_status(self.down.take(), 504)
        self.assert_upstreams(1)

    def test_endpoint_is_down_by_now(self) -> None:
        """When the endpoint of a stale connection refuses a fresh one, the next endpoint is tried."""
        self.stage.publish((ONE, TWO))
        self.connector.unreachable[ONE] = REFUSED
        self.down.say(GET)
        if self.upstream() is not self.first:
            self.upstream().say(OK)
            self.down.take()
            self.down.say(GET)
        self.first.finish()
        self.assertEqual(self.connector.asked[-1], TWO)
        self.upstream().say(OK)
        self.assert_status(self.down.take(), 200)


class LateConnectionTests(ProxyCase):
    """Connections that are made when nobody waits for them any more."""

    def test_kept_for_the_next(self) -> None:
        """A connection for a peer that left is kept, and serves the next request."""
        self.connector.is_slow = True
        down = self.stage.open()
        down.say(GET)
        down.reset()
        self.assert_ended(499)
        self.connector.let_through()
        self.assertFalse(self.upstream().closed)
        self.stage.open().say(GET)
        self.assert_upstreams(1)
        self.assertTrue(self.upstream().received.startswith(b"GET / "))

    def test_failure_is_nobody_s(self) -> None:
        """A connection that fails for a peer that left changes nothing."""
        self.connector.is_slow = True
        down = self.stage.open()
        down.say(GET)
        down.reset()
        self.connector.refuse(REFUSED)
        self.assert_ended(499)


class RedirectTests(ProxyCase):
    """A filter that answers."""

    def test_redirect(self) -> None:
        """A route with a redirect answers with it, without an upstream, counted for its Ingress."""
        self.stage.publish((ONE,), filters=(HttpsRedirect(443),))
        down = self.stage.open()
        down.say(GET.replace(b" / ", b" /a?b=c "))
        answer = down.take()
        self.assert_status(answer, 308)
        self.assertEqual(fields_of(answer)[b"location"], b"https://shop.test/a?b=c")
        self.assert_upstreams(0)
        self.assertEqual([(key, status) for key, status, _ in self.metrics.ended], [(INGRESS, 308)])
        self.stage.open(secure=True).say(GET)
        self.assert_upstreams(1)


class RequestIdTests(ProxyCase):
    """``X-Request-ID``."""

    def test_kept(self) -> None:
        """A request id that came in goes on."""
        self.stage.open().say(GET.replace(b"\r\n\r\n", b"\r\nX-Request-ID: abc-1\r\n\r\n"))
        self.assertEqual(fields_of(self.upstream().received)[b"x-request-id"], b"abc-1")

    def test_made(self) -> None:
        """A request without one, or with one that is no plain word, gets a fresh one."""
        seen = set()
        for extra in (b"", b"", b"\r\nX-Request-ID: a b", b"\r\nX-Request-ID: " + b"x" * 200):
            self.stage.open().say(GET.replace(b"\r\n\r\n", extra + b"\r\n\r\n"))
            made = fields_of(self.upstream().received)[b"x-request-id"]
            self.assertRegex(made, rb"\A[0-9a-f]{32}\Z")
            seen.add(made)
        self.assertEqual(len(seen), 4)


class RouteChangeTests(ProxyCase):
    """A new route table while exchanges are under way."""

    def test_exchange_goes_on(self) -> None:
        """A request that is being answered keeps its route when the table changes."""
        down = self.stage.open()
        down.say(POST[:-2])
        self.stage.publish((TWO,), host="other.test")
        down.say(POST[-2:])
        self.assertTrue(self.upstream().received.endswith(b"body"))
        self.upstream().say(OK)
        self.assert_status(down.take(), 200)
        down.say(GET)
        self.assert_status(down.take(), 404)

    def test_endpoints_change(self) -> None:
        """The next request goes to the new endpoints, also when the old connection is idle."""
        down = self.stage.open()
        down.say(GET)
        self.stage.publish((TWO,))
        self.upstream().say(OK)
        down.say(GET)
        self.assertEqual(self.connector.asked, [ONE, TWO])
        self.upstream().say(OK)
        self.assert_ended(200, 200)

    def test_endpoints_gone_while_connecting(self) -> None:
        """An attempt that fails when the route has no endpoint left is answered by 502."""
        self.stage.publish((ONE, TWO))
        self.connector.is_slow = True
        down = self.stage.open()
        down.say(GET)
        self.stage.publish((), "none left")
        self.connector.refuse(REFUSED)
        self.assert_status(down.take(), 502)


class LogTests(ProxyCase):
    """The access log line of an exchange."""

    def test_fields(self) -> None:
        """A line has its twelve fields, in order; the last one is the id that went to the endpoint."""
        down = self.stage.open()
        down.say(GET.replace(b" / ", b" /a?b "))
        self.reactor.pass_time(0.5)
        self.upstream().say(OK)
        self.assertEqual(
            self.stage.log_lines(),
            [
                b'1970-01-01T00:00:00.500Z 198.51.100.7 GET shop.test "/a?b" 200 2 0.500 '
                b"10.0.0.1:8000 shop/web HTTP/1.1 " + self.metrics.records[-1].id
            ],
        )

    def test_nothing_known(self) -> None:
        """An unreadable request is logged too, with dashes for what is not known."""
        self.stage.open().say(b"nonsense\r\n\r\n")
        self.assertEqual(
            self.stage.log_lines(),
            [
                b'1970-01-01T00:00:00.000Z 198.51.100.7 - - "" 400 16 0.000 - - HTTP/1.1 '
                + self.metrics.records[-1].id
            ],
        )

    def test_old_protocol(self) -> None:
        """A line says what downstream speaks, also where upstream is spoken to in another version."""
        self.stage.open().say(b"GET / HTTP/1.0\r\nHost: shop.test\r\n\r\n")
        self.upstream().say(OK)
        self.assertIn(b" shop/web HTTP/1.0 ", self.stage.log_lines()[0])

    def test_escaping(self) -> None:
        """A target cannot forge a field or a line."""
        self.stage.open().say(b'GET /"%0a\\ HTTP/1.1\r\nHost: none.test\r\n\r\n')
        self.assertIn(b'"/\\x22%0a\\x5C" 400 ', self.stage.log_lines()[0])
