"""Exchanges whose routes bound their time, or have them tried again: ``timeouts`` and ``retry`` of the Gateway API."""

from __future__ import annotations

from ingress.model.cluster.objects import ObjectKey, Owner
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.retries import DEFAULT_RETRIES
from ingress.proxy.contract.limits import MAX_HELD
from ingress.proxy.contract.transport import REFUSED
from ingress.translate.readers.gateway.objects.names import HTTP_ROUTE
from ingress.translate.readers.gateway.objects.routes import HTTPRule, Retry
from ingress.translate.readers.gateway.routes.rule_times import MOST_ATTEMPTS, read_times
from tests.fakes.transports import Peer
from tests.proxy.playing import GET, OK, ONE, THREE, TWO, ProxyCase, body_of

OWNER = Owner(HTTP_ROUTE, ObjectKey("demo", "route"))
POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 2\r\n\r\nhi"
UPGRADE = GET[:-2] + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
BEGUN = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab"


def answer(status: int) -> bytes:
    """Return an answer that says nothing but its status."""
    return b"HTTP/1.1 %d Said\r\nContent-Length: 3\r\n\r\n%d" % (status, status)


class TimedCase(ProxyCase):
    """A stage whose route says something about time."""

    def rule(
        self,
        *endpoints: Endpoint,
        request: str = "",
        attempt: str = "",
        retry: Retry | None = None,
    ) -> None:
        """Serve by a rule with these texts from now on."""
        rule = HTTPRule("spec.rules[0]", request_timeout=request, backend_timeout=attempt, retry=retry)
        times = read_times(rule, OWNER)
        self.assertEqual((times.problems, times.is_refused), ((), False))
        self.stage.publish(endpoints or (ONE,), timeouts=times.timeouts, retries=times.retries)

    def ask(self, request: bytes = GET) -> Peer:
        """Send a request over a new connection, and return the client."""
        down = self.stage.open()
        down.say(request)
        return down

    def asked(self) -> list[Endpoint]:
        """Return the endpoints that were connected to since this was asked."""
        asked, self.connector.asked = self.connector.asked, []
        return asked


class RequestTimeoutTests(TimedCase):
    """``timeouts.request``: the whole exchange."""

    def test_in_time(self) -> None:
        """An answer in time passes, and nothing is left to wait for."""
        self.rule(request="500ms")
        down = self.ask()
        self.reactor.pass_time(0.4)
        self.upstream().say(OK)
        self.assert_status(down.received, 200)
        self.reactor.pass_time(5)
        self.assert_ended(200)

    def test_too_late(self) -> None:
        """An answer that has not begun by then becomes 504, and its endpoint is not waited for."""
        self.rule(request="500ms")
        down = self.ask()
        self.reactor.pass_time(0.49)
        self.assertEqual(down.received, b"")
        self.reactor.pass_time(0.02)
        self.assert_status(down.received, 504)
        self.assertTrue(self.upstream().closed)
        self.assert_ended(504)
        self.assertIn("0.5 s", self.metrics.records[-1].reason)

    def test_no_bound(self) -> None:
        """``0s`` bounds nothing, nor does the time for which endpoints may be silent by default."""
        for request, attempt in (("0s", ""), ("", "0s"), ("0s", "0h0m0s0ms")):
            self.rule(request=request, attempt=attempt)
            down = self.ask()
            self.reactor.pass_time(3600)
            self.upstream().say(OK)
            self.assert_status(down.received, 200)

    def test_long(self) -> None:
        """An endpoint may be silent for as long as the request may take."""
        self.rule(request="5m")
        down = self.ask()
        self.reactor.pass_time(299)
        self.assertEqual(down.received, b"")
        self.reactor.pass_time(1.1)
        self.assert_status(down.received, 504)

    def test_amid_an_answer(self) -> None:
        """An answer that has begun is cut, so that nobody takes it for whole."""
        self.rule(request="1s")
        down = self.ask()
        self.upstream().say(BEGUN)
        self.reactor.pass_time(1.1)
        self.assertTrue(down.closed)
        self.assertTrue(self.upstream().closed)
        self.assert_ended(200)

    def test_amid_a_request(self) -> None:
        """The time counts from the head of the request on, and a body that comes too slowly gets 504, too."""
        self.rule(request="1s")
        down = self.ask(POST[:-1])
        self.reactor.pass_time(1.1)
        self.assert_status(down.received, 504)

    def test_while_connecting(self) -> None:
        """The time counts while a connection is made, which is not waited for any more."""
        self.rule(request="1s")
        self.connector.is_slow = True
        down = self.ask()
        self.reactor.pass_time(1.1)
        self.assert_status(down.received, 504)
        self.connector.let_through()
        self.reactor.settle()
        self.assertEqual(self.upstream().received, b"")
        self.assert_ended(504)

    def test_tunnels(self) -> None:
        """A WebSocket that was opened in time is bound by nothing of that, however long it rests."""
        self.rule(request="1s", attempt="1s")
        down = self.ask(UPGRADE)
        self.upstream().say(SWITCH)
        for _ in range(100):
            self.reactor.pass_time(60)
        down.say(b"ping")
        self.assertTrue(self.upstream().received.endswith(b"ping"))
        self.upstream().say(b"pong")
        self.assertTrue(down.received.endswith(b"pong"))
        self.assertFalse(down.closed)
        down.reset()

    def test_tunnels_that_come_too_late(self) -> None:
        """One that is not opened in time is not opened."""
        self.rule(request="1s")
        down = self.ask(UPGRADE)
        self.reactor.pass_time(1.1)
        self.assert_status(down.received, 504)

    def test_client_leaves(self) -> None:
        """Nothing happens when the time is over of a request whose client has left."""
        self.rule(request="1s", attempt="1s")
        self.ask().reset()
        self.reactor.pass_time(5)
        self.assert_ended(499)


