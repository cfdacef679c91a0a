"""Tests for ``ingress.proxy.upstream.rotation``: balancing and health as requests meet them."""

from collections import Counter
from collections.abc import Mapping
from random import Random
from types import MappingProxyType

from twisted.logger import capturedLogs, formatEvent

from ingress.filters import Scope
from ingress.model.requests.templates import read_template
from ingress.model.serving.limits import Limits
from ingress.model.upstream.backends import BackendReference, Endpoint
from ingress.model.upstream.balancing import Algorithm, Balancing
from ingress.model.upstream.retries import RetryRule
from ingress.proxy.contract.transport import REFUSED, TIMED_OUT
from ingress.proxy.dispatch.known_rotations import KnownRotations
from ingress.proxy.dispatch.resource import MAX_ASKED_FOR
from ingress.proxy.upstream.rotation import Rotation, Rotations
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from tests.fakes.transports import Peer
from tests.proxy.playing import BACKEND, FOUR, GET, OK, ONE, OWNER, THREE, TWO, ProxyCase

POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\n\r\nbody"
LEAST = Balancing(Algorithm.LEAST_REQUESTS)
EWMA = Balancing(Algorithm.EWMA)
BY_USER = Balancing(hash_by=read_template("$http_x_user"))


class BalancedCase(ProxyCase):
    """Words for many requests."""

    on_epoll = True
    limits = Limits(keep_alive_requests=1_000_000)

    def states(self) -> tuple[float, ...]:
        """How many endpoints metrics say are in rotation, in slow start, ejected."""
        states = ("in-rotation", "slow-start", "ejected")
        return tuple(self.metrics.value("ingress_endpoints", state=state) for state in states)

    def ask(self, request: bytes = GET) -> bytes:
        """Send a request on a connection of its own, have it answered, and return the answer."""
        down = self.stage.open()
        down.say(request)
        self.answer_all()
        down.finish()
        return down.take()

    def answer_all(self) -> None:
        """Let every upstream peer answer what it was asked."""
        for peer in self.connector.peers:
            if peer.take() and not peer.closed:
                peer.say(OK)

    def asked_of(self, peer: Peer) -> bytes:
        """The address of the endpoint that *peer* is."""
        endpoint: Endpoint = peer.protocol.endpoint  # type: ignore[attr-defined]
        return endpoint.address.encode()

    def known(self) -> KnownRotations:
        """All rotations of this worker."""
        return self.stage.states.state(
            Scope.WORKER, "rotations", "known", lambda: KnownRotations(self.reactor)
        )

    def usual(self) -> dict[BackendReference, Rotation]:
        """The rotations of this worker, by backend."""
        return self.known().usual

    def asked_for(self) -> dict[BackendReference, dict[Balancing, Rotation]]:
        """Those of routes that share requests in a way of their own."""
        return self.known().asked_for

    def asked_but(self, serving: Mapping[Peer, Peer] = MappingProxyType({})) -> list[Peer]:
        """The upstream peers that were asked something, but for those that are *serving* somebody."""
        return [peer for peer in self.connector.peers if peer.received and peer not in serving.values()]

    def shares(self, requests: int, at_once: int, request: bytes = GET) -> Counter[bytes]:
        """How many of *requests* each endpoint gets, with *at_once* of them under way."""
        downs = [self.stage.open() for _ in range(at_once)]
        serving: dict[Peer, Peer] = {}
        seen: Counter[bytes] = Counter()
        for number in range(requests):
            down = downs[number % at_once]
            if down in serving:
                # The connection that is asked again has had its answer.
                peer = serving.pop(down)
                peer.take()
                peer.say(OK)
            down.take()
            down.say(request)
            (peer,) = self.asked_but(serving)
            serving[down] = peer
            seen[self.asked_of(peer)] += 1
        self.answer_all()
        return seen


class EvennessTests(BalancedCase):
    """Shares of many requests."""

    def assert_even(self, balancing: Balancing | None) -> None:
        """Three endpoints share 10,000 requests, six at a time, evenly within 5 %."""
        self.stage.publish((ONE, TWO, THREE), balancing=balancing)
        seen = self.shares(10_000, 6)
        self.assertEqual(sum(seen.values()), 10_000)
        self.assertEqual(len(seen), 3)
        for count in seen.values():
            self.assertApproximates(count / 10_000, 1 / 3, 1 / 60)

    def test_round_robin(self) -> None:
        """In turn."""
        self.assert_even(None)

    def test_least_requests(self) -> None:
        """By requests under way, which are alike."""
        self.assert_even(LEAST)

    def test_ewma(self) -> None:
        """By speed, which is alike."""
        self.assert_even(EWMA)


