"""The whole controller as processes, with UDPRoutes: backends by weight, listeners that come and go under traffic, workers that die."""

from __future__ import annotations

import os
import signal
import socket
from collections import Counter
from typing import Any

from ingress.proxy.udp.port import MOST_DATAGRAMS
from tests.end_to_end.protocols.test_udp import UdpCase
from tests.end_to_end.takeover.takeover_case import TakeoverCase
from tests.end_to_end.workers.workers_case import WorkersCase
from tests.fakes.objects import service_object
from tests.fakes.peers.datagram_peers import DatagramClient
from tests.fakes.processes import free_port

LARGEST = 65_507


def descriptors_of(pid: int | None) -> list[str]:
    """Return the descriptors that a process has open."""
    return os.listdir(f"/proc/{pid}/fd")


class RoutesCase(UdpCase):
    """Objects of the Gateway API."""

    @staticmethod
    def object(kind: str, name: str, **spec: Any) -> dict[str, Any]:
        """Return an object of the Gateway API."""
        metadata = {"name": name} | ({} if kind == "GatewayClass" else {"namespace": "shop"})
        version = "gateway.networking.k8s.io/v1"
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}

    def listen(self, *ports: int) -> None:
        """Have a Gateway with these ports of UDP."""
        listeners = [{"name": f"p{port}", "port": port, "protocol": "UDP"} for port in ports]
        self.write(
            "gateway",
            self.object("GatewayClass", "ours", controllerName="txingress.dev/gateway"),
            self.object("Gateway", "main", gatewayClassName="ours", listeners=listeners),
        )

    def lead(self, port: int, **weights: int) -> None:
        """Have a route lead *port* to Services by weight, or go."""
        backends = [{"name": name, "port": 53, "weight": weight} for name, weight in weights.items()]
        parents = [{"name": "main", "sectionName": f"p{port}"}]
        route = self.object("UDPRoute", f"r{port}", parentRefs=parents, rules=[{"backendRefs": backends}])
        self.write(f"route-{port}", *([route] if weights else []))

    async def answers(self, port: int, count: int, address: str = "127.0.0.1") -> Counter[bytes]:
        """Return how many of *count* clients were answered by whom."""
        clients = [DatagramClient(port, address) for _ in range(count)]
        try:
            for client in clients:
                client.say(b"x")
            await self.until(lambda: all(client.poll() for client in clients))
            return Counter(client.answers[0].partition(b":")[0] for client in clients)
        finally:
            for client in clients:
                client.close()


