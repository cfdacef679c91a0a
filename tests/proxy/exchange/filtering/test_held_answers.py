"""Answers that wait until a filter has seen some of their bodies, in HTTP/1.1 and HTTP/2."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred

from ingress.filters import AnswerEdit, AnswerHead, BodyFlow, BodyStage, Facts, Filter, MoreBody, Reply
from tests.fakes.http2.frames import WINDOW_UPDATE, block, data, headers
from tests.fakes.specs import SpecOf
from tests.proxy.filter_case import FilterCase
from tests.proxy.h2_upstream_case import HEAD, Http2UpstreamCase
from tests.proxy.h2_upstream_case import ONE as ONE_OF_HTTP2
from tests.proxy.playing import GET, OK, ONE, TWO

BEGUN = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nab"
UNSIZED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"
SORRY = Reply(503, (), b"sorry\n")

Seen = tuple[bytes | None, bool]


class Looks(Filter):
    """Waits for bodies as a test says."""

    def __init__(
        self, wants: Callable[[AnswerEdit], MoreBody | Reply | Deferred[Reply | None] | None]
    ) -> None:
        self._wants = wants
        self.seen: list[Seen] = []

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> MoreBody | Reply | Deferred[Reply | None] | None:
        self.seen.append((edit.body, edit.is_body_whole))
        return self._wants(edit)


def wants(size: int, then: Reply | None = None) -> Callable[[AnswerEdit], MoreBody | Reply | None]:
    """Return what waits for *size* bytes, and answers *then*."""
    return lambda edit: MoreBody(size) if edit.body is None else then


class Shouts(Filter):
    """Changes bodies."""

    def on_answer_body(self, facts: Facts, head: AnswerHead, flow: BodyFlow) -> BodyStage:
        return self

    def feed(self, piece: bytes) -> bytes:
        return piece.upper()

    def finish(self) -> bytes:
        return b"!"


class HeldAnswerBodyTests(FilterCase):
    """``MoreBody``."""

    def test_until_enough_is_there(self) -> None:
        """Nothing is sent until so much has come; the rest is not waited for, and the body is as long as it said."""
        looks = Looks(wants(4))
        self.filter_by(looks)
        client = self.get()
        self.upstream().say(BEGUN)
        self.assertEqual((client.heard().status, looks.seen), (0, [(None, False)]))
        self.upstream().say(b"cd")
        self.assertEqual(looks.seen[1:], [(b"abcd", False)])
        self.assertEqual((client.heard().body, client.heard().is_whole), (b"abcd", False))
        self.upstream().say(b"ef")
        heard = client.heard()
        self.assertEqual((heard.body, heard.is_whole), (b"abcdef", True))
        self.assertEqual(heard.all(b"content-length"), [b"6"])
        self.assert_ended(200)

    def test_one_that_is_shorter(self) -> None:
        """All of a body is enough, be it empty; so it is for replies of our own, and for answers to HEAD."""
        looks = Looks(wants(100))
        self.filter_by(looks)
        client = self.get()
        self.upstream().say(UNSIZED)
        self.assertEqual(client.heard().status, 0)
        self.upstream().say(b"1\r\nc\r\n0\r\n\r\n")
        self.assertEqual((looks.seen[1:], client.heard().body), ([(b"abc", True)], b"abc"))
        self.filter_by(looks)
        head = self.client()
        head.ask(b"HEAD")
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        self.assertEqual((looks.seen[3:], head.heard().status), ([(b"", True)], 200))
        self.stage.publish((), filters=(self.spec(looks),))
        heard = self.get().heard()
        self.assertEqual((heard.status, looks.seen[5:]), (503, [(heard.body, True)]))

    def test_more_and_more(self) -> None:
        """Who has seen some may want more before anything is sent."""
        looks = Looks(
            lambda edit: None if edit.is_body_whole else MoreBody(1 + len(edit.body or b"")),
        )
        self.filter_by(looks)
        client = self.get()
        self.upstream().say(BEGUN)
        self.upstream().say(b"c")
        self.assertEqual(client.heard().status, 0)
        self.upstream().say(b"def")
        self.assertEqual(looks.seen, [(None, False), (b"ab", False), (b"abc", False), (b"abcdef", True)])
        self.assertEqual(client.heard().body, b"abcdef")

    def test_refused(self) -> None:
        """A reply that follows from the body takes the answer's place, and nothing of it was sent."""
        looks = Looks(wants(4, SORRY))
        self.filter_by(looks)
        client = self.get()
        self.upstream().say(BEGUN)
        self.upstream().say(b"cd")
        self.assertEqual((client.heard().status, client.heard().body), (503, b"sorry\n"))
        self.assertTrue(self.upstream().closed)
        self.assert_ended(503)

    def test_a_decision_about_it(self) -> None:
        """While that is awaited the endpoint waits, and what it had on its way is not lost."""
        coming: Deferred[Reply | None] = Deferred()
        looks = Looks(lambda edit: MoreBody(3) if edit.body is None else coming)
        self.filter_by(looks)
        client = self.get()
        self.upstream().say(BEGUN)
        self.upstream().say(b"c")
        self.upstream().say(b"d")
        self.assertEqual((client.heard().status, self.upstream().unread), (0, 1))
        coming.callback(None)
        self.reactor.settle()
        self.upstream().say(b"ef")
        self.assertEqual((client.heard().body, client.heard().is_whole), (b"abcdef", True))

    def test_behind_a_decision(self) -> None:
        """An endpoint that was made to wait for a decision goes on for the body."""
        coming: Deferred[Reply | None] = Deferred()
        looks = Looks(wants(6))
        self.filter_by(looks, Looks(lambda edit: coming))
        client = self.get()
        self.upstream().say(BEGUN)
        self.upstream().say(b"cd")
        self.assertEqual(self.upstream().unread, 2)
        coming.callback(None)
        self.reactor.settle()
        self.assertEqual((self.upstream().unread, client.heard().status), (0, 0))
        self.upstream().say(b"ef")
        self.assertEqual((looks.seen, client.heard().body), ([(None, False), (b"abcdef", True)], b"abcdef"))

    def test_endpoint_leaves(self) -> None:
        """An endpoint that breaks off meanwhile has failed; no other is asked, and nobody sees half of an answer."""
        looks = Looks(wants(6))
        self.stage.publish((ONE, TWO), filters=(self.spec(looks),))
        client = self.get()
        self.upstream().say(BEGUN)
        self.upstream().reset()
        self.assertEqual(client.heard().status, 502)
        self.assertEqual(looks.seen[0], (None, False))
        self.assert_upstreams(1)
        self.assert_ended(502)

    def test_client_leaves(self) -> None:
        """A client that leaves meanwhile takes the answer with it."""
        looks = Looks(wants(6))
        self.filter_by(looks)
        client = self.get()
        self.upstream().say(BEGUN)
        client.leave()
        self.assertEqual((self.upstream().closed, len(looks.seen)), (True, 1))
        self.assert_ended(499)

    def test_stages_come_behind(self) -> None:
        """What is seen is what came, before stages change it."""
        looks = Looks(wants(100))
        self.filter_by(Shouts(), looks)
        client = self.get()
        self.upstream().say(BEGUN)
        self.upstream().say(b"cdef")
        self.assertEqual((looks.seen[1:], client.heard().body), ([(b"abcdef", True)], b"ABCDEF!"))

    def test_what_is_there(self) -> None:
        """Who asks again for no more than there is would be asked for ever, and has failed."""
        self.filter_by(Looks(lambda edit: MoreBody(2)))
        client = self.get()
        self.upstream().say(OK)
        self.assertEqual((client.heard().status, self.failures()), (500, 1))
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)


