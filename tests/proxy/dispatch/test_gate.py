"""Tests for the gate: who waits, who is refused, and what becomes of whoever leaves meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve
from twisted.logger import capturedLogs, formatEvent

from ingress.http.forwarding import origin_of_peer
from ingress.http.request_head import UNREADABLE
from ingress.metrics.series.overload import LATE, MEMORY
from ingress.model.text.lookup_budget import MAX_RUN
from ingress.model.upstream.backends import BackendState
from ingress.proxy.dispatch.gate import LOOK_SECONDS, MOST_SURPLUS, SPARE_SECONDS, Gate
from ingress.proxy.dispatch.overload import CALM_SECONDS, FIRST_ROOM, LASTING_SECONDS, TURN_SECONDS
from ingress.proxy.dispatch.side_by_side import SideBySideResource
from ingress.proxy.downstream.channel import DownstreamChannel
from ingress.proxy.exchange.exchange import Exchange
from ingress.proxy.exchange.replies import Replies
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from tests.fakes.http2.frames import RST_STREAM, frame
from tests.fakes.plain_code import need_plain_code
from tests.fakes.transports import Peer
from tests.proxy.dispatch.test_side_by_side import second_resource
from tests.proxy.exchange.test_tunnel import ASK, SWITCH
from tests.proxy.h2_playing import SessionCase
from tests.proxy.playing import BACKEND, GET, OK, ONE, OWNER, ProxyCase, Stage, fields_of
from tests.routing.test_expression_routes import expression

MANY = 5 * FIRST_ROOM
BROWSER = b"GET / HTTP/1.1\r\nHost: shop.test\r\nAccept: text/html\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"


class Closed:
    """The gate of a stage, which a test closes; what requests cost is always the same."""

    def __init__(self, stage: Stage) -> None:
        self.clock = stage.reactor
        self._worked = 0.0
        self.gate = stage.site.gate = Gate(
            stage.reactor,
            stage.metrics.overload,
            lambda: stage.site.context.replies,
            cpu_seconds=self._cpu_seconds,
        )

    def _cpu_seconds(self) -> float:
        """So much for each turn that room stays as it was at first."""
        self._worked += 0.99 * TURN_SECONDS * self.gate._began / FIRST_ROOM
        return self._worked

    def overload(self) -> None:
        """Have it late, and stay so."""
        self.gate.late(1.0, self.clock.seconds())
        self.clock.advance(LASTING_SECONDS)
        self.gate.late(1.0, self.clock.seconds())
        assert not self.gate.is_open

    def calm(self) -> None:
        """Let the time go by after which it is over."""
        for _ in range(int((CALM_SECONDS + 1) / LOOK_SECONDS)):
            self.clock.advance(LOOK_SECONDS)
            self.clock.settle()


class GateCase(ProxyCase):
    """A stage whose gate a test closes."""

    def setUp(self) -> None:
        super().setUp()
        self.closed = Closed(self.stage)
        self.gate = self.closed.gate

    def come(self, count: int, request: bytes = GET) -> list[Peer]:
        """Have so many ask at the same time."""
        downs = [self.stage.open() for _ in range(count)]
        for down in downs:
            down.post(request)
        self.reactor.settle()
        return downs

    def statuses(self, downs: list[Peer]) -> list[int]:
        """Return what each was answered with, 0 for nothing."""
        return [int(down.received[9:12] or b"0") for down in downs]


class WaitingTests(GateCase):
    """Who comes while there is an overload."""

    def test_calm(self) -> None:
        """As long as nothing is late, everybody is begun at once, however much is under way."""
        self.come(10 * MANY)
        self.assert_upstreams(10 * MANY)
        self.assertEqual(self.gate.waiting, 0)

    def test_room(self) -> None:
        """Those for whom there is room are served, those behind them are refused: the newest."""
        self.closed.overload()
        downs = self.come(MANY)
        self.assert_upstreams(FIRST_ROOM)
        for peer in self.connector.peers:
            peer.say(OK)
        self.assertEqual(self.statuses(downs), [200] * FIRST_ROOM + [503] * (MANY - FIRST_ROOM))

    def test_refusal(self) -> None:
        """A refusal says when to ask again, keeps the connection, and is told in log and metrics with its reason."""
        self.closed.overload()
        down = self.come(MANY)[-1]
        answer = down.take()
        self.assert_status(answer, 503)
        fields = fields_of(answer)
        self.assertEqual(fields[b"retry-after"], b"1")
        self.assertNotIn(b"connection", fields)
        self.assertFalse(down.closed)
        refused = MANY - FIRST_ROOM
        self.assertEqual(self.metrics.value("ingress_overload_requests_refused_total", cause=LATE), refused)
        self.assertEqual(
            {record.reason for record in self.metrics.records}, {"overload: no time to begin it"}
        )
        self.closed.calm()
        down.say(GET)
        self.assert_upstreams(FIRST_ROOM + 1)

    def test_browser(self) -> None:
        """A browser gets a page which says that there is too much to do, and when to ask again."""
        self.closed.overload()
        answer = self.come(MANY, BROWSER)[-1].take()
        self.assertIn(b"more to do here than can be done", answer)
        self.assertEqual(fields_of(answer)[b"retry-after"], b"1")

    def test_later_turns(self) -> None:
        """Each turn has room again, so who comes after another turn is served."""
        self.closed.overload()
        for _ in range(5):
            self.come(FIRST_ROOM)
        self.assert_upstreams(5 * FIRST_ROOM)
        self.assert_ended()

    def test_under_way(self) -> None:
        """What was begun before goes on: answers, and bodies of requests."""
        down = self.stage.open()
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\n\r\nab")
        self.closed.overload()
        self.come(MANY)
        down.say(b"cd")
        self.assertTrue(self.upstream(0).take().endswith(b"abcd"))
        self.upstream(0).say(OK)
        self.assert_status(down.take(), 200)

    def test_pipelined(self) -> None:
        """Of requests sent ahead each waits by itself, and answers come in their order."""
        self.closed.overload()
        down = self.stage.open()
        down.say(GET + GET)
        self.upstream().say(OK)
        self.upstream().say(OK)
        self.assertEqual(down.take().count(b"HTTP/1.1 200 OK"), 2)

    def test_expects(self) -> None:
        """Who waits for leave to send a body gets it from the endpoint, once the request is begun."""
        self.closed.overload()
        down = self.stage.open()
        down.post(POST)
        self.reactor.settle()
        self.upstream().say(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.assertIn(b"100 Continue", down.take())
        down.say(b"body")
        self.assertTrue(self.upstream().take().endswith(b"body"))

    def test_refused_with_body(self) -> None:
        """Whoever is refused amid a body is told, and the connection ends once that is read."""
        self.closed.overload()
        down = self.come(MANY, b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 9\r\n\r\nab")[-1]
        answer = down.take()
        self.assertEqual(fields_of(answer)[b"connection"], b"close")
        self.assertTrue(down.saw_end)

    def test_upgrade(self) -> None:
        """A WebSocket that waited is opened as any."""
        self.closed.overload()
        [down] = self.come(1, ASK)
        self.upstream().say(SWITCH + b"hello")
        self.assertTrue(down.take().endswith(b"hello"))

    def test_too_many(self) -> None:
        """More than may wait are refused as they come."""
        self.closed.overload()
        self.gate._call_in_batch = lambda call: None
        site = self.stage.site
        # Of which nothing is asked.
        gone = Exchange(
            site.context,
            DownstreamChannel(site, False),
            UNREADABLE,
            (b"", b""),
            origin_of_peer(b"", b"http", 0),
        )
        for _ in range(FIRST_ROOM + MOST_SURPLUS):
            self.gate.put(gone, self.stage.resource)
        self.assertEqual(self.gate.waiting, FIRST_ROOM + MOST_SURPLUS)
        [down] = self.come(1)
        self.assert_status(down.take(), 503)


class ShareTests(GateCase):
    """How much time goes to refusing."""

    def test_share(self) -> None:
        """Refusing has a small share of what requests take, and more only once nobody could be begun for a while."""
        held: list[Callable[[], None]] = []
        replies = self.gate._replies

        def slow() -> Replies:
            self.reactor.rightNow += TURN_SECONDS / 3
            return replies()

        self.closed.overload()
        self.gate._replies = slow
        self.gate._call_in_batch = held.append
        self.come(MANY)
        refused = []
        for seconds in (0.0, 0.0, 0.0, 0.0, 2 * SPARE_SECONDS):
            self.reactor.advance(seconds)
            held.pop()()
            refused.append(self.metrics.value("ingress_overload_requests_refused_total", cause=LATE))
            self.reactor.settle()
        self.assertEqual(refused, [0, 1, 1, 1, 3])


class LeavingTests(GateCase):
    """Who leaves while waiting."""

    def wait(self, count: int = 1) -> list[Peer]:
        """Have some come, and wait: the gate has no turn."""
        self.closed.overload()
        self.held: list[object] = []
        self.gate._call_in_batch = self.held.append
        return self.come(count)

    def go_on(self) -> None:
        """Give the gate its turns again."""
        held, self.held = self.held, []
        self.gate._call_in_batch = lambda call: call()
        for call in held:
            call()  # type: ignore[operator]
        self.reactor.settle()

    def test_left(self) -> None:
        """Nothing is left of a client that left: no request goes out for it, and the log shows 499."""
        downs = self.wait(MANY)
        for down in downs:
            down.reset()
        self.go_on()
        self.assertEqual(self.gate.waiting, 0)
        self.assert_upstreams(0)
        self.assert_ended(*[499] * MANY)
        self.assertEqual(self.stage.site.connections.all, set())

    def test_drain(self) -> None:
        """A process that drains answers those who wait, and closes then."""
        [down] = self.wait()
        drained = self.stage.site.connections.drain()
        self.assertNoResult(drained)
        self.go_on()
        self.upstream().say(OK)
        self.assert_status(down.take(), 200)
        self.assertTrue(down.saw_end)
        self.successResultOf(drained)

    def test_cut(self) -> None:
        """A process that ends at once leaves nobody waiting, and no timer."""
        self.wait(MANY)
        self.gate.close()
        self.stage.site.abort()
        self.reactor.settle()
        self.assertEqual(self.stage.site.connections.all, set())
        self.assertEqual({record.status for record in self.metrics.records}, {503})

    def test_bug(self) -> None:
        """A request that meets a bug when it is begun is answered with 500, and those behind it go on."""
        need_plain_code()

        def render(exchange: object) -> int:
            self.stage.resource.render = usual  # type: ignore[method-assign]
            raise ZeroDivisionError

        downs = self.wait(2)
        usual = self.stage.resource.render
        self.stage.resource.render = render  # type: ignore[method-assign, assignment]
        self.go_on()
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertEqual(self.statuses(downs), [500, 0])
        self.assert_upstreams(1)

    def test_host_moves(self) -> None:
        """Whoever waits while the tables of its listener are others is answered by those that there are by then."""
        (down,) = self.wait(1)
        self.stage.resource.publish(RouteTable(()), {})
        other = second_resource(self)
        other.publish(
            RouteTable([Route("shop.test", "/", Match.PREFIX, OWNER, BACKEND)]),
            {BACKEND: BackendState((ONE,))},
        )
        self.stage.site.resource = SideBySideResource(self.stage.resource, other)
        self.go_on()
        self.assertEqual(self.statuses([down]), [0])
        self.assert_upstreams(1)

    def test_health_checks(self) -> None:
        """Load balancers are answered at once, whatever is short: one that is refused takes everybody's replica away."""
        self.stage.resource.answers_health_checks = True
        check = GET.replace(b"GET /", b"GET /healthz").replace(b"shop.test", b"192.0.2.1")
        self.closed.overload()
        self.come(MANY)
        self.gate.memory_is_short(True)
        self.assertEqual(self.statuses(self.come(2, check)), [200, 200])
        self.stage.resource.answers_health_checks = False
        self.assertEqual(self.statuses(self.come(1, check)), [503])

    def test_health_checks_beside_expressions(self) -> None:
        """So are they where all hosts have very many expressions, though others wait for turns to look these up, or the path begins like too many."""
        resource = self.stage.resource
        resource.answers_health_checks = True
        check = GET.replace(b"GET /", b"GET /healthz").replace(b"shop.test", b"192.0.2.1")
        dear = [evolve(expression(f"/.{number:05}"), host="") for number in range(200)]
        too_many = [evolve(expression(f"/.{number:05}"), host="") for number in range(MAX_RUN + 1)]
        own = [evolve(expression("/healthz"), host="")]
        for routes, statuses in ((dear, [200]), (too_many, [200]), (dear + own, [503])):
            resource.publish(RouteTable(routes), {})
            for is_short in (False, True):
                self.gate.memory_is_short(is_short)
                resource._budget.running = 0
                self.assertEqual(self.statuses(self.come(1, check)), statuses)
        self.assertEqual(len(resource._lookup_queue), 0)

    def test_no_health_checks(self) -> None:
        """What a route has is no health check, and waits as all else."""
        self.stage.resource.answers_health_checks = True
        self.gate.memory_is_short(True)
        self.assertEqual(self.statuses(self.come(1, GET.replace(b"GET /", b"GET /healthz"))), [503])


