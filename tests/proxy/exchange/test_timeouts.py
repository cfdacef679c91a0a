"""Deadlines as the operator and routes set them."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from ingress.model.serving.limits import AskedTimeouts, Limits, Timeouts
from ingress.proxy.contract.limits import MAX_HELD
from tests.proxy.playing import GET, OK, ONE, TWO, ProxyCase

POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 1000000\r\n\r\n"
UPGRADE = GET[:-2] + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


class DownstreamTests(ProxyCase):
    """What clients may take."""

    def limit(self, **limits: Any) -> None:
        """Set limits of the site."""
        self.stage.site.context.limits = evolve(Limits(), **limits)

    def test_head(self) -> None:
        """A head has its time from its first byte on, whatever comes meanwhile."""
        self.limit(head_seconds=3.0)
        down = self.stage.open()
        for byte in GET[:2]:
            down.say(bytes((byte,)))
            self.reactor.pass_time(1)
        self.assertEqual(down.received, b"")
        self.reactor.pass_time(2)
        self.assert_status(down.received, 408)

    def test_body_gap(self) -> None:
        """So has each piece of a body."""
        self.limit(body_seconds=3.0, body_bytes_per_second=0)
        down = self.stage.open()
        down.say(POST)
        for _ in range(10):
            down.say(b"x")
            self.reactor.pass_time(2)
        self.assertEqual(down.received, b"")
        self.reactor.pass_time(2)
        self.assert_status(down.received, 408)

    def test_body_rate(self) -> None:
        """A body that never rests for long is too slow all the same."""
        self.limit(body_seconds=3.0, body_bytes_per_second=100)
        down = self.stage.open()
        down.say(POST)
        for _ in range(6):
            down.say(b"x" * 50)
            self.reactor.pass_time(1)
        self.assert_status(down.received, 408)

    def test_body_during_a_copied_answer(self) -> None:
        """While the kernel moves an answer, a request body that is still to come has its time like any other."""
        self.limit(body_seconds=3.0, body_bytes_per_second=0)
        down = self.stage.open()
        down.say(POST)
        self.reactor.pass_time(2)
        self.patch(type(down.transport), "splice_from", lambda target, copy: True)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        for _ in range(5):
            self.reactor.pass_time(2)
            down.say(b"x")
        self.assertFalse(down.closed)
        self.reactor.pass_time(4)
        self.assertTrue(down.closed)
        self.assert_ended(200)

    def test_keep_alive(self) -> None:
        """Between requests a connection rests for its time, serves its number of requests, and grows no older than it may."""
        self.limit(keep_alive_seconds=3.0, keep_alive_requests=2, keep_alive_age_seconds=100.0)
        down = self.stage.open()
        for closes in (False, True):
            down.say(GET)
            self.upstream().say(OK)
            self.assertEqual(b"Connection: close" in down.take(), closes)
        self.limit(keep_alive_seconds=10.0, keep_alive_age_seconds=5.0)
        down = self.stage.open()
        for closes in (False, False, True):
            down.say(GET)
            self.upstream().say(OK)
            self.assertEqual(b"Connection: close" in down.take(), closes)
            self.reactor.pass_time(3)
        self.limit(keep_alive_seconds=3.0)
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK)
        self.reactor.pass_time(3)
        self.assertTrue(down.saw_end)

    def test_send(self) -> None:
        """A client that takes nothing is cut after its time; one that takes little is not."""
        self.limit(send_seconds=3.0)
        down = self.stage.open(window=1000)
        down.say(GET)
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n" + bytes(200_000))
        for _ in range(6):
            self.reactor.pass_time(2)
            down.widen(10)
        self.assertFalse(down.closed)
        self.reactor.pass_time(4)
        self.assertTrue(down.saw_reset)
        self.assertTrue(self.upstream().closed)

    def test_send_at_the_end(self) -> None:
        """The last bytes of a connection that closes have the same time, however long all of them take."""
        self.limit(send_seconds=3.0)
        down = self.stage.open(window=1000)
        down.say(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n" + bytes(50_000))
        for _ in range(40):
            self.reactor.pass_time(2)
            down.widen(10)
        self.assertFalse(down.closed)
        down.widen()
        self.assertTrue(down.saw_end)
        self.assertEqual(len(down.received.partition(b"\r\n\r\n")[2]), 50_000)


class UpstreamTests(ProxyCase):
    """What endpoints may take."""

    def test_route(self) -> None:
        """A route's timeouts are its own; what it does not ask for is as for all."""
        self.stage.pool.timeouts = Timeouts(connect_seconds=4.0, read_seconds=7.0)
        self.stage.site.context.limits = Limits(upstream=self.stage.pool.timeouts)
        for asked, connects, reads in (
            (None, 4.0, 7),
            (AskedTimeouts(read_seconds=3.0), 4.0, 3),
            (AskedTimeouts(connect_seconds=1.0), 1.0, 7),
        ):
            self.stage.publish((ONE,), timeouts=asked)
            down = self.stage.open()
            down.say(GET)
            self.assertEqual(self.connector.seconds, connects)
            self.reactor.pass_time(reads - 1)
            self.assertEqual(down.received, b"")
            self.reactor.pass_time(1)
            self.assert_status(down.received, 504)

    def test_kept_connection(self) -> None:
        """A connection that served a route with timeouts of its own has the usual ones for the next."""
        self.stage.publish((ONE,), timeouts=AskedTimeouts(read_seconds=3.0))
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK)
        self.stage.publish((ONE,))
        down.take()
        down.say(GET)
        self.assert_upstreams(1)
        self.reactor.pass_time(10)
        self.assertEqual(down.received, b"")

    def test_send(self) -> None:
        """An endpoint that takes nothing of a body is given up after its time; one that takes little is not."""
        self.stage.publish((ONE,), timeouts=AskedTimeouts(send_seconds=3.0, read_seconds=1.0))
        self.connector.window = 1000
        down = self.stage.open()
        down.say(POST + bytes(MAX_HELD * 4))
        for _ in range(20):
            self.reactor.pass_time(2)
            self.upstream().widen(10)
        self.assertEqual(down.received, b"")
        self.reactor.pass_time(4)
        self.assert_status(down.received, 504)

    def test_request_to_come(self) -> None:
        """While the request is not whole, an endpoint may say nothing."""
        self.stage.publish((ONE,), timeouts=AskedTimeouts(read_seconds=2.0))
        down = self.stage.open()
        down.say(POST)
        for _ in range(10):
            down.say(bytes(100_000))
            self.assertEqual(down.received, b"")
            self.reactor.pass_time(5)
        self.assert_status(down.received, 504)

    def test_tunnel(self) -> None:
        """A tunnel may rest as long as it likes, unless its route says how long."""
        for asked, ends in ((None, False), (AskedTimeouts(read_seconds=100.0), True)):
            self.stage.publish((ONE,), timeouts=asked)
            down = self.stage.open()
            down.say(UPGRADE)
            self.upstream().say(SWITCH)
            for _ in range(3):
                self.reactor.pass_time(90)
                down.say(b"?")
                self.reactor.pass_time(90)
                self.upstream().say(b"!")
            self.assertFalse(down.closed)
            self.reactor.pass_time(101 if ends else 10_000)
            self.assertEqual(down.closed or down.saw_end, ends)


