"""The normal form of what is served."""

import json
from typing import Any

import attrs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.input import Input
from ingress.ctl.served.normal_form import served
from ingress.ctl.served.sealing import SEALED, Seals, without_seals
from ingress.identity.server_names import HandshakeSettings
from ingress.model.cluster.objects import ClusterObject, ObjectKey
from ingress.options.port_services import read_port_services
from ingress.routing.route import Route
from ingress.routing.streams import StreamRoute
from ingress.routing.variants import Variant, WeightedBackend
from ingress.translate.options import TranslateOptions
from ingress.translate.snapshot import Snapshot
from tests.ctl.served.inputs import SERVICES, ingress, live, manifests, of_state
from tests.translate import golden
from tests.translate.test_properties import all_options, clusters

TLS = """\
---
apiVersion: v1
kind: Secret
metadata: {name: tls, namespace: shop}
type: kubernetes.io/tls
generated: [shop.example.com]
"""
PASSWORDS = """\
---
apiVersion: v1
kind: Secret
metadata: {{name: users, namespace: shop}}
type: Opaque
stringData: {{auth: "joe:{{SHA}}{hash}="}}
"""
SHA = "qUqP5cyxm6YcTAhz05Hph5gvu9M"


class SameTests(SynchronousTestCase):
    """Inputs that serve the same."""

    def assert_same(self, one: Input, other: Input) -> None:
        """Compare the normal forms of two inputs."""
        self.assertEqual(served(one, endpoints=True), served(other, endpoints=True))

    def test_a_port_by_name_and_by_number_is_the_same(self) -> None:
        """As soon as the Service is known, its number stands for both."""
        self.assert_same(
            manifests(SERVICES, ingress(port="number: 80")), manifests(SERVICES, ingress(port="name: http"))
        )

    def test_a_prefix_with_a_slash_at_its_end_is_the_same(self) -> None:
        """``/shop/`` and ``/shop`` match the same requests by element; so do ``%61`` and ``a``."""
        for one, other in (("/shop", "/shop/"), ("/a", "/%61")):
            self.assert_same(manifests(SERVICES, ingress(path=one)), manifests(SERVICES, ingress(path=other)))

    def test_of_paths_that_match_the_same_the_one_that_is_served_counts(self) -> None:
        """That is the longer one as requests spell it, and not as it is written."""
        texts = ingress("a", path="/%61"), ingress("b", path="/a/", service="api", port="number: 8080")
        given = manifests(SERVICES, *texts)
        (route,) = [
            one for one in served(given)["hosts"]["shop.example.com"]["routes"] if one["match"] == "Prefix"
        ]
        found = given.snapshot.table.find(b"shop.example.com", b"/a/x")
        self.assertEqual(route["backends"][0]["backend"], str(found and found.backend))
        self.assertEqual(route["backends"][0]["backend"], "shop/api:8080")

    def test_what_is_asked_as_it_is_anyhow_is_the_same(self) -> None:
        """A timeout of the usual length, and weights of the same proportions, change nothing."""
        self.assert_same(
            manifests(SERVICES, ingress()), manifests(SERVICES, ingress(proxy_read_timeout="60"))
        )

    def test_age_is_the_same(self) -> None:
        """Objects that do not want what others have are served alike, however old they are."""
        others = ingress("b", path="/b", rewrite_target="/x"), ingress("c", path="/c")
        olds = ["creationTimestamp: '2020-01-01T00:00:00Z'", "creationTimestamp: '2021-01-01T00:00:00Z'"]
        forms = []
        for first, second in (olds, reversed(olds)):
            some = (
                ingress("b", path="/b", use_regex="true", metadata=first),
                ingress("c", path="/c", metadata=second),
            )
            forms.append(served(live(SERVICES, *some))["hosts"])
        self.assertEqual(*forms)
        self.assertNotEqual(forms[0], served(live(SERVICES, *others))["hosts"])

    @settings(deadline=None, derandomize=True, max_examples=20, suppress_health_check=list(HealthCheck))
    @given(clusters, all_options, st.randoms(use_true_random=False))
    def test_order(self, objects: list[ClusterObject], options: TranslateOptions, chance: Any) -> None:
        """The order in which objects come makes no difference, and the form is JSON."""
        shuffled = list(objects)
        chance.shuffle(shuffled)
        one, other = (
            served(of_state(golden.state_of(some), options), endpoints=True) for some in (objects, shuffled)
        )
        self.assertEqual(one, other)
        self.assertEqual(json.loads(json.dumps(one)), one)


