"""TLS to endpoints in translation: settings by annotation and Secret, along changes of both."""

from __future__ import annotations

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import (
    EndpointSlice,
    Kind,
    ObjectKey,
    Projection,
    Secret,
    Service,
    ServicePort,
    SlicePort,
)
from ingress.model.cluster.secrets import TLS_KEYS, UPSTREAM_TLS_KEYS
from ingress.model.upstream.backends import BackendState, Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings, UpstreamTls
from ingress.translate.annotation_reading import annotation_reader
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.needs import needs_of
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    ServicePortReference,
)
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from tests.fakes.certificates import issue, make_authority
from tests.translate.following import Follower, batch

PREFIX = "nginx.ingress.kubernetes.io"
WEB = ObjectKey("demo", "web")
TRUST = ObjectKey("demo", "trust")
CA = make_authority().pem
OTHER_CA = make_authority().pem
CHAIN, KEY = issue(make_authority(), ["client"], is_client=True)


def ingress(name: str, **annotations: str) -> Ingress:
    """An Ingress for the host of its name, whose backend is the port 443 of ``web``."""
    backend = IngressBackend("web", ServicePortReference("", 443))
    return Ingress(
        ObjectKey("demo", name),
        class_name="nginx",
        annotations={f"{PREFIX}/{key.replace('_', '-')}": value for key, value in annotations.items()},
        rules=(IngressRule(f"{name}.test", (IngressPath("/", "Prefix", backend),)),),
    )


def secret(ca: bytes | None = CA, *, pair: bool = False) -> Secret:
    """The Secret with an authority, and perhaps a key pair."""
    content = {} if ca is None else {"ca.crt": ca}
    if pair:
        content |= {"tls.crt": CHAIN, "tls.key": KEY}
    return Secret(TRUST, "Opaque", content, UPSTREAM_TLS_KEYS)


SERVICE = Service(WEB, ports=(ServicePort("", 443),))
SLICE = EndpointSlice(ObjectKey("demo", "web-1"), WEB, "IPv4", (SlicePort("", 8443),), ("10.0.0.1",))
VERIFYING = {"backend_protocol": "HTTPS", "proxy_ssl_secret": "demo/trust", "proxy_ssl_verify": "on"}


