"""The whole controller as a process: getting to HTTPS, staying there, and who is let in."""

from __future__ import annotations

import base64
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol, wrapClientTLS

from ingress.model.upstream.backends import Endpoint
from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.apiserver.server import ApiServer
from tests.fakes.certificates import issue, make_authority, revoke
from tests.fakes.objects import NAMESPACE, ingress_object, secret_object, service_object, slice_object
from tests.fakes.peers.downstreams import Answer, DownstreamWire
from tests.fakes.peers.tls_clients import TLSClient
from tests.fakes.processes import ControllerProcess

HOST = "shop.test"
PREFIX = "nginx.ingress.kubernetes.io"
CHALLENGES = "/.well-known/acme-challenge"
TOKEN = "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0"
KEY_AUTHORIZATION = f"{TOKEN}.9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI".encode()
TRANSPORT_SECURITY = b"Strict-Transport-Security: max-age=31536000; includeSubDomains"


def annotated(ingress: dict[str, Any], **annotations: str) -> dict[str, Any]:
    """Add annotations to an Ingress; an underscore stands for a dash."""
    written = {f"{PREFIX}/{name.replace('_', '-')}": value for name, value in annotations.items()}
    ingress["metadata"].setdefault("annotations", {}).update(written)
    return ingress


def generic_secret(name: str, **content: bytes) -> dict[str, Any]:
    """Return a Secret as ``kubectl create secret generic`` makes it; an underscore stands for a dot."""
    encoded = {key.replace("_", "."): base64.b64encode(value).decode() for key, value in content.items()}
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": encoded}


def solver_objects(endpoint: Endpoint, path_type: str) -> list[dict[str, Any]]:
    """Return what cert-manager creates to solve an HTTP-01 challenge, and the EndpointSlice of its pod."""
    name = "cm-acme-http-solver-x7k2p"
    labels = {
        "acme.cert-manager.io/http-domain": "1012345678",
        "acme.cert-manager.io/http-token": "1112345678",
        "acme.cert-manager.io/http01-solver": "true",
    }
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    backend = {"service": {"name": name, "port": {"number": 8089}}}
    path = {"path": f"{CHALLENGES}/{TOKEN}", "pathType": path_type, "backend": backend}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {**metadata, "annotations": {"auth.istio.io/8089": "NONE"}},
            "spec": {
                "type": "NodePort",
                "clusterIP": "10.0.0.11",
                "selector": labels,
                "ports": [{"name": "http", "port": 8089, "targetPort": 8089, "protocol": "TCP"}],
            },
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": f"{name}-1",
                "namespace": NAMESPACE,
                "labels": {**labels, "kubernetes.io/service-name": name},
            },
            "addressType": "IPv4",
            "ports": [{"name": "http", "port": endpoint.port, "protocol": "TCP"}],
            "endpoints": [{"addresses": [endpoint.address], "conditions": {"ready": True}}],
        },
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {
                **metadata,
                "annotations": {f"{PREFIX}/whitelist-source-range": "0.0.0.0/0,::/0"},
            },
            "spec": {"ingressClassName": "nginx", "rules": [{"host": HOST, "http": {"paths": [path]}}]},
        },
    ]


class HttpsCase(EndToEndCase):
    """A shop whose objects come from an API server."""

    network: tuple[str, ...] = ()
    """The option that chooses the network."""
    watched: tuple[str, ...] = ()
    """The option that chooses the Secrets to watch; those of authorities are read by name without it."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Start an API server, and the shop."""
        super().setUp()
        self.server = ApiServer(self.reactor, tls=True)
        await self.server.listen()
        self.addCleanup(lambda: Deferred.fromCoroutine(self.server.stop()))
        self.kubeconfig = self.directory / "kubeconfig"
        self.server.write_kubeconfig(self.kubeconfig)
        self.authority = make_authority()
        self.shop = self.upstream(b"shop")
        self.server.create(service_object("app"))
        self.server.create(slice_object("app", self.shop.endpoint))

    async def start_with_server(self, *options: str) -> ControllerProcess:
        """Start a controller that reads from the API server, and wait until it is ready."""
        controller = self.start(
            f"--kubeconfig={self.kubeconfig}",
            "--shutdown-delay=0",
            *self.network,
            *self.watched,
            *options,
        )
        await self.until_ready(controller)
        return controller

    def certify(self) -> None:
        """Bring the certificate of the shop."""
        self.server.create(secret_object("cert", *issue(self.authority, [HOST])))

    async def status(self, port: int, path: str = "/") -> int:
        """Return the status of an answer, over TLS at the port of HTTPS."""
        trust = self.authority if port == self.https else None
        return (await self.get(port, path, trust=trust))[0]


