"""A running API server for tests of itself, and a client that shows raw bytes and how a connection ends."""

from __future__ import annotations

import json
from typing import Any

from twisted.internet import reactor as real_reactor  # noqa: TID251 - real sockets need the real reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from tests.fakes.apiserver.kinds import Json
from tests.fakes.apiserver.server import DEFAULT_TOKEN, ApiServer

INGRESSES = "/apis/networking.k8s.io/v1/ingresses"

#: Seconds after which a wait is a failure; generous, because the machine may be busy.
PATIENCE = 60


def ingress(name: str, **metadata: Any) -> Json:
    """Return an Ingress in the namespace ``shop``."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": "shop", **metadata},
        "spec": {"rules": [{"host": f"{name}.example"}]},
    }


class Wire(Protocol):
    """A client connection that keeps the pieces it received."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.lost: BaseException | None = None
        self._waiting: list[tuple[bytes | None, Deferred[None]]] = []

    @property
    def received(self) -> bytes:
        """Everything so far."""
        return b"".join(self.pieces)

    def dataReceived(self, data: bytes) -> None:
        """Keep a piece."""
        self.pieces.append(data)
        self._look()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Remember how the connection ended."""
        self.lost = reason.value
        self._look()

    def get(self, path: str, token: str | None = DEFAULT_TOKEN) -> None:
        """Send a GET request."""
        authorization = "" if token is None else f"Authorization: Bearer {token}\r\n"
        assert self.transport is not None
        self.transport.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n{authorization}\r\n".encode())

    async def until(self, text: bytes) -> None:
        """Wait until these bytes arrived."""
        await self._wait(text)

    async def until_lost(self) -> BaseException:
        """Wait for the end of the connection and return its reason."""
        await self._wait(None)
        assert self.lost is not None
        return self.lost

    def answer(self) -> tuple[int, Json]:
        """Return status and JSON body of a complete chunked answer."""
        return int(self.received.split()[1]), json.loads(b"".join(self.chunks()))

    def events(self) -> list[Json]:
        """Return the events that arrived, one for each chunk."""
        return [json.loads(chunk) for chunk in self.chunks()]

    def chunks(self) -> list[bytes]:
        """Return the chunks of the body that arrived, without the last, empty one."""
        _, _, body = self.received.partition(b"\r\n\r\n")
        chunks = []
        while body:
            size_text, _, body = body.partition(b"\r\n")
            size = int(size_text, 16)
            if not size:
                break
            chunks.append(body[:size])
            body = body[size + 2 :]
        return chunks

    async def _wait(self, text: bytes | None) -> None:
        waiter: Deferred[None] = Deferred()
        self._waiting.append((text, waiter))
        self._look()
        await waiter.addTimeout(PATIENCE, real_reactor)

    def _look(self) -> None:
        for entry in tuple(self._waiting):
            text, waiter = entry
            if self.lost is not None if text is None else text in self.received:
                self._waiting.remove(entry)
                waiter.callback(None)


class ServerCase(TestCase):
    """A server that listens, and connections to it."""

    def setUp(self) -> Deferred[None]:  # type: ignore[override]
        """Start."""
        self.server = ApiServer(real_reactor)
        self.addCleanup(lambda: Deferred.fromCoroutine(self.server.stop()))
        return Deferred.fromCoroutine(self.server.listen())

    async def connect(self) -> Wire:
        """Open a connection."""
        endpoint = TCP4ClientEndpoint(real_reactor, "127.0.0.1", self.server.port)
        wire = Wire()
        await connectProtocol(endpoint, wire)
        self.addCleanup(self.drop, wire)
        return wire

    async def get(self, path: str, token: str | None = DEFAULT_TOKEN) -> Wire:
        """Send one request on a connection of its own."""
        wire = await self.connect()
        wire.get(path, token)
        return wire

    async def answer(self, path: str, token: str | None = DEFAULT_TOKEN) -> tuple[int, Json]:
        """Return the status and the body of a GET."""
        wire = await self.get(path, token)
        await wire.until(b"\r\n0\r\n\r\n")
        return wire.answer()

    async def watch(self, query: str = "") -> Wire:
        """Open a watch and wait for its head."""
        wire = await self.get(f"{INGRESSES}?watch=true&{query}")
        await wire.until(b"\r\n\r\n")
        return wire

    def drop(self, wire: Wire) -> Deferred[BaseException]:
        """Reset a connection from our side."""
        assert wire.transport is not None
        wire.transport.abortConnection()  # type: ignore[attr-defined]
        return Deferred.fromCoroutine(wire.until_lost())

    async def turns(self, count: int) -> None:
        """Let the reactor turn, so that whatever could happen at once has happened."""
        for _ in range(count):
            turn: Deferred[None] = Deferred()
            real_reactor.callLater(0, turn.callback, None)
            await turn