class UpstreamTlsTests(SynchronousTestCase):
    """A store and a translation that is told of changes; what it comes to is what a full one makes."""

    def begin(self, *objects: Ingress | Secret) -> None:
        self.follower = Follower(TranslateOptions(), [SERVICE, SLICE, *objects])

    def snapshot(self) -> Snapshot:
        """Settle, and compare with a full translation."""
        found = self.follower.settle()
        self.assertEqual(differences(found, self.follower.expected()), ())
        return found

    def state(self, host: str = "a.test", path: bytes = b"/", *, secure: bool = False) -> BackendState:
        """Return the state of the backend of *host*, for requests over TLS if *secure*."""
        snapshot = self.snapshot()
        route = snapshot.table.find(host.encode(), path)
        assert route is not None
        return snapshot.backends[route.secure_backend if secure and route.secure_backend else route.backend]

    def endpoint(self, host: str = "a.test", path: bytes = b"/", *, secure: bool = False) -> Endpoint:
        state = self.state(host, path, secure=secure)
        self.assertEqual((len(state.endpoints), state.reason), (1, ""))
        return state.endpoints[0]

    def tls(self, host: str = "a.test", path: bytes = b"/", *, secure: bool = False) -> UpstreamTls:
        """Return the settings of TLS to the endpoint of *host*."""
        link_settings = self.endpoint(host, path, secure=secure).link_settings
        assert link_settings is not None and link_settings.tls is not None
        return link_settings.tls

    def problems(self) -> list[str]:
        return [f"{one.kind} {one.name}: {one.reason}" for one in self.snapshot().problems]

    def change(self, *objects: Ingress | Secret) -> None:
        self.follower.change(batch(*objects))

    def test_same_service_on_other_terms(self) -> None:
        """Ingresses that name one Service on different settings have different endpoints; on equal ones, equal."""
        self.begin(
            ingress("a"),
            ingress("b", backend_protocol="HTTPS"),
            ingress("c", backend_protocol="HTTPS", proxy_ssl_name="web.svc"),
            ingress("d", **VERIFYING),
            ingress("e", secure_backends="true"),
            secret(),
        )
        endpoints = {name: self.endpoint(f"{name}.test") for name in "abcde"}
        self.assertEqual(endpoints["a"], Endpoint("10.0.0.1", 8443))
        self.assertEqual(endpoints["b"], endpoints["e"])
        self.assertEqual(len(set(endpoints.values())), 4)
        self.assertEqual({endpoint[:2] for endpoint in endpoints.values()}, {("10.0.0.1", 8443)})

    def test_names_that_routes_decide(self) -> None:
        """``$host`` is the host of the rule, each one's own, and ``$service_name`` that of its Service, also for AUTO_HTTP."""
        both = ingress("a", **VERIFYING, proxy_ssl_name="$host")
        (rule,) = both.rules
        both = evolve(both, rules=(rule, evolve(rule, host="b.test"), evolve(rule, host="*.c.test")))
        auto = {"backend_protocol": "AUTO_HTTP", "proxy_ssl_name": "$service_name.$namespace.svc"}
        self.begin(both, ingress("d", **{**VERIFYING, **auto}), secret())
        for host, name in (("a.test", "a.test"), ("b.test", "b.test"), ("x.c.test", "")):
            self.assertEqual(self.tls(host).tls_settings.name, name)
        route = self.snapshot().table.find(b"d.test", b"/")
        assert route is not None and route.secure_backend is not None
        (endpoint,) = self.snapshot().backends[route.secure_backend].endpoints
        assert endpoint.link_settings is not None and endpoint.link_settings.tls is not None
        self.assertEqual(endpoint.link_settings.tls.tls_settings.name, "web.demo.svc")
        self.assertEqual(self.problems(), ["Ingress a: InvalidAnnotation"])

    def test_names_of_hosts_without_a_rule(self) -> None:
        """At a ``server-alias`` the name is that, and of a default backend the host that no path of a rule takes, by either protocol."""
        backend = IngressBackend("web", ServicePortReference("", 443))
        for protocol, is_secure in (("HTTPS", False), ("AUTO_HTTP", True)):
            said = {**VERIFYING, "backend_protocol": protocol, "proxy_ssl_name": "$host"}
            rule = IngressRule("a.test", (IngressPath("/rule", "Prefix", backend),))
            several = ingress("a", **said, server_alias="b.test")
            several = evolve(several, rules=(rule,), default_backend=backend)
            self.begin(several, evolve(several, key=ObjectKey("demo", "c"), rules=()), secret())
            for host, path, name in (
                ("a.test", b"/rule", "a.test"),
                ("b.test", b"/rule", "b.test"),
                ("a.test", b"/", "a.test"),
                ("b.test", b"/", "b.test"),
                ("other.test", b"/", ""),
            ):
                tls = self.tls(host, path, secure=is_secure)
                self.assertEqual(tls.tls_settings.name, name, (protocol, host, path))
            self.assertEqual(self.problems(), ["Ingress c: InvalidAnnotation"])

    def test_secret_changes(self) -> None:
        """What the Secret holds is in the settings from its change on, and in those of no other Ingress."""
        self.begin(ingress("a", **VERIFYING), ingress("b", backend_protocol="HTTPS"), secret())
        self.assertEqual((self.tls().ca_pem, self.tls().chain_pem), (CA, b""))
        before = self.tls("b.test")
        self.change(secret(OTHER_CA, pair=True))
        self.assertEqual((self.tls().ca_pem, self.tls().chain_pem), (OTHER_CA, CHAIN))
        self.assertTrue(self.tls().key_pem)
        self.assertEqual(self.tls("b.test"), before)

    def test_secret_comes_and_goes(self) -> None:
        """Without the Secret it is 503 with a problem, and never anything less safe."""
        self.begin(ingress("a", **VERIFYING))
        self.assertEqual(self.state(), BackendState(reason="there is no Secret demo/trust"))
        self.assertEqual(self.problems(), ["Ingress a: SecretNotFound"])
        self.change(secret())
        self.assertEqual((self.tls().ca_pem, self.problems()), (CA, []))
        self.follower.change({(Kind.SECRET, TRUST): None})
        self.assertEqual((self.state().endpoints, self.problems()), ((), ["Ingress a: SecretNotFound"]))

    def test_secret_turns_bad(self) -> None:
        """A Secret that was good and turns bad stays at its good version, with a problem of its own."""
        self.begin(ingress("a", **VERIFYING), secret(pair=True))
        good = self.endpoint()
        for bad in (
            secret(b"no certificate", pair=True),
            secret(b"", pair=True),
            secret(None, pair=True),
            evolve(secret(pair=True), content={"ca.crt": CA, "tls.crt": CHAIN}),
            evolve(secret(pair=True), content={"ca.crt": CA, "tls.crt": CHAIN, "tls.key": b"x"}),
            evolve(secret(pair=True), content={}),
        ):
            self.change(bad)
            self.assertEqual(self.endpoint(), good)
            self.assertEqual(self.problems(), ["Secret trust: InvalidCertificate"])
        self.change(secret(OTHER_CA))
        self.assertEqual((self.tls().ca_pem, self.problems()), (CA, ["Secret trust: InvalidCertificate"]))
        self.change(secret(OTHER_CA, pair=True))
        self.assertEqual((self.tls().ca_pem, self.problems()), (OTHER_CA, []))

    def test_secret_was_never_good(self) -> None:
        """A Secret that is bad from the beginning closes the backend until it is good."""
        self.begin(ingress("a", **VERIFYING), secret(b"no certificate"))
        reason = "Secret demo/trust: ca.crt: no PEM certificates, or one that cannot be read"
        self.assertEqual(self.state(), BackendState(reason=reason))
        self.assertEqual(self.problems(), ["Ingress a: InvalidCertificate"])
        self.change(secret())
        self.assertEqual((self.tls().ca_pem, self.problems()), (CA, []))

    def test_annotations_change(self) -> None:
        """Another protocol or other settings are there with the round that reads them."""
        self.begin(ingress("a"), secret())
        self.assertIsNone(self.endpoint().link_settings)
        self.change(ingress("a", **VERIFYING))
        self.assertTrue(self.tls().tls_settings.verify)
        self.change(ingress("a", **VERIFYING, proxy_ssl_name="web.svc"))
        self.assertEqual(self.tls().tls_settings.name, "web.svc")
        self.change(ingress("a", backend_protocol="FCGI"))
        self.assertEqual(self.endpoint().link_settings, LinkSettings(is_fastcgi=True))
        self.change(ingress("a"))
        self.assertEqual((self.endpoint().link_settings, self.problems()), (None, []))

    def test_endpoints_change(self) -> None:
        """Endpoints that come outside of a round have the settings, too."""
        self.begin(ingress("a", **VERIFYING), secret())
        link_settings = self.endpoint().link_settings
        moved = evolve(SLICE, ready=("10.0.0.2",))
        self.follower.change({(Kind.ENDPOINT_SLICE, SLICE.key): Projection(moved)})
        assert self.follower.translation.snapshot is not None
        states = self.follower.translation.snapshot.backends.values()
        self.assertEqual(
            [state.endpoints for state in states], [(Endpoint("10.0.0.2", 8443, link_settings),)]
        )
        self.snapshot()

    def test_auto_http(self) -> None:
        """What came over TLS goes on over TLS; if that cannot be, it alone is closed."""
        auto = {**VERIFYING, "backend_protocol": "AUTO_HTTP"}
        self.begin(ingress("a", **auto), secret())
        self.assertIsNone(self.endpoint().link_settings)
        self.assertIsNotNone(self.endpoint(secure=True).link_settings)
        self.follower.change({(Kind.SECRET, TRUST): None})
        self.assertIsNone(self.endpoint().link_settings)
        self.assertEqual(self.state(secure=True).endpoints, ())
        self.change(ingress("a"))
        self.assertEqual(len(self.snapshot().backends), 1)

    def test_nothing_is_left(self) -> None:
        """When nobody speaks TLS any more, nothing of the Secret is kept in the caches."""
        self.begin(ingress("a", **VERIFYING), ingress("b", **VERIFYING), secret())
        self.snapshot()
        book = self.follower.translation._backends
        self.assertEqual([one.secret for one in book._tls], [TRUST])
        self.follower.change({(Kind.INGRESS, ObjectKey("demo", name)): None for name in "ab"})
        self.snapshot()
        self.assertEqual((book._tls, list(book._by_source), list(book._requests)), ({}, [], []))


