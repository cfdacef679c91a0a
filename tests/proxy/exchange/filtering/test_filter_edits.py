"""What filters change of requests on their way to endpoints, and of answers, in HTTP/1.1 and HTTP/2."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from http import HTTPStatus

from twisted.internet.defer import CancelledError, Deferred

from ingress.filters import AnswerEdit, Facts, Filter, Reply, RequestEdit
from ingress.model.upstream.retries import RetryRule
from ingress.proxy.contract.limits import DECISION_SECONDS
from ingress.proxy.exchange.exchange import Exchange
from ingress.proxy.exchange.filtering.chains import Chains
from tests.fakes.http2.frames import data, headers
from tests.fakes.specs import SpecOf
from tests.proxy.filter_case import FilterCase
from tests.proxy.h2_upstream_case import HEAD, Http2UpstreamCase
from tests.proxy.h2_upstream_case import ONE as ONE_OF_HTTP2
from tests.proxy.playing import GET, OK, ONE, TWO, fields_of

BEGUN = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nX-A: 1\r\nx-a: 2\r\n\r\nab"
SORRY = Reply(503, ((b"X-Sorry", b"yes"),), b"sorry\n")


class Edits(Filter):
    """Changes requests as a test says."""

    def __init__(self, change: Callable[[RequestEdit], None]) -> None:
        self._change = change
        self.calls = 0

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        self.calls += 1
        self._change(edit)


class Answers(Filter):
    """Changes answers as a test says."""

    def __init__(self, change: Callable[[AnswerEdit], object]) -> None:
        self._change = change
        self.seen: list[tuple[int, bool]] = []

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> Reply | None:
        self.seen.append((edit.status, edit.is_ours))
        return self._change(edit)  # type: ignore[return-value]


class WaitsWithAnswer(Filter):
    """Awaits a decision of the test's for each answer."""

    def __init__(self) -> None:
        self.coming: list[Deferred[Reply | None]] = []
        self.cancelled = 0

    async def on_answer(self, facts: Facts, edit: AnswerEdit) -> Reply | None:
        coming: Deferred[Reply | None] = Deferred()
        self.coming.append(coming)
        try:
            return await coming
        except CancelledError:
            self.cancelled += 1
            raise