class AlgorithmTests(BalancedCase):
    """What routes ask for."""

    def test_least_requests(self) -> None:
        """An endpoint that is busy gets nothing while another one is free."""
        self.stage.publish((ONE, TWO), balancing=LEAST)
        stuck = self.stage.open()
        stuck.say(GET)
        busy = self.asked_of(self.upstream(0))
        self.upstream(0).take()
        for _ in range(10):
            self.ask()
        others = {self.asked_of(peer) for peer in self.connector.peers[1:]}
        self.assertNotIn(busy, others)

    def test_every_attempt_ends(self) -> None:
        """Whatever becomes of a request, its attempt is over then, and a retry is an attempt of its own."""
        self.stage.publish((ONE, TWO), balancing=LEAST)
        down = self.stage.open()
        down.say(GET)
        running = self.asked_for()[BACKEND][LEAST].balancer.running  # type: ignore[attr-defined]
        self.assertEqual(sum(running.values()), 1)
        self.upstream().finish()
        self.assertEqual(sum(running.values()), 1)
        self.upstream().say(OK)
        self.assertEqual(running, {})
        down.say(GET)
        down.reset()
        self.assertEqual(running, {})
        self.connector.unreachable = {ONE: REFUSED, TWO: REFUSED}
        self.stage.open().say(POST)
        self.assertEqual(running, {})
        self.assert_ended(200, 499, 502)

    def test_slow_endpoint_by_ewma(self) -> None:
        """The endpoint that answered faster gets the next requests."""
        self.stage.publish((ONE, TWO), balancing=EWMA)
        asked: set[Endpoint] = set()
        while len(asked) < 2:
            down = self.stage.open()
            down.say(GET)
            (peer,) = self.asked_but()
            endpoint: Endpoint = peer.protocol.endpoint  # type: ignore[attr-defined]
            self.reactor.pass_time(3 if endpoint == ONE else 0.1)
            self.answer_all()
            asked.add(endpoint)
        seen = self.shares(20, 1)
        self.assertEqual(set(seen), {TWO.address.encode()})

    def test_hash(self) -> None:
        """Requests of one user go to one endpoint; users are spread, and stay when another endpoint leaves."""
        self.stage.publish((ONE, TWO, THREE), balancing=BY_USER)

        def owners() -> dict[int, bytes]:
            found = {}
            for user in range(30):
                down = self.stage.open()
                down.say(GET.replace(b"\r\n\r\n", b"\r\nX-User: %d\r\n\r\n" % user))
                (peer,) = self.asked_but()
                found[user] = self.asked_of(peer)
                self.answer_all()
            return found

        before = owners()
        self.assertEqual(before, owners())
        self.assertEqual(len(set(before.values())), 3)
        self.stage.publish((ONE, THREE), balancing=BY_USER)
        after = owners()
        moved = {user for user in before if before[user] != after[user]}
        self.assertEqual(moved, {user for user in before if before[user] == TWO.address.encode()})

    def test_hash_tries_the_next(self) -> None:
        """When the endpoint of a key cannot be reached, the next one of the ring is asked."""
        self.stage.publish((ONE, TWO, THREE), balancing=BY_USER)
        self.connector.unreachable[ONE] = REFUSED
        for user in range(9):
            request = GET.replace(b"\r\n\r\n", b"\r\nX-User: %d\r\n\r\n" % user)
            self.assert_status(self.ask(request), 200)
        self.assertIn(ONE, self.connector.asked)

    def test_ways_are_apart(self) -> None:
        """Routes of one backend that ask for different ways do not disturb each other."""
        self.stage.publish((ONE, TWO))
        self.ask()
        self.stage.publish((ONE, TWO), balancing=BY_USER)
        self.ask()
        self.stage.publish((ONE, TWO))
        self.ask()
        self.assertEqual(self.asked_of(self.upstream()), b"10.0.0.2")

    def test_ways_are_bounded(self) -> None:
        """However many ways were asked for over time, only so many are kept, and none of a backend that left."""
        for number in range(MAX_ASKED_FOR + 5):
            way = Balancing(hash_by=read_template(f"$http_x_{number}"))
            self.stage.publish((ONE, TWO), balancing=way)
            self.assert_status(self.ask(), 200)
        self.assertEqual(len(self.asked_for()[BACKEND]), MAX_ASKED_FOR)
        self.stage.resource.publish(RouteTable([Route("shop.test", "/", Match.PREFIX, OWNER, BACKEND)]), {})
        self.assertEqual((self.asked_for(), self.usual()), ({}, {}))
        self.assert_status(self.ask(), 503)


