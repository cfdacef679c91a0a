"""Bodies that pass the stages of filters: changed, copied and paced, in HTTP/1.1 and HTTP/2."""

from __future__ import annotations

from ingress.filters import AnswerHead, BodyFlow, BodyStage, Facts, Filter, Reply
from ingress.model.upstream.retries import RetryRule
from tests.fakes.http2.frames import WINDOW_UPDATE
from tests.proxy.filter_case import Asking, AskingHttp2, FilterCase
from tests.proxy.playing import OK, ONE, TWO, body_of, fields_of

BEGUN = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nab"


class Shouts:
    """Says all in capitals, and one word more at the end; *broken* pieces raise."""

    def __init__(self, flow: BodyFlow, broken: bytes = b"") -> None:
        self.flow = flow
        self.fed: list[bytes] = []
        self.is_finished = False
        self._broken = broken

    def feed(self, piece: bytes) -> bytes:
        if piece == self._broken:
            raise ZeroDivisionError
        self.fed.append(piece)
        return piece.upper()

    def finish(self) -> bytes:
        if self._broken == b"end":
            raise ZeroDivisionError
        self.is_finished = True
        return b"!"


class Loud(Filter):
    """Has requests, or answers, shouted."""

    def __init__(self, requests: bool = False, answers: bool = False, broken: bytes = b"-") -> None:
        self._requests, self._answers = requests, answers
        self._broken = broken
        self.stages: list[Shouts] = []
        self.heads: list[tuple[int, int | None, bytes]] = []

    def on_request_body(self, facts: Facts, flow: BodyFlow) -> BodyStage | None:
        return self._stage(flow) if self._requests else None

    def on_answer_body(self, facts: Facts, head: AnswerHead, flow: BodyFlow) -> BodyStage | None:
        self.heads.append((head.status, head.content_length, head.field(b"x-a")))
        return self._stage(flow) if self._answers else None

    def _stage(self, flow: BodyFlow) -> Shouts:
        self.stages.append(Shouts(flow, self._broken))
        return self.stages[-1]


class Doubles(Filter):
    """Has each piece of both bodies come twice."""

    class Stage:
        def feed(self, piece: bytes) -> bytes:
            return piece + piece

        def finish(self) -> bytes:
            return b"."

    def on_request_body(self, facts: Facts, flow: BodyFlow) -> BodyStage:
        return self.Stage()

    def on_answer_body(self, facts: Facts, head: AnswerHead, flow: BodyFlow) -> BodyStage:
        return self.Stage()


class Watches(Loud):
    """Is shown bodies, and shouts in vain."""

    watches_bodies = True


def unchunked(octets: bytes) -> bytes:
    """Return what a chunked body, or the beginning of one, holds."""
    body = b""
    while octets:
        size, _, octets = octets.partition(b"\r\n")
        length = int(size, 16)
        body, octets = body + octets[:length], octets[length + 2 :]
    return body


