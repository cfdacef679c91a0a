"""Properties of translation on small random clusters."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any

from attrs import AttrsInstance, evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.answers.custom_errors import CUSTOM_ERRORS, CustomErrorSettings
from ingress.annotations.hosts.transport_security import STRICT_TRANSPORT
from ingress.annotations.redirects.https_redirect import REDIRECTS, RedirectSettings
from ingress.annotations.redirects.slash_redirect import SlashRedirect
from ingress.cluster.kinds import KINDS
from ingress.cluster.projecting.project import project
from ingress.model.cluster.objects import (
    ClusterObject,
    EndpointSlice,
    Kind,
    ObjectKey,
    Secret,
    Service,
    ServicePort,
    SlicePort,
)
from ingress.model.upstream.backends import BackendReference, Endpoint, ManualEndpoint
from ingress.routing.route import Route
from ingress.translate.claims import INVALID_KIND
from ingress.translate.endpoints.backends import HTTP2_IN_THE_CLEAR
from ingress.translate.endpoints.endpoint_rules import API_SERVER, EndpointRules
from ingress.translate.options import TranslateOptions
from ingress.translate.ownership import wildcard_of
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressClass,
    IngressPath,
    IngressRule,
    IngressTLS,
    ServicePortReference,
)
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.fakes.certificates import make_authority
from tests.operator_settings import operator_settings
from tests.properties import examples
from tests.translate.golden import issued, state_of

NOW = datetime(2026, 7, 1, tzinfo=UTC)
PREFIX = TranslateOptions().annotations_prefix
AUTHORITY = make_authority().pem

# Few values, so that objects meet; among them those that mean something special, and garbage.
namespaces = st.sampled_from(["demo", "demo", "demo", "other"])
names = st.sampled_from(["a", "web"])
good_hosts = st.sampled_from(["a.com", "b.a.com", "*.a.com", ""])
hosts = good_hosts | st.sampled_from(["A.com", "*", "x y", "1.2.3.4", "ü", "*.com"])
good_paths = st.sampled_from(["/", "/a", "/a/", "/a/b", "/%61", "/a(/|$)(.*)"])
paths = good_paths | st.sampled_from(
    ["", "a", "/..", "/a%2f", "/(.*)", "/a?b", "/(\ud800)", "(", "//*", "//", "/é", "/\ud800"]
)
path_types = st.sampled_from(["", "Exact", "Prefix", "ImplementationSpecific", "prefix"])
numbers = st.sampled_from([0, 80, 81, -1, 70000])
port_names = st.sampled_from(["", "http", "x"])
keys = st.builds(ObjectKey, namespaces, names)
texts = st.text(st.characters(), max_size=6)
addresses = st.sampled_from(
    [
        "10.0.0.1",
        "10.0.0.2",
        "10.0.0.3",
        "fd00::1",
        "fd00:0::1",
        "127.0.0.1",
        "::ffff:10.0.0.3",
        "localhost",
        "1.2.3",
    ]
)
protocols = st.sampled_from(["TCP", "UDP"])


def tuples(of: st.SearchStrategy[Any], most: int = 2) -> st.SearchStrategy[tuple[Any, ...]]:
    """Return short tuples."""
    return st.lists(of, max_size=most).map(tuple)


good_backends = st.builds(
    IngressBackend,
    names,
    st.sampled_from([ServicePortReference("", 80), ServicePortReference("http", 0)]),
)
backends = good_backends | st.builds(
    IngressBackend,
    st.sampled_from(["", "a", "web"]),
    st.builds(ServicePortReference, port_names, numbers),
    st.sampled_from(["", "", "Bucket.example.com", "Service", INVALID_KIND]),
    st.sampled_from(["", "", "x"]),
)
good_rules = st.builds(
    IngressRule,
    good_hosts,
    st.builds(IngressPath, good_paths, st.sampled_from(["Prefix", "Exact"]), good_backends).map(
        lambda one: (one,)
    ),
)
rules = good_rules | st.builds(
    IngressRule,
    hosts,
    st.none() | tuples(st.builds(IngressPath, paths, path_types, st.none() | backends)),
)
annotations = st.dictionaries(
    st.sampled_from(
        [
            "ssl-redirect",
            "force-ssl-redirect",
            "ssl-passthrough",
            "canary",
            "use-regex",
            "auth-type",
            "other",
            "\n",
        ]
    ).map(lambda name: f"{PREFIX}/{name}")
    | st.just("kubernetes.io/ingress.class"),
    st.sampled_from(["true", "false", "nginx", "", "\x00"]),
    max_size=2,
)
upstream_annotations = st.fixed_dictionaries(
    {},
    optional={
        f"{PREFIX}/backend-protocol": st.sampled_from(
            ["HTTPS", "HTTPS", "AUTO_HTTP", "HTTP", "GRPC", "GRPCS", "FCGI", "x"]
        ),
        f"{PREFIX}/proxy-ssl-secret": st.sampled_from(["demo/a", "demo/web", "other/a", "a"]),
        f"{PREFIX}/proxy-ssl-verify": st.sampled_from(["on", "off", "yes"]),
    },
)
client_annotations = st.fixed_dictionaries(
    {f"{PREFIX}/auth-tls-secret": st.sampled_from(["demo/a", "a", "other/a", "web", "../a"])},
    optional={
        f"{PREFIX}/auth-tls-verify-client": st.sampled_from(["off", "optional", "x"]),
        f"{PREFIX}/auth-tls-match-cn": st.sampled_from(["CN=a", "CN=(a+)+"]),
    },
)
closing_annotations = st.fixed_dictionaries(
    {},
    optional={
        f"{PREFIX}/rewrite-target": st.sampled_from(
            ["/", "/$1", "/(.*)", "/$2?x=$host", "https://a.test/$1", "/$nothing", "/a b", "/$service_name"]
        ),
        f"{PREFIX}/server-snippet": st.sampled_from(
            [
                "internal;",
                "deny 10.0.0.1;",
                "gzip on;",
                "add_header X $location_path; location = /a { return 200 a; }",
            ]
        ),
        f"{PREFIX}/configuration-snippet": st.sampled_from(
            ["return 403 $x;", "return 403;", "add_header X $host;"]
        ),
    },
)
canary_annotations = st.fixed_dictionaries(
    {},
    optional={
        f"{PREFIX}/canary": st.sampled_from(["true", "true", "false"]),
        f"{PREFIX}/canary-weight": st.sampled_from(["0", "20", "100"]),
        f"{PREFIX}/canary-by-header": st.sampled_from(["x-new", "\n"]),
        f"{PREFIX}/affinity": st.sampled_from(["cookie", "ip"]),
    },
)
beside_annotations = st.fixed_dictionaries(
    {},
    optional={
        f"{PREFIX}/default-backend": st.sampled_from(["a", "web", "gone", "demo/web"]),
        f"{PREFIX}/custom-http-errors": st.sampled_from(["404,503", "404", "", "200"]),
        f"{PREFIX}/service-upstream": st.sampled_from(["true", "false"]),
        f"{PREFIX}/mirror-target": st.sampled_from(["http://$service_name.$namespace", "http://127.0.0.1"]),
    },
)
suite_annotations = st.fixed_dictionaries(
    {},
    optional={
        f"{PREFIX}/ssl-ciphers": st.sampled_from(["ECDHE-RSA-AES128-GCM-SHA256", "x"]),
        f"{PREFIX}/ssl-prefer-server-ciphers": st.sampled_from(["true", "false"]),
    },
)
tls_entries = st.builds(IngressTLS, tuples(hosts), st.sampled_from(["a", "web", "", "../a", "gone"]))
ingresses = st.builds(
    Ingress,
    st.builds(ObjectKey, namespaces, st.sampled_from(["a", "b", "c"])),
    st.sampled_from(["", "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"]),
    st.sampled_from(["nginx", "nginx", "nginx", "nginx", "fast", "other", "", None]),
    annotations
    | st.builds(
        lambda some, more: some | more,
        annotations,
        upstream_annotations
        | client_annotations
        | suite_annotations
        | closing_annotations
        | canary_annotations
        | beside_annotations,
    ),
    st.none() | backends,
    st.lists(rules, min_size=2, max_size=3).map(tuple) | st.just(()),
    tuples(tls_entries),
)
classes = st.builds(
    IngressClass,
    st.builds(ObjectKey, st.just(""), st.sampled_from(["nginx", "fast"])),
    st.sampled_from(["k8s.io/ingress-nginx", "other"]),
    st.booleans(),
)
services = st.builds(
    Service,
    keys,
    st.sampled_from(["ClusterIP", "ExternalName", ""]),
    st.sampled_from(["", "None", "10.96.0.1", "fd00::96", "garbage"]),
    st.sampled_from(["", "www.example.com", "localhost", "127.1"]),
    st.just((ServicePort("http", 80),))
    | st.just((ServicePort("http", 80, app_protocol=HTTP2_IN_THE_CLEAR),))
    | tuples(
        st.builds(
            ServicePort,
            port_names,
            numbers,
            st.none(),
            protocols,
            st.sampled_from(["", "https", HTTP2_IN_THE_CLEAR]),
        )
    ),
)
kubernetes = st.builds(
    EndpointSlice,
    st.just(API_SERVER),
    st.just(API_SERVER),
    st.just("IPv4"),
    st.just((SlicePort("http", 8081),)) | st.just((SlicePort("", 8080),)),
    tuples(st.sampled_from(["10.0.0.3", "10.0.0.2"])),
)
slices = kubernetes | st.builds(
    EndpointSlice,
    st.builds(ObjectKey, namespaces, st.sampled_from(["1", "2", "3"])),
    keys,
    st.sampled_from(["IPv4", "IPv6", "FQDN", ""]),
    st.just((SlicePort("", 8080), SlicePort("http", 8081)))
    | tuples(st.builds(SlicePort, port_names, st.none() | numbers, protocols)),
    tuples(addresses),
    tuples(addresses),
    tuples(addresses),
)
DAY = timedelta(days=1)
# Good now, for some days; good for longer; ended; to begin tomorrow.
validities = st.sampled_from(
    [
        (NOW - 30 * DAY, NOW + 30 * DAY),
        (NOW - 30 * DAY, NOW + 60 * DAY),
        (NOW - 30 * DAY, NOW - DAY),
        (NOW + DAY, NOW + 60 * DAY),
    ]
)
contents = st.builds(
    lambda covered, validity: {} if covered is None else issued(covered, *validity),
    st.sampled_from([("a.com",), ("*.a.com", "b.a.com"), ("*.a.com",), (), None]),
    validities,
)
authorities = st.sampled_from(["", "good", "bad"]).map(
    lambda which: {"": {}, "good": {"ca.crt": AUTHORITY}, "bad": {"ca.crt": b"x"}}[which]
)
secrets = st.builds(
    Secret,
    keys,
    st.sampled_from(["kubernetes.io/tls", "other"]),
    st.builds(lambda some, more: some | more, contents, authorities),
)


def some(of: st.SearchStrategy[Any], least: int, most: int) -> st.SearchStrategy[list[Any]]:
    """Return lists of objects with different keys."""
    return st.lists(of, min_size=least, max_size=most, unique_by=lambda one: one.key)


clusters: st.SearchStrategy[list[ClusterObject]] = st.tuples(
    some(ingresses, 3, 5), some(services, 2, 3), some(slices, 2, 3), some(secrets, 2, 3), some(classes, 0, 2)
).map(lambda kinds: [one for kind in kinds for one in kind])


def said(usual: bool, forced: bool, codes: tuple[int, ...]) -> AttrsInstance:
    """What an operator says about redirects and error pages."""
    return operator_settings(
        (REDIRECTS, RedirectSettings(usual, forced)), (CUSTOM_ERRORS, CustomErrorSettings(codes))
    )


all_options = st.builds(
    TranslateOptions,
    watch_without_class=st.booleans(),
    shared_hosts=st.sampled_from([False, False, True]),
    quirks=st.sampled_from([True, True, False]),
    strict_path_types=st.sampled_from([False, False, True]),
    default_backend_service=st.sampled_from(
        [None, BackendReference("demo", "web"), BackendReference("demo", "a", 80)]
    ),
    default_ssl_certificate=st.none() | keys,
    operators=st.builds(said, st.booleans(), st.booleans(), st.sampled_from([(), (), (404,)])),
    strict_transport=st.sampled_from([STRICT_TRANSPORT, None]),
    allow_external_name=st.booleans(),
    disable_external_name=st.booleans(),
    service_upstream=st.booleans(),
    ssl_passthrough=st.booleans(),
    manual_endpoints=st.sampled_from(
        [
            (),
            (
                ManualEndpoint(None, "", Endpoint("h", 1)),
                ManualEndpoint(ObjectKey("demo", "web"), 80, Endpoint("h", 2)),
            ),
        ]
    ),
    from_manifests=st.booleans(),
    endpoint_rules=st.builds(
        EndpointRules,
        allowed=st.sampled_from([(), (ip_network("127.0.0.0/8"),)]),
        allows_local=st.booleans(),
        listeners=st.sampled_from([(), (("10.0.0.1", 8081),), (("", 8080), ("10.0.0.2", 80))]),
        is_own=st.just(frozenset({"10.0.0.1"}).__contains__),
    ),
)


def shown(snapshot: Snapshot) -> tuple[object, ...]:
    """Return all of a snapshot as values that can be compared."""
    return (
        snapshot.table.routes,
        dict(snapshot.backends),
        snapshot.certificates,
        snapshot.problems,
    )


def _leads_to_slash(route: Route) -> bool:
    return any(isinstance(spec, SlashRedirect) for spec in route.filters)


class TranslateProperties(SynchronousTestCase):
    """What holds for every cluster, whatever is wrong with its objects."""

    @settings(
        deadline=None, derandomize=True, max_examples=examples(60), suppress_health_check=list(HealthCheck)
    )
    @given(clusters, all_options, st.randoms(use_true_random=False))
    def test_order_of_objects_does_not_matter(
        self, objects: list[ClusterObject], options: TranslateOptions, random: Any
    ) -> None:
        """The same objects in another order give the same snapshot."""
        shuffled = list(objects)
        random.shuffle(shuffled)
        first = translate(state_of(objects), options, NOW)
        second = translate(state_of(shuffled), options, NOW)
        self.assertEqual(shown(first), shown(second))

    @settings(
        deadline=None, derandomize=True, max_examples=examples(60), suppress_health_check=list(HealthCheck)
    )
    @given(clusters, all_options)
    def test_snapshot_is_consistent(self, objects: list[ClusterObject], options: TranslateOptions) -> None:
        """One route a match; a state for each backend named; endpoints or a reason; printable problems."""
        snapshot = translate(state_of(objects), options, NOW)
        routes = snapshot.table.routes
        self.assertEqual(len({one.key for one in routes}), len(routes))
        self.assertEqual({backend for one in routes for backend in one.backends}, set(snapshot.backends))
        for found in snapshot.backends.values():
            self.assertNotEqual(bool(found.endpoints), bool(found.reason))
            self.assertTrue(all(0 < one.port < 65536 and one.address for one in found.endpoints))
        self.assertEqual(list(snapshot.problems), sorted(set(snapshot.problems)))
        for problem in snapshot.problems:
            self.assertTrue(problem.message.isprintable(), problem)

    @settings(
        deadline=None, derandomize=True, max_examples=examples(60), suppress_health_check=list(HealthCheck)
    )
    @given(clusters, ingresses, all_options)
    def test_canary_claims_nothing(
        self, objects: list[ClusterObject], added: Ingress, options: TranslateOptions
    ) -> None:
        """A canary that nothing gives a request, however old it is, leaves all routes and certificates as they are."""
        canary = evolve(
            added,
            key=ObjectKey("aaa", "canary"),
            created="",
            class_name="nginx",
            annotations={f"{PREFIX}/canary": "true"},
        )
        before = translate(state_of(objects), options, NOW)
        after = translate(state_of([*objects, canary]), options, NOW)
        self.assertEqual(shown(after)[:3], shown(before)[:3])
        told = {one.name for one in set(after.problems) - set(before.problems)}
        self.assertLessEqual(told, {"canary"})

    @settings(
        deadline=None, derandomize=True, max_examples=examples(60), suppress_health_check=list(HealthCheck)
    )
    @given(clusters, ingresses, all_options)
    def test_another_ingress_takes_nothing_but_what_is_free_or_younger(
        self, objects: list[ClusterObject], added: Ingress, options: TranslateOptions
    ) -> None:
        """An Ingress that comes last by age takes no path from the rules of another."""
        last = Ingress(
            ObjectKey("zzz", "zzz"),
            "2030-01-01T00:00:00Z",
            "nginx",
            {},
            added.default_backend,
            added.rules,
            added.tls,
        )
        before = translate(state_of(objects), options, NOW)
        after = translate(state_of([*objects, last]), options, NOW)
        # A default backend, the 503 of a host without any usable path, and the way to a slash yield to rules.
        kept = [one for one in before.table.routes if one.path != "/" and not _leads_to_slash(one)]
        found = {(one.host, one.path, one.match): (one.owner, one.backend) for one in after.table.routes}
        for route in kept:
            at = (route.host, route.path, route.match)
            self.assertEqual(found.get(at), (route.owner, route.backend))
        for host, certificates in before.certificates.exact.items():
            if before.handshake_settings.has(host) or not after.handshake_settings.has(host):
                # A younger Ingress may add a key of another type, and takes nothing away.
                self.assertEqual(after.certificates.exact[host][: len(certificates)], certificates)

    @settings(
        deadline=None, derandomize=True, max_examples=examples(60), suppress_health_check=list(HealthCheck)
    )
    @given(clusters, ingresses, secrets, all_options)
    def test_a_younger_stranger_changes_nothing_for_hosts_of_others(
        self, objects: list[ClusterObject], added: Ingress, secret: Secret, options: TranslateOptions
    ) -> None:
        """No Ingress of another namespace that comes last changes certificate, settings or policies of a host with a rule."""
        last = evolve(added, key=ObjectKey("zzz", "zzz"), created="2030-01-01T00:00:00Z", class_name="nginx")
        owned = evolve(secret, key=ObjectKey("zzz", secret.key.name))
        options = evolve(options, shared_hosts=False)
        before = translate(state_of(objects), options, NOW)
        after = translate(state_of([*objects, last, owned]), options, NOW)
        routes = {(one.host, one.path, one.match): one for one in after.table.routes}
        served = {one.host for one in before.table.routes}
        for host, link_settings in before.handshake_settings.by_host.items():
            # Nothing names this one host below the wildcard.
            name = host.replace("*", "unnamed")
            # What nobody has a rule for belongs to nobody, and so to the first who has one.
            if host and host in served:
                self.assertEqual(after.handshake_settings.by_host[host], link_settings)
                self.assertEqual(after.certificates.find(name), before.certificates.find(name))
        # A host that gets its first rule has routes of its own, and concerns those of its wildcard no more.
        left = {wildcard_of(rule.host) for rule in last.rules}
        for route in before.table.routes:
            found = routes.get((route.host, route.path, route.match))
            if route.host and route.host not in left and found is not None and found.owner == route.owner:
                self.assertEqual(found.filters, route.filters)

    @settings(deadline=None, derandomize=True, max_examples=30, suppress_health_check=list(HealthCheck))
    @given(st.data(), all_options)
    def test_garbage_never_raises(self, data: st.DataObject, options: TranslateOptions) -> None:
        """Whatever JSON an object is made of, its projection translates."""
        leaf = st.none() | st.booleans() | numbers | texts | hosts | paths | st.just("nginx")
        json = st.recursive(
            leaf, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner), max_leaves=4
        )

        def shaped(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
            return st.fixed_dictionaries({}, optional={name: inner | json for name, inner in fields.items()})

        port = shaped({"name": port_names, "number": numbers, "port": numbers, "protocol": protocols})
        backend = shaped(
            {
                "service": shaped({"name": names, "port": port}),
                "resource": shaped({"kind": names, "name": names}),
            }
        )
        path = shaped({"path": paths, "pathType": path_types, "backend": backend})
        rule = shaped({"host": hosts, "http": shaped({"paths": st.lists(path, max_size=2)})})
        tls = shaped({"hosts": st.lists(hosts, max_size=2), "secretName": names})
        spec = shaped(
            {
                "ingressClassName": st.just("nginx"),
                "rules": st.lists(rule, max_size=2),
                "tls": st.lists(tls, max_size=2),
                "defaultBackend": backend,
                "ports": st.lists(port, max_size=2),
                "type": st.sampled_from(["ClusterIP", "ExternalName"]),
                "clusterIP": addresses,
                "externalName": hosts,
            }
        )
        objects: list[ClusterObject] = []
        for kind in (Kind.INGRESS, Kind.INGRESS, Kind.SERVICE, Kind.ENDPOINT_SLICE, Kind.SECRET):
            raw = {
                "metadata": {
                    "namespace": "demo",
                    "name": data.draw(names),
                    "labels": {"kubernetes.io/service-name": "web"},
                },
                "spec": data.draw(spec),
                "ports": data.draw(st.lists(port, max_size=2) | json),
                "endpoints": data.draw(
                    st.lists(shaped({"addresses": st.lists(addresses, max_size=2)}), max_size=2) | json
                ),
                "stringData": data.draw(shaped({"tls.crt": texts, "tls.key": texts})),
            }
            _, projection = project(KINDS[kind], raw, PREFIX)
            if projection.value is not None:
                objects.append(projection.value)
        snapshot = translate(state_of(objects), options, NOW)
        self.assertIsInstance(snapshot, Snapshot)
