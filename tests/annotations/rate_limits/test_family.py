"""Limits on rates and connections: from annotation to 503."""

import gc
from datetime import UTC, datetime
from weakref import WeakValueDictionary

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.access.address_ranges import parse_ranges
from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.rate_limits.family import (
    RATE_LIMITS,
    Clients,
    ConnectionLimit,
    LimitSettings,
    RequestLimit,
    UnderWay,
    parse_limit,
    parse_multiplier,
    parse_prefix,
    parse_status,
)
from ingress.filters import Filter, FilterSpec, Hook, Phase, Scope, used_hooks
from ingress.proxy.dispatch.site import SessionRules
from ingress.proxy.downstream.h2_session import DownstreamSession
from ingress.translate.options import TranslateOptions
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.fakes.filter_parts import FakeFacts, FakeServices
from tests.fakes.http2.client import Http2Client, MemoryWire
from tests.fakes.http2.frames import RST_STREAM, frame
from tests.fakes.records import record_of
from tests.fakes.transports import Peer
from tests.operator_settings import operator_settings
from tests.proxy.exchange.test_tunnel import ASK, SWITCH
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import GET, OK, ONE, ProxyCase
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress
from tests.workers.sent import sent

OWNER = "Ingress demo/a"


def snapshot(operators: LimitSettings = RATE_LIMITS.settings, **written: str) -> Snapshot:
    """Translate an Ingress with these annotations, and two paths."""
    options = TranslateOptions(operators=operator_settings((RATE_LIMITS, operators)))
    objects = state_of([ingress("a", "/", "/b", **written), ingress("bb", "/c")])
    return translate(objects, options, datetime.now(UTC))


def filters(**written: str) -> tuple[FilterSpec, ...]:
    """Return the filters of its first path."""
    return next(route.filters for route in snapshot(RATE_LIMITS.settings, **written).table.routes)


class ParsingTests(SynchronousTestCase):
    """Numbers."""

    def test_numbers(self) -> None:
        """Whole numbers without a sign, 0 included."""
        for text, number in (("0", 0), ("10", 10), (" 200 ", 200), ("999999999", 999_999_999), ("007", 7)):
            self.assertEqual((parse_limit(text), parse_multiplier(text)), (number, number))
        self.assertEqual((parse_status("429"), parse_prefix("56")), (429, 56))

    def test_refused(self) -> None:
        """Nothing else, and no status or prefix that is none."""
        hostile = [
            "",
            "-1",
            "+1",
            "10.5",
            "1e9",
            "10r/s",
            "9" * 10,
            "9" * 262_144,
            "٣",
            "1\x00",
            "${rps}",
            "{{ x }}",
            "nan",
        ]
        for parse, texts in (
            (parse_limit, hostile),
            (parse_multiplier, hostile),
            (parse_status, [*hostile, "200", "399", "600"]),
            (parse_prefix, [*hostile, "0", "129"]),
        ):
            for text in texts:
                with self.assertRaises(ValueRefused, msg=text[:20]):
                    parse(text)