class FullEndpointTests(ProxyCase):
    """``--max-endpoint-connections``."""

    def test_passed_over(self) -> None:
        """A full endpoint is passed over; when all are full the answer is 503, and nobody waits."""
        self.stage.pool.most = 1
        self.stage.publish((ONE, TWO))
        downs = [self.stage.open() for _ in range(3)]
        for down in downs:
            down.say(GET)
        self.assertEqual(set(self.connector.asked), {ONE, TWO})
        self.assert_status(downs[2].received, 503)
        self.assertEqual(self.metrics.value("ingress_endpoints_passed_over_total"), 2)
        self.upstream(0).say(OK)
        self.stage.open().say(GET)
        self.assert_upstreams(2)

    def test_room_again(self) -> None:
        """What could not be made, and what ended, leaves room."""
        self.stage.pool.most = 1
        self.connector.unreachable[ONE] = "connection refused"
        for _ in range(3):
            down = self.stage.open()
            down.say(GET)
            self.assert_status(down.received, 502)
        self.connector.unreachable.clear()
        for _ in range(3):
            down = self.stage.open()
            down.say(GET)
            self.upstream().finish()
            self.assert_status(down.received, 502)
        self.assertEqual(list(self.stage.pool.endpoints), [])

    def test_not_fresh(self) -> None:
        """A request that no idle connection will do for takes the place of one."""
        self.stage.pool.most = 1
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK)
        down.take()
        self.reactor.pass_time(3)
        down.say(POST.replace(b"1000000", b"0"))
        self.assert_upstreams(2)
        self.upstream().say(OK)
        self.assert_status(down.received, 200)
        self.assertEqual((len(self.stage.pool.connections), self.stage.pool.sockets), (1, 1))


class OnEpollTests(DownstreamTests):
    """The same on the epoll set's transports."""

    on_epoll = True


class UpstreamOnEpollTests(UpstreamTests):
    """The same on the epoll set's transports."""

    on_epoll = True