class HeldAnswerBodyTestsHttp2(HeldAnswerBodyTests):
    """The same, for a client of HTTP/2."""

    is_http2 = True


class HeldFromHttp2Tests(Http2UpstreamCase):
    """Bodies of endpoints that speak HTTP/2, and send no more than they have credit for."""

    def test_more_than_a_window(self) -> None:
        """What is waited for may be more than an endpoint may send at first: it gets credit for what has come."""
        looks, piece, count = Looks(wants(1 << 20)), bytes(16_384), 20
        self.stage.publish((ONE_OF_HTTP2,), filters=(SpecOf(looks, "f0"),))
        down = self.stage.open()
        down.say(GET)
        server = self.server()
        server.send(headers(1, HEAD, ended=False))
        for number in range(count):
            server.send(data(1, piece, ended=number == count - 1))
        server.look()
        credit = sum(each.increment for each in server.of(WINDOW_UPDATE) if each.stream == 1)
        self.assertGreater(credit, (count - 4) * len(piece) // 2)
        self.assertEqual(looks.seen, [(None, False), (count * piece, True)])
        self.assertTrue(down.received.startswith(b"HTTP/1.1 200 OK\r\n"))

    def test_trailers(self) -> None:
        """What comes behind a body that was held goes on behind it."""
        self.stage.publish((ONE_OF_HTTP2,), filters=(SpecOf(Looks(wants(100)), "f0"),))
        down = self.stage.open()
        down.say(b"GET / HTTP/1.1\r\nHost: shop.test\r\nTE: trailers\r\nConnection: te\r\n\r\n")
        server = self.server()
        server.send(headers(1, HEAD, ended=False))
        server.send(data(1, b"abc"))
        server.send(headers(1, block([(b"x-sum", b"6")]), ended=True))
        self.assertTrue(down.received.endswith(b"3\r\nabc\r\n0\r\nx-sum: 6\r\n\r\n"), down.received)
