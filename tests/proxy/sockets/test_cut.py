"""Bodies that break off while some of them waits for its turn, on real sockets: without TLS and with it, on both networks."""

from __future__ import annotations

import re

from ingress.http.body import LINES_AT_ONCE
from tests.http.strict import StrictError, read_answer, read_request
from tests.proxy.leftovers_case import LeftoversCase, Peer, SecurePeer, on_all_networks, with_tls

POST = b"POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n"
GET = b"GET / HTTP/1.1\r\nHost: app.test\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY = b"1\r\nx\r\n" * (5 * LINES_AT_ONCE // 2) + b"0\r\nX-Sum: 1\r\n\r\n"
"""Of three turns, and of less than a record of TLS."""
CUTS = (1, 2, 3, 4, 12, 14, 16, 6 * LINES_AT_ONCE)
"""How many bytes of it do not come."""


class CutTests(LeftoversCase):
    """One end leaves within its body."""

    async def test_requests(self) -> None:
        """However a client leaves, its endpoint never gets a whole request."""
        kind = SecurePeer if self.secure else Peer
        for end in (kind.close, kind.reset, kind.finish):
            for missing in CUTS:
                client = await self.call()
                await self.until(lambda: self.channels)
                client.say(POST + BODY[:-missing])
                end(client)
                await self.until(lambda: not self.channels)
                client.close()
                await self.until(lambda: re.search(" 0 busy, . idle, 0 connecting>", repr(self.pool)))
                for backend in self.came():
                    # One that is idle was made for a client that had left by then.
                    backend.look()
                    self.assertRaises(StrictError, read_request, backend.received)
                    backend.close()
                await self.until(lambda: " 0 idle" in repr(self.pool))

    def came(self) -> list[Peer]:
        """Return the connections that were made to the endpoint."""
        found = []
        while True:
            try:
                found.append(Peer(self.listening.accept()[0]))
            except BlockingIOError:
                return found

    async def test_answers(self) -> None:
        """However an endpoint leaves, its client never gets a whole answer."""
        for end in (Peer.close, Peer.reset):
            for missing in CUTS:
                client = await self.call()
                client.say(GET)
                backend = await self.accepted()
                await self.until(lambda: backend.has(b"\r\n\r\n"))  # noqa: B023 - it is awaited here
                backend.say(CHUNKED + BODY[:-missing])
                end(backend)
                await self.until(client.ended)
                if b" 502 " not in client.received:
                    self.assertRaises(StrictError, read_answer, client.received, b"GET", True)
                client.close()


with_tls(globals(), CutTests)
on_all_networks(globals())
