"""Clients that ask again and again, each in its own way, and note every request that did not get its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import h2.config
import h2.connection
import h2.events
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, wrapClientTLS
from twisted.internet.error import ConnectError
from twisted.internet.ssl import Certificate, optionsForClientTLS

from tests.fakes.certificates import Authority
from tests.fakes.connecting import connect_protocol
from tests.fakes.http2.downstreams import Http2Answer, Http2Downstream
from tests.fakes.peers.downstreams import DownstreamWire

REST_SECONDS = 0.05


class _PatientConnection(h2.connection.H2Connection):
    """
    One that goes on behind a GOAWAY, with the streams that this does not turn away (RFC 9113, section 6.8).

    ``h2`` takes each of these for the end, and fails at whatever comes next.
    """

    def _receive_goaway_frame(self, frame: Any) -> tuple[list[Any], list[h2.events.Event]]:
        event = h2.events.ConnectionTerminated()
        event.error_code = frame.error_code
        event.last_stream_id = frame.last_stream_id
        return [], [event]


class _PatientDownstream(Http2Downstream):
    def __init__(self) -> None:
        super().__init__()
        self.h2 = _PatientConnection(h2.config.H2Configuration(header_encoding="utf-8"))


class SteadyClients:
    """Clients of one host; *failed* has a line for each request that failed, *answered* how many did not, by kind."""

    def __init__(
        self,
        reactor: Any,
        host: str,
        authority: Authority,
        until: Callable[[Callable[[], object]], Awaitable[None]],
    ) -> None:
        self._reactor = reactor
        self._host = host
        self._authority = authority
        self._until = until
        self.answered: dict[str, int] = {}
        self.failed: list[str] = []
        self._is_asking = True
        self._running: list[Deferred[None]] = []

    def start(self, http: int, https: int) -> None:
        """Begin to ask at these ports: by new connections and by kept ones, in plain text, over TLS, in HTTP/2."""
        for port, protocols in ((http, ()), (https, (b"http/1.1",))):
            name = "TLS" if protocols else "plain"
            for path in ("/", "/slow"):
                self._run(self._by_new_connections(f"{name}, new", port, protocols, path))
                self._run(self._by_kept_connections(f"{name}, kept", port, protocols, path))
        self._run(self._by_streams("HTTP/2", https, "/"))
        self._run(self._by_streams("HTTP/2", https, "/slow"))

    async def stop(self) -> None:
        """Ask no more; returns when all that was asked is over."""
        self._is_asking = False
        for one in self._running:
            await one

    def least(self) -> int:
        """Return how many answers the kind with the fewest has."""
        return min(self.answered.values(), default=0)

    def _run(self, asking: Any) -> None:
        self._running.append(Deferred.fromCoroutine(asking))

    async def _rest(self) -> None:
        turn: Deferred[None] = Deferred()
        self._reactor.callLater(REST_SECONDS, turn.callback, None)
        await turn

    async def _connect(self, port: int, protocols: tuple[bytes, ...], wire: Any) -> bool:
        endpoint: Any = TCP4ClientEndpoint(self._reactor, "127.0.0.1", port)
        if protocols:
            trust = Certificate.loadPEM(self._authority.pem)
            options = optionsForClientTLS(self._host, trustRoot=trust, acceptableProtocols=list(protocols))
            endpoint = wrapClientTLS(options, endpoint)
        try:
            await connect_protocol(endpoint, wire)
        except ConnectError:
            return False
        return True

    def _note(self, kind: str, is_answered: bool, what: str) -> None:
        if is_answered:
            self.answered[kind] = self.answered.get(kind, 0) + 1
        else:
            self.failed.append(f"{kind}: {what}")

    async def _by_new_connections(
        self, kind: str, port: int, protocols: tuple[bytes, ...], path: str
    ) -> None:
        while self._is_asking:
            wire = DownstreamWire()
            if await self._connect(port, protocols, wire):
                wire.get(path.encode(), self._host.encode(), b"Connection: close\r\n")
                await wire.answer(1)
                self._note(kind, self._is_good(wire, 1), f"{path}: {wire.lost!r}")
                await self._leave(wire)
            else:
                self._note(kind, False, "not connected")
            await self._rest()

    async def _by_kept_connections(
        self, kind: str, port: int, protocols: tuple[bytes, ...], path: str
    ) -> None:
        wire, count = DownstreamWire(), 0
        is_open = False
        while self._is_asking:
            if not is_open:
                wire, count = DownstreamWire(), 0
                is_open = await self._connect(port, protocols, wire)
                if not is_open:
                    self._note(kind, False, "not connected")
                    await self._rest()
                    continue
            wire.get(path.encode(), self._host.encode())
            count += 1
            await wire.answer(count)
            is_good = self._is_good(wire, count)
            self._note(kind, is_good, f"{path}, request {count}: {wire.lost!r}")
            # A connection that rests may be closed, and is not used then; none closes between the look and the request.
            await self._rest()
            is_open = is_good and not wire.answers[-1].has(b"Connection: close") and not wire.saw_end
            if not is_open:
                await self._leave(wire)
        if is_open:
            await self._leave(wire)

    async def _leave(self, wire: DownstreamWire | Http2Downstream) -> None:
        if wire.lost is None:
            wire.transport.abortConnection()
        await self._until(lambda: wire.lost)

    def _is_good(self, wire: DownstreamWire, count: int) -> bool:
        return len(wire.answers) == count and wire.answers[-1].whole and wire.answers[-1].status == 200

    async def _by_streams(self, kind: str, port: int, path: str) -> None:
        wire = _PatientDownstream()
        is_open = False
        while self._is_asking:
            if not is_open:
                wire = _PatientDownstream()
                is_open = await self._connect(port, (b"h2",), wire)
                if not is_open:
                    self._note(kind, False, "not connected")
                    await self._rest()
                    continue
                await self._greeted(wire)
            asked = await self._answer(wire, path)
            is_good = asked.has_ended and asked.statuses[-1:] == [200]
            self._note(kind, is_good, f"{path}, stream {asked.stream}: {asked.reset_by} {wire.lost!r}")
            await self._rest()
            is_open = is_good and wire.goodbye is None and wire.lost is None
            if not is_open:
                await self._leave(wire)
        if is_open:
            await self._leave(wire)

    async def _answer(self, wire: Http2Downstream, path: str) -> Http2Answer:
        fields = [(":method", "GET"), (":scheme", "https"), (":authority", self._host), (":path", path)]
        asked = wire.ask(fields)
        await self._until(lambda: asked.is_over or wire.lost)
        return asked

    async def _greeted(self, wire: Http2Downstream) -> None:
        await self._until(lambda: wire.settings or wire.lost)
