"""A load generator for gRPC, by grpcio: calls of one message, or messages within a few calls.

``python grpc_client.py KIND PORT HOST CERTIFICATE STREAMS REQUESTS`` prints how many messages were
answered, as JSON.  KIND is ``unary`` or ``bidi``.  All of it goes over one connection; STREAMS calls are
under way at the same time, and in each the next message goes out when the last one is answered.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path

import grpc
import grpc.aio

LOOPBACK = "127.0.0.1"
SERVICE = "bench.Bench"
MESSAGE = b"x" * 100
PATIENCE_SECONDS = 30.0

Work = Callable[[grpc.aio.Channel, int], Coroutine[None, None, int]]


async def unary(channel: grpc.aio.Channel, count: int) -> int:
    """Make *count* calls, one after the other; return how many were answered right."""
    call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{SERVICE}/Unary")
    good = 0
    for _ in range(count):
        good += await call(MESSAGE, timeout=PATIENCE_SECONDS) == MESSAGE
    return good


async def bidi(channel: grpc.aio.Channel, count: int) -> int:
    """Send *count* messages in one call, one after the other; return how many were answered right."""
    start: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(f"/{SERVICE}/Bidi")
    call = start(timeout=PATIENCE_SECONDS)
    good = 0
    for _ in range(count):
        await call.write(MESSAGE)
        good += await call.read() == MESSAGE
    await call.done_writing()
    if await call.read() is not grpc.aio.EOF:
        raise ValueError("more answers than messages")
    return good


KINDS: dict[str, Work] = {"unary": unary, "bidi": bidi}


async def run(
    work: Work, port: int, host: str, certificate: Path, streams: int, requests: int
) -> dict[str, int | str]:
    """Do *work* in *streams* tasks over one channel; return what came of it."""
    credentials = grpc.ssl_channel_credentials(certificate.read_bytes())
    options = (
        ("grpc.ssl_target_name_override", host),
        ("grpc.default_authority", host),
        ("grpc.enable_http_proxy", 0),
    )
    share = -(-requests // streams)
    reason = ""
    good = 0
    async with grpc.aio.secure_channel(f"{LOOPBACK}:{port}", credentials, options) as channel:
        tasks = [work(channel, share) for _ in range(streams)]
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, grpc.aio.AioRpcError):
                reason = f"{result.code().name}: {result.details()}"
            elif isinstance(result, BaseException):
                reason = str(result)
            else:
                good += result
    return {"succeeded": good, "failed": share * streams - good, "reason": reason}


def main(kind: str, port: str, host: str, certificate: str, streams: str, requests: str) -> None:
    """Run one load and print what came of it."""
    outcome = run(KINDS[kind], int(port), host, Path(certificate), int(streams), int(requests))
    print(json.dumps(asyncio.run(outcome)))


if __name__ == "__main__":
    main(*sys.argv[1:])
