"""Whose failure an exchange was, as its record says."""

from typing import ClassVar

from attrs import frozen

from ingress.filters import Facts, Filter, Phase, Reply, Services
from ingress.model.exchanges.causes import Cause, cause_of_answer, cause_of_status
from ingress.model.exchanges.records import Record
from ingress.model.serving.log_formats import LogFormat
from ingress.model.upstream.retries import RetryRule
from ingress.proxy.exchange.access_log.log_lines import line_maker
from tests.proxy.playing import GET, OK, ONE, TWO, ProxyCase

BROKEN_OFF = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab"


@frozen
class Refuse:
    """Refuses every request, in the phase it is told."""

    phase: Phase
    status: int = 403
    raises: bool = False
    name: ClassVar[str] = "refuse"

    def describe(self) -> str:
        """Say so."""
        return "refuses"

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return _Refusing(self)


class _Refusing(Filter):
    def __init__(self, spec: Refuse) -> None:
        self._spec = spec

    def on_request(self, facts: Facts) -> Reply | None:
        if self._spec.raises:
            raise ZeroDivisionError
        return Reply(self._spec.status)


class CauseTests(ProxyCase):
    """The cause in the record of an exchange."""

    def last(self) -> Record:
        """Return the record of the exchange that ended last."""
        return self.metrics.records[-1]

    def check(self, cause: Cause | None, status: int) -> None:
        """Fail unless the exchange that ended last did so; if it failed, it has an id."""
        record = self.last()
        self.assertEqual((record.cause, record.status), (cause, status))
        if cause is not None:
            self.assertTrue(record.id)

    def answered(self, answer: bytes) -> None:
        """Have the endpoint answer a GET."""
        self.stage.open().say(GET)
        self.upstream().say(answer)

    def test_none(self) -> None:
        """What an endpoint answers is no failure, and neither is its 4xx."""
        self.answered(OK)
        self.check(None, 200)
        self.answered(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        self.check(None, 404)

    def test_upstream(self) -> None:
        """An endpoint's 5xx is the endpoint's failure, also where it is the last of several."""
        self.stage.publish((ONE, TWO), retries=RetryRule(statuses=frozenset((503,))))
        unavailable = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"
        self.answered(unavailable)
        self.upstream().say(unavailable)
        self.check(Cause.UPSTREAM, 503)

    def test_unreachable(self) -> None:
        """No connection, none in time, and no endpoint are told apart."""
        self.stage.publish((ONE,))
        self.connector.unreachable[ONE] = "connection refused"
        self.stage.open().say(GET)
        self.check(Cause.BAD_GATEWAY, 502)
        self.stage.publish((), "nobody is ready")
        self.stage.open().say(GET)
        self.check(Cause.UNAVAILABLE, 503)

    def test_no_route(self) -> None:
        """What no route takes is nobody's route."""
        self.stage.open().say(GET.replace(b"shop", b"none"))
        self.check(Cause.NO_ROUTE, 404)

    def test_cut(self) -> None:
        """An answer that breaks off has the status that it began with, and is a failure."""
        self.answered(BROKEN_OFF)
        self.upstream().finish()
        self.check(Cause.CUT, 200)

    def test_client_left(self) -> None:
        """A client that leaves is the cause, before its answer and amid it."""
        down = self.stage.open()
        down.say(GET)
        down.reset()
        self.check(Cause.CLIENT, 499)
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(BROKEN_OFF)
        down.reset()
        self.check(Cause.CLIENT, 200)

    def test_process_ends(self) -> None:
        """Whoever is cut off since the process ends did not leave."""
        down = self.stage.open()
        down.say(GET)
        self.stage.site.context.is_cutting_off = True
        down.reset()
        self.check(Cause.UNAVAILABLE, 503)

    def test_process_ends_amid_an_answer(self) -> None:
        """An answer that the end of the process cuts is no whole one, for who asks by ``$request_completion`` as well."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(BROKEN_OFF)
        self.stage.site.context.is_cutting_off = True
        down.reset()
        self.check(Cause.UNAVAILABLE, 200)
        make = line_maker(LogFormat(("", "request_completion", "")), escapes_json=False)
        self.assertEqual(make(self.last(), 0.0), b"-")

    def test_request(self) -> None:
        """A body that is too large is the client's doing."""
        self.stage.publish((ONE,), max_body_bytes=3)
        self.stage.open().say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\n\r\nabcd")
        self.check(Cause.REQUEST, 413)

    def test_filters(self) -> None:
        """A filter that refuses has the cause of its phase; one that fails is to blame itself."""
        for filter_, cause, status in (
            (Refuse(Phase.LIMITS, 429), Cause.LIMIT, 429),
            (Refuse(Phase.ACCESS), Cause.AUTH, 403),
            (Refuse(Phase.HANDSHAKE), Cause.AUTH, 403),
            (Refuse(Phase.ACCESS, 500), Cause.AUTH_FAILED, 500),
            (Refuse(Phase.LIMITS, 503), Cause.LIMIT, 503),
            (Refuse(Phase.REWRITE), Cause.FILTER, 403),
            (Refuse(Phase.REDIRECT, 308), None, 308),
            (Refuse(Phase.ACCESS, raises=True), Cause.FILTER, 500),
        ):
            self.stage.publish((ONE,), filters=(filter_,))
            self.stage.open().say(GET)
            self.check(cause, status)
            self.assertEqual(self.last().filter, "refuse")
            self.flushLoggedErrors(ZeroDivisionError)

    def test_words(self) -> None:
        """Where nobody said a cause it follows from the status, and from what the endpoint answered."""
        for status, cause in (
            (400, Cause.REQUEST),
            (500, Cause.BUG),
            (501, Cause.REQUEST),
            (504, Cause.GATEWAY_TIMEOUT),
            (505, Cause.REQUEST),
        ):
            self.assertIs(cause_of_status(status), cause)
        self.assertIs(cause_of_answer(502, ""), Cause.BAD_GATEWAY)
        self.assertIs(cause_of_answer(500, "502"), Cause.UPSTREAM)
        self.assertIs(cause_of_answer(403, "200"), Cause.FILTER)
        self.assertIsNone(cause_of_answer(403, "401"))


class RequestBodyTests(ProxyCase):
    """What came of the body of a request."""

    def test_received(self) -> None:
        """A record counts what came of the body, whole or not."""
        down = self.stage.open()
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 6\r\n\r\nabcd")
        down.reset()
        [record] = self.metrics.records
        self.assertEqual(record.bytes_received, 4)

    def test_reused(self) -> None:
        """An attempt tells whether its connection was made for it, and when that was there."""
        down = self.stage.open()
        self.connector.is_slow = True
        down.say(GET)
        self.reactor.pass_time(1)
        self.connector.is_slow = False
        self.connector.let_through()
        self.upstream().say(OK)
        down.say(GET)
        self.upstream().say(OK)
        first, second = (record.attempts[0] for record in self.metrics.records)
        self.assertEqual((first.connected, first.is_reused), (1.0, False))
        self.assertEqual((second.connected, second.is_reused), (0.0, True))
