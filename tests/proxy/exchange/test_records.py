"""The one record that each exchange ends in, and who gets it."""

from ingress.model.exchanges.records import AttemptRecord, Record
from ingress.model.upstream.retries import RetryRule
from ingress.proxy.contract.faults import Fault
from ingress.proxy.exchange.context import MOST_UNTOLD
from tests.proxy.playing import GET, INGRESS, OK, ONE, TWO, ProxyCase

REFUSED = "connection refused"
BAD_GATEWAY = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"


class RecordTests(ProxyCase):
    """What the listeners of exchanges are told."""

    def record(self) -> Record:
        """Return the record of the only exchange so far."""
        [record] = self.metrics.records
        return record

    def test_all_of_it(self) -> None:
        """A record says who asked for what, by which route, of whom, and what came of it."""
        down = self.stage.open()
        down.say(b"GET /a?b HTTP/1.1\r\nHost: shop.test:80\r\nX-Request-ID: abc\r\n\r\n")
        self.reactor.pass_time(2)
        self.upstream().say(OK)
        record = self.record()
        assert record.route is not None and record.head is not None
        self.assertEqual(record.head.authority, b"shop.test:80")
        self.assertEqual((record.route.host, record.route.path), ("shop.test", "/"))
        self.assertEqual(
            record,
            Record(
                id=b"abc",
                route=record.route,
                owner=INGRESS,
                filter="",
                attempts=(AttemptRecord(ONE, "200", 0.0, 2.0, 0.0, 2.0),),
                status=200,
                bytes_sent=2,
                seconds=2.0,
                reason="",
                client=b"198.51.100.7",
                method=b"GET",
                host=b"shop.test",
                target=b"/a?b",
                protocol=b"HTTP/1.1",
                head=record.head,
                scheme=b"http",
                backend=record.route.backend,
                downstream=record.downstream,
            ),
        )

    def test_attempts(self) -> None:
        """Each attempt has its endpoint, what became of it, and when."""
        self.stage.publish((ONE, TWO), retries=RetryRule(statuses=frozenset((502,))))
        self.connector.is_slow = True
        self.stage.open().say(GET)
        self.reactor.pass_time(1)
        self.connector.is_slow = False
        self.connector.refuse(REFUSED)
        self.reactor.pass_time(2)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
        self.reactor.pass_time(3)
        self.upstream().say(b"cd")
        first, second = self.connector.asked
        self.assertEqual(
            self.record().attempts,
            (
                AttemptRecord(first, Fault.UNREACHABLE.value, 0.0, 1.0, over=1.0),
                AttemptRecord(second, "200", 1.0, 3.0, connected=1.0, over=6.0),
            ),
        )
        self.assertEqual(self.record().seconds, 6.0)

    def test_refused_statuses(self) -> None:
        """An answer that is not passed on is an attempt with its status; the last one is passed on."""
        self.stage.publish((ONE, TWO), retries=RetryRule(statuses=frozenset((502,))))
        self.stage.open().say(GET)
        self.upstream().say(BAD_GATEWAY)
        self.upstream().say(BAD_GATEWAY)
        self.assertEqual([attempt.outcome for attempt in self.record().attempts], ["502", "502"])
        self.assertEqual(self.record().reason, "")

    def test_no_attempt_left(self) -> None:
        """Where the last attempt failed, too, the record says how, and the reason of the answer."""
        self.stage.publish((ONE,))
        self.connector.unreachable[ONE] = REFUSED
        self.stage.open().say(GET)
        record = self.record()
        self.assertEqual((record.status, record.reason), (502, REFUSED))
        self.assertEqual([attempt.outcome for attempt in record.attempts], [Fault.UNREACHABLE.value])

    def test_no_endpoint(self) -> None:
        """Without endpoint there is no attempt; without route there is no owner."""
        self.stage.publish((), "nobody is ready")
        self.stage.open().say(GET)
        self.stage.open().say(GET.replace(b"shop", b"none"))
        first, second = self.metrics.records
        self.assertEqual((first.attempts, first.reason, first.owner), ((), "nobody is ready", INGRESS))
        self.assertEqual(
            (second.attempts, second.reason, second.route), ((), "no route is for this host", None)
        )

    def test_no_room(self) -> None:
        """An endpoint that is passed over since it has the connections it may was not attempted."""
        self.stage.pool.most = 1
        self.stage.open().say(GET)
        self.stage.open().say(GET)
        record = self.record()
        self.assertEqual((record.status, record.attempts), (503, ()))

    def test_client_left(self) -> None:
        """A client that leaves is the reason why there is no answer, and what became of the attempt."""
        down = self.stage.open()
        down.say(GET)
        self.reactor.pass_time(1)
        down.reset()
        record = self.record()
        self.assertEqual((record.status, record.reason), (499, Fault.LEFT.value))
        self.assertEqual(record.attempts, (AttemptRecord(ONE, Fault.LEFT.value, 0.0, 1.0, 0.0, 1.0),))

    def test_cut(self) -> None:
        """An answer that is cut short has its status, and the reason."""
        self.stage.open().say(GET)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
        self.upstream().finish()
        record = self.record()
        self.assertEqual(
            (record.status, record.bytes_sent, record.reason), (200, 2, "answer cut short: connection closed")
        )
        self.assertEqual(record.attempts[0].outcome, "200")

    def test_body_refused(self) -> None:
        """A request that breaks off on its way to an endpoint is what became of the attempt."""
        self.stage.publish((ONE,), max_body_bytes=3)
        self.stage.open().say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n")
        self.stage.open().say(
            b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n"
        )
        record = self.record()
        self.assertEqual((record.status, record.reason), (413, "request body too large"))

    def test_no_listener(self) -> None:
        """Where nobody listens no record is made, and all else goes on."""
        self.stage.site.context.listeners = ()
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK)
        self.assert_status(down.take(), 200)
        self.assertEqual(self.metrics.records, [])
        self.assertEqual(self.stage.log_lines(), [])

    def test_put_off(self) -> None:
        """Amid a burst they are told together behind it, each in its order; one that fails costs none of the others."""
        told: list[tuple[str, bytes]] = []

        def first(record: Record) -> None:
            told.append(("first", record.target))
            if record.target == b"/b":
                raise ValueError(record.target)

        context = self.stage.site.context
        context.listeners = (first, lambda record: told.append(("second", record.target)))
        context.burst.is_on = True
        down = self.stage.open()
        for path in (b"/a", b"/b", b"/c"):
            down.say(GET.replace(b"GET /", b"GET " + path))
            self.upstream().say(OK)
            self.assert_status(down.take(), 200)
        self.assertEqual(told, [])
        self.assertEqual(len(context.burst.calls), 1)
        context.burst.end()
        ends = [("first", b"/a"), ("second", b"/a"), ("first", b"/b"), ("first", b"/c"), ("second", b"/c")]
        self.assertEqual(told, ends)
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
        down.say(GET)
        self.upstream().say(OK)
        self.assertEqual(told[len(ends) :], [("first", b"/"), ("second", b"/")])

    def test_many_put_off(self) -> None:
        """No more than a turn's worth of them waits, and of the rest each that comes."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK)
        context = self.stage.site.context
        told: list[Record] = []
        for _ in range(MOST_UNTOLD + 1):
            context.tell_behind(self.record(), (told.append,))
        self.assertEqual(len(told), MOST_UNTOLD)
        context.burst.end()
        self.assertEqual(len(told), MOST_UNTOLD + 1)
