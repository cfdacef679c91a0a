"""A load generator for HTTP/1.1 that sends an exact number of requests which all differ: those of ``wrk/unique.lua``.

``python -m bench.loads.unique_http1_client PORT HOST CONNECTIONS REQUESTS`` prints how many succeeded, as JSON.  wrk knows no number of
requests, only a time.  This is slower than wrk: for proxies that are counted, not for those whose time is measured.
"""

import json
import random
import selectors
import socket
import sys
from collections.abc import Iterator

from attrs import define

LOOPBACK = "127.0.0.1"
PATIENCE_SECONDS = 20.0
_AT_ONCE = 65536
_GOOD = b"HTTP/1.1 200 "
_END_OF_BODY = b"x\n"  # of the answer of the backend
_REQUEST = (
    "GET /unique/catalog/{id}?page={number} HTTP/1.1\r\nHost: {host}\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
    "Accept-Language: en-US,en;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate, br\r\n"
    "Referer: http://{host}/catalog/\r\n"
    "Cache-Control: max-age=0\r\n"
    "Sec-Fetch-Mode: navigate\r\n"
    "Cookie: theme=light; session={id}\r\nX-Request-Id: {id}\r\n\r\n"
)


def requests(host: str, first: int) -> Iterator[bytes]:
    """Requests without end, the first of them with number *first*; ten header fields each."""
    number = first
    while True:
        yield _REQUEST.format(host=host, id=f"{number:032x}", number=number).encode("ascii")
        number += 1


@define
class Exchanges:
    """What is under way on some connections, and how much is still to be asked."""

    wanted: int
    source: Iterator[bytes]
    asked: int = 0
    good: int = 0
    ended: int = 0

    def next(self) -> bytes:
        """The next request, or nothing if all are asked."""
        if self.asked == self.wanted:
            return b""
        self.asked += 1
        return next(self.source)

    def took(self, answer: bytes) -> bool:
        """Whether *answer* is whole; then it counts."""
        if not answer.endswith(_END_OF_BODY):
            return False
        self.ended += 1
        self.good += answer.startswith(_GOOD)
        return True


def run(port: int, exchanges: Exchanges, connections: int) -> None:
    """Send everything, one request at a time on each connection.  Raises OSError."""
    waiting = selectors.EpollSelector()
    heard: dict[socket.socket, bytes] = {}
    try:
        for _ in range(connections):
            connection = socket.create_connection((LOOPBACK, port), PATIENCE_SECONDS)
            heard[connection] = b""
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            waiting.register(connection, selectors.EVENT_READ)
        for connection in heard:
            connection.sendall(exchanges.next())
        while exchanges.ended < exchanges.wanted:
            events = waiting.select(PATIENCE_SECONDS)
            if not events:
                raise TimeoutError(f"no answer within {PATIENCE_SECONDS:g} s")
            for key, _ in events:
                _take(key.fileobj, heard, exchanges)
    finally:
        for connection in heard:
            connection.close()


def _take(connection: object, heard: dict[socket.socket, bytes], exchanges: Exchanges) -> None:
    assert isinstance(connection, socket.socket)
    received = connection.recv(_AT_ONCE)
    if not received:
        raise ConnectionError("a connection was closed")
    heard[connection] += received
    if exchanges.took(heard[connection]):
        heard[connection] = b""
        connection.sendall(exchanges.next())


def main(port: str, host: str, connections: str, count: str) -> None:
    """Run one load and print what came of it."""
    # No two runs send the same.
    exchanges = Exchanges(int(count), requests(host, random.randrange(1, 1_000_000) * 1000))
    reason = ""
    try:
        run(int(port), exchanges, int(connections))
    except OSError as error:
        reason = str(error)
    counts = {"succeeded": exchanges.good, "failed": exchanges.wanted - exchanges.good, "reason": reason}
    print(json.dumps(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