class SlowStartTests(BalancedCase):
    """``--slow-start``, by whatever algorithm."""

    def test_new_endpoint(self) -> None:
        """A new endpoint gets few requests at first, and its whole share in the end; so does one that is back."""
        make = Rotations(
            self.reactor, self.stage.deadlines, self.metrics, Random(4), Balancing(), slow_start_seconds=20.0
        ).make
        self.usual()[BACKEND] = make(BACKEND, (ONE,))
        self.stage.publish((ONE, TWO))
        self.assertEqual(self.shares(100, 1), {b"10.0.0.1": 100})
        self.reactor.pass_time(10)
        self.assertApproximates(self.shares(400, 1)[b"10.0.0.2"], 100, 30)
        self.assertEqual(self.states(), (1, 1, 0))
        self.reactor.pass_time(10)
        self.assertEqual(self.states(), (2, 0, 0))
        self.assertEqual(self.shares(100, 1), {b"10.0.0.1": 50, b"10.0.0.2": 50})
        self.stage.publish((ONE, TWO, THREE))
        self.assertEqual(self.states(), (2, 1, 0))
        self.stage.publish((ONE, TWO))
        self.assertEqual(self.states(), (2, 0, 0))


class HealthTests(BalancedCase):
    """Endpoints that cannot be connected to."""

    def setUp(self) -> None:
        super().setUp()
        self.stage.publish((ONE, TWO, THREE))
        self.connector.unreachable[ONE] = REFUSED

    def counts(self) -> tuple[float, float]:
        """The gauge of ejected endpoints, and the counter of ejections."""
        return (
            self.metrics.value("ingress_endpoints_ejected"),
            self.metrics.value("ingress_endpoint_ejections_total"),
        )

    def test_states(self) -> None:
        """Metrics count the endpoints of each backend that was asked, as long as there is one, by state."""
        self.assertEqual(self.states(), (0, 0, 0))
        self.asks_of(ONE, 30)
        self.assertEqual(self.states(), (2, 0, 1))
        self.stage.publish((ONE, TWO))
        self.assertEqual(self.states(), (1, 0, 1))
        self.reactor.pass_time(11)
        self.assertEqual(self.states(), (2, 0, 0))
        self.asks_of(ONE, 9)
        self.stage.resource.share(Balancing(), 0.0)
        self.assertEqual(self.states(), (0, 0, 0))
        self.reactor.pass_time(61)
        self.assertEqual(self.states(), (0, 0, 0))
        self.ask()
        self.assertEqual(self.states(), (2, 0, 0))

    def asks_of(self, endpoint: object, requests: int) -> int:
        """How often *endpoint* is connected to during so many requests."""
        before = self.connector.asked.count(endpoint)  # type: ignore[arg-type]
        for _ in range(requests):
            self.assert_status(self.ask(), 200)
        return self.connector.asked.count(endpoint) - before  # type: ignore[arg-type]

    def test_ejected(self) -> None:
        """After three failures an endpoint is asked no more; nobody but the log and the metrics notices."""
        with capturedLogs() as events:
            self.assertEqual(self.asks_of(ONE, 30), 3)
        self.assertEqual(self.counts(), (1, 1))
        [told] = [formatEvent(event) for event in events if "gets no requests" in str(formatEvent(event))]
        self.assertEqual(
            told, "10.0.0.1:8000 of shop/web:80 gets no requests for 10 s: 3 connections to it failed"
        )

    def test_returns(self) -> None:
        """It comes back after ten seconds, and gets its share again."""
        self.asks_of(ONE, 30)
        del self.connector.unreachable[ONE]
        self.reactor.pass_time(8)
        self.assertEqual(self.asks_of(ONE, 9), 0)
        with capturedLogs() as events:
            self.reactor.pass_time(3)
        self.assertIn(
            "10.0.0.1:8000 of shop/web:80 gets requests again", [formatEvent(each) for each in events]
        )
        self.assertGreater(self.asks_of(ONE, 9), 0)
        self.assertEqual(self.counts(), (0, 1))

    def test_stays_away_longer(self) -> None:
        """If it still fails then, it stays away for twice as long."""
        self.asks_of(ONE, 30)
        self.reactor.pass_time(11)
        self.asks_of(ONE, 30)
        self.assertEqual(self.counts(), (1, 2))
        self.reactor.pass_time(18)
        self.assertEqual(self.counts(), (1, 2))
        self.reactor.pass_time(3)
        self.assertEqual(self.counts(), (0, 2))

    def test_never_the_last_one(self) -> None:
        """When no endpoint can be reached, one is still asked; each request has its 502 at once."""
        self.connector.unreachable = dict.fromkeys((ONE, TWO, THREE), REFUSED)
        for _ in range(10):
            self.assert_status(self.ask(), 502)
        self.assertEqual(self.counts(), (2, 2))

    def test_recovery_of_an_ejected_one(self) -> None:
        """When all were down and an ejected one is back, the very next request finds it."""
        self.connector.unreachable = dict.fromkeys((ONE, TWO), REFUSED)
        self.stage.publish((ONE, TWO))
        for _ in range(6):
            self.assert_status(self.ask(), 502)
        rotation = self.stage.resource.rotation_of(BACKEND)
        assert rotation is not None
        [ejected] = {ONE, TWO}.difference(rotation.endpoints)
        del self.connector.unreachable[ejected]
        self.assert_status(self.ask(), 200)
        self.assertEqual(self.counts()[0], 0)
        # The other one has failed often enough; now that it is not the last one, it goes.
        self.asks_of(ejected, 9)
        self.assertEqual(self.counts()[0], 1)

    def test_connect_timeouts_count(self) -> None:
        """An endpoint that swallows connections is ejected too."""
        self.connector.unreachable[ONE] = TIMED_OUT
        self.assertEqual(self.asks_of(ONE, 30), 3)

    def test_own_lack_does_not_count(self) -> None:
        """An endpoint is not blamed when we have no socket to ask it with."""
        self.connector.unreachable = dict.fromkeys((ONE, TWO, THREE), "too many open files")
        for _ in range(10):
            self.assert_status(self.ask(), 503)
        self.assertEqual(self.counts(), (0, 0))

    def test_endpoints_change(self) -> None:
        """What is known stays with the endpoints that stay, and goes with those that go."""
        self.asks_of(ONE, 30)
        self.stage.publish((ONE, TWO, FOUR))
        self.assertEqual(self.asks_of(ONE, 9), 0)
        self.stage.publish((TWO, FOUR))
        self.assertEqual(self.counts(), (0, 1))
        self.stage.publish((ONE, TWO, FOUR))
        del self.connector.unreachable[ONE]
        self.assertGreater(self.asks_of(ONE, 9), 0)

    def test_only_an_ejected_one_is_left(self) -> None:
        """An ejected endpoint is used again when the snapshot leaves no other."""
        self.asks_of(ONE, 30)
        del self.connector.unreachable[ONE]
        self.stage.publish((ONE,))
        self.assert_status(self.ask(), 200)
        self.assertEqual(self.counts(), (0, 1))

    def test_backend_gone(self) -> None:
        """With the backend goes what was ejected of it, and the deadlines is not kept busy."""
        self.asks_of(ONE, 30)
        self.stage.resource.publish(RouteTable([Route("shop.test", "/", Match.PREFIX, OWNER, BACKEND)]), {})
        self.assertEqual(self.counts(), (0, 1))
        self.reactor.pass_time(20)
        self.assertEqual(self.counts(), (0, 1))

    def test_not_tried_when_off(self) -> None:
        """With ``proxy-next-upstream: off`` each failure is told, and still ejects."""
        self.stage.publish((ONE, TWO, THREE), retries=RetryRule(on_error=False, on_timeout=False))
        statuses = Counter(self.ask()[9:12] for _ in range(30))
        self.assertEqual(statuses, {b"502": 3, b"200": 27})


class RemovedEndpointTests(BalancedCase):
    """Endpoints that left the snapshot."""

    def test_running_exchange_ends_well(self) -> None:
        """What runs at an endpoint that is removed goes on to its end, and nothing new begins there."""
        down = self.stage.open()
        down.say(GET)
        self.stage.publish((TWO,))
        for _ in range(5):
            self.ask()
        self.assertEqual(self.connector.asked.count(ONE), 1)
        self.assert_status(down.take(), 200)

    def test_stale_connection_of_a_removed_endpoint(self) -> None:
        """A stale connection to an endpoint that left is replaced by one to another endpoint."""
        down = self.stage.open()
        down.say(GET)
        self.answer_all()
        down.take()
        down.say(GET)
        self.stage.publish((TWO,))
        self.upstream().finish()
        self.assertEqual(self.connector.asked, [ONE, TWO])
        self.upstream().say(OK)
        self.assert_status(down.take(), 200)

    def test_none_left(self) -> None:
        """Without any endpoint the answer is 503, at once."""
        self.stage.publish((), "none of the 2 endpoints is ready")
        self.assert_status(self.ask(), 503)
        self.assert_upstreams(0)