class AttemptTimeoutTests(TimedCase):
    """``timeouts.backendRequest``: each attempt."""

    def test_too_late(self) -> None:
        """Without ``retry``, one attempt has its time, and then it is over."""
        self.rule(ONE, TWO, attempt="500ms")
        down = self.ask()
        self.reactor.pass_time(0.51)
        self.assert_status(down.received, 504)
        self.assertEqual(len(self.asked()), 1)

    def test_amid_an_answer(self) -> None:
        """The answer has to be whole by then."""
        self.rule(attempt="1s")
        down = self.ask()
        self.upstream().say(BEGUN)
        self.reactor.pass_time(1.1)
        self.assertTrue(down.closed)

    def test_each(self) -> None:
        """With ``retry`` each attempt has its time, and all together have that of the request."""
        self.rule(ONE, TWO, attempt="500ms", request="1300ms", retry=Retry(attempts=9, backoff="0s"))
        down = self.ask()
        for _ in range(2):
            self.reactor.pass_time(0.51)
            self.assertEqual(down.received, b"")
        self.assertEqual(len(self.asked()), 3)
        self.reactor.pass_time(0.3)
        self.assert_status(down.received, 504)
        self.reactor.pass_time(9)
        self.assert_ended(504)

    def test_second_in_time(self) -> None:
        """What the next endpoint says in time is the answer."""
        self.rule(ONE, TWO, attempt="500ms", retry=Retry())
        down = self.ask()
        self.reactor.pass_time(0.51)
        self.reactor.pass_time(0.4)
        self.upstream().say(OK)
        self.assert_status(down.received, 200)
        self.assertTrue(self.upstream(0).closed)
        record = self.metrics.records[-1]
        self.assertEqual(len(record.attempts), 2)

    def test_not_twice(self) -> None:
        """A POST that took too long may have been done, and is not sent again."""
        self.rule(ONE, TWO, attempt="500ms", retry=Retry(attempts=5))
        down = self.ask(POST)
        self.reactor.pass_time(0.51)
        self.assert_status(down.received, 504)

    def test_connections_are_kept(self) -> None:
        """The time of an attempt that is over does not end what comes later on its connection."""
        self.rule(attempt="500ms")
        down = self.ask()
        self.upstream().say(OK)
        self.rule()
        down.take()
        self.reactor.pass_time(0.3)
        down.say(GET)
        self.reactor.pass_time(0.3)
        self.assert_upstreams(1)
        self.upstream().say(OK)
        self.assert_status(down.received, 200)