class RequestEditTests(FilterCase):
    """``on_upstream``."""

    def test_fields(self) -> None:
        """Fields are put, added and dropped, the client's and the proxy's; the inner filter has the last word."""

        def outer(edit: RequestEdit) -> None:
            edit.put(b"X-One", b"outer")
            edit.drop(b"x-gone")
            edit.put(b"X-Real-IP", b"192.0.2.9")

        def inner(edit: RequestEdit) -> None:
            edit.put(b"x-one", b"inner")
            edit.add(b"X-Many", b"2")

        self.filter_by(Edits(outer), Edits(inner))
        client = self.get(fields=((b"x-one", b"client"), (b"x-gone", b"1"), (b"x-many", b"1")))
        got = self.upstream().received
        self.assertEqual(got.lower().count(b"x-many:"), 2)
        fields = fields_of(got.replace(b"X-Many", b"X-Other"))
        self.assertEqual((fields[b"x-one"], fields[b"x-real-ip"]), (b"inner", b"192.0.2.9"))
        self.assertNotIn(b"x-gone", fields)
        self.assertIn(b"x-request-id", fields)
        self.upstream().say(OK)
        self.assertEqual(client.heard().status, 200)

    def test_rewrite(self) -> None:
        """Target and authority are rewritten for the endpoint; the log keeps what came."""
        self.filter_by(Edits(lambda edit: edit.rewrite(b"/new?x", b"app.internal")))
        client = self.get(target=b"/old")
        got = self.upstream().received
        self.assertTrue(got.startswith(b"GET /new?x HTTP/1.1\r\nHost: app.internal\r\n"))
        self.assertEqual(fields_of(got)[b"x-forwarded-host"], b"shop.test")
        self.upstream().say(OK)
        self.assertEqual(client.heard().status, 200)
        self.assertEqual(self.metrics.records[0].target, b"/old")
        self.assertIn(b' shop.test "/old" 200 ', self.stage.log_lines()[0])

    def test_others_unharmed(self) -> None:
        """A head that comes again, which is remembered, is as it came for whoever does not change it."""
        changing = Edits(lambda edit: edit.put(b"X-One", b"1"))
        for _ in range(3):
            self.filter_by(changing)
            self.get()
            self.assertIn(b"X-One: 1\r\n", self.upstream().take())
            self.upstream().say(OK)
            self.filter_by()
            self.get()
            self.assertNotIn(b"X-One", self.upstream().take())
            self.upstream().say(OK)

    def test_each_attempt(self) -> None:
        """Each attempt is changed by itself, from what came."""
        filter_ = Edits(lambda edit: edit.add(b"X-Try", b"1"))
        spec = self.spec(filter_)
        self.stage.publish((ONE, TWO), filters=(spec,), retries=RetryRule(statuses=frozenset((502,))))
        client = self.get()
        self.upstream().say(b"HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n")
        self.assertEqual(self.upstream().received.count(b"X-Try"), 1)
        self.upstream().say(OK)
        self.assertEqual((client.heard().status, filter_.calls), (200, 2))

    def test_refused(self) -> None:
        """What no head may hold is refused: that filter failed, and the endpoint sees nothing of the request."""
        for change in (
            lambda edit: edit.put(b"Content-Length", b"5"),
            lambda edit: edit.add(b"X", b"a\r\nHost: b"),
            lambda edit: edit.drop(b"Transfer-Encoding"),
            lambda edit: edit.put(b"X Y", b"1"),
            lambda edit: edit.rewrite(target=b"no-slash"),
            lambda edit: edit.rewrite(target=b"/a b"),
            lambda edit: edit.rewrite(authority=b"a/b"),
        ):
            self.filter_by(Edits(change))
            client = self.get()
            self.assertEqual(client.heard().status, 500)
            self.assertEqual(self.upstream().received, b"")
            self.flushLoggedErrors(ValueError)
        self.assertEqual(self.failures(), 7)

    def test_raises(self) -> None:
        """One that raises costs its request a 500, once, and is named."""

        def fails(edit: RequestEdit) -> None:
            raise ZeroDivisionError

        self.filter_by(Edits(fails))
        client = self.client()
        client.ask(b"POST", length=3)
        client.send(b"abc", ended=True)
        self.assertEqual(client.heard().status, 500)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertEqual((self.failures(), self.metrics.records[0].filter), (1, "f0"))
        self.assert_ended(500)


