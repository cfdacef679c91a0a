"""Those who mean harm at the TLS port of a process, and in Secrets: everybody else is served as ever."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol

from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.apiserver.server import ApiServer
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import ingress_object, secret_object, service_object, slice_object
from tests.fakes.peers.key_updates import KeyUpdates
from tests.fakes.peers.upstreams import Upstream
from tests.fakes.raw_wires import RawWire

HOST = "shop.test"
UPDATES = 20_000


def processor_seconds(pid: int) -> float:
    """Return how long a process had a processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class FloodTests(EndToEndCase):
    """One client whose records carry nothing."""

    async def start_flooded(self, *options: str) -> Upstream:
        """Have a controller answer over TLS; return the endpoint of its one route."""
        self.authority = make_authority()
        upstream = self.upstream(b"app")
        self.write("app", ingress_object("app", HOST, "cert"), service_object("app"))
        self.write("slice", slice_object("app", upstream.endpoint))
        self.write("cert", secret_object("cert", *issue(self.authority, [HOST])))
        # On a busy machine all of it may take longer than a head may.
        self.controller = self.start_with_manifests(f"--client-header-timeout={4 * PATIENCE:g}", *options)
        await self.until_ready(self.controller)
        await self.until_get((200, b"app"), self.https, trust=self.authority)
        return upstream

    async def stop_flooded(self) -> None:
        """Have it stop in order."""
        self.controller.signal(signal.SIGTERM)
        await self.stopped(self.controller)

    async def flooded(self) -> RawWire:
        """Send more key updates than fit in a turn, then a request."""
        flooder, wire = KeyUpdates(HOST.encode()), RawWire()
        await connectProtocol(TCP4ClientEndpoint(self.reactor, "127.0.0.1", self.https), wire)
        octets, is_complete = flooder.shake(b"")
        while not is_complete:
            wire.transport.write(octets)
            await self.until(lambda: wire.received)
            octets, is_complete = flooder.shake(bytes(wire.received))
            wire.received.clear()
        request = b"GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n"
        updates = b"".join(flooder.update(asks=True) for _ in range(UPDATES))
        wire.transport.write(octets + updates + flooder.send(request))
        return wire

    async def test_key_updates(self) -> None:
        """In the epoll set key updates without end are the end of their connection; others are answered."""
        upstream = await self.start_flooded()
        other = await self.connect(self.https, HOST, self.authority)
        requests = upstream.requests
        wire = await self.flooded()
        other.get(host=HOST.encode())
        await other.answer()
        await self.until(lambda: wire.saw_end)
        self.assertEqual([answer.status for answer in other.answers], [200])
        await self.disconnect()
        self.assertEqual(upstream.requests - requests, 1)
        await self.stop_flooded()

    async def test_key_updates_on_twisted(self) -> None:
        """On Twisted's transports all of them are read, a buffer's worth at once, and hold up nobody either."""
        upstream = await self.start_flooded("--no-epoll")
        for last in (False, False, True):
            asked = await self.flood_once(upstream)
            # Held up by all of it, somebody else would have one answer.  A busy machine may give this process no turn meanwhile, hardly thrice.
            if asked > 2 or last:
                break
        self.assertGreater(asked, 2)
        await self.stop_flooded()

    async def flood_once(self, upstream: Upstream) -> int:
        """Do it; return how often somebody else was answered meanwhile."""
        other = await self.connect(self.https, HOST, self.authority)
        requests, asked = upstream.requests, 0
        wire = await self.flooded()
        began = self.reactor.seconds()
        # Not until it is closed: Twisted's transports wait for a goodbye first.
        while upstream.requests - requests <= asked:
            asked += 1
            other.get(host=HOST.encode())
            await other.answer()
            await self.turn(0.005)
            self.assertTrue(not wire.saw_end or upstream.requests - requests > asked, wire.lost)
            # It takes two seconds of processor time, of which a busy machine gives little.
            self.assertLess(self.reactor.seconds() - began, 3 * PATIENCE)
        # The request behind the flood was read, so all of it was.
        wire.transport.abortConnection()
        self.assertEqual({answer.status for answer in other.answers}, {200})
        await self.disconnect()
        return asked


class HostileSecretsTests(EndToEndCase):
    """Secrets, out of an API server, that somebody made to do harm."""

    async def test_harmless(self) -> None:
        """Each becomes a problem with its reason, while visitors of other hosts are answered as quickly as ever."""
        server = ApiServer(self.reactor, tls=True)
        await server.listen()
        self.addCleanup(lambda: Deferred.fromCoroutine(server.stop()))
        kubeconfig = self.directory / "kubeconfig"
        server.write_kubeconfig(kubeconfig)
        authority = make_authority()
        chain, key = issue(authority, [HOST])
        for made in (
            ingress_object("app", HOST, "cert"),
            service_object("app"),
            slice_object("app", self.upstream(b"app").endpoint),
            secret_object("cert", chain, key),
        ):
            server.create(made)
        controller = self.start(f"--kubeconfig={kubeconfig}", "--shutdown-delay=0")
        await self.until_ready(controller)
        await self.until_get((200, b"app"), self.https, trust=authority)
        brainpool = ec.generate_private_key(ec.BrainpoolP512R1())
        hostile = {
            "begins": (chain, b"-----BEGIN PRIVATE KEY-----\n" * 20000, "no PEM private key"),
            "certificates": (chain + authority.pem * 600, key, "601 certificates"),
            "large": (chain, key[:30] + b"A" * 500_000 + key[30:], "too large"),
            "curve": (*issue(authority, ["curve.test"], key=brainpool), "brainpoolP512r1"),
            "nul": (chain.replace(b"\n", b"\0", 3), key, "no PEM certificates"),
            "order": (authority.pem + chain, key, "the leaf must come first"),
            "swapped": (key, chain, "no PEM certificates"),
            "stranger": (chain, key, "not for stranger.test"),
        }
        for name, (chain_pem, key_pem, _) in hostile.items():
            server.create(ingress_object(name, f"{name}.test", name))
            server.create(secret_object(name, chain_pem, key_pem))
        visitor = await self.connect(self.https, HOST, authority)
        found: dict[str, str] = {}
        most, began = 0.0, self.reactor.seconds()
        while found.keys() != hostile.keys():
            self.assertLess(self.reactor.seconds() - began, PATIENCE, found)
            before = processor_seconds(controller.pid)
            visitor.get(host=HOST.encode())
            await visitor.answer()
            most = max(most, processor_seconds(controller.pid) - before)
            problems = json.loads((await self.get(self.admin, "/api/problems"))[1])["problems"]
            found = {one["name"]: one["message"] for one in problems if "ertificate" in one["reason"]}
        for name, (_, _, word) in hostile.items():
            self.assertIn(word, found[name])
        self.assertEqual({answer.status for answer in visitor.answers}, {200})
        # What else the machine has to do meanwhile says nothing of the controller.
        self.assertLess(most, 1.0)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
