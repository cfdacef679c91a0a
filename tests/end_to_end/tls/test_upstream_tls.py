"""The whole controller as a process, with endpoints that speak TLS and Secrets that change."""

from __future__ import annotations

import base64
import json
import signal
from typing import Any

from twisted.internet.defer import Deferred

from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.apiserver.server import ApiServer
from tests.fakes.certificates import Authority, issue, make_authority
from tests.fakes.objects import NAMESPACE, ingress_object, secret_object, service_object, slice_object
from tests.fakes.peers.tls_upstreams import TlsUpstream
from tests.fakes.peers.upstreams import Upstream

HOST = "shop.test"
NAME = "app.internal"
PREFIX = "nginx.ingress.kubernetes.io"
UNAVAILABLE = (503, b"503 Service Unavailable\n")
BAD_GATEWAY = (502, b"502 Bad Gateway\n")
OK = (200, b"ok")


def annotated(**annotations: str) -> dict[str, Any]:
    """Return the Ingress with annotations, whose names have underscores for hyphens."""
    ingress = ingress_object("app", HOST)
    ingress["metadata"]["annotations"] = {
        f"{PREFIX}/{name.replace('_', '-')}": value for name, value in annotations.items()
    }
    return ingress


def trust_object(ca_pem: bytes, pair: tuple[bytes, bytes]) -> dict[str, Any]:
    """Return the Secret as cert-manager writes them: a key pair and an authority; and what is none of ours."""
    secret = secret_object("upstream", *pair)
    secret["data"] |= {"ca.crt": base64.b64encode(ca_pem).decode(), "password": "aHVudGVyMg=="}
    return secret


