"""A snapshot as JSON."""

import json
from datetime import UTC, datetime
from typing import Any, ClassVar

from attrs import field, frozen
from twisted.trial.unittest import SynchronousTestCase

from ingress.admin.lists.certificates import CERTIFICATES
from ingress.admin.lists.problems import PROBLEMS
from ingress.admin.lists.routes import ROUTES
from ingress.admin.lists.streams import STREAMS
from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.contract.host_facts import CertifiedHosts
from ingress.annotations.redirects.https_redirect import HttpsRedirect
from ingress.filters import Filter, Phase, Services
from ingress.identity.certificates import Certificate, CertificateTable
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.network.streams import StreamSort
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.model.upstream.upstream_tls import (
    LinkSettings,
    ProtocolAsked,
    TlsSettings,
    UpstreamTls,
    UpstreamTlsRequest,
)
from ingress.routing.route import Match, Route
from ingress.routing.streams import StreamRoute, StreamTable
from ingress.routing.table import RouteTable
from ingress.routing.variants import RequestCondition, Said, Variant, WeightedBackend
from ingress.translate.snapshot import ListenerTable, Snapshot
from tests.admin.listed import text_of
from tests.fakes.certificates import issue, make_authority

WEB = BackendReference("web", "shop", 80)
API = BackendReference("web", "api", "http")
SHOP = Owner(Kind.INGRESS, ObjectKey("web", "shop"))


