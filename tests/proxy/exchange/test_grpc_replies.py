"""Tests for ``ingress.proxy.exchange.grpc_replies``, and of errors as gRPC clients get them."""

from urllib.parse import unquote

from twisted.trial.unittest import SynchronousTestCase

from ingress.filters import Facts, Filter, Phase, Reply
from ingress.model.exchanges.causes import Cause
from ingress.proxy.contract.transport import REFUSED, TIMED_OUT
from ingress.proxy.exchange.grpc_replies import code_of, trailers_only
from tests.fakes.specs import SpecOf
from tests.proxy.playing import ONE, ProxyCase, body_of, fields_of

CALL = b"POST /shop.Cart/Add HTTP/1.1\r\nHost: shop.test\r\nContent-Type: application/grpc%b\r\nContent-Length: 5\r\n\r\n%b"
MESSAGE = b"\x00\x00\x00\x00\x00"


class CodeTests(SynchronousTestCase):
    """Which code a status is."""

    def test_codes(self) -> None:
        """The codes are those that gRPC's own mapping has, and that say the same as the status."""
        for statuses, code in (
            ((400, 500), 13),
            ((401,), 16),
            ((403,), 7),
            ((404,), 12),
            ((429, 502, 503, 504), 14),
            ((413, 414, 431), 8),
            ((408,), 4),
            ((301, 308, 405, 417, 421, 501, 505), 2),
        ):
            for status in statuses:
                self.assertEqual(code_of(status, was_sent=False), code, status)

    def test_late(self) -> None:
        """A request that upstream has and is late with is not said to be worth another attempt."""
        self.assertEqual(code_of(504, was_sent=True), 4)
        self.assertEqual(code_of(502, was_sent=True), 14)

    def test_reply(self) -> None:
        """The reply is HTTP status 200 without a body, made once, with a text for people."""
        for status in (308, 404, 413, 421, 431, 503):
            reply = trailers_only(status, was_sent=False)
            fields = dict(reply.fields)
            self.assertEqual((reply.status, reply.body), (200, b""))
            self.assertEqual(fields[b"Content-Type"], b"application/grpc")
            self.assertEqual(fields[b"grpc-status"], b"%d" % code_of(status, was_sent=False))
            self.assertTrue(unquote(fields[b"grpc-message"].decode("ascii")).strip())
            self.assertIs(reply, trailers_only(status, was_sent=False))


class ForbidsAll(Filter):
    """Answers every request."""

    def on_request(self, facts: Facts) -> Reply:
        return Reply(403, ((b"Content-Type", b"text/plain"),), b"no\n")


class RefusesAll(Filter):
    """Lets nobody in for now."""

    def on_request(self, facts: Facts) -> Reply:
        return Reply(503)


class ClientTests(ProxyCase):
    """What a gRPC client sees, and what the log keeps."""

    def call(self, kind: bytes = b"", body: bytes = MESSAGE) -> bytes:
        """Make a call and return what comes back."""
        down = self.stage.open()
        down.say(CALL % (kind, body))
        return down.take()

    def assert_told(self, answer: bytes, code: int, status: int) -> None:
        """Check that *answer* is Trailers-Only with *code*, and that the log says *status*."""
        self.assert_status(answer, 200)
        fields = fields_of(answer)
        self.assertEqual(fields[b"grpc-status"], b"%d" % code)
        self.assertEqual(fields[b"content-type"], b"application/grpc")
        self.assertEqual(body_of(answer), b"")
        self.assert_ended(status)

    def test_no_endpoint(self) -> None:
        """A backend without endpoints is UNAVAILABLE."""
        self.stage.publish(())
        self.assert_told(self.call(), 14, 503)

    def test_no_route(self) -> None:
        """A host that nobody serves is UNIMPLEMENTED."""
        self.stage.publish((ONE,), host="other.test")
        self.assert_told(self.call(b"+proto"), 12, 404)

    def test_unreachable(self) -> None:
        """An endpoint that cannot be connected to, in time or at all, is UNAVAILABLE."""
        self.connector.unreachable[ONE] = REFUSED
        self.assert_told(self.call(), 14, 502)

    def test_slow_to_connect(self) -> None:
        """So is one that takes too long to be connected to."""
        self.connector.unreachable[ONE] = TIMED_OUT
        self.assert_told(self.call(b";charset=x"), 14, 504)

    def test_silent(self) -> None:
        """An endpoint that took the call and is silent makes it DEADLINE_EXCEEDED."""
        down = self.stage.open()
        down.say(CALL % (b"", MESSAGE))
        self.reactor.pass_time(61)
        self.assert_told(down.take(), 4, 504)

    def test_too_large(self) -> None:
        """A request body that is too large is RESOURCE_EXHAUSTED."""
        self.stage.publish((ONE,), max_body_bytes=4)
        self.assert_told(self.call(), 8, 413)

    def test_filter(self) -> None:
        """What a filter answers is told in the same way, without its text."""
        self.stage.publish((ONE,), filters=(SpecOf(ForbidsAll()),))
        self.assert_told(self.call(), 7, 403)

    def test_words(self) -> None:
        """What a filter, or an overload, refuses is not said to have no endpoint; what has none is."""
        self.stage.publish(())
        self.assertIn(b"no endpoint", fields_of(self.call())[b"grpc-message"])
        for phase, words in (
            (Phase.LIMITS, b"More was asked for"),
            (Phase.ACCESS, b"Service Unavailable"),
            (Phase.ANSWER, b"Service Unavailable"),
        ):
            self.stage.publish((ONE,), filters=(SpecOf(RefusesAll(), phase=phase),))
            self.assertIn(words, fields_of(self.call())[b"grpc-message"])
        busy = dict(trailers_only(503, False, Cause.OVERLOAD).fields)
        self.assertIn(b"more to do", busy[b"grpc-message"])
        self.assert_ended(503, 503, 503, 503)

    def test_others(self) -> None:
        """gRPC-Web and everything else get what they can read: a status of HTTP."""
        self.stage.publish(())
        self.assert_status(self.call(b"-web+proto"), 503)
        self.assert_status(self.call(b"ish"), 503)
