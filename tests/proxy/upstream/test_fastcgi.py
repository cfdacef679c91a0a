"""Tests for ``ingress.proxy.upstream.fastcgi_connection``: requests, answers, and what is left of connections."""

from __future__ import annotations

from twisted.logger import ILogObserver, LogEvent, globalLogPublisher
from zope.interface import provider

from ingress.filters import BodyFlow, BodyStage, Facts, Filter
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.retries import RetryRule
from ingress.proxy.contract.limits import UPSTREAM_IDLE_SECONDS
from ingress.proxy.dispatch.site import SessionRules
from ingress.proxy.downstream.h2_session import DownstreamSession
from ingress.proxy.upstream.program_errors import MOST_KNOWN, ProgramErrorLog
from tests.fakes.fastcgi.records import OK, answered, end, record, stderr, stdout
from tests.fakes.http2.client import Http2Client, MemoryWire
from tests.fakes.http2.frames import data
from tests.fakes.specs import SpecOf
from tests.proxy.fastcgi_case import BEGUN, ONE, POST, TWO, FastCgiCase, spec
from tests.proxy.playing import GET, body_of, fields_of

HEAD = GET.replace(b"GET", b"HEAD")
CHUNKED = b"POST /add HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNKED_OK = b"2\r\nok\r\n0\r\n\r\n"


