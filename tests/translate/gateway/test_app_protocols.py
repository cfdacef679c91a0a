"""What Services say in ``appProtocol``, and routes that can follow it or not (GEP-1911)."""

from ingress.translate.snapshot import Snapshot
from tests.translate.readers.gateway.route_cluster import answer, get, match, route, rule, service
from tests.translate.readers.gateway.routes.test_http_matching import MatchingCase
from tests.translate.readers.gateway.test_backend_tls import config_map, policy

FIELD = "spec.rules[0].backendRefs[0].port"


class AppProtocolTests(MatchingCase):
    """Routes to Services of each."""

    def served(self, said: str, kind: str = "HTTPRoute") -> Snapshot:
        """Serve a route to a Service that says so."""
        self.cluster.write("app", service("app", appProtocol=said))
        return self.cluster.write("routes", {**route("route", rule("app")), "kind": kind})

    def has_http2(self, snapshot: Snapshot) -> bool:
        """Whether the endpoint is spoken to by HTTP/2."""
        (state,) = (state for one, state in snapshot.backends.items() if one.name == "app")
        (endpoint,) = state.endpoints
        return endpoint.link_settings is not None and endpoint.link_settings.is_http2

    def test_spoken(self) -> None:
        """HTTP/2 in the clear, WebSockets and whatever is not known are spoken."""
        for said in (
            "",
            "kubernetes.io/h2c",
            "kubernetes.io/ws",
            "http",
            "example.com/own",
            "KUBERNETES.IO/WSS",
        ):
            snapshot = self.served(said)
            self.assertEqual(snapshot.problems, ())
            self.assertEqual(answer(snapshot, get("a")), "app")
            self.assertEqual(self.has_http2(snapshot), said == "kubernetes.io/h2c")

    def test_over_tls(self) -> None:
        """What is spoken over TLS needs a policy, with which it is spoken from that change on, and without which no more."""
        for said in ("https", "kubernetes.io/wss"):
            snapshot = self.served(said)
            self.assertEqual(self.cluster.told(), [("route", "UnsupportedProtocol", FIELD)])
            self.assertEqual(answer(snapshot, get("a")), "500")
            snapshot = self.cluster.write("policy", config_map(), policy())
            self.assertEqual((self.cluster.told(), answer(snapshot, get("a"))), ([], "app"))
            snapshot = self.cluster.write("policy", "")
            self.assertEqual(self.cluster.told(), [("route", "UnsupportedProtocol", FIELD)])
            self.assertEqual(answer(snapshot, get("a")), "500")

    def test_one_of_several(self) -> None:
        """Other backends of the route are served as ever."""
        self.cluster.write("app", service("app", appProtocol="https"))
        snapshot = self.cluster.write(
            "routes", route("route", rule("app", match("/app")), rule("v1", match("/v1")))
        )
        self.assertEqual(answer(snapshot, get("a", "/app")), "500")
        self.assertEqual(answer(snapshot, get("a", "/v1")), "v1")

    def test_grpc(self) -> None:
        """gRPC is HTTP/2 whatever a Service says, but for WebSockets."""
        for said in ("", "kubernetes.io/h2c", "grpc"):
            snapshot = self.served(said, "GRPCRoute")
            self.assertEqual(snapshot.problems, ())
            self.assertTrue(self.has_http2(snapshot))
        for said in ("kubernetes.io/ws", "kubernetes.io/wss", "https"):
            self.served(said, "GRPCRoute")
            self.assertEqual(self.cluster.told("GRPCRoute"), [("route", "UnsupportedProtocol", FIELD)])
