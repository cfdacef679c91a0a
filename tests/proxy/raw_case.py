"""Connections to the proxy that speak no HTTP of their own, or begin with something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.endpoints import TCP4ClientEndpoint

from tests.fakes.connecting import connect_protocol
from tests.fakes.peers.upstreams import OK
from tests.fakes.raw_wires import HandMadeTLS, RawWire
from tests.proxy.sockets.sockets_case import SocketsCase

Wire = TypeVar("Wire", bound=RawWire)


class RawCase(SocketsCase):
    """``app.test`` has a certificate; upstream answers every request."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Start."""
        await super().setUp()
        self.authority = self.certify("app.test")
        self.upstream.on_request = lambda wire: wire.write(OK)
        self.raw_clients: list[RawWire] = []
        self.addCleanup(self.end_raw_clients)

    async def end_raw_clients(self) -> None:
        """End what a test left open."""
        for client in self.raw_clients:
            if client.lost is None:
                client.transport.abortConnection()
        await self.until(lambda: all(client.lost for client in self.raw_clients))

    async def open(self, port: Any, wire: Wire) -> Wire:
        """Connect *wire* to a listener."""
        await connect_protocol(TCP4ClientEndpoint(self.reactor, "127.0.0.1", port.getHost().port), wire)
        self.raw_clients.append(wire)
        return wire

    async def ended(self, wire: RawWire) -> None:
        """Wait until a connection ended, on both sides of it."""
        await self.until(lambda: wire.lost and not self.channels)

    async def answered(self, wire: HandMadeTLS) -> None:
        """Wait until upstream has answered."""
        await self.until(lambda: wire.answer.endswith(b"ok"))

    def in_pieces(self, size: int, before: bytes = b"") -> Callable[[RawWire, bytes], object]:
        """Return a function that sends *before* and what it is given, so many bytes at a time.

        That takes as many turns, which are long on a busy machine: no deadline passes from then on.
        """

        def send(wire: RawWire, octets: bytes) -> None:
            self.deadlines.stop()
            self._trickle(wire, before + octets, size)

        return send

    def _trickle(self, wire: RawWire, octets: bytes, size: int) -> None:
        if wire.lost is None:
            wire.transport.write(octets[:size])
            if octets[size:]:
                self.reactor.callLater(0.0005, self._trickle, wire, octets[size:], size)

    def shows(self, line: str) -> bool:
        """Whether the metrics hold *line*."""
        return f"\n{line}\n" in self.metrics.render().decode()

    def log_lines(self) -> list[list[bytes]]:
        """The access log, as fields; nothing is logged any more after this."""
        self.access_log.flush()
        self.access_log.stop()
        return [line.split(b" ") for line in b"".join(self.lines).splitlines()]