class EndTests(GateCase):
    """When the gate opens again, and what is told."""

    def test_told(self) -> None:
        """Beginning and end are told in a line each, with figures, and in the metrics; nothing for each request."""
        with capturedLogs() as events:
            self.closed.overload()
            self.assertEqual(self.metrics.value("ingress_overload", cause=LATE), 1)
            self.come(MANY)
            self.closed.calm()
        self.assertTrue(self.gate.is_open)
        self.assertEqual(self.metrics.value("ingress_overload", cause=LATE), 0)
        self.assertEqual(self.metrics.value("ingress_overloads_total", cause=LATE), 1)
        self.assertEqual({event["log_namespace"] for event in events}, {f"{Gate.__module__}.Gate"})
        begin, end = (formatEvent(event) for event in events)
        self.assertIn("Overloaded: requests wait 1.00 s", begin)
        self.assertRegex(
            end, rf"No longer overloaded, after \d\.\d s in which {MANY - FIRST_ROOM} requests were refused"
        )

    def test_nobody_is_left(self) -> None:
        """Once it is over nobody waits, and no timer is left."""
        self.closed.overload()
        self.come(MANY)
        self.closed.calm()
        self.assertEqual(self.gate.waiting, 0)
        self.assertIsNone(self.gate._due)

    def test_memory(self) -> None:
        """While memory is short everybody who comes is refused at once, and nobody else."""
        [under_way] = self.come(1)
        self.gate.memory_is_short(True)
        [down] = self.come(1)
        answer = down.take()
        self.assert_status(answer, 503)
        self.assertEqual(fields_of(answer)[b"retry-after"], b"10")
        self.assertEqual(self.metrics.value("ingress_overload", cause=MEMORY), 1)
        self.upstream().say(OK)
        self.assert_status(under_way.take(), 200)
        self.gate.memory_is_short(False)
        down.say(GET)
        self.upstream().say(OK)
        self.assert_status(down.take(), 200)
        self.assertEqual(self.gate.take_refused(MEMORY), 1)
        self.assertEqual(self.gate.take_refused(MEMORY), 0)


