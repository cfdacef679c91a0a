"""Error pages on their way through the proxy: who is asked, what the client gets, and what is left when it goes wrong."""

from __future__ import annotations

from collections.abc import Awaitable

from twisted.internet.defer import Deferred

from ingress.annotations.answers.custom_errors import MOST_BYTES, SECONDS, CustomErrors, StandingIn
from ingress.filters import AnswerEdit, Facts, Filter, FilterSpec, Reply
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.proxy.contract.transport import REFUSED
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from ingress.routing.variants import WeightedBackend
from tests.fakes.specs import SpecOf
from tests.fakes.transports import Peer
from tests.proxy.exchange.filtering.test_filter_edits import Answers
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import BACKEND, OK, ONE, OWNER, body_of, fields_of

ERRORS = BackendReference("shop", "errors")
PAGES = Endpoint("10.0.0.9", 8080)
SPEC = CustomErrors((302, 401, 404, 413, 418, 502, 503, 504), (ERRORS,), about=((b"X-Namespace", b"shop"),))
MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\nX-Stack: secret\r\n\r\nsecret"
PAGE = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nSet-Cookie: seen=1\r\nContent-Length: 4\r\n\r\npage"


class Refusing(Filter):
    """Has everybody asked for a password."""

    def on_request(self, facts: Facts) -> Reply:
        return Reply(401, ((b"WWW-Authenticate", b'Basic realm="shop"'),))