class RequestBodyTests(FilterCase):
    """``on_request_body``."""

    def test_changed(self) -> None:
        """The body that arrives is the changed one, without the length that it had."""
        filter_ = Loud(requests=True)
        self.filter_by(filter_)
        client = self.client()
        client.ask(b"POST", length=6)
        client.send(b"abc")
        client.send(b"def", ended=True)
        got = self.upstream().received
        self.assertEqual(unchunked(body_of(got)), b"ABCDEF!")
        self.assertNotIn(b"content-length", fields_of(got))
        self.assertTrue(filter_.stages[0].is_finished)
        self.upstream().say(OK)
        self.assertEqual(client.heard().status, 200)

    def test_watched(self) -> None:
        """A body that is only looked at arrives as it came, with its length, however it came."""
        for length in (6, -1):
            filter_ = Watches(requests=True)
            self.filter_by(filter_)
            client = self.client()
            client.ask(b"POST", length=length)
            client.send(b"abc")
            client.send(b"def", ended=True)
            got = self.upstream().take()
            framing = b"content-length" if length > 0 else b"transfer-encoding"
            self.assertIn(framing, fields_of(got))
            self.assertEqual(body_of(got) if length > 0 else unchunked(body_of(got)), b"abcdef")
            self.assertEqual((filter_.stages[0].fed, filter_.stages[0].is_finished), ([b"abc", b"def"], True))
            self.upstream().say(OK)
            self.assertEqual(client.heard().status, 200)

    def test_watched_and_changed(self) -> None:
        """Who only looks sees what those before it made of the body, and what it says itself goes nowhere."""
        inner = Watches(requests=True)
        self.filter_by(Loud(requests=True), inner, Doubles())
        client = self.client()
        client.ask(b"POST", length=2)
        client.send(b"ab", ended=True)
        self.assertEqual(unchunked(body_of(self.upstream().received)), b"ABAB!!.")
        self.assertEqual(inner.stages[0].fed, [b"AB", b"!"])

    def test_order(self) -> None:
        """A body passes the outermost filter first."""
        self.filter_by(Loud(requests=True), Doubles())
        client = self.client()
        client.ask(b"POST", length=2)
        client.send(b"ab", ended=True)
        self.assertEqual(unchunked(body_of(self.upstream().received)), b"ABAB!!.")

    def test_before_the_connection(self) -> None:
        """What comes before there is an endpoint is changed once, and sent once more where another is asked."""
        filter_ = Loud(requests=True)
        specs = (self.spec(filter_),)
        self.stage.publish((ONE, TWO), filters=specs, retries=RetryRule(statuses=frozenset((502,))))
        self.connector.is_slow = True
        client = self.client()
        client.ask(b"PUT", length=3)
        client.send(b"abc", ended=True)
        self.connector.is_slow = False
        self.connector.let_through()
        self.assertEqual(unchunked(body_of(self.upstream().received)), b"ABC!")
        self.upstream().say(b"HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n")
        self.assertEqual(unchunked(body_of(self.upstream().received)), b"ABC!")
        self.assertEqual([stage.fed for stage in filter_.stages], [[b"abc"]])
        self.upstream().say(OK)
        self.assertEqual(client.heard().status, 200)

    def test_paced(self) -> None:
        """A stage has the client wait, and lets it go on."""
        filter_ = Loud(requests=True)
        self.filter_by(filter_)
        client = self.client(window=None)
        client.ask(b"PUT", length=400_000)
        client.send(b"a")
        [stage] = filter_.stages
        stage.flow.pause()
        for _ in range(20):
            client.send(bytes(10_000))
        if self.is_http2:
            # It has sent by the credit that it had; there is no more before the stage lets it.
            self.assertEqual(self.credit_of(client), 0)
        else:
            self.assertLess(sum(map(len, stage.fed)), 100_000)
        stage.flow.resume()
        self.reactor.settle()
        if self.is_http2:
            self.assertGreater(self.credit_of(client), 0)
        self.assertEqual(sum(map(len, stage.fed)), 200_001)

    @staticmethod
    def credit_of(client: Asking) -> int:
        """Return how often the stream of a client got credit."""
        assert isinstance(client, AskingHttp2)
        client.client.look()
        return len(client.client.of(WINDOW_UPDATE, 1))

    def test_no_body(self) -> None:
        """A request without body has no stage."""
        filter_ = Loud(requests=True)
        self.filter_by(filter_)
        self.get()
        self.assertEqual(filter_.stages, [])
        self.assertNotIn(b"chunked", self.upstream().received)

    def test_raises(self) -> None:
        """A stage that raises costs its request a 500, once, whenever it does; the endpoint never sees a regular end."""
        for broken in (b"abc", b"def", b"end"):
            self.filter_by(Loud(requests=True, broken=broken))
            client = self.client()
            client.ask(b"POST", length=6)
            client.send(b"abc")
            client.send(b"def", ended=True)
            self.assertEqual(client.heard().status, 500)
            self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
            self.assertFalse(self.upstream().received.endswith(b"0\r\n\r\n"))
            self.reactor.pass_time(20)
        self.assertEqual(self.failures(), 3)
        self.assert_ended(500, 500, 500)

    def test_client_leaves(self) -> None:
        """A client that leaves amid its body leaves a stage that is not called any more."""
        filter_ = Loud(requests=True)
        self.filter_by(filter_)
        client = self.client()
        client.ask(b"POST", length=6)
        client.send(b"abc")
        client.leave()
        [stage] = filter_.stages
        stage.flow.pause()
        stage.flow.resume()
        self.assertEqual((stage.fed, stage.is_finished), ([b"abc"], False))
        self.assert_ended(499)


