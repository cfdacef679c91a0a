"""The API server through a proxy: what the environment and the kubeconfig say is obeyed."""

import os
from typing import Any

import yaml
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import deferLater
from twisted.logger import capturedLogs, formatEvent
from twisted.python.failure import Failure

from ingress.errors import KubernetesError
from tests.cluster.api_server_case import SOON_SECONDS, ApiServerTestCase, in_thread, reactor

SERVICES = "/api/v1/services"


class Outgoing(Protocol):
    """The side of a proxy that leads to the API server."""

    transport: Any

    def __init__(self, incoming: "Incoming") -> None:
        self.incoming = incoming

    def dataReceived(self, data: bytes) -> None:
        self.incoming.transport.write(data)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self.incoming.transport.loseConnection()


class Incoming(Protocol):
    """One connection to a proxy that opens tunnels, and sends on plain requests for one server."""

    transport: Any
    factory: Any

    def __init__(self) -> None:
        self.received = b""
        self.outgoing: Outgoing | None = None

    def dataReceived(self, data: bytes) -> None:
        if self.outgoing is not None:
            self.outgoing.transport.write(data)
            return
        self.received += data
        if b"\r\n\r\n" in self.received:
            line = self.received.split(b"\r\n", 1)[0].decode()
            self.factory.lines.append(line)
            Deferred.fromCoroutine(self.connect(line)).addErrback(lambda _: self.transport.loseConnection())

    async def connect(self, line: str) -> None:
        method, target, _ = line.split(" ")
        authority = target if method == "CONNECT" else target.split("/")[2]
        host, port = authority.rsplit(":", 1)
        outgoing = Outgoing(self)
        await connectProtocol(TCP4ClientEndpoint(reactor, host, int(port)), outgoing)
        self.outgoing = outgoing
        if method == "CONNECT":
            self.transport.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = target.split(authority, 1)[1]
            outgoing.transport.write(self.received.replace(target.encode(), path.encode(), 1))

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self.factory.open.discard(self)
        if self.outgoing is not None:
            self.outgoing.transport.loseConnection()

    def connectionMade(self) -> None:
        self.factory.open.add(self)


class Proxy(Factory):
    """A proxy, with the first lines of what it was asked."""

    noisy = False
    protocol = Incoming

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.open: set[Incoming] = set()


class ProxySettingsTests(ApiServerTestCase):
    """Plain HTTP through a proxy."""

    variable = "HTTP_PROXY"

    async def start_proxy(self) -> None:
        self.proxy = Proxy()
        port = reactor.listenTCP(0, self.proxy, interface="127.0.0.1")

        async def stop() -> None:
            await port.stopListening()
            while self.proxy.open:
                for one in tuple(self.proxy.open):
                    one.transport.abortConnection()
                await deferLater(reactor, 0.01, lambda: None)

        self.addCleanup(lambda: Deferred.fromCoroutine(stop()))
        self.proxy_url = f"http://us:password@127.0.0.1:{port.getHost().port}"

    def environment(self, **variables: str) -> None:
        """Let the process have these variables about proxies and no others."""
        others = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        self.patch(os, "environ", {**others, **variables})

    async def ask(self) -> list[str]:
        """Ask once; return what was logged."""
        with capturedLogs() as events:
            connection = await self.connection()
        response = await in_thread(lambda: connection.get(SERVICES, []))
        await in_thread(response.read_all)
        response.close()
        self.assertEqual(self.server.requests[-1].token, self.server.token)
        return [formatEvent(event) for event in events]

    async def test_environment(self) -> None:
        """The proxy that the environment names is used, and the log says so without its password."""
        await self.start_proxy()
        self.environment(**{self.variable: self.proxy_url})
        logged = await self.ask()
        self.assertEqual(len(self.proxy.lines), 1)
        proxy = self.proxy_url.rpartition("@")[2]
        self.assertIn(f"the API server is reached through the proxy {proxy}", logged)
        self.assertNotIn("password", " ".join(logged))

    async def test_exceptions(self) -> None:
        """``NO_PROXY`` is obeyed, with addresses and networks."""
        await self.start_proxy()
        for exception in ("127.0.0.1", "127.0.0.0/8", "*"):
            self.environment(**{self.variable: self.proxy_url, "NO_PROXY": f"10.0.0.1,{exception}"})
            logged = await self.ask()
            self.assertEqual(
                (self.proxy.lines, [line for line in logged if "through the proxy" in line]), ([], [])
            )

    async def test_kubeconfig(self) -> None:
        """The proxy that the kubeconfig names is used."""
        await self.start_proxy()
        self.environment()
        config = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))
        config["clusters"][0]["cluster"]["proxy-url"] = self.proxy_url
        self.kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")
        await self.ask()
        self.assertEqual(len(self.proxy.lines), 1)

    async def test_interruption(self) -> None:
        """A watch through a proxy can be broken off at once, too."""
        await self.start_proxy()
        self.environment(**{self.variable: self.proxy_url})
        connection = await self.connection()
        response = await in_thread(lambda: connection.get(SERVICES, [("watch", "true")]))
        running = in_thread(response.read_chunk)
        await deferLater(reactor, 0.05, lambda: None)
        connection.interrupt()
        try:
            self.assertEqual(await running.addTimeout(SOON_SECONDS, reactor), b"")
        except KubernetesError as error:
            self.assertEqual(error.reason, "Broken")
        response.close()


class TLSProxySettingsTests(ProxySettingsTests):
    """TLS through a tunnel."""

    tls = True
    variable = "HTTPS_PROXY"

    async def test_interruption_of_a_handshake(self) -> None:
        """A server that says nothing in TLS behind a proxy does not hold us."""
        await self.start_proxy()
        self.environment(**{self.variable: self.proxy_url})
        self.server.freeze()
        connection = await self.connection()
        running = in_thread(lambda: connection.get(SERVICES, []))
        while not self.server.connection_count:
            await deferLater(reactor, 0.01, lambda: None)
        await deferLater(reactor, 0.05, lambda: None)
        connection.interrupt()
        with self.assertRaises(KubernetesError):
            await running.addTimeout(SOON_SECONDS, reactor)
