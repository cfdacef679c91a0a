"""TLS to endpoints of routes: policies and what Gateways show, from manifests to endpoints, all at once and change by change."""

import random
from base64 import b64encode
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.upstream.backends import BackendState
from ingress.model.upstream.upstream_tls import UpstreamTls
from ingress.routing.hosts import normal_host
from ingress.translate.snapshot import Snapshot
from tests.fakes.certificates import issue, make_authority
from tests.translate.readers.gateway.route_cluster import (
    GATEWAY_CLASS,
    HTTP_TABLE,
    INFRA,
    GatewayCluster,
    answer,
    gateway,
    get,
    grant,
    listener,
    route,
    rule,
    service,
)

AUTHORITY = make_authority()
PEM = AUTHORITY.pem.decode()
BACKEND_FIELD = "spec.tls.backend.clientCertificateRef"


def config_map(name: str = "ca", pem: str = PEM, namespace: str = INFRA) -> dict[str, Any]:
    """Return a ConfigMap with authorities."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ca.crt": pem}}


def secret(name: str = "mine", namespace: str = INFRA) -> dict[str, Any]:
    """Return a Secret with a key pair."""
    chain, key = issue(AUTHORITY, [name], is_client=True)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": "kubernetes.io/tls",
        "data": {"tls.crt": b64encode(chain).decode(), "tls.key": b64encode(key).decode()},
    }


def policy(
    name: str = "policy",
    target: str = "app",
    section: str = "",
    ca: str = "ca",
    hostname: str = "app.test",
    created: str = "2026-01-01T00:00:00Z",
) -> dict[str, Any]:
    """Return a BackendTLSPolicy."""
    about: dict[str, Any] = {"group": "", "kind": "Service", "name": target}
    if section:
        about["sectionName"] = section
    validation = {"hostname": hostname, "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": ca}]}
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "BackendTLSPolicy",
        "metadata": {"name": name, "namespace": INFRA, "creationTimestamp": created},
        "spec": {"targetRefs": [about], "validation": validation},
    }


def showing(
    name: str, *listeners: dict[str, Any], namespace: str = "", secret: str = "mine"
) -> dict[str, Any]:
    """Return a Gateway that shows a certificate to endpoints."""
    found = gateway(name, *listeners)
    reference = {"group": "", "kind": "Secret", "name": secret}
    if namespace:
        reference["namespace"] = namespace
    found["spec"]["tls"] = {"backend": {"clientCertificateRef": reference}}
    return found


def state_of(snapshot: Snapshot, host: str = "a.test") -> BackendState:
    """Return what becomes of the backend of the one route of *host*."""
    routes = snapshot.others[HTTP_TABLE].routes
    found = routes.find(normal_host(host.encode())[0], b"/")
    assert found is not None
    (backend,) = found.backends
    return snapshot.backends[backend]


def tls_of(snapshot: Snapshot, host: str = "a.test") -> UpstreamTls | None:
    """Return the settings of TLS to the one endpoint of *host*."""
    (endpoint,) = state_of(snapshot, host).endpoints
    return None if endpoint.link_settings is None else endpoint.link_settings.tls


class BackendTlsTests(SynchronousTestCase):
    """Routes to backends that are spoken to over TLS."""

    def setUp(self) -> None:
        self.cluster = GatewayCluster()
        self.cluster.write("class", GATEWAY_CLASS)
        self.cluster.write("main", gateway())
        self.cluster.write("app", service("app"), route("r", rule("app"), hostnames=["a.test"]))

    def test_policy_comes_and_goes(self) -> None:
        """A policy counts from its change on until the one that takes it, and never is anything sent in the clear meanwhile."""
        self.assertIsNone(tls_of(self.cluster.follow()))
        found = self.cluster.write("policy", policy())
        self.assertEqual(answer(found, get("a.test")), "503")
        found = self.cluster.write("ca", config_map())
        tls = tls_of(found)
        assert tls is not None
        self.assertEqual((tls.ca_pem.decode(), tls.tls_settings.name), (PEM, "app.test"))
        self.assertEqual(self.cluster.told("BackendTLSPolicy"), [])
        found = self.cluster.write("ca", config_map(pem=""))
        self.assertEqual(answer(found, get("a.test")), "503")
        self.assertEqual(
            [reason for _, reason, _ in self.cluster.told("BackendTLSPolicy")],
            ["InvalidCACertificateRef", "NoValidCACertificate"],
        )
        self.assertIsNone(tls_of(self.cluster.write("policy")))

    def test_policy_makes_no_route_another(self) -> None:
        """No route is made anew for a policy, and no object but itself is read."""
        for at in range(30):
            self.cluster.write(f"r{at}", route(f"r{at}", rule("app"), hostnames=[f"r{at}.test"]))
        before = self.cluster.follow()
        after = self.cluster.write("policy", policy())
        self.assertIs(after.others[HTTP_TABLE], before.others[HTTP_TABLE])
        self.assertLess(self.cluster.steps, 12)

    def test_each_gateway_shows_its_own(self) -> None:
        """What a Gateway shows is shown for its own routes, so the same endpoint is another one by another Gateway."""
        self.cluster.write("main", showing("main", listener("http", "*.test")))
        self.cluster.write("other", gateway("other", listener("http", "*.org")))
        parent = {"name": "other", "namespace": INFRA}
        self.cluster.write("more", route("more", rule("app"), hostnames=["b.org"], parents=[parent]))
        found = self.cluster.write("tls", policy(), config_map(), secret())
        ours, theirs = tls_of(found, "a.test"), tls_of(found, "b.org")
        assert ours is not None and theirs is not None
        self.assertEqual((bool(ours.chain_pem), bool(theirs.chain_pem)), (True, False))
        self.assertNotEqual(state_of(found, "a.test").endpoints, state_of(found, "b.org").endpoints)
        both = [{"name": "main", "namespace": INFRA}, parent]
        found = self.cluster.write(
            "more", route("more", rule("app"), hostnames=["a.test", "b.org"], parents=both)
        )
        theirs = tls_of(found, "b.org")
        assert theirs is not None
        self.assertEqual(theirs.chain_pem, b"")

    def test_certificate_that_cannot_be_shown(self) -> None:
        """A certificate that is missing is told to its Gateway, and TLS is not spoken without it; anything else goes on."""
        found = self.cluster.write("main", showing("main"))
        self.assertEqual(
            self.cluster.told("Gateway"), [("main", "InvalidClientCertificateRef", BACKEND_FIELD)]
        )
        self.assertEqual(answer(found, get("a.test")), "app")
        found = self.cluster.write("tls", policy(), config_map())
        self.assertEqual(answer(found, get("a.test")), "503")
        found = self.cluster.write("secret", secret())
        self.assertEqual((answer(found, get("a.test")), self.cluster.told("Gateway")), ("app", []))

    def test_certificate_of_another_namespace(self) -> None:
        """A certificate of another namespace is shown as long as a grant permits it."""
        self.cluster.write("main", showing("main", namespace="web"))
        found = self.cluster.write("tls", policy(), config_map(), secret(namespace="web"))
        self.assertEqual(answer(found, get("a.test")), "503")
        self.assertEqual(self.cluster.told("Gateway"), [("main", "RefNotPermitted", BACKEND_FIELD)])
        permits = grant("g", INFRA, "web", kind="Gateway")
        permits["spec"]["to"] = [{"group": "", "kind": "Secret"}]
        tls = tls_of(self.cluster.write("grant", permits))
        assert tls is not None
        self.assertTrue(tls.chain_pem)
        self.assertEqual(answer(self.cluster.write("grant"), get("a.test")), "503")

    def test_grpc(self) -> None:
        """A GRPCRoute speaks HTTP/2 to its backends, over TLS where a policy says so."""
        grpc = route("g", rule("app"), hostnames=["g.test"], kind="GRPCRoute")
        for files, over_tls in (((), False), ((policy(), config_map()), True)):
            self.cluster.write("tls", *files)
            (endpoint,) = state_of(self.cluster.write("grpc", grpc), "g.test").endpoints
            assert endpoint.link_settings is not None
            self.assertTrue(endpoint.link_settings.is_http2)
            self.assertIs(endpoint.link_settings.tls is not None, over_tls)

    def test_random_histories(self) -> None:
        """Whatever comes and goes, the result is that of a full translation, which the cluster compares after each step."""
        chance = random.Random(5)
        permits = grant("g", INFRA, "web", kind="Gateway")
        permits["spec"]["to"] = [{"group": "", "kind": "Secret"}]
        choices: tuple[tuple[str, tuple[dict[str, Any] | str, ...]], ...] = (
            ("main", (gateway(),)),
            ("main", (showing("main"),)),
            ("main", (showing("main", namespace="web"),)),
            ("app", (service("app"), route("r", rule("app"), hostnames=["a.test"]))),
            ("app", (service("app", appProtocol="kubernetes.io/h2c"), route("r", rule("app")))),
            ("p", (policy("p"),)),
            ("p", (policy("p", section="web", hostname="web.test"),)),
            ("q", (policy("q", created="2026-02-01T00:00:00Z", hostname="q.test"),)),
            ("q", (policy("q", ca="other"),)),
            ("ca", (config_map(),)),
            ("ca", (config_map(pem="x"),)),
            ("other", (config_map("other"),)),
            ("mine", (secret(),)),
            ("theirs", (secret(namespace="web"),)),
            ("grant", (permits,)),
        )
        for _ in range(120):
            name, objects = chance.choice(choices)
            self.cluster.write(name, *(() if chance.random() < 0.3 else objects))