class Http2Tests(SessionCase):
    """Streams, each of which waits by itself."""

    def setUp(self) -> None:
        super().setUp()
        self.closed = Closed(self.stage)
        self.client = self.stage.client()

    def ask(self, count: int) -> list[int]:
        """Ask so many times at once; return the streams."""
        streams = list(range(1, 2 * count, 2))
        self.client.send(*(self.client.request(stream) for stream in streams))
        self.client.until(lambda: False, 0.0)
        return streams

    def test_room(self) -> None:
        """Those for which there is room are served, and the others get 503, on the same connection."""
        self.closed.overload()
        streams = self.ask(MANY)
        statuses = [int(dict(self.client.heads(stream)[0])[b":status"]) for stream in streams]
        self.assertEqual(statuses, [200] * FIRST_ROOM + [503] * (MANY - FIRST_ROOM))

    def test_reset(self) -> None:
        """A stream that its client resets while it waits is begun no more."""
        self.closed.overload()
        self.closed.gate._call_in_batch = lambda call: None
        [stream] = self.ask(1)
        self.client.send(frame(RST_STREAM, b"\0\0\0\x08", stream=stream))
        self.closed.gate._call_in_batch = lambda call: call()
        self.closed.gate._turn_after(0)
        self.stage.reactor.settle()
        self.assertEqual(self.stage.requests, [])
        self.assertEqual(self.closed.gate.waiting, 0)
