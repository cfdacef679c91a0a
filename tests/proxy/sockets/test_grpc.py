"""gRPC through the proxy, from end to end: clients and servers are those of grpcio."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import Queue
from typing import TypeVar

import grpc
from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.internet.threads import blockingCallFromThread

from ingress.identity.certificates import CertificateTable
from ingress.model.serving.limits import AskedTimeouts
from ingress.model.upstream.backends import BackendState, Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings, TlsSettings, UpstreamTls
from ingress.proxy.dispatch.site import SessionRules
from ingress.proxy.downstream.h2_session import DownstreamSession
from ingress.proxy.upstream.h2_session import UpstreamSession
from ingress.routing.table import RouteTable
from tests.fakes.certificates import issue, make_authority
from tests.fakes.peers.grpc_upstreams import PATIENCE, GrpcClient, GrpcUpstream, in_thread
from tests.proxy.sockets.sockets_case import ANY_PATH, APP, SocketsCase, certificate_of

T = TypeVar("T")
MEBIBYTE = 1 << 20
TRIES = 10


class GrpcCase(SocketsCase):
    """A gRPC server behind the proxy; both speak HTTP/2 in the clear."""

    timeout = 240

    sessions = SessionRules(DownstreamSession, over_tls=True, by_prior_knowledge=True)
    over_tls = False

    async def setUp(self) -> None:  # type: ignore[override]
        """Serve."""
        self.authority = make_authority()
        await super().setUp()
        self.contexts.publish(
            CertificateTable({"shop.test": (certificate_of(self.authority, "shop.test"),)}, {}, None)
        )
        self.service = self.serving()
        self.publish(self.endpoint(self.service))

    def serving(self) -> GrpcUpstream:
        """Return a server that listens."""
        service = GrpcUpstream(issue(self.authority, ("127.0.0.1",)) if self.over_tls else None)
        self.addCleanup(lambda: in_thread(self.reactor, lambda: service.stop().wait(PATIENCE)))
        return service

    def endpoint(self, service: GrpcUpstream) -> Endpoint:
        """Return where *service* is."""
        tls = UpstreamTls(TlsSettings(verify=True), ca_pem=self.authority.pem) if self.over_tls else None
        return Endpoint("127.0.0.1", service.port, LinkSettings(tls, is_http2=True))

    def client(self) -> GrpcClient:
        """Return a client of the listener."""
        if self.over_tls:
            return GrpcClient(self._secure.getHost().port, "shop.test", self.authority.pem)
        return GrpcClient(self._plain.getHost().port, "shop.test")

    async def do(self, work: Callable[[GrpcClient], T]) -> T:
        """Do *work* with a client of its own, in a thread."""

        def with_client() -> T:
            with self.client() as client:
                return work(client)

        result: Deferred[T] = in_thread(self.reactor, with_client)
        return await result.addTimeout(2 * PATIENCE, self.reactor)

    async def failed(self, work: Callable[[GrpcClient], grpc.RpcError]) -> grpc.RpcError:
        """Do *work*, again where a busy machine has the time of its *Wait* go by before that comes to the server: it is not ended there then."""
        for _ in range(TRIES):
            error = await self.do(work)
            if self.service.waiting.is_set():
                break
        return error


def error_of(call: Callable[[], object]) -> grpc.RpcError:
    """Return how a call fails."""
    try:
        call()
    except grpc.RpcError as error:
        return error
    raise AssertionError("the call did not fail")


class GrpcTests(GrpcCase):
    """Calls of all kinds."""

    async def test_unary(self) -> None:
        """A message comes back, with metadata both ways."""

        def work(client: GrpcClient) -> tuple[bytes, dict[str, object]]:
            metadata = (("x-sent", "yes"), ("x-sent-bin", b"\x00\x01"))
            message, call = client.unary("Echo").with_call(b"hello", metadata=metadata, timeout=PATIENCE)
            return message, dict(call.trailing_metadata())

        message, trailing = await self.do(work)
        self.assertEqual(message, b"hello")
        self.assertEqual((trailing["x-length"], trailing["x-bin-bin"]), ("5", b"\x00\xff"))
        self.assertIn(("x-sent", "yes"), self.service.metadata)
        await self.until(lambda: self.lines)
        line = b"".join(self.lines).split(b" ")
        self.assertEqual((line[2], line[5], line[10]), (b"POST", b"200", b"HTTP/2.0"))

    async def test_refused(self) -> None:
        """An error without a message arrives with its code and its words."""
        error = await self.do(lambda client: error_of(lambda: client.unary("Refuse")(b"", timeout=PATIENCE)))
        self.assertEqual(
            (error.code(), error.details()), (grpc.StatusCode.FAILED_PRECONDITION, "no: 100 % sure, ä")
        )

    async def test_large(self) -> None:
        """Large messages, and long streams of them, arrive whole in each direction."""

        def work(client: GrpcClient) -> tuple[int, int, bytes]:
            echoed = client.unary("Echo")(bytes(3 * MEBIBYTE), timeout=PATIENCE)
            given = sum(map(len, client.give()(b"%d" % (16 * MEBIBYTE), timeout=PATIENCE)))
            pieces = (bytes(MEBIBYTE) for _ in range(10))
            return len(echoed), given, client.take()(pieces, timeout=PATIENCE)

        self.assertEqual(await self.do(work), (3 * MEBIBYTE, 16 * MEBIBYTE, b"%d" % (10 * MEBIBYTE)))

    async def test_conversation(self) -> None:
        """Messages go to and fro, each waiting for the one before."""

        def work(client: GrpcClient) -> int:
            questions: Queue[bytes | None] = Queue()
            questions.put(b"0")
            count = 0
            for answer in client.chat()(iter(questions.get, None), timeout=PATIENCE):
                assert answer == b"%d" % count
                count += 1
                questions.put(b"%d" % count if count < 300 else None)
            return count

        self.assertEqual(await self.do(work), 300)

    async def test_many_at_once(self) -> None:
        """Hundreds of calls at once share few connections."""

        def work(client: GrpcClient) -> set[bytes]:
            futures = [client.unary("Echo").future(b"%d" % number, timeout=PATIENCE) for number in range(300)]
            return {future.result() for future in futures}

        self.assertEqual(await self.do(work), {b"%d" % number for number in range(300)})
        self.assertLessEqual(self.metrics._upstream_opened, 4)

    async def test_deadline(self) -> None:
        """A deadline that is over ends the call at the server, too."""

        def work(client: GrpcClient) -> grpc.RpcError:
            client.unary("Echo")(b"", timeout=PATIENCE)
            return error_of(lambda: client.unary("Wait")(b"", timeout=1.0))

        error = await self.failed(work)
        self.assertEqual(error.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertTrue(await in_thread(self.reactor, lambda: self.service.cancelled.wait(PATIENCE)))

    async def test_cancelled(self) -> None:
        """So does a client that gives up, in the middle of a stream."""

        def work(client: GrpcClient) -> int:
            call = client.give()(b"%d" % (200 * MEBIBYTE), timeout=PATIENCE)
            received = len(next(call))
            call.cancel()
            return received

        self.assertEqual(await self.do(work), MEBIBYTE)
        sessions = [each for each in self.pool.connections if isinstance(each, UpstreamSession)]
        self.assertTrue(sessions)
        await self.until(lambda: not any(session.streams for session in sessions))

    async def test_stopped(self) -> None:
        """A server that stops in good order costs no call: those under way go on, and what begins goes to another one."""
        other = self.serving()

        def work(client: GrpcClient) -> int:
            questions: Queue[bytes | None] = Queue()
            chat = client.chat()(iter(questions.get, None), timeout=PATIENCE)
            questions.put(b"before")
            assert next(chat) == b"before"
            # First, as a pod is taken from its Service: grpcio fails what comes while it stops.
            blockingCallFromThread(self.reactor, self.publish, self.endpoint(other))
            stopped = self.service.stop(grace=PATIENCE)
            call = client.unary("Echo")
            for _ in range(100):
                assert call(b"x", timeout=PATIENCE, wait_for_ready=False) == b"x"
            questions.put(b"after")
            assert next(chat) == b"after"
            questions.put(None)
            assert list(chat) == []
            assert stopped.wait(PATIENCE)
            return 100

        self.assertEqual(await self.do(work), 100)

    async def test_no_endpoint(self) -> None:
        """Without an endpoint calls are UNAVAILABLE, and without a route UNIMPLEMENTED."""
        self.publish()
        error = await self.do(lambda client: error_of(lambda: client.unary("Echo")(b"", timeout=PATIENCE)))
        self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)
        self.assertIn("no endpoint", str(error.details()))
        self.resource.publish(RouteTable([]), {})
        error = await self.do(lambda client: error_of(lambda: client.unary("Echo")(b"", timeout=PATIENCE)))
        self.assertEqual(error.code(), grpc.StatusCode.UNIMPLEMENTED)

    async def test_silent(self) -> None:
        """What takes the endpoint too long is DEADLINE_EXCEEDED, by the time of the route."""
        route = evolve(ANY_PATH, timeouts=AskedTimeouts(read_seconds=1.0))
        self.resource.publish(RouteTable([route]), {APP: BackendState((self.endpoint(self.service),))})
        error = await self.failed(
            lambda client: error_of(lambda: client.unary("Wait")(b"", timeout=PATIENCE))
        )
        self.assertEqual(error.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertIn("in time", str(error.details()))
        self.assertTrue(await in_thread(self.reactor, lambda: self.service.cancelled.wait(PATIENCE)))

    async def test_resting_stream(self) -> None:
        """A stream that rests both ways for a while goes on afterwards."""
        go_on: Queue[bytes | None] = Queue()

        def ask() -> Iterator[bytes]:
            yield b"first"
            while (message := go_on.get()) is not None:
                yield message

        def work(client: GrpcClient) -> list[bytes]:
            call = client.chat()(ask(), timeout=PATIENCE)
            answers = [next(call)]
            self.reactor.callFromThread(self.reactor.callLater, 1.2, go_on.put, b"second")
            answers.append(next(call))
            go_on.put(None)
            return answers + list(call)

        self.assertEqual(await self.do(work), [b"first", b"second"])


class GrpcOverTlsTests(GrpcTests):
    """The same over TLS on both sides, agreed on by ALPN."""

    over_tls = True
