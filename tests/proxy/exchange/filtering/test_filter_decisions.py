"""What filters decide about requests, at once or later, in HTTP/1.1 and HTTP/2."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, succeed

from ingress.filters import Facts, Filter, Record, Reply
from ingress.proxy.contract.limits import DECISION_SECONDS, MAX_HELD
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import OK, ONE, body_of, fields_of

NO = Reply(403, ((b"X-Said-By", b"a filter"),), b"no\n")


class Says(Filter):
    """Answers what it is told to, and keeps what it was asked."""

    def __init__(self, verdict: object = None) -> None:
        self.verdict = verdict
        self.asked: list[Facts] = []
        self.ended: list[Record] = []

    def on_request(self, facts: Facts) -> Reply | None:
        self.asked.append(facts)
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict  # type: ignore[return-value]

    def on_end(self, facts: Facts, record: Record) -> None:
        self.ended.append(record)


class Waits(Filter):
    """Awaits a decision of the test's for each request."""

    def __init__(self) -> None:
        self.coming: list[Deferred[Reply | None]] = []
        self.cancelled = 0

    async def on_request(self, facts: Facts) -> Reply | None:
        coming: Deferred[Reply | None] = Deferred()
        self.coming.append(coming)
        try:
            return await coming
        except CancelledError:
            self.cancelled += 1
            raise