class UpstreamTlsTests(EndToEndCase):
    """An Ingress whose backend speaks HTTPS."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Start an API server, an upstream, and a controller."""
        super().setUp()
        self.server = ApiServer(self.reactor, tls=True)
        await self.server.listen()
        self.addCleanup(lambda: Deferred.fromCoroutine(self.server.stop()))
        kubeconfig = self.directory / "kubeconfig"
        self.server.write_kubeconfig(kubeconfig)
        self.authority = make_authority()
        self.app = self.listening(self.authority)
        self.server.create(service_object("app"))
        self.server.create(slice_object("app", self.app.endpoint))
        self.controller = self.start(
            f"--kubeconfig={kubeconfig}", "--shutdown-delay=0", "--allow-external-name"
        )

    def listening(self, authority: Authority, **options: Any) -> TlsUpstream:
        """Return an upstream with a certificate for the name, listening."""
        upstream = TlsUpstream(self.reactor, issue(authority, [NAME]), **options)
        upstream.listen()
        self.addCleanup(upstream.stop)
        return upstream

    async def ends_well(self) -> None:
        """Check that no key was written anywhere, and that the controller stops cleanly."""
        for path in ("/api/routes", "/api/problems", "/api/certificates", "/metrics"):
            self.assertNotIn(b"PRIVATE KEY", (await self.get(self.admin, path))[1])
        for written in (self.controller.output, self.access_log.read_bytes()):
            self.assertNotIn(b"PRIVATE", written)
            self.assertNotIn(b"hunter2", written)
        await self.disconnect()
        self.controller.signal(signal.SIGTERM)
        await self.stopped(self.controller)

    async def test_protocols(self) -> None:
        """Each protocol is spoken as it is said, or not at all."""
        await self.until_ready(self.controller)
        self.server.create(annotated(backend_protocol="HTTPS"))
        await self.until_get(OK, self.http)
        # An endpoint of TLS does not understand the records of FastCGI.
        self.server.apply(annotated(backend_protocol="FCGI"))
        await self.until_get(BAD_GATEWAY, self.http)
        # The endpoint shakes hands and has no HTTP/2: it is not spoken to in HTTP/1.1 instead.
        requests = self.app.requests
        self.server.apply(annotated(backend_protocol="GRPCS"))
        await self.until_get(BAD_GATEWAY, self.http)
        self.assertEqual(self.app.requests, requests)
        self.server.apply(annotated(secure_backends="true"))
        await self.until_get(OK, self.http)
        self.server.apply(annotated(backend_protocol="HTTP"))
        await self.until_get(BAD_GATEWAY, self.http)
        heads = b"".join(head for wire in self.app.wires for head in wire.heads)
        self.assertIn(b"\r\nHost: shop.test", heads)
        await self.ends_well()

    async def test_app_protocol(self) -> None:
        """What the Service says of its port counts from the moment on in which it says so, and no longer."""
        self.server.create(annotated())
        await self.until_ready(self.controller)
        service = service_object("app")
        for said, spoken in (("kubernetes.io/h2c", "HTTP/2"), ("kubernetes.io/ws", "HTTP/1.1")) * 2:
            service["spec"]["ports"][0]["appProtocol"] = said
            self.server.apply(service)
            deadline = self.reactor.seconds() + PATIENCE
            while True:
                [route] = json.loads((await self.get(self.admin, "/api/routes"))[1])["routes"]
                if route["protocol"] == spoken:
                    break
                self.assertLess(self.reactor.seconds(), deadline)
                await self.turn(0.02)
        await self.ends_well()

    async def test_auto_http(self) -> None:
        """What came over TLS goes to the TLS port in TLS; what came in the clear, in the clear."""
        plain = Upstream(
            self.reactor, lambda wire: wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain")
        )
        plain.listen()
        self.addCleanup(plain.stop)
        front = make_authority()
        self.server.create(secret_object("cert", *issue(front, [HOST])))
        ingress = annotated(backend_protocol="AUTO_HTTP", ssl_redirect="false")
        ingress["spec"]["tls"] = [{"hosts": [HOST], "secretName": "cert"}]
        self.server.create(ingress)
        await self.until_ready(self.controller)
        await self.until_get(OK, self.https, trust=front)
        self.assertEqual(await self.get(self.http), BAD_GATEWAY)
        self.server.apply(slice_object("app", plain.endpoint))
        await self.until_get((200, b"plain"), self.http)
        await self.ends_well()

    async def test_secret(self) -> None:
        """The Secret decides whom we trust and what we show; it comes, changes, breaks, and goes."""
        self.app = self.listening(self.authority, clients=self.authority)
        self.server.apply(slice_object("app", self.app.endpoint))
        demands = {
            "backend_protocol": "HTTPS",
            "proxy_ssl_secret": f"{NAMESPACE}/upstream",
            "proxy_ssl_verify": "on",
            "proxy_ssl_name": NAME,
        }
        self.server.create(annotated(**demands))
        await self.until_ready(self.controller)
        await self.until_get(UNAVAILABLE, self.http)

        ours = issue(self.authority, [], common_name="the proxy", is_client=True)
        self.server.create(trust_object(self.authority.pem, ours))
        await self.until_get(OK, self.http)
        self.assertEqual(set(self.app.certificates), {"the proxy"})

        # Another authority is none for this upstream, not even on connections that are open.
        self.server.apply(trust_object(make_authority().pem, ours))
        await self.until_get(BAD_GATEWAY, self.http)
        requests = self.app.requests
        self.assertEqual((await self.get(self.http), self.app.requests), (BAD_GATEWAY, requests))
        self.server.apply(trust_object(self.authority.pem, ours))
        await self.until_get(OK, self.http)

        # A broken Secret leaves in force what it said before.
        self.server.apply(trust_object(b"no certificate", ours))
        await self.until(lambda: b"last good version stays in use" in self.controller.output)
        self.assertEqual(await self.get(self.http), OK)

        # Another name than that of the certificate is refused; the log says both.
        self.server.apply(trust_object(self.authority.pem, ours))
        self.server.apply(annotated(**{**demands, "proxy_ssl_name": "shop.internal"}))
        await self.until_get(BAD_GATEWAY, self.http)
        both = b'the certificate is for "app.internal", not for shop.internal'
        await self.until(lambda: both in self.controller.output)

        self.server.apply(annotated(**demands))
        await self.until_get(OK, self.http)
        self.server.delete("Secret", "upstream", NAMESPACE)
        await self.until_get(UNAVAILABLE, self.http)
        await self.ends_well()

    async def test_rotation_under_load(self) -> None:
        """While the Secret is replaced again and again by good ones, no request fails."""
        demands = {"backend_protocol": "HTTPS", "proxy_ssl_secret": f"{NAMESPACE}/upstream"}
        verified = {"proxy_ssl_verify": "on", "proxy_ssl_name": NAME}
        ours = issue(self.authority, [], common_name="the proxy", is_client=True)
        self.server.create(trust_object(self.authority.pem, ours))
        self.server.create(annotated(**demands, **verified))
        await self.until_ready(self.controller)
        await self.until_get(OK, self.http)
        client = await self.connect(self.http)
        for number in range(60):
            if number % 6 == 0:
                self.server.apply(trust_object(self.authority.pem + make_authority().pem, ours))
            client.get(host=HOST.encode())
            await client.answer()
            await self.turn(0.005)
        self.assertEqual({(one.status, one.body) for one in client.answers}, {OK})
        await self.ends_well()

    async def test_external_name(self) -> None:
        """An ExternalName Service whose name leads to this host, or is an address of it, reaches nothing."""
        service = service_object("app")
        self.server.create(annotated())
        for name in ("127.0.0.1", "localhost", "169.254.169.254"):
            service["spec"] = {"type": "ExternalName", "externalName": name, "ports": [{"port": 80}]}
            self.server.apply(service)
            await self.until_ready(self.controller)
            await self.until_get(UNAVAILABLE, self.http)
        self.assertEqual(self.app.wires, [])
        await self.ends_well()