class AnswerEditTests(FilterCase):
    """``on_answer``."""

    def test_named_status(self) -> None:
        """A status may be a member of an enumeration, as Python has one; the log and the record have its number."""

        def change(edit: AnswerEdit) -> None:
            edit.status = HTTPStatus.IM_A_TEAPOT

        self.filter_by(Answers(change))
        client = self.get()
        self.upstream().say(OK)
        self.assertEqual((client.heard().status, client.heard().body), (418, b"ok"))
        self.assertIs(type(self.metrics.records[0].status), int)
        self.assert_ended(418)

    def test_fields_and_status(self) -> None:
        """Status and fields are changed; the outermost filter has the last word."""

        def outer(edit: AnswerEdit) -> None:
            edit.put(b"X-A", b"outer")
            edit.add(b"Set-Cookie", b"a=b")

        def inner(edit: AnswerEdit) -> None:
            self.assertEqual(edit.field(b"x-a"), b"1")
            edit.put(b"X-A", b"inner")
            edit.add(b"Set-Cookie", b"c=d")
            self.assertEqual(edit.field(b"x-a"), b"inner")
            edit.status = 418

        self.filter_by(Answers(outer), Answers(inner))
        client = self.get()
        self.upstream().say(BEGUN + b"cdef")
        heard = client.heard()
        self.assertEqual((heard.status, heard.body, heard.is_whole), (418, b"abcdef", True))
        self.assertEqual((heard.all(b"x-a"), heard.all(b"set-cookie")), ([b"outer"], [b"c=d", b"a=b"]))
        self.assertEqual(self.metrics.records[0].attempts[0].outcome, "200")
        self.assert_ended(418)

    def test_again(self) -> None:
        """An answer that comes again is changed again, and others of the same endpoint are as they came."""
        changing = Answers(lambda edit: edit.put(b"X-New", b"1"))
        for _ in range(3):
            self.filter_by(changing)
            client = self.get()
            self.upstream().say(OK)
            self.assertEqual(client.heard().all(b"x-new"), [b"1"])
            self.filter_by()
            client = self.get()
            self.upstream().say(OK)
            self.assertEqual(client.heard().all(b"x-new"), [])

    def test_in_pieces(self) -> None:
        """The body follows as it comes."""
        self.filter_by(Answers(lambda edit: edit.put(b"X-New", b"1")))
        client = self.get()
        self.upstream().say(BEGUN)
        self.assertEqual((client.heard().body, client.heard().all(b"x-new")), (b"ab", [b"1"]))
        self.upstream().say(b"cdef")
        self.assertEqual((client.heard().body, client.heard().is_whole), (b"abcdef", True))

    def test_own_replies(self) -> None:
        """Our own replies pass, too: of the proxy, and of filters; whoever asks is told that they are ours."""
        filter_ = Answers(lambda edit: edit.put(b"X-New", b"1"))
        self.filter_by(filter_)
        self.stage.publish((), filters=(self.spec(filter_),))
        heard = self.get().heard()
        self.assertEqual((heard.status, heard.all(b"x-new")), (503, [b"1"]))

        class Denies(Filter):
            def on_request(self, facts: Facts) -> Reply:
                return SORRY

        self.filter_by(filter_, Denies())
        self.assertEqual(self.get().heard().all(b"x-new"), [b"1"])
        self.assertEqual(filter_.seen, [(503, True), (503, True)])

    def test_head(self) -> None:
        """An answer to HEAD is changed as that to GET would be."""
        self.filter_by(Answers(lambda edit: edit.put(b"X-New", b"1")))
        client = self.client()
        client.ask(b"HEAD")
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        self.assertEqual((client.heard().all(b"x-new"), client.heard().is_whole), ([b"1"], True))
        self.assertEqual(client.heard().all(b"content-length"), [b"5"])

    def test_replaced(self) -> None:
        """A reply takes the place of an answer, whose rest nobody waits for; all others see the reply."""
        outer = Answers(lambda edit: edit.put(b"X-Outer", b"1"))
        replacing = Answers(lambda edit: SORRY)
        inner = Answers(lambda edit: edit.put(b"X-Inner", b"1"))
        self.filter_by(outer, replacing, inner)
        client = self.get()
        self.upstream().say(BEGUN)
        heard = client.heard()
        self.assertEqual((heard.status, heard.body), (503, b"sorry\n"))
        self.assertEqual((heard.all(b"x-outer"), heard.all(b"x-inner")), ([b"1"], [b"1"]))
        self.assertEqual((outer.seen, replacing.seen), ([(503, True)], [(200, False)]))
        self.assertTrue(self.upstream().closed)
        record = self.metrics.records[0]
        self.assertEqual((record.filter, record.attempts[0].outcome), ("f1", "200"))
        self.assert_ended(503)

    def test_raises(self) -> None:
        """One that raises costs its request a 500, once; the error passes the others."""

        def fails(edit: AnswerEdit) -> None:
            raise ZeroDivisionError

        outer = Answers(lambda edit: edit.put(b"X-Outer", b"1"))
        self.filter_by(outer, Answers(fails))
        client = self.get()
        self.upstream().say(BEGUN)
        heard = client.heard()
        self.assertEqual((heard.status, heard.is_whole, heard.all(b"x-outer")), (500, True, [b"1"]))
        self.assertEqual((len(self.flushLoggedErrors(ZeroDivisionError)), self.failures("f1")), (1, 1))
        self.assert_ended(500)

    def test_refused(self) -> None:
        """A status that would make another body of it, or a field that is the proxy's own, is refused."""

        def status(edit: AnswerEdit) -> None:
            edit.status = 204

        for change in (status, lambda edit: edit.drop(b"content-length"), lambda edit: edit.put(b"X", b"\n")):
            self.filter_by(Answers(change))
            client = self.get()
            self.upstream().say(OK)
            self.assertEqual(client.heard().status, 500)
            self.flushLoggedErrors(ValueError)

    def test_awaited(self) -> None:
        """An answer waits for a decision, with what came of it; its endpoint is held up, and then all goes on."""
        filter_ = WaitsWithAnswer()
        self.filter_by(filter_)
        client = self.get()
        self.upstream().say(BEGUN)
        self.upstream().say(b"cd")
        self.assertEqual((client.heard().status, self.upstream().unread), (0, 2))
        filter_.coming[0].callback(None)
        self.reactor.settle()
        self.assertEqual((client.heard().body, client.heard().is_whole), (b"abcd", False))
        self.upstream().say(b"ef")
        self.assertEqual((client.heard().body, client.heard().is_whole), (b"abcdef", True))
        self.assert_ended(200)

    def test_awaited_whole(self) -> None:
        """So does one that came whole, whose connection serves others meanwhile."""
        filter_ = WaitsWithAnswer()
        self.filter_by(filter_)
        client = self.get()
        self.upstream().say(OK)
        self.assertEqual(client.heard().status, 0)
        self.assert_upstreams(1)
        self.filter_by()
        other = self.get()
        self.assert_upstreams(1)
        self.upstream().say(OK)
        self.assertEqual(other.heard().status, 200)
        filter_.coming[0].callback(None)
        self.assertEqual((client.heard().status, client.heard().body), (200, b"ok"))

    def test_awaited_reply(self) -> None:
        """What is awaited may be a reply in its place."""
        filter_ = WaitsWithAnswer()
        self.filter_by(filter_)
        client = self.get()
        self.upstream().say(BEGUN)
        filter_.coming[0].callback(SORRY)
        self.reactor.settle()
        self.assertEqual((client.heard().status, client.heard().body), (503, b"sorry\n"))
        self.assertTrue(self.upstream().closed)
        self.assertEqual(len(filter_.coming), 1)

    def test_client_leaves(self) -> None:
        """A client that leaves meanwhile cancels the decision, and takes the answer with it."""
        filter_ = WaitsWithAnswer()
        self.filter_by(filter_)
        client = self.get()
        self.upstream().say(BEGUN)
        client.leave()
        self.assertEqual((filter_.cancelled, self.upstream().closed), (1, True))
        self.assert_ended(499)

    def test_endpoint_leaves(self) -> None:
        """An endpoint that breaks off meanwhile is no reason to ask another: its head was seen.  The client gets 502."""
        filter_ = WaitsWithAnswer()
        self.stage.publish((ONE, TWO), filters=(self.spec(filter_),))
        client = self.get()
        self.upstream().say(BEGUN)
        self.upstream().reset()
        self.reactor.pass_time(61)
        # The error waits for its own decision, and is the first to.
        filter_.coming[-1].callback(None)
        self.assertIn(client.heard().status, (502, 504))
        self.assert_upstreams(1)

    def test_deadline(self) -> None:
        """A decision that takes too long costs the answer: 504 in its place, once."""
        filter_ = WaitsWithAnswer()
        self.filter_by(filter_)
        client = self.get()
        self.upstream().say(BEGUN)
        self.reactor.pass_time(DECISION_SECONDS)
        self.assertEqual((client.heard().status, filter_.cancelled, len(filter_.coming)), (504, 1, 1))
        self.assertEqual(self.failures(), 1)
        self.assert_ended(504)

    def test_no_cost(self) -> None:
        """Where a route has no filter, none is looked for, and nothing is made for any."""
        self.patch(Chains, "chain", None)
        self.patch(Exchange, "facts", None)
        self.filter_by()
        client = self.get()
        self.upstream().say(OK)
        self.assertEqual(client.heard().status, 200)