class DecisionTests(FilterCase):
    """Who is answered by whom."""

    def test_pass(self) -> None:
        """A request that all filters let pass goes to the endpoint; each was asked once, outermost first."""
        asked: list[int] = []

        class Notes(Filter):
            def __init__(self, number: int) -> None:
                self._number = number

            def on_request(self, facts: Facts) -> None:
                asked.append(self._number)

        self.filter_by(Notes(0), Notes(1))
        client = self.get()
        self.upstream().say(OK)
        self.assertEqual((client.heard().status, client.heard().body), (200, b"ok"))
        self.assertEqual(asked, [0, 1])
        self.assertEqual(self.metrics.records[0].filter, "")

    def test_reply(self) -> None:
        """The first filter that answers ends it; the record names it."""
        first, inner = Says(NO), Says()
        self.filter_by(first, inner)
        client = self.get()
        heard = client.heard()
        self.assertEqual((heard.status, heard.body, heard.all(b"x-said-by")), (403, b"no\n", [b"a filter"]))
        self.assertEqual((len(first.asked), len(inner.asked)), (1, 0))
        self.assertEqual(self.metrics.records[0].filter, "f0")
        self.assert_upstreams(0)

    def test_facts(self) -> None:
        """A filter sees the request as it came."""
        filter_ = Says(NO)
        self.filter_by(filter_)
        self.get(target=b"/a/../b?c", fields=((b"cookie", b"a=b"), (b"x-request-id", b"id7")))
        [facts] = filter_.asked
        found = (facts.id, facts.scheme, facts.is_secure, facts.host, facts.path, facts.target, facts.method)
        self.assertEqual(found, (b"id7", b"http", False, b"shop.test", b"/b", b"/a/../b?c", b"GET"))
        self.assertEqual((facts.client, facts.field(b"cookie")), (b"198.51.100.7", b"a=b"))
        self.assertEqual((facts.body, facts.is_body_whole, facts.client_evidence), (b"", True, None))
        self.assertEqual(filter_.ended[0].id, b"id7")

    def test_awaited(self) -> None:
        """A request waits for a decision, and then passes, or gets the reply."""
        for verdict, status in ((None, 200), (NO, 403)):
            filter_ = Waits()
            self.filter_by(filter_)
            client = self.get()
            self.assertEqual(client.heard().status, 0)
            self.assertEqual(self.connector.asked, [])
            filter_.coming[0].callback(verdict)
            if verdict is None:
                self.upstream().say(OK)
                self.connector.asked.clear()
            self.assertEqual(client.heard().status, status)
        self.assert_ended(200, 403)

    def test_already_there(self) -> None:
        """What is awaited may be there already."""

        class Knows(Filter):
            def on_request(self, facts: Facts) -> Awaitable[Reply | None]:
                return succeed(NO)

        self.filter_by(Knows())
        self.assertEqual(self.get().heard().status, 403)

    def test_shared_deferred(self) -> None:
        """A Deferred that another request waits for is no decision: to the second it would say that nobody objects."""
        coming: Deferred[Reply | None] = Deferred()

        class Shares(Filter):
            def on_request(self, facts: Facts) -> Awaitable[Reply | None]:
                return coming

        self.filter_by(Shares())
        first, second = self.get(), self.get()
        self.assertEqual(second.heard().status, 500)
        coming.callback(NO)
        self.assertEqual(first.heard().status, 403)
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)

    def test_client_leaves(self) -> None:
        """A client that leaves cancels the decision, and what comes of it changes nothing."""
        filter_ = Waits()
        self.filter_by(filter_)
        client = self.get()
        self.assertIn("Decision", str(self.reactor.getDelayedCalls()))
        client.leave()
        self.assertEqual(filter_.cancelled, 1)
        self.assert_upstreams(0)
        self.assert_ended(499)
        self.assertNotIn("Decision", str(self.reactor.getDelayedCalls()))

    def test_late(self) -> None:
        """A decision that comes although nobody waits any more changes nothing."""

        class Stubborn(Filter):
            def __init__(self) -> None:
                self.answer: Deferred[None] = Deferred()

            def on_request(self, facts: Facts) -> Awaitable[Reply | None]:
                async def decide() -> Reply | None:
                    while True:
                        try:
                            await Deferred()
                        except CancelledError:
                            await self.answer
                            return None

                return decide()

        filter_ = Stubborn()
        self.filter_by(filter_)
        client = self.get()
        client.leave()
        filter_.answer.callback(None)
        self.assert_upstreams(0)
        self.assert_ended(499)

    def test_deadline(self) -> None:
        """A decision that takes too long is cancelled, and the client gets 504; the filter is named."""
        filter_ = Waits()
        self.filter_by(filter_)
        client = self.get()
        self.reactor.pass_time(DECISION_SECONDS - 1)
        self.assertEqual(client.heard().status, 0)
        self.reactor.pass_time(1)
        self.assertEqual(client.heard().status, 504)
        self.assertEqual((filter_.cancelled, self.failures()), (1, 1))
        record = self.metrics.records[0]
        self.assertEqual((record.filter, record.reason), ("f0", "filter f0 did not decide within 60 s"))
        self.assert_ended(504)

    def test_raises(self) -> None:
        """A filter that raises costs its request a 500, once, and is named in record, log and metric; the next one is asked."""
        filter_ = Says(ZeroDivisionError("a bug"))
        self.filter_by(filter_)
        heard = self.get().heard()
        self.assertEqual((heard.status, heard.is_whole), (500, True))
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        record = self.metrics.records[0]
        self.assertEqual((record.filter, record.reason), ("f0", "filter f0 failed: ZeroDivisionError: a bug"))
        filter_.verdict = None
        client = self.get()
        self.upstream().say(OK)
        self.assertEqual((client.heard().status, self.failures()), (200, 1))
        self.assert_ended(500, 200)

    def test_raises_late(self) -> None:
        """So does one whose decision is an error, or no reply, or one that could not be sent."""
        for result in (ZeroDivisionError("a bug"), 5, Reply(99), Reply(200, ((b"X", b"a\r\nb"),))):
            filter_ = Waits()
            self.filter_by(filter_)
            client = self.get()
            if isinstance(result, Exception):
                filter_.coming[0].errback(result)
            else:
                filter_.coming[0].callback(result)  # type: ignore[arg-type]
            self.assertEqual(client.heard().status, 500)
            self.flushLoggedErrors()
        self.assertEqual(self.failures(), 4)
        self.assert_ended(500, 500, 500, 500)

    def test_no_verdict(self) -> None:
        """What is neither nothing, nor a reply, nor to be awaited, never lets a request pass."""
        for verdict in (True, b"", Reply(700), Reply(200, ((b"Content-Length", b"5"),))):
            self.filter_by(Says(verdict))
            self.assertEqual(self.get().heard().status, 500)
            self.flushLoggedErrors()

    def test_wrong_types(self) -> None:
        """A reply of other types than it says fails its filter, by a name and a reason, and its client is told."""
        make: Any = Reply
        for number, (reply, why) in enumerate(
            (
                (make(200, (), "text"), "the body of a reply is str, and not bytes"),
                (make(200, (), bytearray(b"text")), "the body of a reply is bytearray, and not bytes"),
                (make(200, ((b"X", memoryview(b"a")),)), "a value of a reply is memoryview, and not bytes"),
                (make(200, (("X", b"a"),)), "a name of a reply is str, and not bytes"),
                (make(200.0), "the status of a reply is float, and not int"),
            )
        ):
            self.filter_by(Says(reply))
            self.assertEqual(self.get().heard().status, 500)
            self.flushLoggedErrors(TypeError)
            record = self.metrics.records[number]
            self.assertEqual((record.filter, record.reason), ("f0", f"filter f0 failed: TypeError: {why}"))

    def test_lists_of_fields(self) -> None:
        """The fields of a reply may be given as lists, whether it comes at once or later."""
        make: Any = Reply
        for fields in ([(b"X-A", b"1")], ([b"X-A", b"1"],), [[b"X-A", b"1"]]):
            self.filter_by(Says(make(403, fields)))
            self.assertIn((b"x-a", b"1"), self.get().heard().fields)
            filter_ = Waits()
            self.filter_by(filter_)
            client = self.get()
            filter_.coming[0].callback(make(403, fields))
            self.assertIn((b"x-a", b"1"), client.heard().fields)

    def test_raises_at_the_end(self) -> None:
        """One that raises when all is over is named, and harms nobody."""

        class Ends(Filter):
            def on_end(self, facts: Facts, record: Record) -> None:
                raise ZeroDivisionError

        other = Says()
        self.filter_by(other, Ends())
        client = self.get()
        self.upstream().say(OK)
        self.assertEqual(client.heard().status, 200)
        self.assertEqual((len(self.flushLoggedErrors(ZeroDivisionError)), self.failures("f1")), (1, 1))
        self.assertEqual([record.status for record in other.ended], [200])

    def test_ends(self) -> None:
        """Each filter hears once of the end of each request, however it ended."""
        filter_ = Says()
        self.filter_by(filter_)
        answered, left = self.get(), self.get()
        self.upstream(0).say(OK)
        left.leave()
        self.filter_by(filter_, Says(NO))
        self.get()
        self.assertEqual([record.status for record in filter_.ended], [200, 499, 403])
        self.assertEqual(answered.heard().status, 200)

    def test_no_route(self) -> None:
        """The filters of a host stand also before what no route takes."""
        filter_ = Says()
        specs = (self.spec(filter_),)
        self.stage.publish((ONE,), path="/in", host_filters=specs)
        self.assertEqual(self.get(target=b"/out").heard().status, 404)
        filter_.verdict = NO
        self.assertEqual(self.get(target=b"/out").heard().status, 403)
        self.assertEqual([record.status for record in filter_.ended], [404, 403])
        self.assertEqual(len(filter_.asked), 2)