class TranslationTests(SynchronousTestCase):
    """From object to filters."""

    def test_limits(self) -> None:
        """Rates stand in one filter, connections in another behind it; all paths of the Ingress share both."""
        found = snapshot(
            RATE_LIMITS.settings,
            limit_rps="5",
            limit_rpm="100",
            limit_connections="7",
            limit_burst_multiplier="3",
            limit_whitelist="10.0.0.0/8",
        )
        clients = Clients(exempt=parse_ranges("10.0.0.0/8"))
        expected = (
            RequestLimit(OWNER, 5, 100, 3, clients=clients),
            ConnectionLimit(OWNER, 7, clients=clients),
        )
        self.assertEqual([route.filters for route in found.table.routes], [expected, expected, ()])

    def test_nothing_to_limit(self) -> None:
        """0, and what only goes with limits, asks for no filter."""
        for written in (
            {"limit_rps": "0"},
            {"limit_burst_multiplier": "3", "limit_whitelist": "10.0.0.0/8"},
        ):
            self.assertEqual(filters(**written), ())

    def test_refused(self) -> None:
        """A limit that cannot be read is none, and told; exempt addresses that cannot be read exempt nobody."""
        found = snapshot(
            RATE_LIMITS.settings, limit_rps="10.5", limit_rpm="60", limit_whitelist="10.0.0.0/8,x"
        )
        self.assertEqual(found.table.routes[0].filters, (RequestLimit(OWNER, 0, 60),))
        told = sorted(one.message for one in found.problems if "limit-" in one.field)
        self.assertEqual(len(told), 2)
        self.assertIn('limit-rps: "10.5" is not a whole number', told[0])
        self.assertIn("there is no such limit", told[0])
        self.assertIn("nobody is exempt", told[1])

    def test_two_lists(self) -> None:
        """Of two lists that differ the one by the present name counts, and the other is told of."""
        found = snapshot(
            RATE_LIMITS.settings, limit_rps="5", limit_allowlist="10.0.0.0/8", limit_whitelist="11.0.0.0/8"
        )
        clients = Clients(exempt=parse_ranges("10.0.0.0/8"))
        self.assertEqual(found.table.routes[0].filters, (RequestLimit(OWNER, 5, clients=clients),))
        (problem,) = [one for one in found.problems if "limit-" in one.field]
        self.assertIn("limit-whitelist: counts for nothing beside limit-allowlist", problem.message)

    def test_operators(self) -> None:
        """Statuses and the prefix of IPv6 are the operator's."""
        operators = LimitSettings(request_status=429, connection_status=420, ipv6_prefix=48)
        found = snapshot(operators, limit_rps="5", limit_connections="7")
        clients = Clients(48)
        self.assertEqual(
            found.table.routes[0].filters,
            (RequestLimit(OWNER, 5, status=429, clients=clients), ConnectionLimit(OWNER, 7, 420, clients)),
        )
        self.assertEqual(found.table.routes[2].filters, ())

    def test_in_bytes(self) -> None:
        """A snapshot carries limits to another process."""
        found = snapshot(RATE_LIMITS.settings, limit_rps="5", limit_connections="7", limit_whitelist="::1")
        read = sent(found)
        self.assertEqual(
            [one.filters for one in read.table.routes], [one.filters for one in found.table.routes]
        )


class SpecTests(SynchronousTestCase):
    """Specs that ``test_specs`` has no row for, and rates as nginx has them."""

    def test_connections(self) -> None:
        """A limit of connections is told of requests and of their end."""
        live = ConnectionLimit(OWNER, 1).make(FakeServices())
        self.assertEqual((ConnectionLimit.phase, used_hooks(live)), (Phase.LIMITS, {Hook.REQUEST, Hook.END}))

    def test_rates(self) -> None:
        """By the minute, nginx leaves out what is less than a thousandth of a request a second."""
        rates = RequestLimit(OWNER, 10, 100, 2).rates_of(1)
        assert rates.by_second is not None and rates.by_minute is not None
        self.assertEqual((rates.by_second.per_second, rates.by_second.burst), (10_000, 20_000))
        self.assertEqual((rates.by_minute.per_second, rates.by_minute.burst), (1666, 200_000))
        largest = RequestLimit(OWNER, 999_999_999, 0, 999_999_999).rates_of(1).by_second
        assert largest is not None
        self.assertLess(largest.burst, 1 << 48)


def taken(live: Filter, client: bytes, count: int = 20) -> int:
    """Return how many of *count* requests of *client* pass."""
    return sum(live.on_request(FakeFacts(client=client)) is None for _ in range(count))


class ClientTests(SynchronousTestCase):
    """Who counts as one."""

    def test_addresses(self) -> None:
        """IPv4 addresses count each, also inside of IPv6; of IPv6 the network; an exempt one not at all."""
        for spec in (
            RequestLimit(OWNER, 1, multiplier=2),
            RequestLimit(
                OWNER, 1, multiplier=2, clients=Clients(exempt=parse_ranges("203.0.113.0/24,2001:db9::/32"))
            ),
        ):
            live = spec.make(FakeServices())
            self.assertEqual(taken(live, b"192.0.2.1"), 3)
            self.assertEqual(taken(live, b"192.0.2.2"), 3)
            self.assertEqual(taken(live, b"::ffff:192.0.2.2"), 0)
            self.assertEqual(taken(live, b"2001:db8:0:1::1"), 3)
            self.assertEqual(taken(live, b"2001:db8:0:1:ffff:ffff:ffff:ffff"), 0)
            self.assertEqual(taken(live, b"2001:db8:0:2::1"), 3)
            self.assertEqual(taken(live, b"unknown"), 3)
            exempt = 20 if spec.clients.exempt else 3
            self.assertEqual(taken(live, b"203.0.113.9"), exempt)
            self.assertEqual(taken(live, b"2001:db9::9"), exempt)

    def test_whole_network(self) -> None:
        """All addresses of one /64 are one client: a flood from there has one bucket."""
        services = FakeServices()
        live = RequestLimit(OWNER, 1).make(services)
        passed = sum(taken(live, b"2001:db8::%x:%x" % (n >> 8, n & 255), 1) for n in range(5000))
        self.assertEqual(passed, 6)

    def test_prefix(self) -> None:
        """The operator may have more or fewer bits count."""
        live = RequestLimit(OWNER, 1, multiplier=2, clients=Clients(48)).make(FakeServices())
        self.assertEqual(taken(live, b"2001:db8:0:1::1") + taken(live, b"2001:db8:0:2::1"), 3)
        live = RequestLimit(OWNER, 1, multiplier=2, clients=Clients(128)).make(FakeServices())
        self.assertEqual(taken(live, b"2001:db8::1") + taken(live, b"2001:db8::2"), 6)


