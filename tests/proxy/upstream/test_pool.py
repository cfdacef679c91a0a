"""Tests for ``ingress.proxy.upstream.pool``."""

from typing import Any

from twisted.internet.error import ConnectionLost
from twisted.python.failure import Failure

from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.proxy.contract.limits import MAX_UPSTREAM_IDLE, NAMED_SECONDS
from tests.fakes.transports import Peer
from tests.proxy.playing import GET, OK, ONE, TWO, ProxyCase, body_of


class PoolTests(ProxyCase):
    """Connections between exchanges."""

    def test_latest_first(self) -> None:
        """The connection that was idle for the shortest time is used first, so that others can go."""
        downs = [self.stage.open() for _ in range(3)]
        for down in downs:
            down.say(GET)
        self.assert_upstreams(3)
        for number in (2, 0, 1):
            self.upstream(number).say(OK)
            self.upstream(number).take()
        downs[0].say(GET)
        self.assertTrue(self.upstream(1).take())
        downs[1].say(GET)
        self.assertTrue(self.upstream(0).take())
        self.assert_upstreams(3)

    def test_idle_and_busy(self) -> None:
        """It is known at any time how many connections rest and how many are in use, however they end."""
        count = self.stage.pool.idle_and_busy
        downs = [self.stage.open() for _ in range(MAX_UPSTREAM_IDLE + 2)]
        for down in downs:
            down.say(GET)
        self.assertEqual(count(), (0, len(downs)))
        for peer in self.connector.peers[2:]:
            peer.say(OK)
        self.assertEqual(count(), (MAX_UPSTREAM_IDLE, 2))
        for peer in self.connector.peers[:2]:
            peer.say(OK)
        self.assertEqual(count(), (MAX_UPSTREAM_IDLE, 0))
        downs[0].say(GET)
        self.assertEqual(count(), (MAX_UPSTREAM_IDLE - 1, 1))
        self.connector.peers[0].finish()
        self.assertEqual(count(), (MAX_UPSTREAM_IDLE - 2, 1))
        self.stage.pool.close()
        self.reactor.settle()
        self.assertEqual(count(), (0, 1))

    def test_endpoints_are_apart(self) -> None:
        """A connection is only used for its own endpoint."""
        self.stage.publish((ONE, TWO))
        down = self.stage.open()
        for _ in range(4):
            down.say(GET)
            self.upstream().say(OK)
            for peer in self.connector.peers:
                peer.take()
        self.assertEqual(self.connector.asked, [ONE, TWO])

    def test_most_idle(self) -> None:
        """Only so many connections to an endpoint are kept idle."""
        downs = [self.stage.open() for _ in range(MAX_UPSTREAM_IDLE + 5)]
        for down in downs:
            down.say(GET)
        for peer in self.connector.peers:
            peer.say(OK)
        self.assertEqual(sum(not peer.closed for peer in self.connector.peers), MAX_UPSTREAM_IDLE)
        self.assertEqual(len(self.metrics.ended), MAX_UPSTREAM_IDLE + 5)

    def test_left(self) -> None:
        """What is made for who has left is for the next who asks: who comes and leaves has one made, not many."""
        self.connector.is_slow = True
        for _ in range(20):
            down = self.stage.open()
            down.say(GET)
            down.reset()
        stays, other = self.stage.open(), self.stage.open()
        stays.say(GET)
        other.say(GET)
        self.assertEqual(self.connector.asked, [ONE, ONE])
        self.connector.let_through()
        for number in (0, 1):
            self.upstream(number).say(OK)
        self.assertEqual([body_of(each.take()) for each in (stays, other)], [b"ok", b"ok"])
        self.assertEqual(repr(self.stage.pool), "<UpstreamPool 0 busy, 2 idle, 0 connecting>")

    def test_left_in_vain(self) -> None:
        """One that cannot be made is forgotten, whoever waited for it, and so is one that nobody waits for."""
        self.connector.is_slow = True
        gone, stays = self.stage.open(), self.stage.open()
        gone.say(GET)
        gone.reset()
        stays.say(GET)
        self.connector.refuse("connection refused")
        self.assert_status(stays.take(), 502)
        gone = self.stage.open()
        gone.say(GET)
        gone.reset()
        self.connector.refuse("connection refused")
        self.assertEqual(repr(self.stage.pool), "<UpstreamPool 0 busy, 0 idle, 0 connecting>")
        self.assertEqual(list(self.stage.pool.endpoints), [])

    def test_repr(self) -> None:
        """The pool shows how many connections it has, and what they do."""
        self.stage.open().say(GET)
        self.assertEqual(repr(self.stage.pool), "<UpstreamPool 1 busy, 0 idle, 0 connecting>")
        self.assertEqual(
            repr(self.upstream().protocol),
            "<UpstreamConnection 10.0.0.1:8000 <Exchange b'GET' b'shop.test' b'/' awaiting>>",
        )
        self.upstream().say(OK)
        self.assertEqual(repr(self.stage.pool), "<UpstreamPool 0 busy, 1 idle, 0 connecting>")
        self.assertEqual(repr(self.upstream().protocol), "<UpstreamConnection 10.0.0.1:8000 idle>")
        self.connector.is_slow = True
        self.upstream().reset()
        down = self.stage.open()
        down.say(GET)
        self.assertEqual(repr(self.stage.pool), "<UpstreamPool 0 busy, 0 idle, 1 connecting>")
        self.assertEqual(
            repr(down.protocol),
            "<DownstreamChannel 198.51.100.7 exchange <Exchange b'GET' b'shop.test' b'/' connecting>>",
        )


