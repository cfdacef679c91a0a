"""Tests for ``ingress.proxy.pool``."""

from ingress.proxy.limits import MAX_UPSTREAM_IDLE
from tests.proxy.playing import GET, OK, ONE, TWO, ProxyCase


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
