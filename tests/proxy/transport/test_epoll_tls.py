"""What TLS connections of the epoll set leave behind."""

from __future__ import annotations

import gc
import weakref

from OpenSSL import SSL

from tests.proxy.sockets.test_tls import RawCase


class ReleaseTests(RawCase):
    """The memory of OpenSSL, which the garbage collector does not see."""

    use_epoll = True

    async def test_without_the_collector(self) -> None:
        """A connection that ends, even before it said anything, gives OpenSSL's memory back at once."""
        made: list[weakref.ref[SSL.Connection]] = []
        begin = self.contexts.connection_on

        def note(sock: object, speaks: bool) -> SSL.Connection:
            connection = begin(sock, speaks)  # type: ignore[arg-type]
            made.append(weakref.ref(connection))
            return connection

        # The listener has the method itself, from before this test.
        self.patch(self._secure, "_secure", note)
        gc.disable()
        self.addCleanup(gc.enable)
        for beginning in (b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
            client = await self.connect_raw()
            client.send(beginning)
            await self.until(lambda: self.channels)
            client.transport.loseConnection()
            await self.until(lambda: not self.channels)
            await self.turns(2)
        self.assertEqual([reference() for reference in made], [None, None])
