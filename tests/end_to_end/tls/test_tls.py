"""TLS of the whole controller as a process: rotation, broken Secrets, strictness, and what never leaks."""

from __future__ import annotations

import base64
import json
import signal
from typing import Any

from OpenSSL import SSL
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol

from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.apiserver.server import ApiServer
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import ingress_object, secret_object, service_object, slice_object
from tests.fakes.peers.downstreams import DownstreamWire
from tests.fakes.processes import ControllerProcess

HOST = "shop.test"
PAGES = ("/", "/readyz", "/metrics", "/api/routes", "/api/problems", "/api/certificates")
ROTATIONS = 10
SOON = 10.0
"""Seconds within which a new certificate is in use, on a busy machine too: what is not told by a watch takes minutes."""


def leaks(key_pem: bytes) -> list[bytes]:
    """Lines of a private key that must be nowhere: a line of base64 is enough to know it by."""
    return [line for line in key_pem.splitlines() if not line.startswith(b"-----") and len(line) > 20]


class RotationTests(EndToEndCase):
    """Secrets that change while visitors come."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Serve one host over TLS, out of an API server."""
        super().setUp()
        self.server = ApiServer(self.reactor, tls=True)
        await self.server.listen()
        self.addCleanup(lambda: Deferred.fromCoroutine(self.server.stop()))
        kubeconfig = self.directory / "kubeconfig"
        self.server.write_kubeconfig(kubeconfig)
        self.authority = make_authority()
        upstream = self.upstream(b"app")
        self.server.create(ingress_object("app", HOST, "cert"))
        self.server.create(service_object("app"))
        self.server.create(slice_object("app", upstream.endpoint))
        self.server.create(secret_object("cert", *issue(self.authority, [HOST])))
        self.controller = self.start(f"--kubeconfig={kubeconfig}", "--shutdown-delay=0")
        await self.until_ready(self.controller)
        await self.until_get((200, b"app"), self.https, trust=self.authority)

    async def shown(self) -> str:
        """The serial number of the certificate that the controller says is in use."""
        return str(
            json.loads((await self.get(self.admin, "/api/certificates"))[1])["certificates"][0]["fingerprint"]
        )

    async def test_under_load(self) -> None:
        """Certificates change ten times while visitors come and stay: no request fails, and each is soon in use."""
        statuses: list[int] = []
        rotating = True

        async def come() -> None:
            while rotating:
                statuses.append((await self.get(self.https, trust=self.authority))[0])

        stays = await self.connect(self.https, HOST, self.authority)

        async def stay() -> None:
            while rotating:
                stays.get(host=HOST.encode())
                await stays.answer()
                await self.turn(0.001)

        visits = [Deferred.fromCoroutine(one) for one in (come(), come(), stay())]
        seconds = []
        for _ in range(ROTATIONS):
            before, began = await self.shown(), self.reactor.seconds()
            self.server.apply(secret_object("cert", *issue(self.authority, [HOST])))
            while await self.shown() == before:
                await self.turn(0.005)
            seconds.append(self.reactor.seconds() - began)
        rotating = False
        await gatherResults(visits)
        self.assertEqual(set(statuses), {200})
        self.assertEqual({answer.status for answer in stays.answers}, {200})
        self.assertGreater(len(stays.answers), ROTATIONS)
        self.assertLess(sorted(seconds)[ROTATIONS // 2], SOON)

    async def test_broken(self) -> None:
        """What is broken becomes a problem with its reason, and the last good certificate stays."""
        chain, key = issue(self.authority, [HOST])
        _, other_key = issue(self.authority, [HOST])
        before = await self.shown()
        for content, reason, word in (
            ({"tls.crt": b"no PEM", "tls.key": key}, "InvalidCertificate", "tls.crt"),
            ({"tls.crt": chain, "tls.key": b"no PEM"}, "InvalidCertificate", "tls.key"),
            ({"tls.crt": chain, "tls.key": other_key}, "InvalidCertificate", "does not belong"),
            ({"tls.crt": chain}, "InvalidCertificate", "tls.key"),
            ({"tls.key": key}, "InvalidCertificate", "tls.crt"),
        ):
            broken = secret_object("cert", b"", b"")
            broken["data"] = {name: base64.b64encode(value).decode() for name, value in content.items()}
            self.server.apply(broken)
            problem = await self.problem(word)
            self.assertEqual(
                (problem["kind"], problem["name"], problem["reason"]), ("Secret", "cert", reason)
            )
            self.assertIn("last good", problem["message"])
            self.assertEqual(await self.shown(), before)
            self.assertEqual(await self.get(self.https, trust=self.authority), (200, b"app"))
        self.server.apply(secret_object("cert", chain, key))
        while await self.shown() == before:
            await self.turn(0.01)
        self.assertEqual(json.loads((await self.get(self.admin, "/api/problems"))[1])["problems"], [])

    async def problem(self, word: str) -> dict[str, Any]:
        """Wait for a problem that says *word*."""
        deadline = self.reactor.seconds() + PATIENCE
        while True:
            problems = json.loads((await self.get(self.admin, "/api/problems"))[1])["problems"]
            found = [one for one in problems if word in one["message"]]
            if found:
                return dict(found[0])
            if self.reactor.seconds() > deadline:
                self.fail(f"no problem says {word!r}: {problems}")
            await self.turn(0.01)


class LeakTests(EndToEndCase):
    """Key material leaves the process in handshakes alone."""

    async def test_nothing_leaks(self) -> None:
        """No key is in any page, in any log, or on standard error, be it good, broken or of no use."""
        authority = make_authority()
        good, other, mismatched = (issue(authority, [HOST], key_type) for key_type in ("ec", "rsa", "ec"))
        damaged = other[1].replace(b"\n", b"\nX", 3)
        app = self.upstream(b"app")
        self.write("slice", slice_object("app", app.endpoint))
        self.write("app", ingress_object("app", HOST, "cert"), service_object("app"))
        self.write("also", ingress_object("also", HOST, "rsa"))
        self.write(
            "bad",
            ingress_object("bad", "bad.test", "mismatched"),
            ingress_object("damaged", "d.test", "damaged"),
        )
        self.write("rsa", secret_object("rsa", *other))
        self.write(
            "broken",
            secret_object("mismatched", good[0], mismatched[1]),
            secret_object("damaged", good[0], damaged),
        )
        controller = self.start_with_manifests()
        await self.until_ready(controller)
        self.write("cert", secret_object("cert", *good))
        await self.until_shown(b'"shop/cert"', "/api/certificates")
        await self.until_get((200, b"app"), self.https, trust=authority)
        # A Secret that was good and is not any more, and a key where none belongs.
        self.write("cert", secret_object("cert", good[0], mismatched[1]))
        wrong = secret_object("wrong", mismatched[1], good[1])
        self.write("wrong", wrong, ingress_object("wrong", "wrong.test", "wrong"))
        problems = b""
        deadline = self.reactor.seconds() + PATIENCE
        while b"last good" not in problems or b'"wrong"' not in problems:
            if self.reactor.seconds() > deadline:
                self.fail(f"these are all problems: {problems!r}")
            problems = (await self.get(self.admin, "/api/problems"))[1]
            await self.turn(0.02)
        pages = b"".join([(await self.get(self.admin, page))[1] for page in PAGES])
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
        everything = pages + controller.output + controller.errors + self.access_log.read_bytes()
        self.assertIn(b"mismatched", everything)
        for _, key in (good, other, mismatched, (b"", damaged)):
            self.assertGreaterEqual(len(leaks(key)), 2)
            for line in leaks(key):
                self.assertNotIn(line, everything)
                self.assertNotIn(base64.b64encode(line)[:40], everything)
        self.assertNotIn(b"PRIVATE KEY-", everything)


class StrictTests(EndToEndCase):
    """``--strict-sni`` and ``--tls-min-version``."""

    async def alert(self, name: bytes | None, version: int | None = None) -> bytes:
        """Say hello; return the last two bytes of what comes back: of an alert, level and number."""
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        if version is not None:
            context.set_max_proto_version(version)
        client = SSL.Connection(context, None)
        if name is not None:
            client.set_tlsext_host_name(name)
        client.set_connect_state()
        with self.assertRaises(SSL.WantReadError):
            client.do_handshake()
        wire = DownstreamWire()
        received: list[bytes] = []
        wire.dataReceived = lambda data: received.append(data)  # type: ignore[method-assign]
        await connectProtocol(TCP4ClientEndpoint(self.reactor, "127.0.0.1", self.https), wire)
        self.clients.append(wire)
        wire.send(client.bio_read(65536))
        await self.until(lambda: wire.lost)
        return b"".join(received)[-2:]

    async def start_strict(self, *options: str) -> ControllerProcess:
        """Start with one host, strict unless *options* say something else."""
        self.authority = make_authority()
        app = self.upstream(b"app")
        self.write("app", ingress_object("app", HOST, "cert"), service_object("app"))
        self.write("slice", slice_object("app", app.endpoint))
        self.write("cert", secret_object("cert", *issue(self.authority, [HOST])))
        controller = self.start_with_manifests(*(options or ("--strict-sni", "--tls-min-version=1.3")))
        await self.until_ready(controller)
        await self.until_get((200, b"app"), self.https, trust=self.authority)
        return controller

    async def test_refused(self) -> None:
        """Unknown names, none, and old versions are refused by their alerts; nothing is said about it."""
        controller = await self.start_strict()
        for name in (b"unknown.test", b"a.shop.test", None):
            self.assertEqual(await self.alert(name), bytes((2, 112)))
        self.assertEqual(await self.alert(HOST.encode(), SSL.TLS1_2_VERSION), bytes((2, 70)))
        self.assertEqual(await self.get(self.https, trust=self.authority), (200, b"app"))
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_decided_by_config_map(self) -> None:
        """What a ConfigMap says at the start is decided before the first connection."""
        data = {"strict-sni": "true", "tls-min-version": "1.3"}
        names = {"name": "options", "namespace": "shop"}
        self.write("options", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": names, "data": data})
        controller = await self.start_strict("--configmap=shop/options")
        self.assertEqual(await self.alert(b"unknown.test"), bytes((2, 112)))
        self.assertEqual(await self.alert(HOST.encode(), SSL.TLS1_2_VERSION), bytes((2, 70)))
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
