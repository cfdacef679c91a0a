"""Tests for what is kept for slow peers while memory is short."""

from tests.proxy.playing import GET, ProxyCase, body_of

LARGE = b"HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n"


class SparingTests(ProxyCase):
    """An answer to a client that takes nothing."""

    on_epoll = True

    def unread(self) -> int:
        """Return what of an answer stays with its endpoint, of which a piece waits already."""
        down = self.stage.open(window=10)
        down.say(GET)
        self.upstream().say(LARGE + b"x" * 1000)
        self.upstream().post(b"x" * 1000)
        self.reactor.settle()
        return self.upstream().unread

    def test_usual(self) -> None:
        """Some of an answer is kept, so that it goes on at once when its client takes more."""
        self.assertEqual(self.unread(), 0)

    def test_sparing(self) -> None:
        """While memory is short nothing is read that nobody takes, and all comes when somebody does."""
        epoll_set = self.reactor._epoll_set
        assert epoll_set is not None
        epoll_set.spares_memory = True
        self.assertEqual(self.unread(), 1000)
        [down] = [peer for peer in self.reactor.peers if peer is not self.upstream()]
        down.widen()
        self.assertEqual(self.upstream().unread, 0)
        self.assertEqual(len(body_of(down.received)), 2000)
