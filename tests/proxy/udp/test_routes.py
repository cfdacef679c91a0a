"""Sessions of UDP by routes with several backends, by routes that change, and datagrams that have no endpoint."""

from __future__ import annotations

import errno
from collections import Counter
from random import Random

from twisted.internet.defer import Deferred

from ingress.model.network.streams import StreamSort
from ingress.model.serving.limits import Limits, StreamTries
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.model.upstream.upstream_tls import DATAGRAMS
from ingress.proxy.udp.port import TELL_SECONDS, UdpPort
from ingress.routing.streams import StreamRoute, StreamTable
from ingress.routing.table import RouteTable
from ingress.routing.variants import WeightedBackend
from tests.fakes.datagrams import FakeSocket, error_of
from tests.proxy.playing import ONE, OWNER, THREE, TWO
from tests.proxy.udp.udp_case import DNS, REFUSED, UdpCase

OTHER = BackendReference("shop", "other", 53, protocol=DATAGRAMS)
GONE = BackendReference("shop", "gone", 53, protocol=DATAGRAMS)
NO_ENDPOINT = "the backend has no endpoint"


class WeightTests(UdpCase):
    """A route with several backends."""

    limits = Limits(stream_responses=1000)

    def share(self, *weighted: tuple[BackendReference, int], **endpoints: tuple[Endpoint, ...]) -> None:
        """Have the port lead to backends by weight, of which these have other *endpoints* than usual, by name."""
        usual = {"dns": (ONE,), "other": (TWO,), "gone": ()} | endpoints
        route = StreamRoute("", StreamSort.UDP, OWNER, tuple(WeightedBackend(*one) for one in weighted))
        backends = {one: BackendState(usual[one.name]) for one, _ in weighted}
        self.stage.resource.publish(RouteTable(), backends, StreamTable((route,)))

    def test_shares(self) -> None:
        """Sessions are shared by weight, each datagram of one stays with its endpoint, and none goes where the weight is none."""
        self.stage.resource._random = Random(7).random
        self.share((DNS, 3), (OTHER, 1))
        clients = [self.stranger() for _ in range(400)]
        for client in clients:
            self.say(b"1", client)
        found = Counter(self.went_to)
        self.assertEqual(set(found), {ONE.address, TWO.address})
        self.assertTrue(270 <= found[ONE.address] <= 330, found)
        for client in clients:
            self.say(b"2", client)
        self.assertEqual(len(self.sockets.opened), 400)
        self.assertTrue(all(sock.sent == [b"1", b"2"] for _, _, sock in self.sockets.opened))

    def test_missing_share(self) -> None:
        """A backend without endpoints keeps its share, of which each datagram is dropped."""
        self.stage.resource._random = Random(7).random
        self.share((DNS, 1), (GONE, 1))
        for _ in range(400):
            self.say(b"1", self.stranger())
        dropped = self.dropped("no-endpoint")
        self.assertTrue(160 <= dropped <= 240, dropped)
        self.assertEqual(len(self.sockets.opened), 400 - dropped)

    def test_backend_leaves_the_route(self) -> None:
        """A session whose backend the route does not name any more begins anew; whatever else changes, it goes on."""
        self.share((DNS, 1))
        self.say(b"1")
        self.answer(b"a")
        self.share((DNS, 5), (OTHER, 1))
        self.say(b"2")
        self.assertEqual((self.at().sent, self.ended), ([b"1", b"2"], []))
        self.share((OTHER, 1))
        self.say(b"3")
        self.assertEqual(self.ended, [(200, "the endpoint has left")])
        self.assertEqual((self.went_to, self.at().sent), ([ONE.address, TWO.address], [b"3"]))

    def test_endpoints_of_another_backend(self) -> None:
        """The endpoints of the other backend may come and go: who has a session with this one does not notice."""
        self.share((DNS, 1), (OTHER, 1_000_000))
        self.stage.resource._random = lambda: 0.0
        self.say(b"1")
        self.assertEqual(self.went_to, [ONE.address])
        self.stage.resource._random = lambda: 0.999
        for other in ((), (THREE,), (TWO, THREE)):
            self.share((DNS, 1), (OTHER, 1_000_000), other=other)
            self.say(b"2")
        self.assertEqual((self.went_to, self.ended), ([ONE.address], []))

    def test_route_goes(self) -> None:
        """Without route datagrams are dropped, and with the next one the session goes on that had begun before."""
        self.share((DNS, 1))
        self.say(b"1")
        self.stage.resource.publish(RouteTable(), {}, StreamTable((StreamRoute("", StreamSort.UDP, None),)))
        self.say(b"2")
        self.assertEqual((self.dropped("unserved"), self.at().sent), (1, [b"1"]))
        self.share((DNS, 1))
        self.say(b"3")
        self.assertEqual((self.at().sent, len(self.sockets.opened)), ([b"1", b"3"], 1))