class RetryTests(TimedCase):
    """``retry``: by codes and after faults of connections."""

    # HTTPRouteRetry: codes, attempts, what the endpoint says, how often before it says 200, what the client gets.
    CASES = (
        ((500,), 3, 500, 2, 200),
        ((500,), 3, 500, 4, 500),
        ((500,), 3, 503, 2, 503),
        *(((500, 502, 503, 504), 2, code, 1, 200) for code in (500, 502, 503, 504)),
        *(((500, 502, 503, 504), 2, code, 3, code) for code in (500, 502, 503, 504)),
        *(((500, 502, 503, 504), 0, code, 1, code) for code in (500, 502, 503, 504)),
    )

    def test_suite(self) -> None:
        """Requests are sent again to the only endpoint there is, after the codes that are listed, as often as is said."""
        for codes, attempts, said, times, wanted in self.CASES:
            self.rule(retry=Retry(codes, attempts))
            down = self.ask()
            sent = 0
            while not down.received:
                peer = self.upstream()
                self.assertEqual(peer.take().count(b"GET / "), 1)
                sent += 1
                peer.say(OK if sent > times else answer(said))
                self.reactor.pass_time(0.3)
            self.assert_status(down.received, wanted)
            expected = min(times, attempts if said in codes else 0) + 1
            self.assertEqual(sent, expected, (codes, attempts, said, times))
            self.reactor.pass_time(100)

    def test_suite_with_timeouts(self) -> None:
        """The sum of all attempts stays within the time of the request, and each within its own."""
        self.rule(request="500ms", retry=Retry((500,), 5))
        down = self.ask()
        for _ in range(2):
            self.reactor.pass_time(0.2)
            self.upstream().say(answer(500))
        self.reactor.pass_time(0.2)
        self.assert_status(down.received, 504)
        self.rule(request="15s", attempt="500ms", retry=Retry((500,), 3))
        down = self.ask()
        for number in range(3):
            self.reactor.pass_time(0.2)
            self.upstream().say(OK if number == 2 else answer(500))
            self.reactor.pass_time(0.1)
        self.assert_status(down.received, 200)

    def test_connection_errors(self) -> None:
        """Whatever the method, a connection that cannot be made costs one attempt, and the other endpoint answers."""
        self.connector.unreachable[ONE] = REFUSED
        self.rule(ONE, TWO, retry=Retry(attempts=100))
        for _ in range(20):
            down = self.ask(POST)
            self.reactor.pass_time(0.1)
            self.upstream().say(OK)
            self.assert_status(down.take(), 200)

    def test_only_endpoint(self) -> None:
        """Where there is no other endpoint, the same one is connected to again, with pauses that grow up to a bound."""
        self.connector.unreachable[ONE] = REFUSED
        self.rule(retry=Retry(attempts=10**9))
        down = self.ask()
        counts = []
        for _ in range(30):
            for _ in range(200):
                self.reactor.pass_time(0.005)
            counts.append(len(self.asked()))
        self.assertGreater(counts[0], counts[2])
        self.assertEqual(counts[1], counts[2])
        self.assertEqual(sum(counts), MOST_ATTEMPTS + 1)
        self.assert_status(down.received, 502)

    def test_methods(self) -> None:
        """A status that is listed has a POST sent again, with its body; a connection that broke off has not."""
        self.rule(retry=Retry((503,), 1))
        down = self.ask(POST)
        self.upstream().say(answer(503))
        self.reactor.pass_time(0.1)
        self.assertEqual(body_of(self.upstream().received)[-2:], b"hi")
        self.upstream().say(OK)
        self.assert_status(down.received, 200)
        for request, wanted in ((POST, 502), (GET, 200)):
            self.rule(TWO, THREE, retry=Retry(attempts=1))
            down = self.ask(request)
            self.upstream().finish()
            if wanted == 200:
                self.reactor.pass_time(0.1)
                self.upstream().say(OK)
            self.assert_status(down.received, wanted)

    def test_long_bodies(self) -> None:
        """A body that is not held whole any more is not sent again."""
        self.rule(retry=Retry((503,), 3))
        down = self.ask(POST.replace(b"2\r\n\r\nhi", b"%d\r\n\r\n" % (MAX_HELD + 1)) + bytes(MAX_HELD + 1))
        self.upstream().say(answer(503))
        self.reactor.pass_time(1)
        self.assert_status(down.received, 503)

    def test_backoff(self) -> None:
        """A backoff that is asked for passes before each retry, and is not shorter the second time."""
        self.rule(ONE, TWO, THREE, retry=Retry((503,), 3, "1s"))
        self.ask()
        for pause in (1.0, 2.0, 4.0):
            count = len(self.asked())
            self.assertEqual(count, 1)
            self.upstream().say(answer(503))
            self.reactor.pass_time(pause - 0.05)
            self.assertEqual(self.connector.asked, [])
            self.reactor.pass_time(0.1)

    def test_stale_connections(self) -> None:
        """A new connection in place of a stale one is no retry, and is made at once."""
        self.rule(retry=Retry((503,), 3, "1s"))
        down = self.ask()
        self.upstream().say(answer(503))
        self.reactor.pass_time(1.1)
        self.assertEqual(self.upstream().received.count(b"GET / "), 2)
        self.asked()
        self.upstream().reset()
        self.assertEqual(self.asked(), [ONE])
        self.upstream().say(OK)
        self.assert_status(down.received, 200)

    def test_no_backoff(self) -> None:
        """By default an endpoint that was not tried yet is asked at once."""
        self.rule(ONE, TWO, retry=Retry((503,), 1))
        down = self.ask()
        self.upstream().say(answer(503))
        self.assertEqual(sorted(self.asked()), [ONE, TWO])
        self.upstream().say(OK)
        self.assert_status(down.received, 200)

    def test_client_leaves_meanwhile(self) -> None:
        """Nobody is asked for a client that left during a backoff."""
        self.rule(retry=Retry((503,), 3, "1s"))
        down = self.ask()
        self.upstream().say(answer(503))
        self.asked()
        down.reset()
        self.reactor.pass_time(10)
        self.assertEqual(self.asked(), [])
        self.assert_ended(499)

    def test_time_is_over_meanwhile(self) -> None:
        """Nor for a request whose time is over."""
        self.rule(request="500ms", retry=Retry((503,), 3, "1s"))
        down = self.ask()
        self.upstream().say(answer(503))
        self.asked()
        self.reactor.pass_time(10)
        self.assert_status(down.received, 504)
        self.assertEqual(self.asked(), [])

    def test_endpoints_leave(self) -> None:
        """When the last endpoint has gone meanwhile, what was said last is the answer."""
        self.rule(retry=Retry((503,), 3))
        down = self.ask()
        self.stage.publish(())
        self.upstream().say(answer(503))
        self.reactor.pass_time(1)
        self.assert_status(down.received, 503)

    def test_usual(self) -> None:
        """A route without ``retry`` has no endpoint tried twice."""
        self.assertIs(read_times(HTTPRule("spec.rules[0]"), OWNER).retries, DEFAULT_RETRIES)
        self.rule(request="10s")
        self.connector.unreachable[ONE] = REFUSED
        down = self.ask()
        self.assertEqual(self.asked(), [ONE])
        self.assert_status(down.received, 502)


class TimedOnEpollTests(RequestTimeoutTests):
    """The same with the epoll set."""

    on_epoll = True


class AttemptsOnEpollTests(AttemptTimeoutTests):
    """The same with the epoll set."""

    on_epoll = True


class RetriesOnEpollTests(RetryTests):
    """The same with the epoll set."""

    on_epoll = True
