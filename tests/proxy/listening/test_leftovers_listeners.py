"""Nothing of a listener outlives it: listeners of Gateways come and go, and each has had a table of routes.

Each test is played on both networks, as all such.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ingress.errors import StartError
from ingress.proxy.listening.served_table import ServedSite, ServedTable, ServingPort
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated_certificate import generate_certificate
from tests.fakes.processes import free_port
from tests.proxy.leftovers_case import OK, LeftoversCase, on_all_networks


class ListenerTests(LeftoversCase):
    """Listeners that may close while others stay."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Have a certificate for those with TLS."""
        await super().setUp()
        self.generated = generate_certificate(datetime.now(UTC))
        # The same each time: who a client of a port is is remembered.
        self.description = f"tcp:{free_port()}:interface=127.0.0.1"

    def serve(self, contexts: ServerContexts | None) -> ServedSite:
        """Return the site of another listener."""
        return ServedTable(self.resource).new_site(self.site, contexts)

    async def open(self, *, secure: bool) -> tuple[Any, ServingPort]:
        """Open another listener; return what accepts, and what closes it."""
        contexts = ServerContexts(self.generated) if secure else None
        served = self.serve(contexts)
        port = await self.network.listen(self.description, served.site, contexts)
        return port, ServingPort(port, served, self.reactor, 5.0, is_alone=True)

    async def test_closed(self) -> None:
        """One that was closed, with a connection that is told to end by it, and without."""

        async def play() -> None:
            for secure in (False, True):
                port, serving = await self.open(secure=secure)
                client = None if secure else self.dial(port)
                if client is not None:
                    backend = await self.asked(client)
                    backend.say(OK)
                    await self.until(lambda: client.has(b"ok"))  # noqa: B023 - it is awaited here
                    backend.close()
                await serving.close()
                if client is not None:
                    # It was at rest.
                    await self.until(client.ended)
                    client.close()

        await self.nothing_is_left(play)
        self.assertEqual(len(self.site.connections.all._parts), 1)

    async def test_refused(self) -> None:
        """One whose address is not to be had, which is tried again and again."""
        taken = self.listening.getsockname()[1]

        async def play() -> None:
            served = self.serve(None)
            try:
                await self.network.listen(f"tcp:{taken}:interface=127.0.0.1", served.site, None)
            except StartError:
                served.forget()

        await self.nothing_is_left(play)
        self.assertEqual(len(self.site.connections.all._parts), 1)


on_all_networks(globals())