class TrustTests(ProxyCase):
    """Whether a POST may go out on a kept connection."""

    def leave_idle(self) -> None:
        """Leave one connection idle for three seconds, and another one for a moment."""
        for down in (self.stage.open(), self.stage.open()):
            down.say(GET)
        for peer in [each for each in self.connector.peers if each.take() and not each.closed]:
            self.reactor.pass_time(3)
            peer.say(OK)

    def use_both(self) -> None:
        """Ask on both connections at once, so that neither is idle for long."""
        for down in (self.stage.open(), self.stage.open()):
            down.say(GET)
        for peer in [each for each in self.connector.peers if each.take() and not each.closed]:
            peer.say(OK)

    def connects_of_a_post(self, *, leaving_idle: bool = True) -> int:
        """How many connections are made for a POST."""
        if leaving_idle:
            self.leave_idle()
        before = len(self.connector.asked)
        self.stage.open().say(
            GET.replace(b"GET", b"POST").replace(b"\r\n\r\n", b"\r\nContent-Length: 0\r\n\r\n")
        )
        for peer in [each for each in self.connector.peers if each.take() and not each.closed]:
            peer.say(OK)
        return len(self.connector.asked) - before

    def test_distrust(self) -> None:
        """Once upstream ended a kept connection under a request, no POST is trusted to one for a minute."""
        self.assertEqual(self.connects_of_a_post(), 0)
        self.stage.open().say(GET)
        [dying] = [each for each in self.connector.peers if each.received]
        dying.reset()
        self.upstream().take()
        self.upstream().say(OK)
        self.assertEqual(self.connects_of_a_post(), 1)
        self.reactor.pass_time(30)
        self.assertEqual(self.connects_of_a_post(), 1)
        self.reactor.pass_time(30)
        self.assertEqual(self.connects_of_a_post(), 0)

    def test_shown(self) -> None:
        """That upstream keeps connections it has shown for a minute, though all of them are in use meanwhile."""
        self.assertEqual(self.connects_of_a_post(), 0)
        for seconds, connects in ((29, 0), (29, 0), (3, 1)):
            self.reactor.pass_time(seconds)
            self.use_both()
            self.assertEqual(self.connects_of_a_post(leaving_idle=False), connects, seconds)


NAMED = Endpoint("db.example.org", 8000)


class NamedTests(ProxyCase):
    """Connections to a name, which may lead elsewhere later."""

    def ask(self, down: Peer) -> None:
        """Ask twelve times, so often that no connection is idle for long."""
        for _ in range(12):
            down.say(GET)
            self.upstream().say(OK)
            self.reactor.pass_time(NAMED_SECONDS / 4)

    def test_busy(self) -> None:
        """One that is never idle for long ends all the same, and another one is made to where the name leads now."""
        self.stage.publish((NAMED,))
        self.ask(self.stage.open())
        self.assertEqual(self.connector.asked, [NAMED] * 3)
        self.assertEqual([peer.closed for peer in self.connector.peers], [True, True, True])
        self.assertEqual([status for _, status, _ in self.metrics.ended], [200] * 12)

    def test_addresses_are_kept(self) -> None:
        """One to an address is used for as long as it is."""
        self.ask(self.stage.open())
        self.assert_upstreams(1)

    def test_under_way(self) -> None:
        """What is under way is not cut, and nothing follows it."""
        self.stage.publish((NAMED,))
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK[:-1])
        self.reactor.pass_time(2 * NAMED_SECONDS - 5)
        self.upstream().say(OK[-1:])
        self.assertEqual(body_of(down.take()), b"ok")
        self.reactor.settle()
        self.assertTrue(self.upstream().closed)
        down.say(GET)
        self.assert_upstreams(2)

    def test_none_left(self) -> None:
        """Once all are gone, nobody is looked after."""
        self.stage.publish((NAMED,))
        watched = len(self.stage.deadlines.watched)
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK)
        self.assertEqual(len(self.stage.deadlines.watched), watched + 3)
        self.upstream().reset()
        down.reset()
        self.assertEqual(len(self.stage.deadlines.watched), watched)


class Dead:
    """The transport of a connection whose peer has left before anybody was told of it."""

    tls = None

    def setTcpNoDelay(self, enabled: bool) -> None:
        """Fail, as some systems do then."""
        raise OSError("invalid argument")

    def abortConnection(self) -> None:
        """Nothing is left to do."""


class NeverMadeTests(ProxyCase):
    """Connections that end while they are made."""

    def test_lost_at_once(self) -> None:
        """One that is lost before it could be used was never made: who waits hears of it, and nothing is kept."""
        for endpoint in (ONE, ONE._replace(link_settings=LinkSettings(is_http2=True))):
            self.stage.publish((endpoint,))
            self.connector.is_slow = True
            down = self.stage.open()
            down.say(GET)
            [(_, protocol, _)] = self.connector.waiting
            self.connector.waiting.clear()
            transport: Any = Dead()
            protocol.makeConnection(transport)
            self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
            protocol.connectionLost(Failure(ConnectionLost()))
            self.assert_status(down.take(), 502)
            self.assertEqual((list(self.stage.pool.endpoints), self.stage.pool.sockets), ([], 0))
            self.assertEqual(self.metrics.value("ingress_upstream_connections_opened_total"), 0)