class AcmeTests(HttpsCase):
    """An authority gets its answer over plain HTTP, whatever the host does with everybody else."""

    async def solve(self, path_type: str, *options: str, **annotations: str) -> None:
        """Go through an order: no certificate, the challenge, the certificate, and the next order."""
        await self.start_with_server(*options)
        self.server.create(annotated(ingress_object("app", HOST, "cert"), **annotations))
        await self.until_status(308, self.http)
        for one in solver_objects(self.solver.endpoint, path_type):
            self.server.create(one)
        challenge = f"{CHALLENGES}/{TOKEN}"
        await self.until_get((200, KEY_AUTHORIZATION), self.http, challenge)
        self.assertEqual(await self.status(self.http), 308)

        self.certify()
        await self.until_https()
        answer = await self.answer(self.http, challenge, HOST)
        assert answer is not None
        self.assertEqual((answer.status, answer.body), (200, KEY_AUTHORIZATION))
        self.assertFalse(answer.has(TRANSPORT_SECURITY))
        self.assertEqual(await self.status(self.http), 308)

    async def setUp(self) -> None:  # type: ignore[override]
        """Start the pod of the solver."""
        await super().setUp()
        self.solver = self.upstream(KEY_AUTHORIZATION)

    async def until_status(self, wanted: int, port: int) -> None:
        """Ask again and again until this is the status."""
        deadline = self.reactor.seconds() + PATIENCE
        while (found := await self.status(port)) != wanted:
            self.assertLess(self.reactor.seconds(), deadline, found)
            await self.turn(0.02)

    async def until_https(self) -> None:
        """Wait until the host has its certificate."""
        deadline = self.reactor.seconds() + PATIENCE
        while await self.status(self.https) not in (200, 400):
            self.assertLess(self.reactor.seconds(), deadline)
            await self.turn(0.02)

    async def test_forced_by_annotation(self) -> None:
        """With ssl-redirect and force-ssl-redirect, and the path type of older releases of cert-manager."""
        await self.solve("ImplementationSpecific", ssl_redirect="true", force_ssl_redirect="true")

    async def test_forced_by_option(self) -> None:
        """With --force-ssl-redirect, and the path type of newer releases."""
        await self.solve("Exact", "--force-ssl-redirect")

    async def test_with_client_certificates(self) -> None:
        """On a host that demands client certificates; what is not the challenge gets nowhere without."""
        self.server.create(generic_secret("people", ca_crt=make_authority().pem))
        await self.solve("Exact", force_ssl_redirect="true", auth_tls_secret=f"{NAMESPACE}/people")
        self.assertEqual(await self.status(self.http, f"{CHALLENGES}/other"), 403)
        self.assertEqual(await self.status(self.https), 400)
        self.assertEqual(self.shop.requests, 0)


class TransportSecurityTests(HttpsCase):
    """What a browser is told."""

    async def test_by_default(self) -> None:
        """Answers of a host with a certificate say it over TLS, errors and all; others do not."""
        await self.start_with_server()
        self.certify()
        self.server.create(annotated(ingress_object("app", HOST, "cert"), ssl_redirect="false"))
        await self.until_get((200, b"shop"), self.https, trust=self.authority)
        secure = await self.answer(self.https, "/", HOST, self.authority)
        plain = await self.answer(self.http, "/", HOST)
        assert secure is not None and plain is not None
        self.assertEqual((secure.has(TRANSPORT_SECURITY), plain.has(TRANSPORT_SECURITY)), (True, False))
        self.assertEqual(plain.status, 200)

    async def test_by_option(self) -> None:
        """Age, subdomains and preload are options."""
        await self.start_with_server("--hsts-max-age=60", "--no-hsts-subdomains", "--hsts-preload")
        self.certify()
        self.server.create(ingress_object("app", HOST, "cert"))
        await self.until_get((200, b"shop"), self.https, trust=self.authority)
        answer = await self.answer(self.https, "/", HOST, self.authority)
        assert answer is not None
        self.assertTrue(answer.has(b"Strict-Transport-Security: max-age=60; preload"))

    async def test_off(self) -> None:
        """With --no-hsts nothing is said, and with --no-ssl-redirect nobody is redirected."""
        await self.start_with_server("--no-hsts", "--no-ssl-redirect")
        self.certify()
        self.server.create(ingress_object("app", HOST, "cert"))
        await self.until_get((200, b"shop"), self.https, trust=self.authority)
        answer = await self.answer(self.https, "/", HOST, self.authority)
        assert answer is not None
        self.assertNotIn(b"Strict-Transport-Security", answer.head)
        self.assertEqual(await self.status(self.http), 200)