class RequestEditTestsHttp2(RequestEditTests):
    """The same over HTTP/2."""

    is_http2 = True


class AnswerEditTestsHttp2(AnswerEditTests):
    """The same over HTTP/2."""

    is_http2 = True


class HeldAnswerTests(Http2UpstreamCase):
    """Answers of endpoints that speak HTTP/2, which send what they have credit for while a filter makes up its mind."""

    def test_small_pieces(self) -> None:
        """A body that comes in pieces of two octets takes little more memory than there are octets."""
        waits, count = WaitsWithAnswer(), 16_000
        self.stage.publish((ONE_OF_HTTP2,), filters=(SpecOf(waits, "f0"),))
        down = self.stage.open()
        down.say(GET)
        server = self.server()
        server.send(headers(1, HEAD, ended=False))
        peer = self.connector.peers[-1]
        tracemalloc.start()
        try:
            for number in range(count // 2 - 1):
                peer.say(data(1, b"%02d" % (number % 100)))
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        self.assertEqual(down.received, b"")
        waits.coming[0].callback(None)
        peer.say(data(1, b"99", ended=True))
        # The last two are chunks of their own.
        whole = b"".join(b"%02d" % number for number in range(100)) * (count // 200)
        self.assertIn(whole[:-2] + b"\r\n2\r\n99\r\n0\r\n", down.received)
        self.assertLess(kept, 6 * count)