class AnswerBodyTests(FilterCase):
    """``on_answer_body``."""

    def test_changed(self) -> None:
        """The answer that arrives is the changed one, without the length that it had."""
        filter_ = Loud(answers=True)
        self.filter_by(filter_)
        client = self.get()
        self.upstream().say(BEGUN.replace(b"\r\n\r\n", b"\r\nX-A: 5\r\n\r\n"))
        self.assertEqual((client.heard().body, client.heard().is_whole), (b"AB", False))
        self.upstream().say(b"cdef")
        heard = client.heard()
        self.assertEqual((heard.body, heard.is_whole, heard.all(b"content-length")), (b"ABCDEF!", True, []))
        self.assertEqual(filter_.heads, [(200, 6, b"5")])
        self.assertEqual(self.metrics.records[0].bytes_sent, 7)

    def test_whole(self) -> None:
        """So is one that comes in one piece."""
        self.filter_by(Loud(answers=True))
        client = self.get()
        self.upstream().say(OK)
        self.assertEqual((client.heard().body, client.heard().is_whole), (b"OK!", True))

    def test_watched(self) -> None:
        """An answer that is only looked at arrives as it came, with its length."""
        filter_ = Watches(answers=True)
        self.filter_by(filter_)
        client = self.get()
        self.upstream().say(BEGUN)
        self.upstream().say(b"cdef")
        heard = client.heard()
        self.assertEqual(
            (heard.body, heard.is_whole, heard.all(b"content-length")), (b"abcdef", True, [b"6"])
        )
        self.assertEqual(filter_.stages[0].fed, [b"ab", b"cdef"])

    def test_order(self) -> None:
        """An answer passes the innermost filter first."""
        self.filter_by(Doubles(), Loud(answers=True))
        client = self.get()
        self.upstream().say(OK)
        self.assertEqual(client.heard().body, b"OKOK!!.")

    def test_own_replies(self) -> None:
        """Our own replies pass, too."""

        class Denies(Filter):
            def on_request(self, facts: Facts) -> Reply:
                return Reply(403, body=b"no")

        self.filter_by(Loud(answers=True), Denies())
        self.assertEqual((self.get().heard().status, self.get().heard().body), (403, b"NO!"))

    def test_without_body(self) -> None:
        """Answers that have no body have no stage."""
        filter_ = Loud(answers=True)
        self.filter_by(filter_)
        for method, answer in (
            (b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
            (b"GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
            (b"GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
        ):
            client = self.get(method=method)
            self.upstream().say(answer)
            self.assertTrue(client.heard().status)
        self.assertEqual(filter_.stages, [])

    def test_paced(self) -> None:
        """A stage has the endpoint wait, and lets it go on."""
        filter_ = Loud(answers=True)
        self.filter_by(filter_)
        client = self.get()
        self.upstream().say(BEGUN)
        [stage] = filter_.stages
        stage.flow.pause()
        self.upstream().say(b"cd")
        self.assertEqual((client.heard().body, self.upstream().unread), (b"AB", 2))
        stage.flow.resume()
        self.reactor.settle()
        self.assertEqual(client.heard().body, b"ABCD")
        self.upstream().say(b"ef")
        self.assertTrue(client.heard().is_whole)

    def test_two_paces(self) -> None:
        """With two stages, the endpoint goes on when none has it wait."""
        first, second = Loud(answers=True), Loud(answers=True)
        self.filter_by(first, second)
        client = self.get()
        self.upstream().say(BEGUN)
        first.stages[0].flow.pause()
        second.stages[0].flow.pause()
        second.stages[0].flow.pause()
        self.upstream().say(b"cd")
        second.stages[0].flow.resume()
        self.reactor.settle()
        self.assertEqual(self.upstream().unread, 2)
        first.stages[0].flow.resume()
        self.reactor.settle()
        self.assertEqual((self.upstream().unread, client.heard().body), (0, b"ABCD"))

    def test_no_splice(self) -> None:
        """The kernel moves nothing that has to pass a stage, and moves what has none."""
        spliced: list[object] = []

        def refused(target: object, copy: object) -> bool:
            spliced.append(copy)
            return False

        large = 1 << 20
        begun = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nab" % large
        for filters, times in (((Loud(answers=True),), 0), ((), 0 if self.is_http2 else 1)):
            self.filter_by(*filters)
            client = self.get()
            downstream = client.peer.protocol if not self.is_http2 else None  # type: ignore[attr-defined]
            if downstream is not None:
                transport = type(downstream.transport)
                self.patch(transport, "splice_from", refused)
            self.upstream().say(begun)
            self.assertEqual(len(spliced), times)
            client.leave()

    def test_raises(self) -> None:
        """A stage that raises costs a 500 where nothing was sent, and else cuts the answer, so that the client sees it."""
        for broken, status, is_cut in ((b"ab", 500, False), (b"cdef", 200, True), (b"end", 200, True)):
            self.filter_by(Loud(answers=True, broken=broken))
            client = self.get()
            self.upstream().say(BEGUN)
            self.upstream().say(b"cdef")
            heard = client.heard()
            self.assertEqual(
                (heard.status, heard.is_cut, heard.is_whole), (status, is_cut, not is_cut), broken
            )
            self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
            self.assertEqual(self.metrics.records[-1].filter, "f0")
            # What fails in the same way is not told again at once.
            self.reactor.pass_time(20)
        self.assertEqual(self.failures(), 3)
        self.assert_ended(500, 200, 200)

    def test_no_bytes(self) -> None:
        """A stage that returns something else than bytes failed."""

        class Wrong(Filter):
            def on_answer_body(self, facts: Facts, head: AnswerHead, flow: BodyFlow) -> BodyStage:
                return self  # type: ignore[return-value]

            def feed(self, piece: bytes) -> None:
                return None

            def finish(self) -> bytes:
                return b""

        self.filter_by(Wrong())
        client = self.get()
        self.upstream().say(OK)
        self.assertEqual(client.heard().status, 500)
        self.assertEqual(len(self.flushLoggedErrors(TypeError)), 1)

    def test_client_leaves(self) -> None:
        """A client that leaves amid the answer leaves a stage that is not called any more."""
        filter_ = Loud(answers=True)
        self.filter_by(filter_)
        client = self.get()
        self.upstream().say(BEGUN)
        client.leave()
        [stage] = filter_.stages
        stage.flow.pause()
        stage.flow.resume()
        self.assertEqual((stage.fed, stage.is_finished, self.upstream().closed), ([b"ab"], False, True))
        self.assert_ended(200)


class RequestBodyTestsHttp2(RequestBodyTests):
    """The same over HTTP/2."""

    is_http2 = True


class AnswerBodyTestsHttp2(AnswerBodyTests):
    """The same over HTTP/2."""

    is_http2 = True
