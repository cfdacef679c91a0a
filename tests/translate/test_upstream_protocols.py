"""HTTP/2 to endpoints in translation: asked for by annotation, or said by the Service of its port."""

from __future__ import annotations

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.locality import Hints, Locality
from ingress.model.cluster.objects import (
    ClusterObject,
    EndpointSlice,
    Kind,
    ObjectKey,
    Projection,
    Service,
    ServicePort,
    SlicePort,
)
from ingress.model.upstream.backends import Endpoint, ManualEndpoint
from ingress.model.upstream.upstream_tls import LinkSettings, TlsSettings, UpstreamTls
from ingress.translate.endpoints.backends import HTTP2_IN_THE_CLEAR
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    ServicePortReference,
)
from ingress.translate.self_check import differences
from tests.translate.following import Follower, batch

ANNOTATION = "nginx.ingress.kubernetes.io/backend-protocol"
WEB = ObjectKey("demo", "web")
ADDRESS = ("10.0.0.1", 8080)
IN_THE_CLEAR = LinkSettings(is_http2=True)


def ingress(name: str, protocol: str = "") -> Ingress:
    """An Ingress for the host of its name, whose backend is the port 80 of ``web``."""
    backend = IngressBackend("web", ServicePortReference("", 80))
    return Ingress(
        ObjectKey("demo", name),
        class_name="nginx",
        annotations={ANNOTATION: protocol} if protocol else {},
        rules=(IngressRule(f"{name}.test", (IngressPath("/", "Prefix", backend),)),),
    )


def service(app_protocol: str = "", external_name: str = "") -> Service:
    """The Service, whose port says this of itself."""
    ports = (ServicePort("http", 80, app_protocol=app_protocol),)
    kind = "ExternalName" if external_name else "ClusterIP"
    return Service(WEB, kind, external_name=external_name, ports=ports)


SLICE = EndpointSlice(ObjectKey("demo", "web-1"), WEB, "IPv4", (SlicePort("http", 8080),), ("10.0.0.1",))


