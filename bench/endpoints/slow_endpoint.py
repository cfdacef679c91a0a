"""An endpoint that answers each request after so many seconds, however many wait: ``python -m bench.endpoints.slow_endpoint PORT SECONDS``."""

import asyncio
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Slow(asyncio.Protocol):
    """One connection."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """A request came, whole: it is a small one."""
        asyncio.get_running_loop().call_later(self._seconds, self._answer)

    def _answer(self) -> None:
        if isinstance(self._transport, asyncio.Transport) and not self._transport.is_closing():
            self._transport.write(ANSWER)


async def serve(port: int, seconds: float) -> None:
    """Answer for ever."""
    server = await asyncio.get_running_loop().create_server(
        lambda: Slow(seconds), "127.0.0.1", port, backlog=4096
    )
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2])))