class ClientCertificateTests(HttpsCase):
    """A host that demands client certificates, from the annotation to the backend."""

    watched = ("--secret-field-selector=",)

    async def ask(
        self,
        client: TLSClient,
        server_name: str | None = HOST,
        session: Any = None,
        host: str = HOST,
    ) -> Answer | None:
        """Return the answer to a request over a connection for *server_name*, None for none."""
        endpoint = TCP4ClientEndpoint(self.reactor, "127.0.0.1", self.https)
        wire = DownstreamWire()
        name = None if server_name is None else server_name.encode()
        await connectProtocol(wrapClientTLS(client.to(name, session), endpoint), wire)
        self.clients.append(wire)
        wire.get(b"/", host.encode(), b"Connection: close\r\n")
        await wire.answer().addTimeout(PATIENCE, self.reactor)
        return wire.answers[0] if wire.answers else None

    async def until_asked(self, wanted: int, client: TLSClient) -> None:
        """Ask again and again until this is the status."""
        deadline = self.reactor.seconds() + PATIENCE
        while (found := await self.ask(client)) is None or found.status != wanted:
            self.assertLess(self.reactor.seconds(), deadline, found)
            await self.turn(0.02)

    async def test_nobody_gets_around(self) -> None:
        """No certificate, a session of another host, no server name, plain HTTP: none reaches the backend."""
        people = make_authority("People")
        ann = issue(people, [], common_name="ann", is_client=True)
        bob = issue(people, [], common_name="bob", is_client=True)
        await self.start_with_server("--no-ssl-redirect")
        self.certify()
        other = self.upstream(b"other")
        for one in (
            secret_object("other-cert", *issue(self.authority, ["other.test"])),
            service_object("other"),
            slice_object("other", other.endpoint),
            ingress_object("other", "other.test", "other-cert"),
        ):
            self.server.create(one)
        closed = annotated(
            ingress_object("app", HOST, "cert"),
            auth_tls_secret=f"{NAMESPACE}/people",
            auth_tls_pass_certificate_to_upstream="true",
        )
        self.server.create(closed)

        # Without the Secret nobody gets in, with it who has a certificate.
        await self.until_asked(403, TLSClient(ann))
        self.server.create(generic_secret("people", ca_crt=people.pem))
        await self.until_asked(200, TLSClient(ann))
        served = self.shop.requests
        head = self.shop.wires[0].heads[0]
        self.assertIn(b"\r\nssl-client-verify: SUCCESS\r\nssl-client-subject-dn: CN=ann\r\n", head)
        self.assertIn(b"\r\nssl-client-cert: -----BEGIN%20CERTIFICATE-----%0A", head)

        nobody = TLSClient()
        elsewhere = await self.ask(nobody, "other.test", host="other.test")
        assert elsewhere is not None and nobody.connection is not None
        self.assertEqual(elsewhere.body, b"other")
        session = nobody.connection.get_session()
        for name, resumed, statuses in (
            (HOST, None, {400}),
            (HOST, session, {None, 400, 421}),
            ("other.test", session, {421}),
            (None, session, {421}),
            (None, None, {421}),
            ("nobody.test", None, {421}),
        ):
            answer = await self.ask(nobody, name, resumed)
            self.assertIn(None if answer is None else answer.status, statuses, name)
        self.assertEqual(await self.status(self.http), 403)
        self.assertEqual(self.shop.requests, served)

        # Who is put on the revocation list is out from the next handshake on.
        self.server.apply(generic_secret("people", ca_crt=people.pem, ca_crl=revoke(people, ann[0])))
        await self.until_asked(400, TLSClient(ann))
        await self.until_asked(200, TLSClient(bob))

        # And without the Secret nobody is left.
        self.server.delete("Secret", "people", NAMESPACE)
        await self.until_asked(403, TLSClient(bob))


class ClientCertificateOnTwistedTests(ClientCertificateTests):
    """The same on Twisted's transports."""

    network = ("--no-epoll",)