class UpstreamProtocolTests(SynchronousTestCase):
    """A store and a translation that is told of changes; what it comes to is what a full one makes."""

    def begin(self, *objects: ClusterObject, options: TranslateOptions | None = None) -> None:
        self.follower = Follower(options or TranslateOptions(), [*objects])

    def endpoint(self, host: str = "a.test") -> Endpoint:
        """Settle, compare with a full translation, and return the one endpoint of *host*."""
        snapshot = self.follower.settle()
        self.assertEqual(differences(snapshot, self.follower.expected()), ())
        self.assertEqual(snapshot.problems, ())
        route = snapshot.table.find(host.encode(), b"/")
        assert route is not None
        [endpoint] = snapshot.backends[route.backend].endpoints
        return endpoint

    def test_terms(self) -> None:
        """One address on other settings is another endpoint; on equal settings, asked for by whom it may be, the same."""
        asking = {"a": "", "b": "HTTP", "c": "GRPC", "d": "HTTPS", "e": "GRPCS"}
        self.begin(service(), SLICE, *(ingress(name, protocol) for name, protocol in asking.items()))
        endpoints = {name: self.endpoint(f"{name}.test") for name in asking}
        self.assertEqual({endpoint[:2] for endpoint in endpoints.values()}, {ADDRESS})
        self.assertEqual(
            [endpoint.link_settings for endpoint in endpoints.values()],
            [
                None,
                None,
                IN_THE_CLEAR,
                LinkSettings(UpstreamTls(TlsSettings())),
                LinkSettings(UpstreamTls(TlsSettings()), is_http2=True),
            ],
        )
        self.assertEqual(len(set(endpoints.values())), 4)
        self.follower.change(batch(service(HTTP2_IN_THE_CLEAR)))
        self.assertEqual(self.endpoint("a.test"), endpoints["c"])

    def test_elsewhere(self) -> None:
        """Endpoints elsewhere are on the terms of those near by."""
        hints = Hints(("a",)), Hints(("b",))
        both = evolve(SLICE, ready=("10.0.0.1", "10.0.0.2"), hints=hints)
        self.begin(service(), both, ingress("a", "HTTPS"), options=TranslateOptions(locality=Locality("a")))
        near = self.endpoint()
        (state,) = self.follower.settle().backends.values()
        self.assertEqual(state.elsewhere, (near._replace(address="10.0.0.2"),))

    def test_service_changes(self) -> None:
        """A change of ``appProtocol`` alone is published, and changes nothing where the Ingress says something."""
        self.begin(service(), SLICE, ingress("a"), ingress("b", "HTTP"), ingress("c", "GRPC"))
        self.assertIsNone(self.endpoint().link_settings)
        for app_protocol, link_settings in (
            (HTTP2_IN_THE_CLEAR, IN_THE_CLEAR),
            ("kubernetes.io/ws", None),
            (HTTP2_IN_THE_CLEAR, IN_THE_CLEAR),
            ("", None),
        ):
            before = self.follower.settle()
            self.follower.change(batch(service(app_protocol)))
            self.assertEqual(self.endpoint().link_settings, link_settings)
            self.assertIsNot(self.follower.settle(), before)
            self.assertIsNone(self.endpoint("b.test").link_settings)
            self.assertEqual(self.endpoint("c.test").link_settings, IN_THE_CLEAR)

    def test_endpoints_change(self) -> None:
        """Endpoints that come outside of a round are on the same settings."""
        self.begin(service(HTTP2_IN_THE_CLEAR), SLICE, ingress("a"))
        self.endpoint()
        moved = evolve(SLICE, ready=("10.0.0.2",))
        self.follower.change({(Kind.ENDPOINT_SLICE, SLICE.key): Projection(moved)})
        snapshot = self.follower.translation.snapshot
        assert snapshot is not None
        [state] = snapshot.backends.values()
        self.assertEqual(state.endpoints, (Endpoint("10.0.0.2", 8080, IN_THE_CLEAR),))

    def test_external_name(self) -> None:
        """An external name stays one: its address is judged, whatever is spoken to it."""
        name = "api.example.org"
        options = TranslateOptions(allow_external_name=True)
        self.begin(service("", name), ingress("a"), ingress("b", "GRPCS"), options=options)
        self.assertEqual(self.endpoint().link_settings, LinkSettings(is_external=True))
        over_tls = LinkSettings(UpstreamTls(TlsSettings()), is_external=True, is_http2=True)
        self.assertEqual(self.endpoint("b.test").link_settings, over_tls)
        self.follower.change(batch(service(HTTP2_IN_THE_CLEAR, name)))
        self.assertEqual(self.endpoint().link_settings, LinkSettings(is_external=True, is_http2=True))

    def test_manual_endpoint(self) -> None:
        """An endpoint of the command line is spoken to as the Ingress says, or the port, if there is a Service."""
        manual = ManualEndpoint(None, "", Endpoint("127.0.0.1", 9000))
        options = TranslateOptions(from_manifests=True, manual_endpoints=(manual,))
        self.begin(ingress("a"), ingress("b", "GRPC"), options=options)
        self.assertIsNone(self.endpoint().link_settings)
        self.assertEqual(self.endpoint("b.test"), Endpoint("127.0.0.1", 9000, IN_THE_CLEAR))
        self.follower.change(batch(service(HTTP2_IN_THE_CLEAR)))
        self.assertEqual(self.endpoint(), Endpoint("127.0.0.1", 9000, IN_THE_CLEAR))
        self.follower.change({(Kind.SERVICE, WEB): None})
        self.assertIsNone(self.endpoint().link_settings)

    def test_passthrough(self) -> None:
        """TLS that passes through goes to the address; the settings ask for no TLS of ours around it."""
        passing = evolve(
            ingress("a", "GRPCS"),
            annotations={ANNOTATION: "GRPCS", "nginx.ingress.kubernetes.io/ssl-passthrough": "true"},
        )
        self.begin(service(), SLICE, passing, options=TranslateOptions(ssl_passthrough=True))
        over_tls = self.endpoint()
        assert over_tls.link_settings is not None and over_tls.link_settings.tls is not None
        snapshot = self.follower.settle()
        route = snapshot.table.find(b"a.test", b"/")
        assert route is not None and route.passthrough is not None
        self.assertEqual(snapshot.backends[route.passthrough].endpoints, (Endpoint(*ADDRESS),))