class ReplicaTests(SynchronousTestCase):
    """Limits that replicas share."""

    def test_rates(self) -> None:
        """Each replica has its part of rate and burst; when others come or go, counts stay and the part is another one."""
        services = FakeServices()
        live = RequestLimit(OWNER, 12, multiplier=2).make(services)
        services.replicas.count = 3
        self.assertEqual(taken(live, b"192.0.2.1"), 9)
        services.clock.clock.advance(0.25)
        self.assertEqual(taken(live, b"192.0.2.1"), 1)
        services.replicas.count = 1
        self.assertEqual(taken(live, b"192.0.2.1"), 16)
        services.replicas.count = 3
        self.assertEqual(taken(live, b"192.0.2.1"), 0)

    def test_connections(self) -> None:
        """Of connections each has its part, rounded up."""
        services = FakeServices()
        live = ConnectionLimit(OWNER, 4).make(services)
        services.replicas.count = 3
        self.assertEqual(taken(live, b"192.0.2.1"), 2)
        services.replicas.count = 1
        self.assertEqual(taken(live, b"192.0.2.1"), 2)
        services.replicas.count = 1000
        self.assertEqual(taken(live, b"192.0.2.2"), 1)

    def test_many(self) -> None:
        """However many share a small limit, a bucket drains."""
        rates = RequestLimit(OWNER, 0, 1).rates_of(1000)
        assert rates.by_minute is not None
        self.assertEqual(rates.by_minute.per_second, 1)


class ConnectionTests(SynchronousTestCase):
    """Requests under way."""

    def test_counted_once(self) -> None:
        """A request counts from its beginning to its end; one that was refused never counted; nothing is left of who has none."""
        services = FakeServices()
        live = ConnectionLimit(OWNER, 2).make(services)
        requests = [FakeFacts() for _ in range(4)]
        replies = [live.on_request(one) for one in requests]
        self.assertEqual([one is None for one in replies], [True, True, False, False])
        for one in requests[1:]:
            live.on_end(one, record_of())
            live.on_end(one, record_of())
        self.assertEqual([live.on_request(one) is None for one in requests[1:]], [True, False, False])
        for one in requests:
            live.on_end(one, record_of())
        zones: WeakValueDictionary[str, UnderWay] = services.state(Scope.WORKER, "zones", WeakValueDictionary)
        self.assertEqual([zone.counts for zone in zones.values()], [{}])

    def test_edit(self) -> None:
        """A limit that is edited knows who is under way, and those end where they were counted."""
        services = FakeServices()
        old = ConnectionLimit(OWNER, 1).make(services)
        first, second, third = FakeFacts(), FakeFacts(), FakeFacts()
        self.assertIsNone(old.on_request(first))
        new = ConnectionLimit(OWNER, 2).make(services)
        self.assertEqual([new.on_request(one) is None for one in (second, third)], [True, False])
        old.on_end(first, record_of())
        self.assertIsNone(new.on_request(third))

    def test_memory_returns(self) -> None:
        """Once a limit is gone nothing is left of it."""
        services = FakeServices()
        live = ConnectionLimit(OWNER, 1).make(services)
        live.on_request(FakeFacts())
        zones: WeakValueDictionary[str, UnderWay] = services.state(Scope.WORKER, "zones", WeakValueDictionary)
        self.assertEqual(len(zones), 1)
        del live
        gc.collect()
        self.assertEqual(len(zones), 0)