class BodyHeldTests(FilterCase):
    """Filters that want to see the request body first."""

    class Reads(Filter):
        """Wants so much of it."""

        def __init__(self, size: int) -> None:
            self.holds_body = size
            self.seen: list[tuple[bytes, bool]] = []

        def on_request(self, facts: Facts) -> None:
            self.seen.append((facts.body, facts.is_body_whole))

    def test_whole(self) -> None:
        """The whole body is held, and then goes on as it came."""
        filter_ = self.Reads(100)
        self.filter_by(filter_)
        client = self.client()
        client.ask(b"POST", length=6)
        client.send(b"abc")
        self.assertEqual(filter_.seen, [])
        client.send(b"def", ended=True)
        self.assertEqual(filter_.seen, [(b"abcdef", True)])
        self.assertEqual(body_of(self.upstream().received), b"abcdef")
        self.upstream().say(OK)
        self.assertEqual(client.heard().status, 200)

    def test_enough(self) -> None:
        """A filter is asked once there is as much as it wants; the rest follows."""
        filter_ = self.Reads(4)
        self.filter_by(filter_)
        client = self.client()
        client.ask(b"POST", length=9)
        client.send(b"abc")
        client.send(b"def")
        self.assertEqual(filter_.seen, [(b"abcdef", False)])
        client.send(b"ghi", ended=True)
        self.assertEqual(body_of(self.upstream().received), b"abcdefghi")

    def test_more_than_is_held_otherwise(self) -> None:
        """As much is held as a filter wants, also if that is more than any request holds."""
        filter_ = self.Reads(3 * MAX_HELD)
        self.filter_by(filter_)
        client = self.client()
        client.ask(b"PUT", length=2 * MAX_HELD)
        for left in range(7, -1, -1):
            client.send(bytes(MAX_HELD // 4), ended=not left)
            client.heard()
        self.assertEqual([(len(body), whole) for body, whole in filter_.seen], [(2 * MAX_HELD, True)])

    def test_no_body(self) -> None:
        """A request without body does not wait for one."""
        filter_ = self.Reads(4)
        self.filter_by(filter_)
        self.get()
        self.assertEqual(filter_.seen, [(b"", True)])

    def test_continue(self) -> None:
        """A client that waits to be told that its body is wanted is told, and the endpoint is not asked to tell it again."""
        self.filter_by(self.Reads(100))
        client = self.client()
        client.ask(b"POST", fields=((b"expect", b"100-continue"),), length=3)
        self.assertEqual(client.heard().interim, (100,))
        client.send(b"abc", ended=True)
        self.assertNotIn(b"expect", fields_of(self.upstream().received))
        self.upstream().say(OK)
        self.assertEqual((client.heard().status, client.heard().interim), (200, (100,)))

    def test_too_large(self) -> None:
        """A body that the route does not take is not waited for."""
        self.filter_by(self.Reads(100), max_body_bytes=4)
        client = self.client()
        client.ask(b"POST", length=5)
        self.assertEqual(client.heard().status, 413)

    def test_client_leaves(self) -> None:
        """A client that leaves amid its body takes everything with it."""
        filter_ = self.Reads(100)
        self.filter_by(filter_)
        client = self.client()
        client.ask(b"POST", length=5)
        client.send(b"ab")
        client.leave()
        self.assertEqual(filter_.seen, [])
        self.assert_ended(499)


class DecisionTestsHttp2(DecisionTests):
    """The same over HTTP/2."""

    is_http2 = True


class BodyHeldTestsHttp2(BodyHeldTests):
    """The same over HTTP/2."""

    is_http2 = True
