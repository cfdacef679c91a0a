"""Tunnels of TLS that passes through, in memory: what the balancer is told of them, and how they end."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from twisted.internet.interfaces import IReactorTime

from ingress.model.exchanges.records import Record
from ingress.model.network.streams import StreamSort
from ingress.model.serving.limits import Limits
from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.faults import Fault
from ingress.proxy.contract.limits import HALF_CLOSED_SECONDS, LINGER_SECONDS
from ingress.proxy.exchange.access_log.access_log import AccessLog
from ingress.proxy.listening.stream_tunnel import StreamTunnel
from ingress.proxy.upstream.rotation import Rotation
from ingress.routing.balancing.balancer import Balancer
from ingress.routing.streams import StreamRoute
from ingress.routing.variants import WeightedBackend
from tests.fakes.records import record_of
from tests.fakes.transports import Peer
from tests.proxy.playing import BACKEND, INGRESS, ONE, OWNER, TWO, ProxyCase


class KeptRecords(AccessLog):
    """Keeps records, and writes nothing."""

    def __init__(self, clock: IReactorTime) -> None:
        super().__init__(clock, lambda lines: None, lambda count: None)
        self.records: list[Record] = []

    def exchange_ended(self, record: Record) -> None:
        self.records.append(record)


class Counting(Balancer):
    """Picks in order, and keeps what it is told."""

    def __init__(self, endpoints: tuple[Endpoint, ...]) -> None:
        super().__init__(endpoints)
        self.counts = True
        self.told: list[tuple[Endpoint, float, bool]] = []
        self.running = 0

    def pick(self, exclude: Container[Endpoint] = (), key: bytes = b"") -> Endpoint | None:
        """Choose the first that is not excluded."""
        return next((each for each in self._endpoints if each not in exclude), None)

    def began(self, endpoint: Endpoint) -> None:
        """Count it."""
        self.running += 1

    def ended(self, endpoint: Endpoint, seconds: float, failed: bool) -> None:
        """Keep it."""
        self.running -= 1
        self.told.append((endpoint, seconds, failed))


class AttemptTests(ProxyCase):
    """Attempts that count."""

    def test_seconds(self) -> None:
        """An attempt takes as long as its connection does to be made, and runs as long as its tunnel does."""
        stage = self.stage
        balancer = Counting((ONE, TWO))
        rotation = Rotation(BACKEND, balancer, self.reactor, stage.deadlines, self.metrics)
        route = StreamRoute("shop.test", StreamSort.PASSTHROUGH, OWNER, (WeightedBackend(BACKEND),))
        connect: Any = self.connector.connect
        self.connector.is_slow = True
        tunnel = StreamTunnel(stage.site, connect, route, rotation, b"shop.test")
        down = self.reactor.connect(tunnel.downstream)
        self.reactor.pass_time(3)
        self.connector.refuse("connection refused")
        self.reactor.pass_time(1)
        self.connector.let_through()
        self.reactor.pass_time(500)
        self.assertEqual((balancer.told, balancer.running), ([(ONE, 3.0, True)], 1))
        down.reset()
        self.assertEqual((balancer.told, balancer.running), ([(ONE, 3.0, True), (TWO, 1.0, False)], 0))
        # A tunnel has a line in the log as an exchange has, and counters of its own.
        self.metrics.records.append(record_of(INGRESS))

    def test_record(self) -> None:
        """Its record has each attempt, and an endpoint is not blamed for a socket that this system has not."""
        stage = self.stage
        kept = stage.site.access_log = KeptRecords(self.reactor)
        records = kept.records
        rotation = stage.resource.rotation_of(BACKEND)
        assert rotation is not None
        rotation.assign((ONE, TWO))
        route = StreamRoute("shop.test", StreamSort.PASSTHROUGH, OWNER, (WeightedBackend(BACKEND),))
        connect: Any = self.connector.connect
        for why, outcome in (
            ("connection refused", Fault.UNREACHABLE),
            ("too many open files", Fault.NO_SOCKET),
        ):
            for endpoint in (ONE, TWO):
                self.connector.unreachable = {endpoint: why}
                tunnel = StreamTunnel(stage.site, connect, route, rotation, b"shop.test")
                down = self.reactor.connect(tunnel.downstream)
                self.reactor.pass_time(2)
                down.reset()
            tried = [record.attempts for record in records if len(record.attempts) > 1]
            records.clear()
            self.assertTrue(tried)
            for first, second in tried:
                self.assertEqual((first.outcome, second.outcome), (outcome.value, "200"))
                self.assertNotEqual(first.endpoint, second.endpoint)
                self.assertLess(second.ended, 1)
        failures = self.metrics.value("ingress_upstream_failures_total")
        self.connector.unreachable = dict.fromkeys((ONE, TWO), "too many open files")
        tunnel = StreamTunnel(stage.site, connect, route, rotation, b"shop.test")
        self.reactor.connect(tunnel.downstream)
        self.assertEqual([record.status for record in records], [503])
        self.assertEqual(self.metrics.value("ingress_upstream_failures_total"), failures)

    def test_reasons(self) -> None:
        """A tunnel that is broken off was reached, and is no failure, but its record says why; one that both sides ended says nothing."""
        stage = self.stage
        records = (kept := KeptRecords(self.reactor)).records
        stage.site.access_log = kept
        rotation = stage.resource.rotation_of(BACKEND)
        assert rotation is not None
        rotation.assign((ONE,))
        route = StreamRoute("shop.test", StreamSort.TCP, OWNER, (WeightedBackend(BACKEND),))
        connect: Any = self.connector.connect
        for end, why in (
            (self.finish, ""),
            (Peer.reset, "reset by the client"),
            (self.reset, "reset by the endpoint"),
            (self.rest, "nothing moved for too long"),
            (self.cut_off, "the process ends"),
        ):
            down = self.reactor.connect(StreamTunnel(stage.site, connect, route, rotation).downstream)
            down.say(b"x")
            end(down)
            (record,) = records
            self.assertEqual((record.status, record.cause, record.reason), (200, None, why))
            records.clear()

    def finish(self, down: Peer) -> None:
        """Have both sides end."""
        down.finish()
        self.upstream().finish()

    def reset(self, down: Peer) -> None:
        """Have the endpoint break off."""
        self.upstream().reset()

    def rest(self, down: Peer) -> None:
        """Have nothing move for longer than a stream may rest."""
        self.reactor.pass_time(Limits().stream_rest_seconds + 2)

    def cut_off(self, down: Peer) -> None:
        """End all connections, with the process."""
        self.stage.site.abort()
        self.reactor.settle()


SAID = bytes(range(200)) * 100
"""What one side has to say, and the other one takes slowly: a little each time before it would be cut."""


class EndTests(ProxyCase):
    """Tunnels of which one side has said all."""

    limits = Limits(stream_rest_seconds=30.0)

    def setUp(self) -> None:
        super().setUp()
        self.stage.site.access_log = KeptRecords(self.reactor)

    def ends(self, is_download: bool) -> tuple[Peer, Peer]:
        """Open a tunnel; return who will say all, and who will take it, nothing of it yet."""
        rotation = self.stage.resource.rotation_of(BACKEND)
        route = StreamRoute("shop.test", StreamSort.PASSTHROUGH, OWNER, (WeightedBackend(BACKEND),))
        connect: Any = self.connector.connect
        tunnel = StreamTunnel(self.stage.site, connect, route, rotation, b"shop.test")
        down = self.reactor.connect(tunnel.downstream)
        speaker, taker = (self.upstream(), down) if is_download else (down, self.upstream())
        taker.window = 0
        return speaker, taker

    def take_slowly(self, taker: Peer) -> None:
        """Take a little of what was said once in a while, for much longer than a tunnel may rest, and then all of it."""
        for _ in range(20):
            self.reactor.pass_time(LINGER_SECONDS - 5)
            self.assertFalse(taker.closed)
            taker.widen(100)
        taker.widen()
        self.assertEqual((taker.received, taker.saw_end, taker.saw_reset), (SAID, True, False))

    def test_taken_slowly(self) -> None:
        """Who takes the last bytes slowly gets all of them, and then a while to end its side; what ends then ends in order."""
        for is_download in (True, False):
            speaker, taker = self.ends(is_download)
            speaker.say(SAID)
            speaker.finish()
            self.take_slowly(taker)
            taker.say(b"late")
            self.assertEqual(speaker.received, b"late")
            self.reactor.pass_time(HALF_CLOSED_SECONDS - 2)
            self.assertFalse(taker.closed or speaker.closed)
            self.reactor.pass_time(4)
            for each in (speaker, taker):
                self.assertEqual((each.closed, each.saw_end, each.saw_reset), (True, True, False))

    def test_taken_slowly_at_the_end(self) -> None:
        """So does who takes them when nobody has more to say."""
        for is_download in (True, False):
            speaker, taker = self.ends(is_download)
            speaker.say(SAID)
            taker.finish()
            speaker.finish()
            self.assertTrue(speaker.closed)
            self.take_slowly(taker)
            self.assertTrue(taker.closed)

    def test_not_taken(self) -> None:
        """Who takes nothing is cut, whether its side has ended or not."""
        for is_download in (True, False):
            for has_ended in (True, False):
                speaker, taker = self.ends(is_download)
                speaker.say(SAID)
                if has_ended:
                    taker.finish()
                speaker.finish()
                self.reactor.pass_time(LINGER_SECONDS - 5)
                taker.widen(100)
                self.reactor.pass_time(HALF_CLOSED_SECONDS - LINGER_SECONDS)
                self.assertFalse(taker.closed)
                self.reactor.pass_time(2 * HALF_CLOSED_SECONDS)
                for each in (speaker, taker):
                    self.assertTrue(each.closed)
                self.assertTrue(taker.saw_reset)

    def test_taken_slowly_both_ways(self) -> None:
        """A tunnel that may rest for just so long, and of which nobody has ended, does not rest while something is taken."""
        speaker, taker = self.ends(is_download=True)
        speaker.say(SAID)
        for _ in range(10):
            self.reactor.pass_time(LINGER_SECONDS - 5)
            taker.widen(100)
        self.assertFalse(taker.closed)
        self.reactor.pass_time(95)
        self.assertTrue(taker.saw_reset)