@frozen
class Password:
    """A spec with settings of many types, one of which is nobody's business."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "password"

    realm: bytes
    port: int
    ranges: tuple[Endpoint, ...]
    password: str = field(repr=False)

    def describe(self) -> str:
        return "asks for a password"

    def make(self, services: Services) -> Filter:
        return Filter()


NOW = datetime(2026, 12, 18, tzinfo=UTC)


def certificate(name: str, *names: str) -> Certificate:
    return Certificate(
        secret=ObjectKey("web", name),
        chain_pem=b"the chain",
        key_pem=b"the key",
        names=names,
        not_before=datetime(2026, 1, 1, tzinfo=UTC),
        not_after=datetime(2027, 1, 1, tzinfo=UTC),
        fingerprint=f"fingerprint of {name}",
        key_type="ECDSA",
    )


class StreamsAsJSONTests(SynchronousTestCase):
    """``STREAMS``."""

    def test_streams(self) -> None:
        """A stream shows by which table and host it comes, who asked for it, and where it leads; what is none is left out."""
        database = Owner(Kind("TCPRoute"), ObjectKey("web", "db"))
        tcp = StreamRoute(
            "", StreamSort.TCP, database, (WeightedBackend(WEB, 3), WeightedBackend(API)), sends_header=True
        )
        names = [
            StreamRoute("b.test", StreamSort.PASSTHROUGH, None),
            StreamRoute("a.test", StreamSort.REQUESTS, None),
        ]
        snapshot = Snapshot(
            backends={WEB: BackendState((Endpoint("10.0.0.1", 5432),)), API: BackendState(reason="no slice")},
            others={
                "tcp 5432": ListenerTable(streams=StreamTable([tcp])),
                "gateway *:443": ListenerTable(streams=StreamTable(names)),
            },
        )
        nobody: dict[str, Any] = {"kind": None, "object": None, "weighted": [], "sendsHeader": False}
        self.assertEqual(
            json.loads(text_of(STREAMS, snapshot))["streams"],
            [
                {"table": "gateway *:443", "host": "b.test", "sort": "passthrough", **nobody},
                {
                    "table": "tcp 5432",
                    "host": "",
                    "sort": "tcp",
                    "kind": "TCPRoute",
                    "object": "web/db",
                    "weighted": [
                        {"backend": "web/shop:80", "weight": 3, "endpoints": ["10.0.0.1:5432"], "reason": ""},
                        {"backend": "web/api:http", "weight": 1, "endpoints": [], "reason": "no slice"},
                    ],
                    "sendsHeader": True,
                },
            ],
        )


class RoutesAsJSONTests(SynchronousTestCase):
    """``ROUTES``."""

    def test_over_tls(self) -> None:
        """How a backend is spoken to is part of its name, and nothing that a Secret holds shows."""
        chain, key = issue(make_authority(), ["x"], is_client=True)
        demand = UpstreamTlsRequest(TlsSettings(verify=True), ObjectKey("web", "upstream"))
        over_tls = WEB._replace(protocol=ProtocolAsked(demand))
        tls_settings = LinkSettings(UpstreamTls(TlsSettings(verify=True), b"the authority", chain, key))
        snapshot = Snapshot(
            RouteTable([Route("", "/", Match.PREFIX, SHOP, WEB, secure_backend=over_tls)]),
            {WEB: BackendState(), over_tls: BackendState((Endpoint("10.0.0.1", 8443, tls_settings),))},
        )
        page = text_of(ROUTES, snapshot)
        [route] = json.loads(page)["routes"]
        self.assertEqual(route["secureBackend"], "web/shop:80 (HTTPS, verified, with Secret web/upstream)")
        for secret in ("PRIVATE", "CERTIFICATE", "the authority"):
            self.assertNotIn(secret, page)
        self.assertNotIn("PRIVATE", repr(snapshot) + repr(dict(snapshot.backends)))

    def routes(self, *routes: Route) -> list[Any]:
        snapshot = Snapshot(
            RouteTable(routes), {WEB: BackendState((Endpoint("10.0.0.1", 8080), Endpoint("::1", 81)))}
        )
        found = json.loads(text_of(ROUTES, snapshot))["routes"]
        assert isinstance(found, list)
        return found

    def test_route(self) -> None:
        """A route shows what it matches, who asked for it, and where it leads."""
        [route] = self.routes(Route("*.a.test", "/b", Match.EXACT, SHOP, WEB))
        self.assertEqual(
            route,
            {
                "host": "*.a.test",
                "path": "/b",
                "match": "Exact",
                "ingress": "web/shop",
                "backend": "web/shop:80",
                "endpoints": ["10.0.0.1:8080", "[::1]:81"],
                "reason": "",
                "protocol": "HTTP/1.1",
                "secureBackend": None,
                "passthrough": None,
                "standIn": None,
                "filters": [],
                "weighted": [],
                "variants": [],
                "conditions": [],
                "field": "",
            },
        )

    def test_no_endpoints(self) -> None:
        """A route without endpoints shows why it has none."""
        snapshot = Snapshot(
            RouteTable([Route("", "/", Match.PREFIX, None, API)]),
            {API: BackendState(reason="no such Service")},
        )
        [route] = json.loads(text_of(ROUTES, snapshot))["routes"]
        self.assertEqual(
            (route["ingress"], route["endpoints"], route["reason"], route["protocol"]),
            (None, [], "no such Service", ""),
        )

    def test_http2(self) -> None:
        """A route shows the protocol of its endpoints, and its backend whether the Ingress asks for that."""
        asked = WEB._replace(protocol=ProtocolAsked(is_http2=True))
        state = BackendState((Endpoint("10.0.0.1", 8080, LinkSettings(is_http2=True)),))
        snapshot = Snapshot(
            RouteTable(
                [Route(host, "/", Match.PREFIX, SHOP, one) for host, one in (("a", WEB), ("b", asked))]
            ),
            {WEB: state, asked: state},
        )
        routes = json.loads(text_of(ROUTES, snapshot))["routes"]
        self.assertEqual(
            [(route["backend"], route["protocol"]) for route in routes],
            [("web/shop:80", "HTTP/2"), ("web/shop:80 (GRPC)", "HTTP/2")],
        )

    def test_order(self) -> None:
        """Routes are sorted by host, path and match, whatever their order in the table."""
        routes = self.routes(
            Route("b.test", "/", Match.PREFIX, SHOP, WEB),
            Route("a.test", "/x", Match.PREFIX, SHOP, WEB),
            Route("a.test", "/x", Match.EXACT, SHOP, WEB),
            Route("", "/", Match.PREFIX, SHOP, WEB),
        )
        self.assertEqual(
            [(route["host"], route["path"], route["match"]) for route in routes],
            [
                ("", "/", "Prefix"),
                ("a.test", "/x", "Exact"),
                ("a.test", "/x", "Prefix"),
                ("b.test", "/", "Prefix"),
            ],
        )

    def test_filters(self) -> None:
        """A filter shows its name, phase, sentence and settings, but not what its repr keeps to itself."""
        spec = Password(b"caf\xe9", 443, (Endpoint("10.0.0.1", 1),), "secret")
        [route] = self.routes(Route("a.test", "/", Match.PREFIX, SHOP, WEB, filters=(spec, GuardMissing())))
        self.assertEqual(
            route["filters"],
            [
                {
                    "filter": "password",
                    "phase": "ACCESS",
                    "does": "asks for a password",
                    "settings": {"realm": "caf\\xe9", "port": 443, "ranges": ["10.0.0.1:1"]},
                },
                {
                    "filter": "guard-missing",
                    "phase": "ACCESS",
                    "does": GuardMissing().describe(),
                    "settings": {},
                },
            ],
        )

    def test_variants(self) -> None:
        """Variants show their conditions in words, and weighted backends their weights."""
        entries = (WeightedBackend(WEB, 9), WeightedBackend(API, 1, (GuardMissing(),)))
        variant = Variant((RequestCondition(Said.HEADER, b"x-canary", frozenset({b"always"})),), entries[1:])
        route = Route("a.test", "/", Match.PREFIX, SHOP, WEB, weighted=entries, variants=(variant,))
        [shown] = self.routes(route)
        self.assertEqual(
            [(one["backend"], one["weight"], len(one["filters"])) for one in shown["weighted"]],
            [("web/shop:80", 9, 0), ("web/api:http", 1, 1)],
        )
        [found] = shown["variants"]
        self.assertEqual(found["conditions"], ["header x-canary is always"])
        self.assertEqual([one["backend"] for one in found["weighted"]], ["web/api:http"])

    def test_hosts_of_a_filter(self) -> None:
        """A setting that is a value of its own shows its parts, sets in order."""
        hosts = CertifiedHosts(frozenset({b"b.test", b"a.test"}), frozenset({b".c.test"}))
        [route] = self.routes(Route("", "/", Match.PREFIX, SHOP, WEB, filters=(HttpsRedirect(443, hosts),)))
        self.assertEqual(
            route["filters"][0]["settings"]["hosts"],
            {"names": ["a.test", "b.test"], "suffixes": [".c.test"], "excepted": []},
        )


class ProblemsAsJSONTests(SynchronousTestCase):
    """``PROBLEMS``."""

    def test_problem(self) -> None:
        """A problem shows its object, field, reason code and message."""
        problem = Problem(
            "Ingress", "web", "shop", Reason.INVALID_HOST, "no label is empty", "spec.rules[0].host"
        )
        self.assertEqual(
            json.loads(text_of(PROBLEMS, Snapshot(problems=(problem,)))),
            {
                "problems": [
                    {
                        "kind": "Ingress",
                        "namespace": "web",
                        "name": "shop",
                        "field": "spec.rules[0].host",
                        "reason": "InvalidHost",
                        "message": "no label is empty",
                    }
                ]
            },
        )


class CertificatesAsJSONTests(SynchronousTestCase):
    """``CERTIFICATES``."""

    def test_certificates(self) -> None:
        """Each certificate is shown once, with its Secret, its names and what it is chosen for."""
        shop = certificate("shop-tls", "shop.test", "*.shop.test")
        other = certificate("other-tls", "other.test")
        table = CertificateTable({"shop.test": (shop,)}, {".shop.test": (shop,)}, other)
        found = json.loads(text_of(CERTIFICATES, Snapshot(certificates=table), NOW))["certificates"]
        self.assertEqual(
            found,
            [
                {
                    "secret": "web/other-tls",
                    "keyType": "ECDSA",
                    "names": ["other.test"],
                    "hosts": [],
                    "default": True,
                    "notBefore": "2026-01-01T00:00:00.000Z",
                    "notAfter": "2027-01-01T00:00:00.000Z",
                    "daysLeft": 14,
                    "endsSoon": True,
                    "fingerprint": "fingerprint of other-tls",
                },
                {
                    "secret": "web/shop-tls",
                    "keyType": "ECDSA",
                    "names": ["shop.test", "*.shop.test"],
                    "hosts": ["*.shop.test", "shop.test"],
                    "default": False,
                    "notBefore": "2026-01-01T00:00:00.000Z",
                    "notAfter": "2027-01-01T00:00:00.000Z",
                    "daysLeft": 14,
                    "endsSoon": True,
                    "fingerprint": "fingerprint of shop-tls",
                },
            ],
        )

    def test_no_key_material(self) -> None:
        """Neither the key nor the chain is in what is shown."""
        table = CertificateTable(default=certificate("a-tls", "a.test"))
        shown = text_of(CERTIFICATES, Snapshot(certificates=table), NOW)
        self.assertNotIn("the key", shown)
        self.assertNotIn("the chain", shown)
