"""The whole controller as processes, with UDP services of the operator."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.end_to_end.takeover.takeover_case import FirstProcessCase, TakeoverCase
from tests.end_to_end.workers.workers_case import WorkersCase
from tests.fakes.objects import service_object, slice_object
from tests.fakes.peers.datagram_peers import DatagramClient, DatagramEndpoint
from tests.fakes.peers.upstreams import OK
from tests.fakes.processes import free_port

OPTION = "--udp-services-configmap=operators/udp"


class UdpCase(EndToEndCase):
    """Backends of UDP, from manifests."""

    def backend(self, name: str) -> list[dict[str, Any]]:
        """Start a backend that says *name* before what it was told; return its Service and EndpointSlice."""

        def greet(endpoint: DatagramEndpoint, datagram: bytes, peer: Any) -> None:
            endpoint.say(name.encode() + b":" + datagram, peer)

        endpoint = self.started = DatagramEndpoint(self.reactor, greet)
        self.addCleanup(endpoint.stop)
        found = [service_object(name), slice_object(name, endpoint.endpoint)]
        found[0]["spec"]["ports"].append({"name": "dns", "port": 53, "protocol": "UDP"})
        found[1]["ports"] = [{"name": "dns", "port": endpoint.endpoint.port, "protocol": "UDP"}]
        return found

    def services(self, **content: str) -> dict[str, Any]:
        """Return the ConfigMap that lists UDP services."""
        data = {name.removeprefix("_"): text for name, text in content.items()}
        metadata = {"name": "udp", "namespace": "operators"}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}

    def client(self, port: int) -> DatagramClient:
        """Return a client of *port*."""
        client = DatagramClient(port)
        self.addCleanup(client.close)
        return client

    async def until_said(self, wanted: bytes, client: DatagramClient, datagram: bytes = b"hi") -> None:
        """Ask again and again until this comes back."""
        deadline = self.reactor.seconds() + 30
        while wanted not in client.poll():
            if self.reactor.seconds() > deadline:
                self.fail(f"{client.answers!r}, and no {wanted!r}")
            client.say(datagram)
            await self.turn(0.05)

    async def ask(self, client: DatagramClient, datagram: bytes) -> bytes:
        """Say *datagram*, once; return the next answer.  Where none comes, say what became of it, as far as is known."""
        before = len(client.poll())
        client.say(datagram)
        deadline = self.reactor.seconds() + PATIENCE
        while len(client.poll()) <= before:
            if self.reactor.seconds() > deadline:
                _, page = await self.get(self.admin, "/metrics")
                known = [
                    line
                    for line in page.decode().splitlines()
                    if line.startswith(("ingress_udp_", "ingress_stream_", "ingress_worker"))
                    and not line.endswith(" 0.0")
                ]
                ports = Path("/proc/net/udp").read_text()
                self.fail(f"no answer to {datagram!r}: {known}; sockets: {ports}")
            await self.turn(0.01)
        return client.answers[before]

    async def until_silent(self, port: int) -> None:
        """Wait until nobody answers at *port*: the kernel refuses what is sent there."""
        client = self.client(port)
        client.sock.connect(("127.0.0.1", port))

        def is_refused() -> bool:
            try:
                client.sock.send(b"?")
            except ConnectionRefusedError:
                return True
            return False

        await self.until(is_refused)


class ServicesTests(UdpCase):
    """One process."""

    async def test_udp_services(self) -> None:
        """Ports are opened and closed as entries come and go, and lead elsewhere when they say so, on either network."""
        for network in ((), ("--no-epoll",)):
            one, two = free_port(), free_port()
            self.write("backends", *self.backend("db"), *self.backend("cache"))
            self.write("udp", self.services(**{f"_{one}": "shop/db:53"}))
            controller = self.start_with_manifests(OPTION, *network)
            await self.until_ready(controller)
            first = self.client(one)
            self.assertEqual(await self.ask(first, b"hi"), b"db:hi")
            self.write(
                "udp", self.services(**{f"_{two}": "shop/cache:dns", f"_{one}": "shop/db:53", "_x": "y"})
            )
            await self.until_said(b"cache:hi", self.client(two))
            self.assertEqual(await self.ask(first, b"again"), b"db:again")
            _, problems = await self.get(self.admin, "/api/problems")
            self.assertIn(b"data[x]", problems)
            self.write("udp", self.services(**{f"_{one}": "shop/cache:53"}))
            await self.until_silent(two)
            await self.until_said(b"cache:hi", first)
            shown = (await self.get(self.admin, "/metrics"))[1].decode()
            self.assertIn('ingress_stream_connections{sort="udp"} 0.0', shown)
            controller.signal(signal.SIGTERM)
            await self.stopped(controller)
            lines = [line for line in self.access_log.read_text().splitlines() if " UDP " in line]
            self.assertTrue(
                any(f'":{one}" 200 5' in line and "operators/udp" in line for line in lines), lines
            )


class WorkersTests(WorkersCase, UdpCase):
    """Several processes, of which one takes datagrams."""

    async def test_death(self) -> None:
        """All datagrams of a client go to one worker, and to the next one when that ends, however it does."""
        port = free_port()
        self.write("backends", *self.backend("db"))
        self.write("udp", self.services(**{f"_{port}": "shop/db:53"}))
        self.write("options", self.options())
        controller = self.start_workers(OPTION, "--configmap=operators/options")
        await self.until_ready(controller)
        await self.until(lambda: len(self.workers) == 2)
        client = self.client(port)
        for number in range(20):
            self.assertEqual(await self.ask(client, b"%d" % number), b"db:%d" % number)
        sources = self.sources()
        self.assertEqual(len(sources), 1)
        for _ in range(2):
            for pid in self.workers:
                os.kill(pid, signal.SIGKILL)
                await self.until_said(b"db:%d" % pid, client, b"%d" % pid)
                await self.until(lambda: len(self.workers) == 2)
        self.assertGreater(len(self.sources()), 1)
        self.assertEqual(await self.get(self.http), (200, b"shop"))
        controller.signal(signal.SIGTERM)
        self.assertEqual(await self.end_of(controller), 0)
        await self.until_silent(port)

    def sources(self) -> set[Any]:
        """Return the addresses from which datagrams came to the backend: one for each session."""
        return {peer for _, peer in self.started.received}

    def options(self) -> dict[str, Any]:
        """Return a ConfigMap by which sessions go on after an answer."""
        metadata = {"name": "options", "namespace": "operators"}
        data = {"proxy-stream-responses": "1000"}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


class TakeoverTests(TakeoverCase, UdpCase):
    """One process in the place of another."""

    async def test_takeover(self) -> None:
        """The port is never closed: the next process reads what was sent to it, and the one before sends what is still answered."""
        port = free_port()
        held: list[tuple[DatagramEndpoint, Any]] = []

        def answer_or_hold(endpoint: DatagramEndpoint, datagram: bytes, peer: Any) -> None:
            if datagram == b"slow":
                held.append((endpoint, peer))
            else:
                endpoint.say(datagram, peer)

        endpoint = DatagramEndpoint(self.reactor, answer_or_hold)
        self.addCleanup(endpoint.stop)
        found = [service_object("db"), slice_object("db", endpoint.endpoint)]
        for one in (found[0]["spec"], found[1]):
            one["ports"][0]["protocol"] = "UDP"
        self.write("db", *found)
        self.write("udp", self.services(**{f"_{port}": "shop/db:80"}))
        old = await self.serving(OPTION)
        slow, others = self.client(port), self.client(port)
        slow.say(b"slow")
        await self.until(lambda: held)
        new = self.start_next(*self.options)
        asked = 0
        while b"Took over from process" not in new.output:
            asked += 1
            self.assertEqual(await self.ask(others, b"%d" % asked), b"%d" % asked)
        await self.until(lambda: b"has taken over" in old.output)
        for number in range(20):
            self.assertEqual(await self.ask(others, b"n%d" % number), b"n%d" % number)
        ((of, peer),) = held
        of.say(b"at last", peer)
        await self.until(lambda: slow.poll())
        self.assertEqual(slow.answers, [b"at last"])
        await self.taken_over(old)
        self.assertEqual(await self.ask(slow, b"?"), b"?")


class RenewalTests(FirstProcessCase, UdpCase):
    """Workers that are replaced, one after the other."""

    async def test_renewal(self) -> None:
        """The port is served all the time, also while a worker waits for the end of what runs."""
        port = free_port()
        self.write("backends", *self.backend("db"))
        self.write("udp", self.services(**{f"_{port}": "shop/db:53"}))
        controller = await self.first("--workers=2", "--shutdown-delay=0", OPTION)
        client, running = self.client(port), await self.connect(self.http)
        self.assertEqual(await self.ask(client, b"?"), b"db:?")
        running.get(b"/slow", b"shop.test")
        await self.until(lambda: self.held)
        self.signal_first(controller, signal.SIGUSR2)
        asked = 0
        while b"All workers were replaced" not in controller.output:
            asked += 1
            self.assertEqual(await self.ask(client, b"%d" % asked), b"db:%d" % asked)
            if asked == 100:
                self.held[0].write(OK)
            await self.turn(0.01)
        await running.answer(1)
        self.assertEqual(await self.ask(client, b"!"), b"db:!")
        self.assertEqual(controller.faults(), [])