class RequestTests(FastCgiCase):
    """What an endpoint is asked."""

    def test_get(self) -> None:
        """A request has nginx's params, the route's, its fields, and no body."""
        down = self.stage.open()
        down.say(b"GET /a%20b/?x=1 HTTP/1.1\r\nHost: shop.test:80\r\nProxy: evil\r\nX-Team: blue\r\n\r\n")
        request = self.request()
        self.assertEqual((request.role, request.keeps, request.body, request.is_whole), (1, True, b"", True))
        for name, value in (
            (b"SCRIPT_FILENAME", b"/app/a b/index.php"), (b"SCRIPT_NAME", b"/a b/index.php"),
            (b"REQUEST_URI", b"/a%20b/?x=1"), (b"DOCUMENT_URI", b"/a b/"), (b"QUERY_STRING", b"x=1"),
            (b"REQUEST_METHOD", b"GET"), (b"CONTENT_LENGTH", b""), (b"CONTENT_TYPE", b""),
            (b"SERVER_PROTOCOL", b"HTTP/1.1"), (b"REQUEST_SCHEME", b"http"), (b"GATEWAY_INTERFACE", b"CGI/1.1"),
            (b"SERVER_NAME", b"shop.test"), (b"REDIRECT_STATUS", b"200"), (b"HTTP_HOST", b"shop.test:80"),
            (b"HTTP_X_TEAM", b"blue"), (b"HTTP_X_FORWARDED_PROTO", b"http"),
        ):  # fmt: skip
            self.assertEqual(request.params[name], value, name)
        self.assertFalse({b"HTTP_PROXY", b"HTTPS"} & set(request.params))
        self.assertTrue(request.params[b"REMOTE_ADDR"] and request.params[b"REMOTE_PORT"])
        self.assertEqual(request.params[b"REMOTE_ADDR"], request.params[b"HTTP_X_REAL_IP"])
        self.upstream().say(OK)
        self.assertEqual(body_of(down.take()), CHUNKED_OK)
        self.assert_ended(200)

    def test_body(self) -> None:
        """A body whose length is known is streamed as it comes."""
        down = self.stage.open()
        down.say(BEGUN)
        request = self.request()
        self.assertEqual(
            (request.params[b"CONTENT_LENGTH"], request.body, request.is_whole), (b"4", b"hi", False)
        )
        down.say(b"ho")
        self.assertEqual((self.request().body, self.request().is_whole), (b"hiho", True))
        self.upstream().say(OK)
        self.assert_status(down.take(), 200)

    def test_long_body(self) -> None:
        """A body of megabytes arrives as it was, whatever records it takes, as fast as the endpoint takes it."""
        body = bytes(range(256)) * 8192
        self.connector.window = 0
        down = self.stage.open()
        down.say(b"PUT /a HTTP/1.1\r\nHost: shop.test\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        self.assertGreater(down.unread, len(body) // 2)
        self.upstream().widen()
        self.assertEqual((self.request().body == body, self.request().is_whole), (True, True))

    def test_body_without_length(self) -> None:
        """A chunked body is held until it is whole, and told with its length."""
        down = self.stage.open()
        down.say(CHUNKED + b"2\r\nhi\r\n")
        self.assert_upstreams(0)
        down.say(b"2\r\nho\r\n0\r\n\r\n")
        request = self.request()
        self.assertEqual(
            (request.params[b"CONTENT_LENGTH"], request.body, request.is_whole), (b"4", b"hiho", True)
        )
        self.assertNotIn(b"HTTP_CONTENT_LENGTH", request.params)
        self.assertNotIn(b"HTTP_TRANSFER_ENCODING", request.params)
        self.upstream().say(OK)
        self.assert_status(down.take(), 200)

    def test_too_long_without_length(self) -> None:
        """One that is longer than what is held gets 411, and one that is longer than its route allows 413; 1 MiB is not."""
        piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        down = self.stage.open()
        down.say(CHUNKED, *[piece] * 16)
        self.assert_upstreams(0)
        down.say(b"0\r\n\r\n")
        self.assertEqual(self.request().params[b"CONTENT_LENGTH"], b"1048576")
        self.upstream().say(OK)
        self.assert_status(down.take(), 200)
        down = self.stage.open()
        down.say(CHUNKED, *[piece] * 17)
        self.assert_status(down.take(), 411)
        self.serve(ONE, max_body_bytes=100_000)
        down = self.stage.open()
        down.say(CHUNKED, *[piece] * 2)
        self.assert_status(down.take(), 413)
        self.assert_upstreams(1)

    def test_continue(self) -> None:
        """Who waits to be told that its body is wanted is told so, once."""
        for framing, rest in (
            (b"Content-Length: 2", b"hi"),
            (b"Transfer-Encoding: chunked", b"2\r\nhi\r\n0\r\n\r\n"),
        ):
            down = self.stage.open()
            down.say(
                b"POST / HTTP/1.1\r\nHost: shop.test\r\nExpect: 100-continue\r\n" + framing + b"\r\n\r\n"
            )
            self.assertEqual(down.take(), b"HTTP/1.1 100 Continue\r\n\r\n")
            down.say(rest)
            self.assertEqual(self.request().body, b"hi")
            self.upstream().say(OK)
            self.assert_status(down.take(), 200)

    def test_nothing_to_continue(self) -> None:
        """Who has sent all of its body meanwhile is not told to go on."""
        self.connector.is_slow = True
        down = self.stage.open()
        down.say(POST.replace(b"Content", b"Expect: 100-continue\r\nContent"))
        self.connector.let_through()
        self.assertEqual((self.request().body, down.take()), (b"hi", b""))
        self.upstream().say(OK)
        self.assert_status(down.take(), 200)

    def test_upgrade(self) -> None:
        """No WebSocket leads there; another upgrade is not asked for, and the request answered as any other."""
        down = self.stage.open()
        down.say(GET[:-2] + b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
        self.assertEqual((b"tcp" in self.upstream().received, self.upstream().closed), (False, False))
        down.reset()
        down = self.stage.open()
        down.say(GET[:-2] + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n")
        self.assert_status(down.take(), 501)
        self.assertEqual(self.upstream().received, b"")
        self.assertTrue(self.upstream().closed)

    def test_over_http2(self) -> None:
        """Requests of HTTP/2 arrive the same, with a length and without; and no WebSocket inside of it."""
        self.stage.site.sessions = SessionRules(DownstreamSession, by_prior_knowledge=True)
        client = Http2Client(MemoryWire(self.reactor, self.stage.open()))
        client.begin()
        for stream, more in ((1, [(b"content-length", b"2")]), (3, [])):
            client.send(
                client.request(stream, ended=False, method=b"POST", path=b"/a", more=more),
                data(stream, b"hi", True),
            )
            request = self.request()
            self.assertEqual((request.params[b"CONTENT_LENGTH"], request.body), (b"2", b"hi"))
            self.assertEqual(request.params[b"SERVER_PROTOCOL"], b"HTTP/2.0")
            self.upstream().say(OK)
            client.look()
            self.assertEqual(client.body(stream), b"ok")
        websocket = [(b":protocol", b"websocket"), (b"sec-websocket-version", b"13")]
        client.send(client.request(5, ended=False, method=b"CONNECT", path=b"/", more=websocket))
        client.look()
        self.assertEqual(dict(client.heads(5)[0])[b":status"], b"501")

    def test_body_that_a_filter_changes(self) -> None:
        """A body whose length a filter makes another one is sent where it is whole before it is, and refused else."""

        class Stage(BodyStage):
            def feed(self, piece: bytes) -> bytes:
                return piece + piece

            def finish(self) -> bytes:
                return b"!"

        class Doubling(Filter):
            def on_request_body(self, facts: Facts, flow: BodyFlow) -> BodyStage:
                return Stage()

        self.stage.publish((ONE,), filters=(SpecOf(Doubling(), "doubling"), spec()))
        down = self.stage.open()
        down.say(POST)
        request = self.request()
        self.assertEqual((request.params[b"CONTENT_LENGTH"], request.body), (b"5", b"hihi!"))
        self.upstream().say(OK)
        self.assert_status(down.take(), 200)
        down = self.stage.open()
        down.say(BEGUN)
        self.assert_status(down.take(), 500)

    def test_no_params(self) -> None:
        """A route that says nothing to endpoints of FastCGI does not reach them."""
        self.stage.publish((ONE,))
        down = self.stage.open()
        down.say(GET)
        self.assert_status(down.take(), 502)
        self.assertEqual(self.upstream().received, b"")


class AnswerTests(FastCgiCase):
    """What a client gets."""

    def test_streamed(self) -> None:
        """An answer goes on as it comes, and is over with END_REQUEST."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(stdout(b"Status: 201 Made\r\nX-A: b\r\n\r\none"))
        self.assert_status(down.received, 201)
        self.assertEqual(fields_of(down.received)[b"x-a"], b"b")
        self.assertNotIn(b"status", fields_of(down.received))
        self.upstream().say(stdout(b"two"))
        self.assertEqual(body_of(down.received), b"3\r\none\r\n3\r\ntwo\r\n")
        self.upstream().say(end())
        self.assertEqual(body_of(down.received), b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")

    def test_byte_by_byte(self) -> None:
        """However it is cut, it is the same answer."""
        down = self.stage.open()
        down.say(GET)
        octets = stderr(b"x") + answered(b"hello", b"Content-Length: 5\r\n")
        self.upstream().say(*(octets[at : at + 1] for at in range(len(octets))))
        self.assertEqual(body_of(down.take()), b"hello")
        down.say(GET)
        self.assert_upstreams(1)

    def test_no_body(self) -> None:
        """Answers to HEAD, 204 and 304 have no body, and the connection goes on if the endpoint is done by then."""
        for request, head in (
            (HEAD, b"Content-Length: 5\r\n"), (HEAD, b"X-A: b\r\n"), (GET, b"Status: 204 No Content\r\n"),
            (GET, b"Status: 304 Not Modified\r\n"),
        ):  # fmt: skip
            down = self.stage.open()
            down.say(request)
            self.upstream().say(answered(b"", head))
            self.assertTrue(down.take().endswith(b"\r\n\r\n"))
            down.say(GET)
            self.upstream().say(OK)
            self.assertEqual(body_of(down.take()), CHUNKED_OK)
        self.assert_upstreams(1)

    def test_head_with_a_body(self) -> None:
        """What a program says in answer to HEAD beside its head is dropped, with the connection."""
        down = self.stage.open()
        down.say(HEAD)
        self.upstream().say(answered(b"body"))
        self.assertTrue(down.take().endswith(b"\r\n\r\n"))
        self.assertTrue(self.upstream().closed)

    def test_invalid(self) -> None:
        """What is no answer costs 502, and the connection."""
        for octets in (
            end(), stdout(b"Status: 99\r\n\r\n") + end(), b"HTTP/1.1 200 OK\r\n\r\n", record(6, b"A: b\r\n\r\n", 2),
            stdout(b"A b\r\n\r\n"), record(11, b"x", 0), stdout(b"A: " + b"x" * 65_000) + stdout(b"x" * 1000),
            end(3), stdout(b"") * 100, stdout(b"A: b\r\n") + end(1),
        ):  # fmt: skip
            down = self.stage.open()
            down.say(GET)
            self.upstream().say(octets)
            self.assert_status(down.take(), 502)
            self.assertTrue(self.upstream().closed)

    def test_cut(self) -> None:
        """What goes wrong behind a head ends the client's connection, so that it sees it."""
        for octets in (
            record(6, b"x", 9),
            stdout(b"x")[:1] + b"\x09",
            end(3),
            stdout(b"") + stdout(b"y"),
            end(1),
        ):
            down = self.stage.open()
            down.say(GET)
            self.upstream().say(stdout(b"A: b\r\n\r\nbegun"))
            self.upstream().say(octets)
            self.assertTrue(down.closed)
            self.assertNotIn(b"0\r\n\r\n", down.received)

    def test_too_short(self) -> None:
        """A body that ends before its Content-Length is cut."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(stdout(b"Content-Length: 5\r\n\r\nok"))
        self.upstream().say(end())
        self.assertTrue(down.closed)

    def test_ends_at_every_point(self) -> None:
        """Wherever the connection ends before an answer is whole, the client gets 502, or sees that it is cut."""
        octets = stderr(b"x") + stdout(b"Content-Length: 2\r\n\r\n") + stdout(b"ok") + end()
        whole = len(octets) - len(end())
        for ending in ("finish", "reset"):
            for at in range(len(octets)):
                down = self.stage.open()
                down.say(POST)
                peer = self.upstream()
                peer.say(octets[:at])
                getattr(peer, ending)()
                got = down.take()
                if at >= whole:
                    self.assertEqual(body_of(got), b"ok", at)
                    self.assertFalse(down.closed)
                elif got.startswith(b"HTTP/1.1 200"):
                    self.assertTrue(down.closed, at)
                else:
                    self.assert_status(got, 502)

    def test_ends_behind_stdout(self) -> None:
        """An endpoint that has ended its output may leave without a word more, as it may with nginx."""
        for ending in ("finish", "reset"):
            for is_ended in (True, False):
                down = self.stage.open()
                down.say(GET)
                peer = self.upstream()
                peer.say(stdout(b"A: b\r\n\r\nok") + (stdout(b"") if is_ended else b""))
                getattr(peer, ending)()
                self.assertEqual(body_of(down.take()), CHUNKED_OK if is_ended else b"2\r\nok\r\n")
                self.assertEqual(down.closed, not is_ended)

    def test_slow_client(self) -> None:
        """An endpoint whose client takes nothing is read no further."""
        down = self.stage.open(window=0)
        down.say(GET)
        self.upstream().say(stdout(b"A: b\r\n\r\n"))
        for _ in range(100):
            self.upstream().say(stdout(b"x" * 60_000))
        self.assertGreater(self.upstream().unread, 3_000_000)
        down.widen()
        self.upstream().say(end())
        self.assertTrue(down.take().endswith(b"0\r\n\r\n"))

    def test_many_small_records(self) -> None:
        """Thousands of records that come at once are read in turns, and none is lost, also if the endpoint leaves meanwhile."""
        for leaves in (False, True):
            down = self.stage.open()
            down.say(GET)
            self.upstream().post(
                stdout(b"Content-Length: 9000\r\n\r\n")
                + b"".join(stdout(b"%d" % (n % 10)) for n in range(9000)),
                end(),
            )
            if leaves:
                self.upstream().finish()
            self.reactor.settle()
            self.assertEqual(body_of(down.take()), b"0123456789" * 900)


class ConnectionTests(FastCgiCase):
    """What becomes of connections."""

    def test_kept(self) -> None:
        """A connection is kept for the next request, if the endpoint is done and says no more."""
        down = self.stage.open()
        for _ in range(3):
            down.say(GET)
            self.upstream().say(OK)
            self.assertEqual(body_of(down.take()), CHUNKED_OK)
        self.assert_upstreams(1)
        self.reactor.pass_time(UPSTREAM_IDLE_SECONDS + 1)
        self.assertTrue(self.upstream().closed)

    def test_more_behind_the_end(self) -> None:
        """Records behind END_REQUEST become nobody's answer, be they with it or later."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK + OK)
        self.assertEqual(body_of(down.take()), CHUNKED_OK)
        self.assertTrue(self.upstream().closed)
        down.say(GET)
        self.upstream().say(OK)
        down.take()
        self.upstream().say(stdout(b"A: b\r\n\r\nevil") + end())
        self.assertTrue(self.upstream().closed)
        down.say(GET)
        self.assert_upstreams(3)
        self.upstream().say(OK)
        self.assertEqual(body_of(down.take()), CHUNKED_OK)

    def test_answered_early(self) -> None:
        """An answer before the body has come goes on; the connection ends, as the endpoint may not have read it."""
        down = self.stage.open()
        down.say(BEGUN)
        self.upstream().say(answered(b"no", b"Status: 413 Too Large\r\nContent-Length: 2\r\n"))
        self.assert_status(down.take(), 413)
        self.assertTrue(self.upstream().closed)

    def test_client_leaves(self) -> None:
        """When the client leaves, the endpoint is told so, and the connection ends."""
        for request in (GET, BEGUN):
            down = self.stage.open()
            down.say(request)
            down.reset()
            self.assertTrue(self.request().is_aborted)
            self.assertTrue(self.upstream().closed)

    def test_client_leaves_before_the_connection(self) -> None:
        """A connection that nobody waits for any more is not kept, for a process would wait at it; one that others wait for is theirs."""
        self.connector.is_slow = True
        for request in (GET, POST):
            down = self.stage.open()
            down.say(request)
            down.reset()
            self.connector.let_through()
            self.assertEqual((self.upstream().received, self.upstream().closed), (b"", True))
        leaving, staying = self.stage.open(), self.stage.open()
        leaving.say(GET)
        leaving.reset()
        staying.say(GET)
        self.connector.let_through()
        self.assert_upstreams(3)
        self.upstream().say(OK)
        self.assertEqual(body_of(staying.take()), CHUNKED_OK)

    def test_client_leaves_a_full_endpoint(self) -> None:
        """An endpoint that has not taken what was sent is reset."""
        self.connector.window = 100
        down = self.stage.open()
        down.say(b"PUT / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 90000\r\n\r\n" + b"x" * 80_000)
        down.reset()
        self.assertTrue(self.upstream().saw_reset)

    def test_silence(self) -> None:
        """An endpoint that says nothing costs 504; one that is silent after all of a body costs nothing."""
        down = self.stage.open()
        down.say(POST)
        self.reactor.pass_time(61)
        self.assert_status(down.take(), 504)
        down = self.stage.open()
        down.say(POST)
        self.upstream().say(stdout(b"Content-Length: 2\r\n\r\nok"))
        self.reactor.pass_time(61)
        self.assertEqual(body_of(down.take()), b"ok")
        self.assertFalse(down.closed)
        self.assert_ended(504, 200)

    def test_slow_but_steady(self) -> None:
        """An answer may take as long as it likes while some of it comes."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(stdout(b"A: b\r\n\r\n"))
        for _ in range(3):
            self.reactor.pass_time(40)
            self.upstream().say(stdout(b"x"))
        self.upstream().say(end())
        self.assertEqual(body_of(down.take()), b"1\r\nx\r\n" * 3 + b"0\r\n\r\n")

    def test_idle_data(self) -> None:
        """Whatever an idle connection says ends it."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK)
        down.take()
        self.upstream().say(stderr(b"x"))
        self.assertTrue(self.upstream().closed)


class NotKeptTests(FastCgiCase):
    """Connections that are not to be kept, as they are not without being asked for."""

    keeps_connections = False

    def test_closed(self) -> None:
        """The endpoint is asked to close, and we close behind its answer, too."""
        down = self.stage.open()
        for count in (1, 2):
            down.say(GET)
            self.assertFalse(self.request().keeps)
            self.upstream().say(OK)
            self.assertEqual(body_of(down.take()), CHUNKED_OK)
            self.assertTrue(self.upstream().closed)
            self.assert_upstreams(count)


class AgainTests(FastCgiCase):
    """What is tried again, and where."""

    def test_overloaded(self) -> None:
        """An endpoint that says it did nothing has another one asked, whatever the method."""
        self.serve(ONE, TWO)
        down = self.stage.open()
        down.say(POST)
        self.upstream().say(end(2))
        self.assert_upstreams(2)
        self.assertEqual(self.request().body, b"hi")
        self.upstream().say(OK)
        self.assertEqual(body_of(down.take()), CHUNKED_OK)

    def test_dropped(self) -> None:
        """A GET that got no byte is asked elsewhere, a POST is not."""
        self.serve(ONE, TWO)
        for request, status in ((GET, 200), (POST, 502)):
            down = self.stage.open()
            down.say(request)
            self.upstream().finish()
            if status == 200:
                self.upstream().say(OK)
            self.assert_status(down.take(), status)

    def test_stale(self) -> None:
        """A kept connection that turns out to be closed is replaced by a new one."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK)
        down.take()
        down.say(GET)
        self.upstream().finish()
        self.assert_upstreams(2)
        self.upstream().say(OK)
        self.assertEqual(body_of(down.take()), CHUNKED_OK)

    def test_status(self) -> None:
        """A status that is to be tried elsewhere is."""
        self.serve(ONE, TWO, retries=RetryRule(statuses=frozenset((503,))))
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(answered(b"no", b"Status: 503 Busy\r\n"))
        self.assert_upstreams(2)
        self.upstream().say(OK)
        self.assertEqual(body_of(down.take()), CHUNKED_OK)

    def test_invalid(self) -> None:
        """What is no answer is tried elsewhere where the route says so."""
        self.serve(ONE, TWO, retries=RetryRule(on_invalid=True))
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(end())
        self.upstream().say(OK)
        self.assertEqual(body_of(down.take()), CHUNKED_OK)


class ComplaintTests(FastCgiCase):
    """STDERR."""

    def lines(self) -> list[str]:
        """Return what was logged of it."""
        found = [
            f"{event['target']} {event['said']}{event['again']}"
            for event in self.logged
            if "complains" in str(event.get("log_format"))
        ]
        self.logged.clear()
        return found

    def setUp(self) -> None:
        super().setUp()
        self.logged: list[LogEvent] = []

        @provider(ILogObserver)
        def observe(event: LogEvent) -> None:
            self.logged.append(event)

        globalLogPublisher.addObserver(observe)
        self.addCleanup(globalLogPublisher.removeObserver, observe)

    def complain(self, said: bytes) -> bytes:
        """Have the program say *said* amid an answer; return the answer."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(stderr(said) + OK)
        return down.take()

    def test_logged(self) -> None:
        """It is logged in one line that holds nothing but visible characters, and goes to no client."""
        self.assertNotIn(b"secret", self.complain(b"PHP message: secret\n\x1b[31m\xff\r\nforged line\n"))
        self.assertEqual(self.lines(), ["/ PHP message: secret\\n\\x1b[31m\ufffd\\r\\nforged line"])

    def test_bounded(self) -> None:
        """Of a long one some is logged, and of many some are, with how many were not."""
        self.complain(b"x" * 50_000)
        (line,) = self.lines()
        self.assertLess(len(line), 1100)
        for _ in range(60):
            self.complain(b"again")
        self.assertEqual(len(self.lines()), 19)
        self.reactor.pass_time(3)
        self.complain(b"later")
        self.assertEqual(self.lines(), ["/ later (41 more were not told)"])

    def test_one_drowns_no_other(self) -> None:
        """What one endpoint complains of costs no other one its lines, and few endpoints are remembered."""
        told = ProgramErrorLog(self.stage.deadlines)
        for number in range(100):
            told.tell(ONE, b"GET", b"/%d" % number, b"id", b"loud")
        told.tell(TWO, b"GET", b"/two", b"id", b"quiet")
        lines = self.lines()
        self.assertEqual((len(lines), lines[-1]), (21, "/two quiet"))
        for number in range(3 * MOST_KNOWN):
            told.tell(Endpoint("10.1.0.1", number), b"GET", b"/", b"id", b"x")
        self.assertEqual(len(self.lines()), 3 * MOST_KNOWN)
        told.tell(ONE, b"GET", b"/", b"id", b"forgotten")
        self.assertEqual(self.lines(), ["/ forgotten"])

    def test_without_end(self) -> None:
        """Who complains without end is broken off."""
        down = self.stage.open()
        down.say(GET)
        for _ in range(20):
            self.upstream().say(stderr(b"x" * 60_000))
        self.assert_status(down.take(), 502)
        self.assertTrue(self.upstream().closed)
