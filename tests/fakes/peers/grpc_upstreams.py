"""A gRPC service of grpcio on a real socket, and calls to it that do not hold the reactor up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import Any, TypeVar

import grpc
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")

SERVICE = "shop.Cart"
PATIENCE = 50.0
"""Seconds after which a wait is a failure; generous, because the machine may be busy, and less than an endpoint may be silent."""
OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    # What fails is to be seen, and not asked again behind the test's back.
    ("grpc.enable_retries", 0),
    ("grpc.max_receive_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),
)


class GrpcUpstream:
    """Serves ``shop.Cart`` on a loopback port, a free one unless it is given; over TLS with an *identity*, chain and key.

    *Echo* gives a message back with trailing metadata, *Refuse* fails without one, *Chat* echoes
    messages as they come, *Give* sends as many bytes as it is asked for, *Take* counts those that it
    is sent, *Wait* waits until its caller is gone.
    """

    def __init__(
        self,
        identity: tuple[bytes, bytes] | None = None,
        port: int = 0,
        options: tuple[tuple[str, int], ...] = (),
    ) -> None:
        """*options* are those of grpcio."""
        self.cancelled = Event()
        """Set once a call of *Wait* was cancelled."""
        self.waiting = Event()
        """Set once a call of *Wait* has come."""
        self.metadata: list[tuple[str, str]] = []
        """What came with the last call of *Echo*."""
        options = (("grpc.max_receive_message_length", -1), ("grpc.so_reuseport", 0), *options)
        self._server = grpc.server(ThreadPoolExecutor(32), options=options)
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "Echo": grpc.unary_unary_rpc_method_handler(self._echo),
            "Refuse": grpc.unary_unary_rpc_method_handler(self._refuse),
            "Chat": grpc.stream_stream_rpc_method_handler(self._chat),
            "Give": grpc.unary_stream_rpc_method_handler(self._give),
            "Take": grpc.stream_unary_rpc_method_handler(self._take),
            "Wait": grpc.unary_unary_rpc_method_handler(self._wait),
        }
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
        if identity is None:
            self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        else:
            chain, key = identity
            credentials = grpc.ssl_server_credentials([(key, chain)])
            self.port = self._server.add_secure_port(f"127.0.0.1:{port}", credentials)
        self._server.start()

    def stop(self, grace: float | None = None) -> Event:
        """Stop; calls under way have *grace* seconds."""
        return self._server.stop(grace)

    def _echo(self, message: bytes, context: grpc.ServicerContext) -> bytes:
        self.metadata = [(key, str(value)) for key, value in context.invocation_metadata()]
        context.set_trailing_metadata((("x-length", str(len(message))), ("x-bin-bin", b"\x00\xff")))
        return message

    def _refuse(self, message: bytes, context: grpc.ServicerContext) -> bytes:
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "no: 100 % sure, ä")

    def _chat(self, messages: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        yield from messages

    def _give(self, message: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        left = int(message)
        while left:
            size = min(left, 1 << 20)
            left -= size
            yield bytes(size)

    def _take(self, messages: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        return b"%d" % sum(map(len, messages))

    def _wait(self, message: bytes, context: grpc.ServicerContext) -> bytes:
        done = Event()
        is_over = not context.add_callback(done.set)
        self.waiting.set()
        if is_over or done.wait(PATIENCE):
            self.cancelled.set()
        return b""


class GrpcClient:
    """Calls of ``shop.Cart`` by one channel; to be used in a thread."""

    def __init__(self, port: int, authority: str, trusted: bytes | None = None) -> None:
        """*trusted* is the certificate of the authority, for TLS."""
        target = f"127.0.0.1:{port}"
        if trusted is None:
            options = (*OPTIONS, ("grpc.default_authority", authority))
            self.channel = grpc.insecure_channel(target, options)
        else:
            options = (*OPTIONS, ("grpc.ssl_target_name_override", authority))
            self.channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(trusted), options)

    def __enter__(self) -> GrpcClient:
        return self

    def __exit__(self, *error: object) -> None:
        self.channel.close()

    def unary(self, method: str) -> Any:
        """Return the call of a method with one message each way."""
        return self.channel.unary_unary(f"/{SERVICE}/{method}")

    def chat(self) -> Any:
        """Return the call of *Chat*."""
        return self.channel.stream_stream(f"/{SERVICE}/Chat")

    def give(self) -> Any:
        """Return the call of *Give*."""
        return self.channel.unary_stream(f"/{SERVICE}/Give")

    def take(self) -> Any:
        """Return the call of *Take*."""
        return self.channel.stream_unary(f"/{SERVICE}/Take")


def in_thread(reactor: Any, work: Callable[[], T]) -> Deferred[T]:
    """Do *work* in a thread of its own, while the reactor turns."""
    result: Deferred[T] = Deferred()

    def do() -> None:
        try:
            value = work()
        except Exception:
            reactor.callFromThread(result.errback, Failure())
        else:
            reactor.callFromThread(result.callback, value)

    Thread(target=do, daemon=True).start()
    return result
