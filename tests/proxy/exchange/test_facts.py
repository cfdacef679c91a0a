"""Tests for ``ingress.proxy.exchange.facts``."""

from time import process_time

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.forwarding import Origin
from ingress.http.request_head import RequestHead
from ingress.proxy.exchange.facts import RequestFacts


class FieldTests(SynchronousTestCase):
    """Fields that filters ask for by name."""

    def facts(self, forward: bytes) -> RequestFacts:
        """Return the facts of a request with these lines."""
        head = RequestHead()
        head.method, head.target, head.path, head.forward = b"GET", b"/", b"/", forward
        return RequestFacts(b"id", head, (b"shop.test", b"/"), Origin(b"192.0.2.1", b"http", 80, b""), None)

    def test_however_many(self) -> None:
        """The first fields that are asked for and those behind them are read alike."""
        facts = self.facts(b"A: 1\r\nb: \t2 \r\na: 3\r\nCookie: x=1\r\ncookie: y=2\r\n")
        wanted = [b"1, 3", b"2", b"x=1; y=2", b"", b""]
        for _ in range(5):
            self.assertEqual([facts.field(name) for name in (b"a", b"b", b"cookie", b"c", b"")], wanted)

    def test_many(self) -> None:
        """A snippet that asks for five hundred fields does not search a long head five hundred times."""

        def seconds(count: int) -> float:
            facts = self.facts(b"X: " + b"x1" * 14_000 + b"\r\n")
            before = process_time()
            for number in range(count):
                facts.field(b"x%d" % number)
            return process_time() - before

        bound = 20 * max(seconds(20), 0.0002)
        self.assertLess(seconds(2000), bound)