class RatesTests(FilterCase):
    """Rates in the proxy, over HTTP/1.1."""

    def ask(self) -> int:
        """Ask for the page, and return the status."""
        client = self.get()
        if not client.heard().status:
            self.upstream().say(OK)
        return client.heard().status

    def limit(self, spec: FilterSpec) -> None:
        """Put the limit before the route."""
        self.stage.publish((ONE,), filters=(spec,))

    def test_beyond(self) -> None:
        """The burst passes, what is beyond is 503 and reaches no endpoint; time lets more pass; the metrics count."""
        self.limit(RequestLimit(OWNER, 1, multiplier=2))
        self.assertEqual([self.ask() for _ in range(5)], [200, 200, 200, 503, 503])
        self.assertEqual([len(one.attempts) for one in self.metrics.records], [1, 1, 1, 0, 0])
        self.reactor.pass_time(2)
        self.assertEqual([self.ask() for _ in range(3)], [200, 200, 503])
        self.assertEqual(
            self.metrics.value("ingress_filter_events_total", filter="rate-limit", event="refused"), 3
        )

    def test_edits(self) -> None:
        """From 1 to 1000 and back: whoever has used up the old limit has used that up of the new one."""
        self.limit(RequestLimit(OWNER, 1, multiplier=2))
        for _ in range(4):
            self.ask()
        self.limit(RequestLimit(OWNER, 1000, multiplier=2))
        self.assertEqual([self.ask() for _ in range(3)], [200] * 3)
        self.limit(RequestLimit(OWNER, 1, multiplier=2))
        self.assertEqual([self.ask() for _ in range(2)], [503] * 2)

    def test_made_anew(self) -> None:
        """An Ingress that goes and comes again within a moment has its counts; others never had them."""
        self.limit(RequestLimit(OWNER, 1, multiplier=1))
        self.assertEqual([self.ask() for _ in range(3)], [200, 200, 503])
        self.stage.publish((ONE,))
        self.assertEqual(self.ask(), 200)
        self.limit(RequestLimit(OWNER, 1, multiplier=1))
        self.assertEqual(self.ask(), 503)
        self.limit(RequestLimit("Ingress demo/other", 1, multiplier=1))
        self.assertEqual(self.ask(), 200)


class RatesOverHttp2Tests(RatesTests):
    """The same over HTTP/2."""

    is_http2 = True


class UnderWayTests(ProxyCase):
    """Connections in the proxy."""

    def setUp(self) -> None:
        super().setUp()
        self.clients: list[Peer] = []
        self.stage.publish((ONE,), filters=(ConnectionLimit(OWNER, 2),))

    def ask(self) -> int:
        """Ask for the page, and return the status; 0 while it is waited for."""
        client = self.stage.open()
        client.say(GET)
        answer = client.take()
        self.clients.append(client)
        return int(answer[9:12] or b"0")

    def test_whatever_happens(self) -> None:
        """However a request ends, by its answer, a failure, or the client's leave amid the body, another may come in its place."""
        self.assertEqual([self.ask() for _ in range(3)], [0, 0, 503])
        self.upstream(0).say(OK)
        self.assertEqual([self.ask() for _ in range(2)], [0, 503])
        self.clients[1].reset()
        self.assertEqual([self.ask() for _ in range(2)], [0, 503])
        for peer in self.connector.peers:
            peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        self.assertEqual(self.ask(), 503)
        for client in self.clients:
            client.reset()
        self.assertEqual([self.ask() for _ in range(3)], [0, 0, 503])
        self.upstream().reset()
        self.assertEqual(self.ask(), 0)

    def test_web_sockets(self) -> None:
        """A WebSocket counts for as long as it is open, be it hours."""
        down = self.stage.open()
        down.say(ASK)
        self.upstream().say(SWITCH)
        self.reactor.pass_time(7200)
        self.assertEqual([self.ask() for _ in range(2)], [0, 503])
        down.finish()
        self.upstream(0).finish()
        self.assertEqual([self.ask() for _ in range(2)], [0, 503])

    def test_limit_that_goes(self) -> None:
        """Requests that began under a limit end well when it is gone, or is another."""
        self.assertEqual([self.ask() for _ in range(2)], [0, 0])
        self.stage.publish((ONE,), filters=(ConnectionLimit(OWNER, 3),))
        self.assertEqual([self.ask() for _ in range(2)], [0, 503])
        self.stage.publish((ONE,))
        self.upstream(0).say(OK)
        self.stage.publish((ONE,), filters=(ConnectionLimit(OWNER, 3),))
        self.assertEqual([self.ask() for _ in range(2)], [0, 503])

    def test_streams(self) -> None:
        """Each stream of HTTP/2 is a request under way, and so is one less that is reset."""
        self.stage.site.sessions = SessionRules(DownstreamSession, by_prior_knowledge=True)
        client = Http2Client(MemoryWire(self.reactor, self.stage.open()))
        client.begin()
        client.send(*(client.request(stream) for stream in (1, 3, 5)))
        client.look()
        self.assertEqual([client.statuses(stream) for stream in (1, 3, 5)], [[], [], [503]])
        client.send(frame(RST_STREAM, b"\0\0\0\x08", 0, 1), client.request(7), client.request(9))
        client.look()
        self.assertEqual([client.statuses(stream) for stream in (3, 7, 9)], [[], [], [503]])
