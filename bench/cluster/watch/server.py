"""An API server that is quick: it knows streaming lists and watches, and does what it is told.

The tests' API server is faithful and slow; here, everything sent was made before.  Commands
come as ``POST /control`` with a JSON object; answers name moments on the monotonic clock, which
all processes of a machine share.  Connections are expected to last: nothing is replayed.
"""

import argparse
import asyncio
import json
from collections.abc import Callable
from time import monotonic
from typing import Any

from bench.cluster.watch import objects

_FIRST_VERSION = 1000
_KINDS = ("ingresses", "ingressclasses", "services", "endpointslices", "secrets", "customresourcedefinitions")
_ROUTES: dict[str, Callable[[int, int, str], bytes]] = {
    "ingresses": objects.ingress,
    "httproutes": objects.http_route,
}
_BATCH = 64


class ApiServer:
    """The content, and who watches it."""

    def __init__(
        self, count: int, port: int, routes: str = "ingresses", gateway_port: int = 0, network: int = 10
    ) -> None:
        """*routes* is the plural of the kind that leads to Services; *gateway_port* that of a Gateway, if there is to be one.

        In *network* are the pods.
        """
        self.count = count
        self.version = _FIRST_VERSION
        self.port = port
        self.initial: dict[str, list[bytes]] = {kind: [] for kind in _KINDS}
        self.watches: dict[str, asyncio.StreamWriter] = {}
        self._prepared: dict[str, list[bytes]] = {}
        self._routes = routes
        self._route = _ROUTES[routes]
        if gateway_port:
            self.initial |= {kind: [] for kind in (*objects.GATEWAY_PLURALS, "namespaces")}
            self.initial |= objects.gateway_api(gateway_port, self.next())
        makers: dict[str, Callable[[int, int], bytes]] = {
            routes: lambda index, version: self._route(index, version, "/app"),
            "services": objects.service,
            "endpointslices": lambda index, version: objects.endpoint_slice(index, version, port, network),
        }
        for kind, make in makers.items():
            self.initial[kind] = [make(index, self.next()) for index in range(count)]

    def next(self) -> int:
        """The next resource version."""
        self.version += 1
        return self.version

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                line, *fields = head.decode("latin-1").split("\r\n")
                _method, target, _ = line.split(" ")
                path, _, query = target.partition("?")
                length = next(
                    (int(f.split(":")[1]) for f in fields if f.lower().startswith("content-length")), 0
                )
                body = await reader.readexactly(length)
                if path == "/control":
                    self._answer(writer, 200, await self._obey(json.loads(body)))
                elif "watch=true" in query:
                    await self._watch(writer, path.rsplit("/", 1)[1], "sendInitialEvents" in query)
                else:
                    # Leases and Events above all: what is measured are the watches.
                    self._answer(writer, 403, {"kind": "Status", "code": 403, "reason": "Forbidden"})
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, writer: asyncio.StreamWriter, status: int, answer: Any) -> None:
        body = json.dumps(answer).encode()
        writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body))

    async def _watch(self, writer: asyncio.StreamWriter, kind: str, is_list: bool) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        if is_list:
            events = self.initial[kind]
            for start in range(0, len(events), _BATCH):
                writer.write(b"".join(map(_chunk, events[start : start + _BATCH])))
                await writer.drain()
            writer.write(_chunk(objects.bookmark(self.version)))
        self.watches[kind] = writer

    async def _obey(self, command: dict[str, Any]) -> dict[str, Any]:
        match command["do"]:
            case "slice":
                event = objects.endpoint_slice(command["index"], self.next(), command["port"])
                return {"at": self._send("endpointslices", event)}
            case "route":
                event = self._route(command["index"], self.next(), command["path"])
                return {"at": self._send(self._routes, event)}
            case "updates":
                return await self._updates(command["rate"], command["seconds"], command["path"])
            case "prepare":
                self._prepare(command["count"])
                return {}
            case "burst":
                return await self._burst(command["path"])
        raise ValueError(command)

    def _send(self, kind: str, event: bytes) -> float:
        chunk = _chunk(objects.modified(event))
        at = monotonic()
        self.watches[kind].write(chunk)
        return at

    async def _updates(self, rate: int, seconds: float, path: str) -> dict[str, Any]:
        """Change route objects at a fixed rate; the last one is the first host's, which gets *path*."""
        start = monotonic()
        total = int(rate * seconds)
        sent = 0
        while sent < total - 1:
            due = min(total - 1, int((monotonic() - start) * rate) + 1)
            for _ in range(due - sent):
                sent += 1
                index = objects.LIVE_HOSTS + (sent * 7919) % (self.count - objects.LIVE_HOSTS)
                self._send(self._routes, self._route(index, self.next(), f"/u{sent}"))
            await asyncio.sleep(0.002)
        return {"start": start, "at": self._send(self._routes, self._route(0, self.next(), path))}

    def _prepare(self, count: int) -> None:
        """Make the changes of a burst: of route objects and of EndpointSlices, in turn."""
        chunks: dict[str, list[bytes]] = {self._routes: [], "endpointslices": []}
        for number in range(count - 1):
            index = objects.LIVE_HOSTS + (number * 7919) % (self.count - objects.LIVE_HOSTS)
            if number % 2:
                event = self._route(index, self.next(), f"/b{number}")
                chunks[self._routes].append(_chunk(objects.modified(event)))
            else:
                event = objects.endpoint_slice(index, self.next(), 1024 + number % 60000)
                chunks["endpointslices"].append(_chunk(objects.modified(event)))
        self._prepared = chunks

    async def _burst(self, path: str) -> dict[str, Any]:
        """Send what was prepared as fast as it is taken; the last change gives a host *path*."""
        last = objects.modified(self._route(0, self.next(), path))
        start = monotonic()
        await asyncio.gather(*(self._pour(kind, made) for kind, made in self._prepared.items()))
        writer = self.watches[self._routes]
        writer.write(_chunk(last))
        at = monotonic()
        return {"start": start, "at": at}

    async def _pour(self, kind: str, chunks: list[bytes]) -> None:
        writer = self.watches[kind]
        for start in range(0, len(chunks), _BATCH):
            writer.write(b"".join(chunks[start : start + _BATCH]))
            await writer.drain()
            await asyncio.sleep(0)


def _chunk(event: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(event), event)


async def _run(count: int, port: int, routes: str, gateway_port: int, network: int) -> None:
    content = ApiServer(count, port, routes, gateway_port, network)
    server = await asyncio.start_server(content.serve, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.watch.server", description=__doc__)
    parser.add_argument(
        "--count", type=int, required=True, help="route objects, Services and EndpointSlices, each"
    )
    parser.add_argument("--port", type=int, required=True, help="port of the pods that answer")
    parser.add_argument(
        "--routes", choices=sorted(_ROUTES), default="ingresses", help="kind of the route objects"
    )
    parser.add_argument(
        "--gateway-port", type=int, default=0, help="port of a Gateway, if there is to be one"
    )
    parser.add_argument(
        "--network", type=int, default=10, help="where pods are: 127 for this machine, else nowhere"
    )
    known = parser.parse_args()
    asyncio.run(_run(known.count, known.port, known.routes, known.gateway_port, known.network))
