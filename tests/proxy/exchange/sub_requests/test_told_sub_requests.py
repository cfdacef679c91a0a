"""Sub-requests that nobody waits for, and connections that these share with exchanges."""

from __future__ import annotations

from attrs import evolve
from twisted.internet.defer import CancelledError

from ingress.model.exchanges.sub_requests import SubRequest
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.proxy.contract.limits import MAX_MIRROR_BYTES, MAX_MIRRORS, MAX_MIRRORS_OF_ONE
from ingress.proxy.contract.transport import REFUSED
from tests.fakes.http2.client import MemoryWire
from tests.fakes.http2.frames import CANCEL
from tests.fakes.http2.server import Http2Server
from tests.proxy.exchange.sub_requests.sub_request_case import ASKED, AUTH, OF_BACKEND, POST, SubRequestCase
from tests.proxy.h2_upstream_case import codes
from tests.proxy.playing import BACKEND, OK, ONE


class TellTests(SubRequestCase):
    """Mirrors: requests whose answers nobody waits for."""

    def tell(self, request: SubRequest = POST) -> None:
        """Tell, in a turn."""
        self.sub_requests.tell(request)

    def test_told(self) -> None:
        """A mirror leaves in a turn of its own, and its answer is dropped; the connection serves the next."""
        self.tell()
        self.assertEqual(self.connector.asked, [])
        self.reactor.settle()
        self.assertTrue(self.upstream().take().endswith(b"name=x"))
        self.assert_counts("tell")
        self.upstream().say(b"HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nab", b"cde")
        self.assert_counts("tell", answered=1)
        self.tell(ASKED)
        self.reactor.settle()
        self.assert_upstreams(1)
        self.assertEqual(self.stage.log_lines(), [])

    def test_failed(self) -> None:
        """Nobody hears of one that fails but the metrics."""
        self.connector.unreachable = {AUTH: REFUSED}
        self.tell()
        self.reactor.settle()
        self.assert_counts("tell", failed=1)

    def test_large_answer(self) -> None:
        """Of an answer that is larger than it may be no more is read."""
        for said in (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n" + bytes(70_000),
        ):
            self.tell()
            self.reactor.settle()
            self.upstream().say(said)
            self.assertTrue(self.upstream().closed)
        self.assert_counts("tell", answered=2)

    def test_slow(self) -> None:
        """One that is not answered in time is over."""
        self.tell()
        self.reactor.settle()
        self.reactor.pass_time(6)
        self.assertEqual(self.busy(), [])
        self.assert_counts("tell", failed=1)

    def test_many(self) -> None:
        """There are so many at a time, whatever their endpoints do; what is told beyond that is not sent."""
        for number in range(MAX_MIRRORS + 10):
            self.tell(evolve(POST, url=f"http://auth{number % 8}.test"))
        self.assert_counts("tell", dropped=10)
        self.reactor.settle()
        self.assert_upstreams(MAX_MIRRORS)
        self.upstream().say(OK)
        self.tell()
        self.assert_counts("tell", answered=1, dropped=10)

    def test_many_of_one(self) -> None:
        """One URL has no more than its part of these, and leaves the rest to others."""
        for _ in range(MAX_MIRRORS_OF_ONE + 10):
            self.tell()
        self.assert_counts("tell", dropped=10)
        self.tell(evolve(POST, url="http://other.test"))
        self.reactor.settle()
        self.assert_upstreams(MAX_MIRRORS_OF_ONE + 1)
        self.upstream(0).say(OK)
        self.tell()
        self.tell()
        self.assert_counts("tell", answered=1, dropped=11)

    def test_much(self) -> None:
        """They hold so many bytes at a time."""
        large = evolve(POST, body=bytes(MAX_MIRROR_BYTES // 4))
        for _ in range(6):
            self.tell(large)
        self.assert_counts("tell", dropped=2)
        self.reactor.settle()
        self.upstream().say(OK)
        self.tell(large)
        self.assert_counts("tell", answered=1, dropped=2)


class SharedTests(SubRequestCase):
    """Sub-requests to a backend that speaks HTTP/2."""

    on_epoll = True

    def test_streams(self) -> None:
        """They are streams of one connection; who cancels one resets it, and the others go on."""
        assert self.rotation is not None
        self.rotation.assign((ONE._replace(link_settings=LinkSettings(is_http2=True)),))
        first, second = (
            self.ask(evolve(OF_BACKEND, fields=((b"X-One", b"1"),))),
            self.ask(evolve(POST, backend=BACKEND)),
        )
        server = Http2Server(MemoryWire(self.reactor, self.upstream()))
        server.greet()
        fields = server.fields(1)
        self.assertEqual((fields[b":path"], fields[b":authority"]), (b"/verify?a=b", b"auth.test:8080"))
        self.assertEqual((fields[b"x-one"], server.fields(3)[b"content-length"]), (b"1", b"6"))
        self.assertEqual(server.body(3), b"name=x")
        first.cancel()
        self.reactor.settle()
        self.failureResultOf(first, CancelledError)
        self.assertEqual(codes(server), [(1, CANCEL)])
        server.answer(3, b"fine", more=[(b"x-user", b"anna")])
        answer = self.successResultOf(second)
        self.assertEqual((answer.status, answer.body, answer.field(b"x-user")), (200, b"fine", b"anna"))
        third = self.ask(evolve(OF_BACKEND, max_bytes=2))
        server.answer(5, b"fine")
        self.assert_failed(third, "the answer has more than 2 bytes")
        self.assert_upstreams(1)
        self.assertFalse(self.upstream().closed)
        # The connection is shared, and rests now.
        self.upstream().reset()