class CustomErrorsTests(FilterCase):
    """``custom-http-errors``."""

    def setUp(self) -> None:
        super().setUp()
        self.publish()

    def publish(
        self,
        *filters: FilterSpec,
        endpoints: tuple[Endpoint, ...] = (ONE,),
        pages: tuple[Endpoint, ...] = (PAGES,),
        stands_in: bool = False,
        max_body_bytes: int = 0,
    ) -> None:
        """Publish a route with these filters before it, and the default backend beside."""
        other = (
            WeightedBackend(ERRORS, filters=(StandingIn(((b"X-Namespace", b"shop"),)),))
            if stands_in
            else None
        )
        route = Route(
            "shop.test", "/", Match.PREFIX, OWNER, BACKEND, max_body_bytes,
            filters=(*filters, SPEC), beside=(ERRORS,), stand_in=other,
        )  # fmt: skip
        table = RouteTable().patched({"shop.test": HostRoutes((route,))})
        states = {BACKEND: BackendState(endpoints, "no pods"), ERRORS: BackendState(pages, "no pages")}
        self.stage.resource.publish(table, states)

    def pages(self) -> Peer:
        """Return the connection to the default backend, made last."""
        self.assertEqual(self.connector.asked[-1], PAGES)
        return self.upstream()

    def test_replaced(self) -> None:
        """The client gets the page with its status and fields, and nothing of the answer before."""
        client = self.get(target=b"/a?b", fields=((b"accept", b"text/html"),))
        self.upstream().say(MISSING)
        said = self.pages().take()
        self.assertTrue(said.startswith(b"GET /?b HTTP/1.1\r\nHost: shop.test\r\n"), said)
        fields = fields_of(said)
        told = [fields[name] for name in (b"x-code", b"x-format", b"x-original-uri", b"x-namespace")]
        self.assertEqual(told, [b"404", b"text/html", b"/a?b", b"shop"])
        self.assertEqual(client.heard().status, 0)
        self.pages().say(PAGE)
        heard = client.heard()
        self.assertEqual((heard.status, heard.body, heard.is_whole), (404, b"page", True))
        self.assertEqual((heard.all(b"set-cookie"), heard.all(b"x-stack")), ([b"seen=1"], []))
        self.assertEqual(len(heard.all(b"date")), 1)
        self.assert_ended(404)

    def test_answer_that_breaks_off(self) -> None:
        """The page takes the place of an answer whose body, which nobody wants, breaks off, or a reply of ours does."""
        for page, wanted in ((PAGE, (404, b"page")), (b"no HTTP\r\n\r\n", (404, None))):
            self.setUp()
            client = self.get()
            endpoint = self.upstream()
            endpoint.say(MISSING.replace(b"Content-Length: ", b"Content-Length: 9"))
            pages = self.pages()
            endpoint.reset()
            self.assertEqual(client.heard().status, 0)
            pages.say(page)
            heard = client.heard()
            self.assertEqual((heard.status, heard.body if page == PAGE else None), wanted)

    def test_answer_that_breaks_off_and_is_wanted(self) -> None:
        """Where a filter decides that the answer shall go on, of which the rest will not come, that is 502."""
        coming: Deferred[Reply | None] = Deferred()

        class Waits(Filter):
            def on_answer(self, facts: Facts, edit: AnswerEdit) -> Awaitable[Reply | None] | None:
                return coming if edit.status == 200 else None

        self.publish(SpecOf(Waits()))
        client = self.get()
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart")
        self.upstream().reset()
        self.assertEqual(client.heard().status, 0)
        coming.callback(None)
        self.reactor.settle()
        self.pages().say(PAGE.replace(b"404 Not Found", b"502 Bad Gateway"))
        self.assertEqual((client.heard().status, client.heard().body), (502, b"page"))
        self.assert_ended(502)

    def test_status_of_the_page(self) -> None:
        """The status is that of the page: 418 is a device to reach a login page."""
        client = self.get()
        self.upstream().say(b"HTTP/1.1 418 I'm a teapot\r\nContent-Length: 0\r\n\r\n")
        self.pages().say(b"HTTP/1.1 302 Found\r\nLocation: https://login.test/\r\nContent-Length: 0\r\n\r\n")
        heard = client.heard()
        self.assertEqual((heard.status, heard.all(b"location")), (302, [b"https://login.test/"]))

    def test_same_request_id(self) -> None:
        """Both are told the same name of the request."""
        self.get()
        name = fields_of(self.upstream().take())[b"x-request-id"]
        self.upstream().say(MISSING)
        self.assertEqual(fields_of(self.pages().take())[b"x-request-id"], name)

    def test_others_pass(self) -> None:
        """Answers with other statuses go on as they are, streamed."""
        client = self.get()
        self.upstream().say(OK)
        self.assertEqual((client.heard().status, client.heard().body), (200, b"ok"))
        self.assert_upstreams(1)

    def test_own_errors(self) -> None:
        """Errors of the proxy's own are replaced, too: 502 and 504, and 503 where there is no endpoint."""
        self.connector.unreachable[ONE] = REFUSED
        client = self.get()
        self.assertEqual(fields_of(self.pages().take())[b"x-code"], b"502")
        self.pages().say(PAGE)
        self.assertEqual((client.heard().status, client.heard().body), (404, b"page"))
        self.publish(endpoints=())
        client = self.get()
        self.assertEqual(fields_of(self.pages().take())[b"x-code"], b"503")
        self.pages().say(PAGE)
        self.assertEqual(client.heard().body, b"page")

    def test_errors_of_filters(self) -> None:
        """So are those of other filters, whatever their phase, and of the limit of bodies."""
        self.publish(SpecOf(Refusing()))
        client = self.get()
        self.assertEqual(fields_of(self.pages().take())[b"x-code"], b"401")
        self.pages().say(b"HTTP/1.1 401 No\r\nContent-Length: 5\r\n\r\nlogin")
        self.assertEqual(client.heard().all(b"www-authenticate"), [b'Basic realm="shop"'])
        self.publish(max_body_bytes=3)
        client = self.client()
        client.ask(b"POST", length=4)
        self.assertEqual(fields_of(self.pages().take())[b"x-code"], b"413")
        self.pages().say(PAGE)
        self.assertEqual(client.heard().body, b"page")

    def test_head(self) -> None:
        """The answer to HEAD has the fields of the page, and no body."""
        client = self.get(method=b"HEAD")
        self.upstream().say(b"HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\n\r\n")
        self.assertTrue(self.pages().take().startswith(b"GET / "))
        self.pages().say(PAGE)
        heard = client.heard()
        self.assertEqual((heard.status, heard.all(b"content-length"), heard.body), (404, [b"4"], b""))

    def test_body_is_not_sent(self) -> None:
        """The default backend gets no body, whatever the request had."""
        client = self.client()
        client.ask(b"POST", length=4)
        client.send(b"body", ended=True)
        self.upstream().say(MISSING)
        said = self.pages().take()
        self.assertTrue(said.startswith(b"GET / "))
        self.assertEqual(body_of(said), b"")
        self.pages().say(PAGE)
        self.assertEqual(client.heard().body, b"page")

    def test_unfinished(self) -> None:
        """An error whose body is still to come is given up: its connection is not waited for."""
        client = self.get()
        upstream = self.upstream()
        upstream.say(b"HTTP/1.1 404 Not Found\r\nContent-Length: 1000000000\r\n\r\nmuch")
        self.pages().say(PAGE)
        self.assertEqual(client.heard().body, b"page")
        self.assertTrue(upstream.closed)

    def test_no_loop(self) -> None:
        """An error of the default backend's own is what the client gets: nobody is asked again."""
        client = self.get()
        self.upstream().say(MISSING)
        self.pages().say(b"HTTP/1.1 503 No\r\nContent-Length: 4\r\n\r\noops")
        self.assertEqual((client.heard().status, client.heard().body), (503, b"oops"))
        self.assert_upstreams(2)

    def test_unreachable(self) -> None:
        """Where it cannot be reached, the client gets the status alone, and nothing of the answer that was to be replaced."""
        self.connector.unreachable[PAGES] = REFUSED
        client = self.get()
        self.upstream().say(MISSING)
        heard = client.heard()
        self.assertEqual((heard.status, heard.body, heard.all(b"x-stack")), (404, b"404 Not Found\n", []))

    def test_breaking_off(self) -> None:
        """So it does where what comes is not whole, is no answer at all, or is too much."""
        length = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
        for answer in (
            length % 10 + b"half",
            length % (1 << 30),
            b"\x15\x03\x01\0\2\2\x28",
            length % (MOST_BYTES + 1),
        ):
            client = self.get()
            endpoint = self.upstream()
            endpoint.say(MISSING)
            pages = self.pages()
            pages.say(answer)
            pages.finish()
            self.assertEqual((client.heard().status, client.heard().body), (404, b"404 Not Found\n"))
            self.assertTrue(pages.closed)
            endpoint.finish()

    def test_much(self) -> None:
        """A body without a length is taken as far as it may go."""
        client = self.get()
        self.upstream().say(MISSING)
        pages = self.pages()
        pages.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(MOST_BYTES // 16384 + 1):
            self.assertEqual(client.heard().status, 0)
            pages.say(b"4000\r\n%b\r\n" % (b"x" * 16384))
        self.assertEqual((client.heard().status, client.heard().body), (404, b"404 Not Found\n"))
        self.assertTrue(pages.closed)

    def test_slow(self) -> None:
        """It has its time, and then the client gets the status alone."""
        client = self.get()
        self.upstream().say(MISSING)
        self.reactor.pass_time(SECONDS - 1)
        self.assertEqual(client.heard().status, 0)
        self.reactor.pass_time(1.5)
        self.assertEqual((client.heard().status, client.heard().body), (404, b"404 Not Found\n"))

    def test_left(self) -> None:
        """Who leaves meanwhile is waited for by nobody."""
        client = self.get()
        self.upstream().say(MISSING)
        pages = self.pages()
        client.leave()
        self.assertTrue(pages.closed)
        self.assert_ended(499)

    def test_edited(self) -> None:
        """Other filters see the page as they see any answer: what sets a field sets it there, once."""
        self.publish(SpecOf(Answers(lambda edit: edit.put(b"X-Ours", b"1"))))
        client = self.get()
        self.upstream().say(MISSING)
        self.pages().say(PAGE)
        self.assertEqual(client.heard().all(b"x-ours"), [b"1"])

    def test_stands_in(self) -> None:
        """It gets the requests themselves, with what they are about, and its answers are streamed."""
        self.publish(endpoints=(), stands_in=True)
        client = self.client()
        client.ask(b"POST", b"/assets/logo?v=1", length=4)
        client.send(b"body", ended=True)
        said = self.pages().take()
        self.assertTrue(said.startswith(b"POST /assets/logo?v=1 HTTP/1.1\r\n"))
        self.assertEqual((fields_of(said)[b"x-code"], body_of(said)), (b"503", b"body"))
        self.pages().say(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        self.assertEqual((client.heard().status, client.heard().body), (200, b"half"))
        self.pages().say(b"123456")
        self.assertTrue(client.heard().is_whole)

    def test_stands_in_with_an_error(self) -> None:
        """An answer of who stands in goes on as it is, be it an error; where it cannot be reached, its page is asked for as ever."""
        self.publish(endpoints=(), stands_in=True)
        client = self.get()
        self.pages().say(b"HTTP/1.1 503 No\r\nX-Closed: till nine\r\nContent-Length: 6\r\n\r\nclosed")
        heard = client.heard()
        self.assertEqual((heard.status, heard.body, heard.all(b"x-closed")), (503, b"closed", [b"till nine"]))
        self.assert_upstreams(1)
        client = self.get()
        self.pages().say(b"no HTTP\r\n\r\n")
        self.assertEqual(fields_of(self.pages().take())[b"x-code"], b"502")
        self.pages().say(PAGE)
        self.assertEqual(client.heard().body, b"page")

    def test_gives_way(self) -> None:
        """With an endpoint the Service is asked as ever, and nothing is said of an error."""
        self.publish(endpoints=(), stands_in=True)
        self.get()
        self.pages()
        self.publish(stands_in=True)
        self.get()
        self.assertEqual(self.connector.asked[-1], ONE)
        self.assertNotIn(b"X-Code", self.upstream().take())

    def test_nobody(self) -> None:
        """Without endpoints on either side it is 503 as ever."""
        self.publish(endpoints=(), pages=(), stands_in=True)
        client = self.get()
        self.assertEqual((client.heard().status, client.heard().body), (503, b"503 Service Unavailable\n"))
        self.assert_upstreams(0)


class Http2CustomErrorsTests(CustomErrorsTests):
    """The same over HTTP/2."""

    is_http2 = True