class FormTests(SynchronousTestCase):
    """What is in it."""

    def test_effective_settings(self) -> None:
        """A route has what holds for it, be it asked for or an option of the controller."""
        form = served(
            manifests(
                SERVICES,
                ingress(proxy_connect_timeout="7", upstream_hash_by="$request_uri"),
                options=("proxy-read-timeout=90", "load-balance=ewma"),
            )
        )
        (route,) = form["hosts"]["shop.example.com"]["routes"]
        self.assertEqual(route["timeouts"]["connect_seconds"], 7)
        self.assertEqual(route["timeouts"]["read_seconds"], 90)
        self.assertEqual(route["balancing"]["hash_by"], "${request_uri}")
        self.assertEqual(form["settings"]["load_balance"], "ewma")
        (plain,) = served(manifests(SERVICES, ingress(), options=("load-balance=ewma",)))["hosts"][
            "shop.example.com"
        ]["routes"]
        self.assertEqual(plain["balancing"]["algorithm"], "ewma")

    def test_protocol_without_endpoints(self) -> None:
        """How a backend is spoken to is known by its Service and annotations, before any pod runs."""
        h2c = SERVICES.replace("port: 80}", "port: 80, appProtocol: kubernetes.io/h2c}")
        secure = ingress("s", path="/s", backend_protocol="HTTPS", proxy_ssl_verify="on")
        form = served(manifests(h2c, ingress(), secure))
        plain, over_tls = form["hosts"]["shop.example.com"]["routes"]
        self.assertEqual(plain["backends"][0]["protocol"], "HTTP/2")
        self.assertEqual(over_tls["backends"][0]["tls"]["verify"], True)

    def test_datagrams(self) -> None:
        """A backend of UDP is beside that of TCP by the same number."""
        service = """\
---
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: shop}
spec: {ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53}]}
"""
        key, entries = ObjectKey("ops", "ports"), {"53": "shop/dns:53"}
        translating = TranslateOptions(
            tcp_services=read_port_services(key, entries),
            udp_services=read_port_services(key, entries, is_udp=True),
        )
        given = manifests(service)
        given = attrs.evolve(given, settings=attrs.evolve(given.settings, translate=translating))
        self.assertEqual(
            set(served(given, endpoints=True)["endpoints"]), {"shop/dns:53", "shop/dns:53 (UDP)"}
        )

    def test_shares(self) -> None:
        """Weights are in lowest terms, so that 20 to 80 is 1 to 4."""
        canary = ingress("c", service="api", port="number: 8080", canary="true", canary_weight="20")
        form = served(manifests(SERVICES, ingress(), canary))
        (route,) = form["hosts"]["shop.example.com"]["routes"]
        shares = {one["backend"]: one["weight"] for one in route["backends"]}
        self.assertEqual(shares, {"shop/web:80": 4, "shop/api:8080": 1})

    def test_certificates(self) -> None:
        """A host has the certificates that it shows, with fingerprint and end, and no key."""
        form = served(
            manifests(SERVICES, TLS, ingress(spec="tls: [{hosts: [shop.example.com], secretName: tls}]"))
        )
        (certificate,) = form["hosts"]["shop.example.com"]["certificates"]
        self.assertEqual(certificate["secret"], "shop/tls")
        self.assertEqual(certificate["names"], ["shop.example.com"])
        self.assertEqual(len(certificate["fingerprint"]), 64)
        self.assertNotIn("PRIVATE", json.dumps(form))

    def test_a_secret_is_sealed_and_not_shown(self) -> None:
        """Other passwords have another seal in one comparison; without seals nothing tells them apart."""
        seals = Seals()
        texts = [
            (SERVICES, PASSWORDS.format(hash=some), ingress(auth_type="basic", auth_secret="users"))
            for some in (SHA, SHA, SHA.replace("M", "N"))
        ]
        first, same, other = (served(manifests(*some), seals=seals) for some in texts)
        self.assertEqual(first, same)
        self.assertNotEqual(first, other)
        self.assertEqual(without_seals(first), without_seals(other))
        self.assertEqual(without_seals(first), served(manifests(*texts[0])))
        self.assertIn(SEALED, json.dumps(first))
        self.assertNotIn(SHA[:8], json.dumps(first))

    def test_what_is_not_known_is_not_told(self) -> None:
        """Without any Service, none is missing; with some, one is."""
        alone = served(manifests(ingress(service="gone")))
        self.assertEqual(alone["problems"], [])
        self.assertIsNone(alone["hosts"]["shop.example.com"]["routes"][0]["backends"][0]["fault"])
        known = served(manifests(SERVICES, ingress(service="gone")))
        self.assertEqual([one["reason"] for one in known["problems"]], ["ServiceNotFound"])
        self.assertEqual(
            known["hosts"]["shop.example.com"]["routes"][0]["backends"][0]["fault"], "ServiceNotFound"
        )

    def test_fixtures(self) -> None:
        """Whatever translation makes of anything has a form that is JSON, without keys."""
        for case in golden.cases():
            text = (case / "manifests.yaml").read_text("utf-8")
            form = json.dumps(served(live(text), endpoints=True, seals=Seals()))
            self.assertNotIn("PRIVATE KEY", form)

    def test_nothing_is_forgotten(self) -> None:
        """A field that joins what is served has to be thought of here; what is only told, and of no request, is not in the form."""
        known = {
            Route: "host path match owner backend max_body_bytes secure_backend passthrough balancing retries timeouts"
            " is_logged stand_in beside beginnings expressions filters weighted variants conditions place broken_status"
            " balancing_beside",
            WeightedBackend: "backend weight filters secure_backend stand_in",
            Variant: "conditions weighted filters",
            HandshakeSettings: "ciphers client_authentication",
            Snapshot: "table backends certificates handshake_settings _problems serving listeners others replicas attached"
            " replica_addresses",
            StreamRoute: "host sort owner weighted path timeouts is_logged sends_header may_rest",
        }
        for kind, names in known.items():
            some: Any = kind
            self.assertEqual({field.name for field in attrs.fields(some)}, set(names.split()), kind)
