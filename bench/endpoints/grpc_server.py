"""A server of grpcio that gives back what it was sent: ``python grpc_server.py PORT``.

It speaks HTTP/2 in the clear, and stands behind the proxies.
"""

import asyncio
import sys
from collections.abc import AsyncIterator

import grpc.aio

LOOPBACK = "127.0.0.1"
SERVICE = "bench.Bench"


async def unary(message: bytes, context: object) -> bytes:
    """Answer one message."""
    return message


async def bidi(messages: AsyncIterator[bytes], context: object) -> AsyncIterator[bytes]:
    """Answer each message when it comes."""
    async for message in messages:
        yield message


async def serve(port: int) -> None:
    """Serve until the process ends."""
    server = grpc.aio.server()
    methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
        "Unary": grpc.unary_unary_rpc_method_handler(unary),
        "Bidi": grpc.stream_stream_rpc_method_handler(bidi),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    server.add_insecure_port(f"{LOOPBACK}:{port}")
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
