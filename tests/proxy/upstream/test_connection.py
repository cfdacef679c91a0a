"""Tests for ``ingress.proxy.upstream.connection``: answers, how they end, and what is left of the connection."""

from ingress.proxy.contract.reads import FULL_READ
from tests.proxy.playing import GET, OK, ProxyCase, body_of, fields_of

GET_1_0 = GET.replace(b"1.1", b"1.0")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\n\r\n"


class FramingTests(ProxyCase):
    """How the end of an answer is told to downstream."""

    def test_chunked(self) -> None:
        """A chunked answer stays chunked, and its first piece goes out with the head."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(CHUNKED + b"3\r\nabc\r\n")
        self.assertEqual(down.largest_write, len(down.received))
        self.upstream().say(b"2;ext\r\nde\r\n0\r\n\r\n")
        self.assertEqual(fields_of(down.received)[b"transfer-encoding"], b"chunked")
        self.assertEqual(body_of(down.take()), b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        down.say(GET)
        self.assert_upstreams(1)

    def test_chunked_to_http_1_0(self) -> None:
        """HTTP/1.0 gets a chunked answer as plain bytes until the end of the connection."""
        for connection in (b"", b"Connection: keep-alive\r\n"):
            down = self.stage.open()
            down.say(GET_1_0[:-2] + connection + b"\r\n")
            self.upstream().say(CHUNKED + b"3\r\nabc\r\n2\r\nde\r\n0\r\nT: x\r\n\r\n")
            fields = fields_of(down.received)
            self.assertNotIn(b"transfer-encoding", fields)
            self.assertEqual(fields[b"connection"], b"close")
            self.assertEqual(body_of(down.received), b"abcde")
            self.assertTrue(down.saw_end)
            self.assertFalse(down.saw_reset)

    def test_until_close(self) -> None:
        """An answer that ends with its connection becomes chunked, and downstream goes on."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(UNTIL_CLOSE + b"abc", b"de")
        self.upstream().finish()
        self.assertEqual(body_of(down.take()), b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        self.assertTrue(self.upstream().closed)
        down.say(GET)
        self.assert_upstreams(2)
        self.upstream().say(b"HTTP/1.0 200 OK\r\n\r\n")
        self.upstream().finish()
        self.assertEqual(body_of(down.take()), b"0\r\n\r\n")
        self.assert_ended(200, 200)

    def test_until_close_to_http_1_0(self) -> None:
        """HTTP/1.0 gets such an answer as it is."""
        down = self.stage.open()
        down.say(GET_1_0)
        self.upstream().say(UNTIL_CLOSE + b"abc")
        self.upstream().finish()
        self.assertEqual(body_of(down.received), b"abc")
        self.assertTrue(down.saw_end)
        self.assertFalse(down.saw_reset)

    def test_trailers(self) -> None:
        """Trailers of an answer pass, but none that speaks of framing, routing or content."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(
            CHUNKED + b"1\r\na\r\n0\r\nX-Sum: 1\r\nContent-Length: 5\r\nSet-Cookie: a=b\r\n\r\n"
        )
        self.assertEqual(body_of(down.received), b"1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n")

    def test_no_body(self) -> None:
        """Answers to HEAD, and 204 and 304, have no body whatever their heads say."""
        head = GET.replace(b"GET", b"HEAD")
        for request, answer, fields in (
            (head, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", {b"content-length": b"5"}),
            (head, CHUNKED, {}),
            (GET, b"HTTP/1.1 204 No Content\r\n\r\n", {}),
            (GET, b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", {}),
            (GET, b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", {b"content-length": b"5"}),
            (GET, b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", {b"etag": b"x"}),
        ):
            down = self.stage.open()
            down.say(request)
            self.upstream().say(answer)
            got = down.take()
            self.assertTrue(got.endswith(b"\r\n\r\n"), got)
            found = fields_of(got)
            del found[b"server"], found[b"date"]
            self.assertEqual(found, fields, answer)
            self.assertFalse(down.saw_end)
            down.say(GET)
            self.upstream().say(OK)
            self.assertEqual(body_of(down.take()), b"ok")
        self.assert_upstreams(1)

    def test_head_without_framing(self) -> None:
        """An answer to HEAD that tells no length is whole with its head."""
        down = self.stage.open()
        down.say(GET.replace(b"GET", b"HEAD"))
        self.upstream().say(UNTIL_CLOSE)
        self.assert_status(down.received, 200)
        self.assert_ended(200)

    def test_interim(self) -> None:
        """1xx answers pass ahead of the final one; HTTP/1.0 gets none."""
        interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(interim + interim + OK)
        self.assertTrue(down.received.startswith(interim + interim + b"HTTP/1.1 200 OK\r\n"))
        old = self.stage.open()
        old.say(GET_1_0)
        self.upstream().say(interim + OK)
        self.assert_status(old.received, 200)
        self.assert_ended(200, 200)

    def test_too_much_interim(self) -> None:
        """They are no flood, in number or in bytes."""
        for interim, count in ((b"X: y", 32), (b"X: " + b"y" * 30_000, 4)):
            head = b"HTTP/1.1 103 Early Hints\r\n%b\r\n\r\n" % interim
            for more, status in ((0, 200), (1, 502)):
                down = self.stage.open()
                down.say(GET)
                for _ in range(count + more):
                    self.upstream().say(head)
                if not more:
                    self.upstream().say(OK)
                self.assertEqual(down.received.count(head), count)
                self.assert_status(down.received[count * len(head) :], status)

    def test_hop_by_hop(self) -> None:
        """What is for our connection alone stops here, also what Connection names."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(
            OK.replace(
                b"\r\n\r\n", b"\r\nConnection: X-Own\r\nX-Own: 1\r\nKeep-Alive: 5\r\nX-Kept: 2\r\n\r\n"
            )
        )
        fields = fields_of(down.received)
        self.assertEqual(fields[b"x-kept"], b"2")
        self.assertFalse({b"x-own", b"keep-alive", b"connection"} & set(fields))

    def test_cookies_stay_apart(self) -> None:
        """Fields that repeat stay as they are."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n"))
        self.assertIn(b"Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n", down.received)


class CutTests(ProxyCase):
    """Answers that break off after their head."""

    def cut(self, request: bytes, answer: bytes, end: str) -> object:
        """Break *answer* off with *end*, and return the downstream peer."""
        down = self.stage.open()
        down.say(request)
        self.upstream().say(answer)
        getattr(self.upstream(), end)()
        self.assertTrue(down.closed, (answer, end))
        self.assertEqual(down.received.count(b"HTTP/1.1 "), 1, "one head only")
        return down

    def test_length(self) -> None:
        """With a length, fewer bytes and then the end."""
        for end in ("finish", "reset"):
            down = self.stage.open()
            down.say(GET)
            self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")
            getattr(self.upstream(), end)()
            self.assertEqual(body_of(down.received), b"01234")
            self.assertTrue(down.closed)
        self.assert_ended(200, 200)

    def test_chunked(self) -> None:
        """With chunks, the end without a last one."""
        for end in (b"", b"zz\r\n", b"3\r\nabcd\r\n", b"0\r\nbad trailer\r\n\r\n", b"0\r\n"):
            down = self.stage.open()
            down.say(GET)
            self.upstream().say(CHUNKED + b"2\r\nab\r\n")
            self.upstream().say(end)
            self.upstream().finish()
            self.assertTrue(down.closed, end)
            self.assertTrue(body_of(down.received).startswith(b"2\r\nab\r\n"), end)
            self.assertNotIn(b"\r\n0\r\n", body_of(down.received), end)
            self.assertEqual(down.received.count(b"HTTP/1.1 "), 1)
        self.assertEqual(len(self.metrics.ended), 5)

    def test_until_close(self) -> None:
        """Until close: a reset is a cut, told to 1.1 by the missing last chunk and to 1.0 by a reset."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(UNTIL_CLOSE + b"abc")
        self.upstream().reset()
        self.assertEqual(body_of(down.received), b"3\r\nabc\r\n")
        self.assertTrue(down.closed)
        old = self.stage.open()
        old.say(GET_1_0)
        self.upstream().say(UNTIL_CLOSE + b"abc")
        self.upstream().reset()
        self.assertTrue(old.saw_reset)
        self.assertFalse(old.saw_end)

    def test_chunked_to_http_1_0(self) -> None:
        """A chunked answer that breaks off is a reset for HTTP/1.0, never a regular end."""
        down = self.stage.open()
        down.say(GET_1_0)
        self.upstream().say(CHUNKED + b"3\r\nabc\r\n")
        self.upstream().finish()
        self.assertTrue(down.saw_reset)
        self.assertFalse(down.saw_end)

    def test_silence(self) -> None:
        """An answer that stops for 60 seconds is cut."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(CHUNKED + b"3\r\nabc\r\n")
        self.reactor.pass_time(62)
        self.assertTrue(down.closed)
        self.assertTrue(self.upstream().saw_reset)
        self.assert_ended(200)


class ReuseTests(ProxyCase):
    """Which connections serve another exchange."""

    def test_surplus(self) -> None:
        """Bytes behind an answer are nobody's: the connection is not used again."""
        for answer in (OK, CHUNKED + b"0\r\n\r\n", b"HTTP/1.1 204 No Content\r\n\r\n"):
            down = self.stage.open()
            down.say(GET)
            self.upstream().say(answer + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nevil!")
            self.assertNotIn(b"evil", down.received)
            self.assertTrue(self.upstream().closed)
            down.reset()
        self.assert_ended(200, 200, 204)

    def test_surplus_behind_a_full_read(self) -> None:
        """Nor does another client get it where head and body end with what is read at once, and the surplus is in the socket still."""
        evil = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nevil!"
        for size in (FULL_READ, 2 * FULL_READ):
            head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
            answer = head % (size - len(head % size)) + bytes(size - len(head % size))
            down = self.stage.open()
            down.say(GET)
            first = self.upstream()
            other = self.stage.open()
            if size > FULL_READ:
                first.say(answer[:-FULL_READ])
            first.post(answer[-FULL_READ:], evil)
            other.post(GET)
            self.stage.reactor.settle()
            self.assertTrue(first.closed)
            self.assertIsNot(self.upstream(), first)
            self.upstream().say(OK)
            self.assertNotIn(b"evil", other.received)
            self.assert_status(other.received, 200)
            down.reset()
            other.reset()

    def test_request_under_way(self) -> None:
        """A connection that has much of a request still to send is not used for the next one."""
        self.connector.window = 2000
        down = self.stage.open()
        down.say(
            b"PUT / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 70000\r\n\r\n",
            bytes(50_000),
            bytes(20_000),
        )
        self.upstream().say(OK)
        self.assert_status(down.take(), 200)
        self.connector.window = None
        down.say(GET)
        self.assert_upstreams(2)
        self.upstream(0).widen()
        self.assertEqual(len(body_of(self.upstream(0).received)), 70_000)
        self.assertTrue(self.upstream(0).saw_end)

    def test_body_where_none_may_be(self) -> None:
        """Body bytes behind the answer to a HEAD request do not become the next answer."""
        down = self.stage.open()
        down.say(GET.replace(b"GET", b"HEAD") + GET)
        self.upstream().say(OK)
        self.assertEqual(down.received.count(b"HTTP/1.1 "), 1)
        self.assert_upstreams(2)

    def test_unsolicited(self) -> None:
        """An idle connection on which something arrives is closed at once."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK)
        self.upstream().say(OK.replace(b"ok", b"no"))
        self.assertTrue(self.upstream().closed)
        down.take()
        down.say(GET)
        self.assert_upstreams(2)
        self.upstream().say(OK)
        self.assertEqual(body_of(down.take()), b"ok")

    def test_upstream_closes_idle(self) -> None:
        """An idle connection that upstream closes is forgotten, and no request notices."""
        for _ in range(5):
            down = self.stage.open()
            down.say(GET)
            self.upstream().say(OK)
            self.upstream().finish()
            self.assertTrue(self.upstream().closed)
        self.assert_ended(200, 200, 200, 200, 200)
        self.assertEqual(self.metrics.value("ingress_upstream_failures_total"), 0)

    def test_connection_close(self) -> None:
        """An upstream that says that it closes is taken at its word."""
        for answer in (
            OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
            OK.replace(b"1.1", b"1.0"),
            CHUNKED[:-2] + b"Content-Length: 3\r\n\r\n0\r\n\r\n",
        ):
            down = self.stage.open()
            down.say(GET)
            self.upstream().say(answer)
            self.assert_status(down.received, 200)
            self.assertTrue(self.upstream().closed, answer)
            self.assertFalse(down.closed)
            down.reset()

    def test_http_1_0_keep_alive(self) -> None:
        """An HTTP/1.0 upstream that keeps its connection is used again."""
        down = self.stage.open()
        for _ in range(2):
            down.say(GET)
            self.upstream().say(
                OK.replace(b"1.1", b"1.0").replace(b"\r\n\r\n", b"\r\nConnection: keep-alive\r\n\r\n")
            )
        self.assert_upstreams(1)
        self.assert_ended(200, 200)

    def test_pool_closes(self) -> None:
        """A closed pool closes what is idle, and the rest when its exchange is over."""
        idle, busy = self.stage.open(), self.stage.open()
        idle.say(GET)
        first = self.upstream()
        busy.say(GET)
        first.say(OK)
        self.stage.pool.close()
        self.reactor.settle()
        self.assertTrue(first.closed)
        self.upstream().say(OK)
        self.assert_status(busy.received, 200)
        self.assertTrue(self.upstream().closed)