class NoEndpointTests(UdpCase):
    """Lines about datagrams that have no endpoint."""

    def setUp(self) -> None:
        super().setUp()
        self.lead()

    def test_one_line_a_second(self) -> None:
        """The first is told at once, a flood in one line a second with how many there were, and silence in none."""
        for _ in range(1000):
            self.say(b"123", self.stranger())
        self.assertEqual(self.ended, [(503, NO_ENDPOINT)])
        self.reactor.advance(TELL_SECONDS)
        self.assertEqual(self.ended[1:], [(503, f"{NO_ENDPOINT} for 999 datagrams")])
        self.assertEqual([one.bytes_received for one in self.kept.records], [3, 2997])
        self.assertEqual((self.kept.records[1].backend, self.dropped("no-endpoint")), (DNS, 1000))
        self.reactor.advance(TELL_SECONDS)
        self.assertEqual(len(self.ended), 2)
        self.say()
        self.assertEqual(self.ended[2:], [(503, NO_ENDPOINT)])

    def test_told_at_the_end(self) -> None:
        """What no line was about yet is told when the port is closed, and no timer is left."""
        self.say()
        self.say()
        self.say()
        self.successResultOf(self.close())
        self.assertEqual(self.ended, [(503, NO_ENDPOINT), (503, f"{NO_ENDPOINT} for 2 datagrams")])


class TriesTests(UdpCase):
    """How often another endpoint is tried."""

    def refuse(self) -> None:
        """Have the endpoint of the last session refuse."""
        self.answer(REFUSED)

    def test_none(self) -> None:
        """Where no other is to be tried the first that refuses is the end."""
        self.limit(stream_tries=StreamTries(is_on=False))
        self.say()
        self.refuse()
        self.assertEqual(([status for status, _ in self.ended], len(self.went_to)), ([502], 1))

    def test_number(self) -> None:
        """As many as are asked for, or as there are."""
        self.lead(ONE, TWO, THREE)
        for most, tried in ((1, 1), (2, 2), (0, 3), (9, 3)):
            self.limit(stream_tries=StreamTries(most=most))
            self.sockets.opened.clear()
            self.lead()
            self.lead(ONE, TWO, THREE)
            self.say()
            while len(self.sessions):
                self.refuse()
            self.assertEqual(len(self.went_to), tried, most)
            self.reactor.pass_time(100)

    def test_time(self) -> None:
        """After so many seconds no other is tried."""
        for seconds, tried in ((5.0, 1), (7.0, 2), (0.0, 2)):
            self.limit(stream_tries=StreamTries(seconds=seconds))
            self.sockets.opened.clear()
            self.say()
            self.reactor.pass_time(6)
            while len(self.sessions):
                self.refuse()
            self.assertEqual(len(self.went_to), tried, seconds)
            self.reactor.pass_time(100)


class ReplicaTests(UdpCase):
    """What comes from other replicas."""

    def test_port_of_a_replica(self) -> None:
        """A datagram with a port of ours at another replica as its source is dropped: whoever is there would pass on its answer."""
        self.sessions.replicas = frozenset({"10.9.9.7", "fd00::7"})
        self.say(b"x", ("10.9.9.7", 53))
        self.assertEqual((self.dropped("loop"), self.sockets.opened), (1, []))
        self.say(b"x", ("10.9.9.7", 54))
        self.say(b"x", ("10.9.9.6", 53))
        self.assertEqual((self.dropped("loop"), len(self.sockets.opened)), (1, 2))

    def test_endpoint_at_a_replica(self) -> None:
        """An endpoint that is a port of ours at another replica gets nothing, for it would come back; another one is tried."""
        replica, other_port = Endpoint("10.9.9.7", 53), Endpoint("10.9.9.7", 54)
        self.sessions.replicas = frozenset({"10.9.9.7"})
        self.lead(replica)
        self.say(b"x")
        self.assertEqual(
            (self.ended, self.sockets.opened),
            ([(502, "the endpoint is a port of another replica of this controller")], []),
        )
        self.lead(replica, TWO, other_port)
        for _ in range(6):
            self.say(b"x", self.stranger())
        self.assertEqual(set(self.went_to), {TWO.address, other_port.address})
        self.assertTrue(all(port != 53 for _, port, _ in self.sockets.opened))
        self.assertEqual(len(self.sockets.opened), 6)

    def test_ports_of_both_families(self) -> None:
        """A port that is open at two addresses is ours until it is closed at both."""
        second = UdpPort(FakeSocket(), self.stage.site, self.sessions)  # type: ignore[arg-type]
        second.start()
        self.successResultOf(Deferred.fromCoroutine(second.close()))
        self.say(b"x", ("10.9.9.9", 53))
        self.assertEqual((self.dropped("loop"), dict(self.sessions.ports)), (1, {53: 1}))


class ExtremeTests(UdpCase):
    """Datagrams of all lengths, and what the network says of them."""

    limits = Limits(stream_responses=10)

    def test_lengths(self) -> None:
        """Nothing and all that UDP has go both ways, and are kept for another endpoint."""
        for length in (0, 65_507):
            datagram = b"x" * length
            self.sockets.opened.clear()
            client = self.stranger()
            self.say(datagram, client)
            self.answer(REFUSED)
            self.assertEqual([sock.sent for _, _, sock in self.sockets.opened], [[datagram]] * 2)
            self.answer(datagram)
            self.assertEqual(self.answers.pop(), (datagram, client))
            self.reactor.pass_time(100)

    def test_icmp(self) -> None:
        """Whatever the network says of an endpoint, the session ends or moves, and leaves nothing."""
        for name in (
            "ECONNREFUSED",
            "EHOSTUNREACH",
            "ENETUNREACH",
            "EPROTO",
            "EOPNOTSUPP",
            "ENOPROTOOPT",
            "EHOSTDOWN",
        ):
            self.sockets.opened.clear()
            self.say(b"x", self.stranger())
            for _ in range(3):
                if len(self.sessions):
                    self.answer(error_of(getattr(errno, name)))
            self.assertEqual((len(self.sessions), self.ended[-1][0]), (0, 502), name)
            self.reactor.pass_time(1000)