class NeedsTests(SynchronousTestCase):
    """Which keys of which Secrets are read for it."""

    def needs(self, **annotations: str) -> dict[ObjectKey, frozenset[str]]:
        return dict(needs_of(ingress("a", **annotations), Kind.SECRET, annotation_reader(TranslateOptions())))

    def test_over_tls(self) -> None:
        """The Secret is read where TLS is spoken, with the three keys that it may need."""
        for protocol in ("HTTPS", "https", "AUTO_HTTP", "GRPCS"):
            found = self.needs(backend_protocol=protocol, proxy_ssl_secret="demo/trust")
            self.assertEqual(found, {TRUST: TLS_KEYS | {"ca.crt"}})
        self.assertEqual(len(self.needs(secure_backends="true", proxy_ssl_secret="demo/trust")), 1)

    def test_not_needed(self) -> None:
        """No other Secret is read: not in the clear, not of another namespace, not what is no name."""
        for protocol in ("HTTP", "GRPC", "FCGI", "x"):
            self.assertEqual(self.needs(backend_protocol=protocol, proxy_ssl_secret="demo/trust"), {})
        for name in ("other/trust", "trust", "demo/../trust", ""):
            self.assertEqual(self.needs(backend_protocol="HTTPS", proxy_ssl_secret=name), {})
        self.assertEqual(self.needs(proxy_ssl_secret="demo/trust"), {})
