"""The whole controller as a process, with streams: TCP services of the operator, TCPRoutes and TLSRoutes beside HTTPS."""

from __future__ import annotations

import signal
from typing import Any

from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.error import ConnectError

from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.certificates import Authority, issue, make_authority
from tests.fakes.objects import secret_object, service_object, slice_object
from tests.fakes.processes import free_port
from tests.fakes.raw_wires import HandMadeTLS, RawUpstream, RawWire
from tests.tls.hellos import hello

GATEWAY_API = "gateway.networking.k8s.io/v1"


def greet(name: bytes) -> Any:
    """Return a script that says its name before it repeats what was said."""
    return lambda wire, received: wire.transport.write(name + b":" + received)


class StreamsTests(EndToEndCase):
    """Backends of bytes, from manifests, on either network."""

    def backend(self, name: str) -> list[dict[str, Any]]:
        """Start a backend that says *name*; return its Service and EndpointSlice."""
        upstream = RawUpstream(self.reactor, greet(name.encode()))
        self.addCleanup(upstream.stop)
        return [service_object(name), slice_object(name, upstream.endpoint)]

    async def said(self, port: int, octets: bytes = b"hi") -> bytes:
        """Say something at a port; return what comes back, nothing where nobody listens or the connection is reset."""
        wire = RawWire()
        try:
            await connectProtocol(TCP4ClientEndpoint(self.reactor, "127.0.0.1", port), wire)
        except ConnectError:
            return b""
        wire.transport.write(octets)
        await self.until(lambda: wire.received or wire.lost)
        wire.transport.abortConnection()
        await self.until(lambda: wire.lost)
        return bytes(wire.received)

    async def until_said(self, wanted: bytes, port: int, octets: bytes = b"hi") -> None:
        """Ask again and again until this comes back."""
        deadline = self.reactor.seconds() + 30
        while (found := await self.said(port, octets)) != wanted:
            if self.reactor.seconds() > deadline:
                self.fail(f"still {found!r}, not {wanted!r}")
            await self.turn(0.05)

    def services(self, **content: str) -> dict[str, Any]:
        """Return the ConfigMap that lists TCP services."""
        data = {name.removeprefix("_"): text for name, text in content.items()}
        metadata = {"name": "tcp", "namespace": "operators"}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}

    async def test_tcp_services(self) -> None:
        """Ports are opened and closed as entries come and go, while others are served on."""
        for network in ((), ("--no-epoll",)):
            one, two = free_port(), free_port()
            self.write("backends", *self.backend("db"), *self.backend("cache"))
            self.write("tcp", self.services(**{f"_{one}": "shop/db:80"}))
            controller = self.start_with_manifests("--tcp-services-configmap=operators/tcp", *network)
            await self.until_ready(controller)
            await self.until_said(b"db:hi", one)
            self.assertEqual(await self.said(two), b"")
            self.write(
                "tcp", self.services(**{f"_{two}": "shop/cache:web", f"_{one}": "shop/db:80", "_x": "y"})
            )
            await self.until_said(b"cache:hi", two)
            self.assertEqual(await self.said(one), b"db:hi")
            _, problems = await self.get(self.admin, "/api/problems")
            self.assertIn(b"data[x]", problems)
            self.write("tcp", self.services(**{f"_{two}": "shop/cache:web"}))
            await self.until_said(b"", one)
            self.assertEqual(await self.said(two), b"cache:hi")
            controller.signal(signal.SIGTERM)
            await self.stopped(controller)

    def site(self, tcp: int, tls: int, shop: Authority) -> list[dict[str, Any]]:
        """Return a Gateway with a listener of TCP, and three on one port: HTTPS, and TLS of both modes."""
        everybody = {"namespaces": {"from": "All"}}
        here = {"mode": "Terminate", "certificateRefs": [{"name": "cert"}]}
        listeners = [
            {"name": "tcp", "port": tcp, "protocol": "TCP", "allowedRoutes": everybody},
            {"name": "https", "port": tls, "protocol": "HTTPS", "hostname": "shop.test", "tls": here},
            {"name": "here", "port": tls, "protocol": "TLS", "hostname": "*.mqtt.test", "tls": here},
            {
                "name": "through",
                "port": tls,
                "protocol": "TLS",
                "hostname": "vault.test",
                "tls": {"mode": "Passthrough"},
            },
        ]
        parents = [{"name": "main"}]

        def route(kind: str, name: str, to: str, *hostnames: str) -> dict[str, Any]:
            spec: dict[str, Any] = {
                "parentRefs": parents,
                "rules": [{"backendRefs": [{"name": to, "port": 80}]}],
            }
            if hostnames:
                spec["hostnames"] = list(hostnames)
            return self.object(kind, name, spec)

        return [
            self.object("GatewayClass", "ours", {"controllerName": "txingress.dev/gateway"}),
            self.object("Gateway", "main", {"gatewayClassName": "ours", "listeners": listeners}),
            route("TCPRoute", "db", "db"),
            route("TLSRoute", "mqtt", "mqtt", "*.mqtt.test"),
            route("TLSRoute", "vault", "vault", "vault.test"),
            route("HTTPRoute", "shop", "shop", "shop.test"),
            secret_object("cert", *issue(shop, ["shop.test", "*.mqtt.test"])),
        ]

    @staticmethod
    def object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        """Return an object of the Gateway API."""
        metadata = {"name": name} | ({} if kind == "GatewayClass" else {"namespace": "shop"})
        return {"apiVersion": GATEWAY_API, "kind": kind, "metadata": metadata, "spec": spec}

    async def test_routes(self) -> None:
        """One port carries HTTPS, TLS that passes through and TLS that is terminated for a stream; another one TCP."""
        for network in ((), ("--no-epoll",)):
            shop, tcp, tls = make_authority("Shop Authority"), free_port(), free_port()
            backends = [each for name in ("db", "mqtt", "vault") for each in self.backend(name)]
            self.write(
                "backends",
                *backends,
                service_object("shop"),
                slice_object("shop", self.upstream(b"shop").endpoint),
            )
            self.write("site", *self.site(tcp, tls, shop))
            controller = self.start_with_manifests(*network)
            await self.until_ready(controller)
            await self.until_said(b"db:hi", tcp)
            self.assertEqual(await self.said(tls, hello(b"vault.test")), b"vault:" + hello(b"vault.test"))
            self.assertEqual(await self.get(tls, trust=shop), (200, b"shop"))
            wire = HandMadeTLS(
                b"eu.mqtt.test", lambda one, octets: one.transport.write(octets), [b"mqtt"], b"CONNECT"
            )
            await connectProtocol(TCP4ClientEndpoint(self.reactor, "127.0.0.1", tls), wire)
            await self.until(lambda: wire.answer == b"mqtt:CONNECT")  # noqa: B023 - it is awaited here
            wire.transport.abortConnection()
            await self.until(lambda: wire.lost)  # noqa: B023
            self.write("site", *(one for one in self.site(tcp, tls, shop) if one["kind"] != "TCPRoute"))
            await self.until_said(b"", tcp)
            controller.signal(signal.SIGTERM)
            await self.stopped(controller)