class RoutesTests(RoutesCase):
    """One process."""

    async def test_routes(self) -> None:
        """Sessions are shared by weight, over both families; routes and listeners come and go, and nothing is left of them."""
        for network in ((), ("--no-epoll",)):
            one, two = free_port(), free_port()
            self.write("backends", *self.backend("db"), *self.backend("cache"), service_object("empty"))
            self.listen(one)
            self.lead(one, db=3, cache=1)
            six = f"--http=tcp6:{free_port()}:interface=\\:\\:1"
            controller = self.start_with_manifests(six, *network)
            await self.until_ready(controller)
            await self.until_said(b"db:hi", self.client(one))
            before = descriptors_of(controller.pid)
            found = await self.answers(one, 200)
            self.assertEqual(set(found), {b"db", b"cache"})
            self.assertTrue(110 <= found[b"db"] <= 190, found)
            self.assertEqual(sum((await self.answers(one, 20, "::1")).values()), 20)
            _, streams = await self.get(self.admin, "/api/v1/streams")
            self.assertIn(b'"sort": "udp"', streams)
            self.assertIn(b'"kind": "UDPRoute"', streams)
            self.lead(one, cache=1, db=0)
            await self.until_only(one, b"cache")
            # A Service that has the port for TCP alone.
            self.listen(one, two)
            self.lead(two, empty=1)
            _, problems = await self.get_until("/api/problems", b"ServicePortNotFound")
            self.assertIn(b"UDPRoute", problems)
            lost = self.client(two)
            for _ in range(500):
                lost.say(b"x" * 100)
            await self.get_until("/metrics", b'dropped_total{cause="no-endpoint"}')
            self.lead(two, db=1)
            await self.until_said(b"db:hi", self.client(two))
            for name in ("one", "two"):
                self.assertEqual(await self.ask(self.client(two), name.encode()), b"db:" + name.encode())
            self.assertEqual(await self.ask(self.client(two), b""), b"db:")
            self.assertEqual(
                await self.ask(self.client(two), b"x" * (LARGEST - 3)), b"db:" + b"x" * (LARGEST - 3)
            )
            self.listen()
            await self.until_silent(one)
            await self.until_silent(two)
            await self.until_fewer(controller.pid, len(before))
            controller.signal(signal.SIGTERM)
            await self.stopped(controller)
            self.assertEqual(controller.faults(), [])
            lines = [line for line in self.access_log.read_text().splitlines() if f'":{two}" 503' in line]
            self.assertTrue(0 < len(lines) < 20, len(lines))

    async def until_fewer(self, pid: int | None, count: int) -> None:
        """Wait until a process has fewer than *count* descriptors."""
        await self.until(lambda: len(descriptors_of(pid)) < count)

    async def until_only(self, port: int, name: bytes) -> None:
        """Wait until all clients are answered by *name*."""
        deadline = self.reactor.seconds() + 30
        while set(found := await self.answers(port, 20)) != {name}:
            if self.reactor.seconds() > deadline:
                self.fail(f"{found}")

    async def get_until(self, path: str, wanted: bytes) -> tuple[int, bytes]:
        """Get a page of the admin port again and again until *wanted* is in it."""
        deadline = self.reactor.seconds() + 30
        while wanted not in (found := await self.get(self.admin, path))[1]:
            if self.reactor.seconds() > deadline:
                self.fail(found[1].decode())
            await self.turn(0.1)
        return found

    async def test_flood(self) -> None:
        """A flood of clients that say one thing each takes descriptors up to the bound, beside those that are closed at the end of a turn, and who is known goes on."""
        port = free_port()
        self.write("backends", *self.backend("db"))
        self.listen(port)
        self.lead(port, db=1)
        silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(silent.close)
        most = 50
        controller = self.start_with_manifests(f"--max-udp-sessions={most}", "--stream-responses=1000")
        await self.until_ready(controller)
        known = self.client(port)
        await self.until_said(b"db:hi", known)
        await self.until_said(b"db:again", known, b"again")
        before = len(descriptors_of(controller.pid))
        for round_number in range(6):
            clients = [DatagramClient(port) for _ in range(200)]
            for client in clients:
                client.say(b"flood")
            await self.turn(0.05)
            for client in clients:
                client.close()
            self.assertLessEqual(len(descriptors_of(controller.pid)), before + most + MOST_DATAGRAMS)
            answer = await self.ask(known, b"%d" % round_number)
            self.assertEqual(answer, b"db:%d" % round_number)
        sources = {peer for datagram, peer in self.started.received if datagram != b"flood"}
        self.assertEqual(len(sources), 1)
        self.assertEqual(controller.faults(), [])


class WorkersTests(WorkersCase, RoutesCase):
    """Several processes."""

    async def test_death_and_change(self) -> None:
        """Listeners come and go while workers die and clients ask on: whoever asks at an open one is answered."""
        ports = [free_port() for _ in range(4)]
        self.write("backends", *self.backend("db"), *self.backend("cache"))
        self.listen(*ports)
        for port in ports:
            self.lead(port, db=1, cache=1)
        controller = self.start_workers()
        await self.until_ready(controller)
        await self.until(lambda: len(self.workers) == 2)
        for round_number in range(4):
            left = ports[round_number:]
            self.listen(*left)
            for pid in self.workers[:1]:
                os.kill(pid, signal.SIGKILL)
            for port in left:
                client = self.client(port)
                deadline = self.reactor.seconds() + 30
                while not client.poll():
                    self.assertLess(self.reactor.seconds(), deadline)
                    client.say(b"x")
                    await self.turn(0.05)
            for port in ports[:round_number]:
                await self.until_silent(port)
            await self.until(lambda: len(self.workers) == 2)
        self.assertEqual(await self.get(self.http), (200, b"shop"))
        controller.signal(signal.SIGTERM)
        self.assertEqual(await self.end_of(controller), 0)
        await self.until_silent(ports[-1])


class TakeoverTests(TakeoverCase, RoutesCase):
    """One process in the place of another."""

    async def test_takeover(self) -> None:
        """The port of a Gateway is handed over: each question gets its answer while processes change."""
        port = free_port()
        self.write("backends", *self.backend("db"))
        self.listen(port)
        self.lead(port, db=1)
        old = await self.serving()
        client = self.client(port)
        self.assertEqual(await self.ask(client, b"?"), b"db:?")
        new = self.start_next(*self.options)
        asked = 0
        while b"Took over from process" not in new.output:
            asked += 1
            self.assertEqual(await self.ask(client, b"%d" % asked), b"db:%d" % asked)
        await self.taken_over(old)
        for number in range(20):
            self.assertEqual(await self.ask(client, b"n%d" % number), b"db:n%d" % number)
