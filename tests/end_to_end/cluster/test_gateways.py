"""The whole controller as a process, with Gateways whose listeners come and go beside Ingresses."""

from __future__ import annotations

import json
import signal
import socket
from typing import Any

from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import NAMESPACE, ingress_object, secret_object, service_object, slice_object
from tests.fakes.processes import free_port

GROUP = "gateway.networking.k8s.io"


def _object(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, "spec": spec}


def gateway_object(name: str, *listeners: dict[str, Any]) -> dict[str, Any]:
    """Return a Gateway of the class ``ours``."""
    return _object("Gateway", name, gatewayClassName="ours", listeners=list(listeners))


def listener_object(name: str, port: int, **more: Any) -> dict[str, Any]:
    """Return a listener for HTTP, unless *more* says something else."""
    return {"name": name, "port": port, "protocol": "HTTP", **more}


def route_object(name: str, parent: str, *hostnames: str) -> dict[str, Any]:
    """Return an HTTPRoute that sends all to the Service of the same name."""
    rules = [{"backendRefs": [{"name": name, "port": 80}]}]
    return _object("HTTPRoute", name, parentRefs=[{"name": parent}], hostnames=list(hostnames), rules=rules)


class GatewayProcessTests(EndToEndCase):
    """Listeners of Gateways."""

    def serve(self, *names: str) -> None:
        """Have a Service for each of *names*, whose endpoint answers with it."""
        for name in names:
            endpoint = self.upstream(name.encode()).endpoint
            self.write(f"service-{name}", service_object(name), slice_object(name, endpoint))
        spec = {"controllerName": "txingress.dev/gateway"}
        self.write("class", {**_object("GatewayClass", "ours", **spec), "metadata": {"name": "ours"}})

    async def body(self, port: int, host: str, trust: Any = None) -> tuple[int, bytes]:
        """Return what is answered for *host*; of an error the status alone."""
        status, body = await self.get(port, "/", host, trust)
        return (status, body) if status == 200 else (status, b"")

    async def until_body(self, expected: tuple[int, bytes], port: int, host: str, trust: Any = None) -> None:
        """Wait until this is what is answered for *host*: workers have a change a moment after it was told."""
        deadline = self.reactor.seconds() + PATIENCE
        while (found := await self.body(port, host, trust)) != expected:
            self.assertLess(self.reactor.seconds(), deadline, (host, found))
            await self.turn(0.05)

    async def until_told(self, *expected: tuple[str, str, str]) -> None:
        """Wait until just these problems are told: by whom, why, and of which field."""
        deadline = self.reactor.seconds() + PATIENCE
        while True:
            _, page = await self.get(self.admin, "/api/problems")
            found = {(one["name"], one["reason"], one["field"]) for one in json.loads(page)["problems"]}
            if found == set(expected):
                return
            if self.reactor.seconds() > deadline:
                self.fail(f"told of {found}, not {expected}")
            await self.turn(0.05)

    async def test_beside_ingresses(self) -> None:
        """On the ports of the command line the more specific host decides, over TLS too; its sockets and connections stay as they are."""
        authority = make_authority()
        self.serve("ingress", "route")
        self.write("cert", secret_object("cert", *issue(authority, ["both.test"])))
        self.write("cert2", secret_object("cert2", *issue(authority, ["*.both.test", "only.both.test"])))
        self.write(
            "ingress",
            ingress_object("ingress", "both.test", "cert"),
            {
                **ingress_object("ingress", "*.wide.test"),
                "metadata": {"name": "wide", "namespace": NAMESPACE},
            },
        )
        controller = self.start_with_manifests("--no-ssl-redirect")
        await self.until_ready(controller)
        kept = await self.connect(self.http)
        tls = {"mode": "Terminate", "certificateRefs": [{"name": "cert2"}]}
        self.write(
            "gateway",
            gateway_object(
                "gateway",
                listener_object("plain", self.http),
                listener_object("secure", self.https, protocol="HTTPS", hostname="*.both.test", tls=tls),
            ),
            route_object("route", "gateway", "both.test", "*.wide.test", "x.wide.test", "only.both.test"),
        )
        await self.until_told(("route", "HostConflict", "spec.hostnames"))
        for host, expected in (
            ("x.wide.test", (200, b"route")),
            ("y.wide.test", (200, b"ingress")),
            ("z.y.wide.test", (200, b"route")),
            ("other.test", (404, b"")),
            ("only.both.test", (200, b"route")),
        ):
            await self.until_body(expected, self.http, host)
        await self.until_body((200, b"ingress"), self.https, "both.test", authority)
        await self.until_body((200, b"route"), self.https, "only.both.test", authority)
        # Its worker may be another one than that of each answer before.
        deadline = self.reactor.seconds() + PATIENCE
        while not kept.answers or kept.answers[-1].body != b"route":
            self.assertLess(self.reactor.seconds(), deadline, kept.answers)
            await self.turn(0.05)
            kept.get(b"/", b"x.wide.test")
            await kept.answer()
            self.assertIsNone(kept.lost)
        (self.manifests / "gateway.yaml").unlink()
        await self.until_told()
        await self.until_body((200, b"ingress"), self.http, "x.wide.test")
        await self.until_body((404, b""), self.http, "only.both.test")
        self.assertIsNone(kept.lost)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_ports(self) -> None:
        """Ports are opened and closed with listeners and touch no others; one that cannot be had is told, and ends nothing."""
        self.serve("route")
        first, second, taken = (free_port() for _ in range(3))
        route = route_object("route", "gateway")
        with socket.create_server(("127.0.0.1", taken)):
            self.write("gateway", gateway_object("gateway", listener_object("first", first)), route)
            controller = self.start_with_manifests()
            await self.until_ready(controller)
            self.assertEqual(await self.body(first, "a.test"), (200, b"route"))
            kept = await self.connect(first)
            self.write(
                "gateway",
                gateway_object(
                    "gateway",
                    listener_object("first", first),
                    listener_object("second", second),
                    listener_object("taken", taken),
                    listener_object("pages", self.admin),
                ),
                route,
            )
            await self.until_told(
                ("gateway", "PortUnavailable", "spec.listeners[2].port"),
                ("gateway", "PortUnavailable", "spec.listeners[3].port"),
            )
            await self.until_body((200, b"route"), second, "a.test")
            self.assertEqual((await self.get(self.admin, "/readyz"))[0], 200)
        kept.get(b"/", b"a.test")
        await kept.answer()
        self.assertEqual(kept.answers[0].body, b"route")
        self.write("gateway", gateway_object("gateway", listener_object("second", second)), route)
        await self.until_told()
        await self.until(lambda: kept.lost)
        await self.until_body((0, b""), first, "a.test")
        await self.until_body((200, b"route"), second, "a.test")
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_addresses(self) -> None:
        """With addresses for Gateways each has its own, by which nothing of another one is served."""
        self.serve("red", "blue", "azure")
        port = free_port()
        for name in ("blue", "red"):
            self.write(name, gateway_object(name, listener_object("http", port)), route_object(name, name))
        controller = self.start_with_manifests("--gateway-address=127.0.0.1", "--gateway-address=127.0.0.2")
        await self.until_ready(controller)
        # Without an age the name decides.
        self.assertEqual(await self.body(port, "a.test"), (200, b"blue"))
        (self.manifests / "blue.yaml").unlink()
        # The address that is free now is for who comes next; nobody moves there.
        await self.until_told()
        self.write(
            "azure", gateway_object("azure", listener_object("http", port)), route_object("azure", "azure")
        )
        await self.until_body((200, b"azure"), port, "a.test")
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
