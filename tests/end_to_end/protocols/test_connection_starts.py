"""The whole controller as a process, with TLS that passes through and PROXY headers."""

from __future__ import annotations

import json
import signal
from typing import Any

from OpenSSL import crypto
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.error import ConnectError
from twisted.internet.ssl import CertificateOptions

from ingress.model.upstream.backends import Endpoint
from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.certificates import Authority, issue, make_authority
from tests.fakes.objects import ingress_object, secret_object, service_object, slice_object
from tests.fakes.peers.downstreams import DownstreamWire
from tests.fakes.peers.upstreams import Upstream

HEADER = b"PROXY TCP4 192.0.2.7 198.51.100.1 50000 443\r\n"
NETWORKS: tuple[tuple[str, ...], ...] = ((), ("--no-epoll",))


class ConnectionStartCase(EndToEndCase):
    """``shop.test`` is terminated here, ``vault.test`` is not."""

    def secure_upstream(self, name: str) -> tuple[Endpoint, Authority]:
        """Start a backend that terminates TLS itself; return where it is, and who issued its certificate."""
        authority = make_authority("Vault Authority")
        chain, key = issue(authority, [name])
        options = CertificateOptions(
            privateKey=crypto.load_privatekey(crypto.FILETYPE_PEM, key),
            certificate=crypto.load_certificate(crypto.FILETYPE_PEM, chain),
        )
        upstream = Upstream(
            self.reactor, lambda wire: wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nvault")
        )
        port = self.reactor.listenSSL(0, upstream, options, interface="127.0.0.1")
        self.addCleanup(port.stopListening)
        self.addCleanup(upstream.stop)
        return Endpoint("127.0.0.1", port.getHost().port), authority

    def write_site(self) -> tuple[Authority, Authority]:
        """Write both hosts down; return who issued the certificate of the shop, and of the vault."""
        shop = make_authority("Shop Authority")
        endpoint, vault = self.secure_upstream("vault.test")
        passing = ingress_object("vault", "vault.test")
        passing["metadata"]["annotations"] = {"nginx.ingress.kubernetes.io/ssl-passthrough": "true"}
        self.write("vault", passing, service_object("vault"), slice_object("vault", endpoint))
        self.write(
            "shop",
            ingress_object("app", "shop.test", "cert"),
            service_object("app"),
            slice_object("app", self.upstream(b"shop").endpoint),
            secret_object("cert", *issue(shop, ["shop.test"])),
        )
        return shop, vault

    async def problems(self) -> list[dict[str, Any]]:
        """What the admin port says of problems."""
        _, body = await self.get(self.admin, "/api/problems")
        problems: list[dict[str, Any]] = json.loads(body)["problems"]
        return problems


class PassthroughTests(ConnectionStartCase):
    """``--enable-ssl-passthrough``."""

    async def test_on(self) -> None:
        """A client of the host sees the backend's own certificate; other hosts are terminated; HTTP redirects."""
        for options in NETWORKS:
            shop, vault = self.write_site()
            controller = self.start_with_manifests("--enable-ssl-passthrough", *options)
            await self.until_ready(controller)
            self.assertEqual(await self.get(self.https, host="vault.test", trust=vault), (200, b"vault"))
            self.assertEqual(await self.get(self.https, host="shop.test", trust=shop), (200, b"shop"))
            other = await self.connect(self.https, "shop.test", shop)
            other.get(host=b"vault.test")
            await self.until(lambda other=other: other.answers)  # type: ignore[misc]
            self.assertEqual(other.answers[0].status, 421)
            redirect = await self.answer(self.http, "/ui", "vault.test")
            assert redirect is not None
            self.assertTrue(redirect.has(f"Location: https://vault.test:{self.https}/ui".encode()))
            self.assertEqual(await self.problems(), [])
            # A connection is counted when it has ended, by the worker that had it.
            await self.until_shown(b'ingress_passthrough_connections_ended_total{status="200"} 1.0')
            controller.signal(signal.SIGTERM)
            await self.stopped(controller)
            self.assertRegex(
                self.access_log.read_text(), r' 127\.0\.0\.1 TLS vault\.test "-" 200 \d+ .* shop/vault'
            )

    async def test_off(self) -> None:
        """Without the option TLS is terminated here, and the annotation is a problem."""
        self.write_site()
        controller = self.start_with_manifests()
        await self.until_ready(controller)
        (problem,) = await self.problems()
        self.assertEqual((problem["reason"], problem["name"]), ("UnsupportedAnnotation", "vault"))
        self.assertIn("--enable-ssl-passthrough", problem["message"])
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)


class ProxyProtocolTests(ConnectionStartCase):
    """``--use-proxy-protocol``."""

    async def test_header(self) -> None:
        """The client of the header is in the log; without a header, or from a stranger, there is no answer."""
        for trusted, wanted in (("127.0.0.0/8", b"200"), ("192.0.2.0/24", b"")):
            for options in NETWORKS:
                self.write_site()
                controller = self.start_with_manifests(
                    "--use-proxy-protocol",
                    f"--trusted-proxies={trusted}",
                    "--enable-ssl-passthrough",
                    *options,
                )
                await self.until_ready(controller)
                for begin, status in ((HEADER, wanted), (b"", b"")):
                    self.assertEqual(await self.ask(begin), status)
                controller.signal(signal.SIGTERM)
                await self.stopped(controller)
        lines = self.access_log.read_bytes().splitlines()
        self.assertEqual([line.split(b" ")[1] for line in lines], [b"192.0.2.7", b"192.0.2.7"])

    async def ask(self, begin: bytes) -> bytes:
        """Send *begin* and a request for plain HTTP; return the status, empty where there is no answer."""
        client = DownstreamWire()
        try:
            await connectProtocol(TCP4ClientEndpoint(self.reactor, "127.0.0.1", self.http), client)
        except ConnectError:
            # Closed sooner than we could see that it was open.
            return b""
        self.clients.append(client)
        client.send(begin + b"GET /.well-known/acme-challenge/x HTTP/1.1\r\nHost: shop.test\r\n\r\n")
        await self.until(lambda: client.lost or client.answers)
        client.transport.abortConnection()
        return b"%d" % client.answers[0].status if client.answers else b""

    async def test_nobody_trusted(self) -> None:
        """Without ``--trusted-proxies`` nobody could connect, so there is no start."""
        controller = self.start_with_manifests("--use-proxy-protocol")
        self.assertEqual(await self.end_of(controller), 1)
        self.assertRegex(
            controller.errors.decode(), r"\Aingress: .*--use-proxy-protocol needs --trusted-proxies.*\n\Z"
        )
