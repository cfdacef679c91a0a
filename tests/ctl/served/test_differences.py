"""What is different between two inputs."""

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.coverage import Coverage
from ingress.ctl.inputs.input import Input
from ingress.ctl.served.differences import Comparison, Subject, compare
from ingress.model.cluster.objects import ClusterObject, Kind
from ingress.model.cluster.state import ClusterState
from ingress.model.upstream.backends import BackendReference
from ingress.routing.expression_routes import PathTooLong
from ingress.routing.route import Route
from ingress.translate.endpoints.backends import backend_fault, port_of
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress, IngressPath, IngressTLS
from tests.ctl.served.inputs import ALL, SERVICES, ingress, live, manifests, of_state
from tests.ctl.served.test_normal_form import PASSWORDS, SHA, TLS
from tests.translate import golden
from tests.translate.test_properties import PREFIX, all_options, clusters, ingresses

SUBJECTS = frozenset({Subject.HOST, Subject.ROUTE, Subject.BACKEND, Subject.FILTER, Subject.SETTING})
BY_TLS = ingress(spec="tls: [{hosts: [shop.example.com], secretName: tls}]")
GUARDED = ingress(auth_type="basic", auth_secret="users")


class CompareCase(SynchronousTestCase):
    """Compares inputs."""

    def told(self, comparison: Comparison) -> list[tuple[str, str, str, str]]:
        """Return subject, change, place and field of each difference."""
        return [
            (one.subject.word, one.change, f"{one.place.host}{one.place.path}", one.field)
            for one in comparison.differences
        ]

    def differences(self, old: Iterable[str], new: Iterable[str]) -> list[tuple[str, str, str, str]]:
        """Compare two sets of manifests that have the same Services."""
        return self.told(compare(manifests(SERVICES, *old), manifests(SERVICES, *new)))


class RouteTests(CompareCase):
    """Hosts and paths."""

    def test_a_host_that_vanishes_is_told_once(self) -> None:
        """It is one difference, whatever it has; the other way round it appears."""
        one, other = [ingress(), ingress("b", host="b.example.com")], [ingress()]
        self.assertEqual(self.differences(one, other), [("host", "vanishes", "b.example.com", "")])
        self.assertEqual(self.differences(other, one), [("host", "appears", "b.example.com", "")])

    def test_what_takes_the_requests_of_a_host(self) -> None:
        """A wildcard does, else the routes of all hosts, else nobody."""
        for instead, rest in (("*.example.com", ["'*.example.com'"]), ("*", ["''"]), ("", ["other.test"])):
            kept = [ingress("rest", host=host) for host in rest]
            (one,) = compare(manifests(SERVICES, ingress(), *kept), manifests(SERVICES, *kept)).loud
            self.assertEqual((one.place.host, one.instead), ("shop.example.com", instead))

    def test_a_path_that_vanishes_says_where_its_requests_go(self) -> None:
        """The next shorter prefix takes them, or else nothing does."""
        root, deep = ingress(), ingress("b", path="/b", service="api", port="number: 8080")
        (one,) = compare(manifests(SERVICES, root, deep), manifests(SERVICES, root)).loud
        self.assertEqual((one.place.path, one.instead), ("/b", "shop.example.com/ (Prefix)"))
        (other,) = compare(manifests(SERVICES, root, deep), manifests(SERVICES, deep)).loud
        self.assertEqual((other.place.path, other.instead), ("/", ""))

    def test_a_redundant_path_changes_nothing(self) -> None:
        """A path whose requests are served the same without it is quiet."""
        found = compare(
            manifests(SERVICES, ingress(), ingress("b", path="/b")), manifests(SERVICES, ingress())
        )
        self.assertEqual(self.told(found), [("redundant", "vanishes", "shop.example.com/b", "")])
        self.assertEqual(found.loud, ())

    def test_a_prefix_of_which_only_the_path_itself_is_served_the_same_is_not_redundant(self) -> None:
        """What is below it goes elsewhere."""
        exact = ingress("c", path="/b", path_type="Exact")
        root = ingress(service="api", port="number: 8080")
        self.assertEqual(
            self.differences([root, exact, ingress("b", path="/b")], [root, exact]),
            [("route", "vanishes", "shop.example.com/b", "")],
        )

    def test_nothing_is_redundant_beside_expressions(self) -> None:
        """What one of them takes of the requests is not found out by trying one path."""
        expression = ingress("x", path="/x[0-9]+", path_type="ImplementationSpecific", use_regex="true")
        others = expression.replace("namespace: shop", "namespace: other")
        root, plain = ingress(), ingress("b", path="/b")
        found = compare(manifests(SERVICES, root, plain, others), manifests(SERVICES, root, others))
        self.assertEqual([one.place.path for one in found.loud if one.subject is Subject.ROUTE], ["/b"])

    def test_another_type_of_path_is_a_change(self) -> None:
        """And not one route that goes and one that comes."""
        self.assertEqual(
            self.differences([ingress(path="/b")], [ingress(path="/b", path_type="Exact")]),
            [("backend", "changes", "shop.example.com/b", "match")],
        )

    def test_another_backend(self) -> None:
        """Old and new are whole shares."""
        (one,) = compare(
            manifests(SERVICES, ingress()), manifests(SERVICES, ingress(service="api", port="number: 8080"))
        ).loud
        self.assertEqual([one.old[0]["backend"], one.new[0]["backend"]], ["shop/web:80", "shop/api:8080"])

    def test_what_is_written_otherwise_is_no_difference(self) -> None:
        """Names of Ingresses, splits, order, the name of a port and a slash at the end."""
        one = ingress(path="/a"), ingress("b", path="/b")
        other = ingress("renamed", path="/b/", port="name: http"), ingress("web", path="/a")
        found = compare(manifests(SERVICES, *one), manifests(SERVICES, *other))
        self.assertEqual(self.told(found), [("owner", "changes", "shop.example.com/b", "owner")])
        self.assertEqual(found.loud, ())

    def test_the_realm_of_all_paths_of_a_host_has_no_name(self) -> None:
        """Without quirks each Ingress is a realm, and where it is the only one nothing depends on that."""
        texts = SERVICES, ingress(path="/a(.*)", path_type="ImplementationSpecific", use_regex="true")
        found = compare(manifests(*texts), manifests(*texts, options=("no-quirks",)))
        self.assertNotIn("expression", str(self.told(found)))

    def test_a_renamed_ingress_keeps_its_limits(self) -> None:
        """What a filter counts by is the owner, which is told as such."""
        found = compare(
            manifests(SERVICES, ingress(limit_rps="5")), manifests(SERVICES, ingress("b", limit_rps="5"))
        )
        self.assertEqual([one.subject for one in found.differences], [Subject.OWNER])


class SettingTests(CompareCase):
    """Filters and whatever else routes have."""

    def test_a_setting_of_a_filter(self) -> None:
        """Its path and both values, and nothing else."""
        (one,) = compare(
            manifests(SERVICES, ingress(limit_rps="5")), manifests(SERVICES, ingress(limit_rps="6"))
        ).loud
        self.assertEqual((one.field, one.old, one.new), ("filters.rate-limit.by_second", 5, 6))

    def test_a_filter_that_comes(self) -> None:
        """All of it is the new value."""
        (one,) = compare(manifests(SERVICES, ingress()), manifests(SERVICES, ingress(limit_rps="6"))).loud
        self.assertEqual((one.field, one.old, one.new["filter"]), ("filters.rate-limit", None, "rate-limit"))

    def test_an_option_of_the_controller(self) -> None:
        """It shows at each route that it holds for, and not where an annotation says otherwise."""
        texts = SERVICES, ingress(), ingress("b", path="/b", proxy_read_timeout="60")
        found = compare(manifests(*texts), manifests(*texts, options=("proxy-read-timeout=90",)))
        self.assertEqual(
            self.told(found),
            [
                ("setting", "changes", "shop.example.com/", "timeouts.read_seconds"),
                ("controller", "changes", "", "limits.upstream.read_seconds"),
            ],
        )

    def test_fields_that_prove_who_somebody_is(self) -> None:
        """That another ``Authorization`` is put into requests is told, and neither of the two."""
        first, second = (
            manifests(
                SERVICES,
                ingress(configuration_snippet=f"proxy_set_header Authorization {value};"),
                options=("allow-snippet-annotations=true", "annotations-risk-level=Critical"),
            )
            for value in ("HIDDEN-1", "HIDDEN-2")
        )
        found = compare(first, second).differences
        self.assertEqual([one.field.split(".")[-1] for one in found], ["sealed"])
        self.assertNotIn("HIDDEN", str(found))
        self.assertEqual(compare(first, first).differences, ())

    def test_passwords(self) -> None:
        """That they are others is told, and nothing of them."""
        old, new = (
            manifests(SERVICES, PASSWORDS.format(hash=some), GUARDED) for some in (SHA, SHA.replace("M", "N"))
        )
        (one,) = compare(old, new).loud
        self.assertEqual((one.field.split(".")[-1], one.old, one.new), ("sealed", None, None))
        self.assertEqual(compare(old, old).differences, ())

    def test_endpoints_are_compared_if_asked_for(self) -> None:
        """They come and go in a cluster."""
        pod = """\
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [10.0.0.1]}]
"""
        old, new = (
            live(SERVICES, ingress(), pod),
            live(SERVICES, ingress(), pod.replace("10.0.0.1", "10.0.0.2")),
        )
        self.assertEqual(compare(old, new).differences, ())
        (one,) = compare(old, new, endpoints=True).loud
        self.assertEqual(one.new["endpoints"], ["10.0.0.2:8080"])

    def test_problems_come_and_go(self) -> None:
        """Where in the object they stand is no part of that; what is for information is quiet."""
        bad = ingress("bad", path="/bad", proxy_read_timeout="soon")
        ((subject, change, _, said),) = [
            one
            for one in self.differences(
                [ingress()], [ingress(proxy_read_timeout="soon"), ingress("b", path="/b")]
            )
            if one[0] == "problem"
        ]
        self.assertEqual((subject, change), ("problem", "appears"))
        self.assertTrue(said.startswith("Ingress shop InvalidAnnotation web proxy-read-timeout:"), said)
        self.assertEqual(self.differences([bad], [bad]), [])


class UnknownTests(CompareCase):
    """What one side cannot know."""

    def test_a_secret_that_manifests_do_not_have_has_not_vanished(self) -> None:
        """The certificate of a cluster, and passwords, are taken to be there; a sentence says so."""
        for secret, asking in ((TLS, BY_TLS), (PASSWORDS.format(hash=SHA), GUARDED)):
            for old, new in (
                (live(SERVICES, secret, asking), manifests(SERVICES, asking)),
                (manifests(SERVICES, asking), live(SERVICES, secret, asking)),
                (manifests(SERVICES, secret, asking), manifests(SERVICES, asking)),
            ):
                found = compare(old, new)
                self.assertEqual(found.differences, ())
                (sentence,) = found.not_compared
                self.assertIn("does not have what", sentence)

    def test_a_certificate_that_is_not_asked_for_any_more_vanishes(self) -> None:
        """Manifests without Secrets say that: the Ingress does not name it."""
        found = compare(live(SERVICES, TLS, BY_TLS), manifests(SERVICES, ingress()))
        self.assertIn(("certificate", "vanishes", "shop.example.com", "certificates"), self.told(found))

    def test_a_secret_that_neither_has(self) -> None:
        """Both are without, and it is said that nobody knows."""
        found = compare(manifests(SERVICES, BY_TLS), manifests(SERVICES, BY_TLS))
        self.assertEqual(found.differences, ())
        self.assertEqual(
            found.not_compared, ("whether Secrets exist in shop: neither side has any of there",)
        )

    def test_a_cluster_that_lacks_a_service_lacks_it(self) -> None:
        """An API server has told of all; a person who may not read Services knows of none."""
        lacking = compare(manifests(SERVICES, ingress()), live(ingress()))
        self.assertIn(Subject.PROBLEM, [one.subject for one in lacking.loud])
        forbidden = live(ingress(), coverage=Coverage(ALL.whole - {Kind.SERVICE}))
        self.assertEqual(compare(manifests(SERVICES, ingress()), forbidden).differences, ())

    def test_manifests_stand_for_what_would_be_there_once_applied(self) -> None:
        """An object keeps its age in the cluster, a new one is the youngest, and the default class is the cluster's."""
        old_one = ingress("b", metadata="creationTimestamp: '2020-01-01T00:00:00Z'")
        classes = """\
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx, annotations: {ingressclass.kubernetes.io/is-default-class: "true"}}
spec: {controller: k8s.io/ingress-nginx}
"""
        thief = ingress("a", service="api", port="number: 8080")
        found = compare(live(SERVICES, classes, old_one), manifests(SERVICES, ingress("b"), thief))
        self.assertEqual([one.subject for one in found.loud], [Subject.PROBLEM])
        self.assertIn("Ingress shop PathConflict a", found.loud[0].field)
        classless = ingress("b").replace("ingressClassName: nginx", "")
        self.assertEqual(compare(live(SERVICES, classes, old_one), manifests(SERVICES, classless)).loud, ())


class PropertyTests(CompareCase):
    """Random clusters."""

    @settings(deadline=None, derandomize=True, max_examples=20, suppress_health_check=list(HealthCheck))
    @given(clusters, clusters, all_options, st.booleans())
    def test_mirrored(
        self, old: list[ClusterObject], new: list[ClusterObject], options: TranslateOptions, knows: bool
    ) -> None:
        """Equal things have no difference, and the other direction has the same ones mirrored."""
        coverage = ALL if knows else Coverage()
        one, other = (of_state(golden.state_of(some), options, coverage) for some in (old, new))
        self.assertEqual(compare(one, one, endpoints=True).differences, ())
        there = compare(one, other, endpoints=True).differences
        back = compare(other, one, endpoints=True).differences
        self.assertEqual(by_name(evolve(one, old=one.new, new=one.old) for one in there), by_name(back))

    @settings(deadline=None, derandomize=True, max_examples=20, suppress_health_check=list(HealthCheck))
    @given(clusters, ingresses, all_options, st.data())
    def test_an_edit_that_changes_what_is_served_is_shown(
        self, objects: list[ClusterObject], edited: Ingress, options: TranslateOptions, data: Any
    ) -> None:
        """Whatever request is served otherwise after one Ingress was edited, its host is among the differences."""
        there = [one for one in objects if isinstance(one, Ingress)]
        if not there:
            return
        victim = data.draw(st.sampled_from(there))
        old = of_state(golden.state_of(objects), options)
        for changed in edits(victim, edited):
            new = of_state(golden.state_of([changed if one is victim else one for one in objects]), options)
            shown = {one.place.host for one in compare(old, new).loud if one.subject in SUBJECTS}
            for host in PROBED_HOSTS:
                for path in PROBED_PATHS:
                    one, other = asked(old, host, path), asked(new, host, path)
                    if one[1] != other[1]:
                        self.assertTrue({one[0], other[0]} & shown, (host, path, one, other, shown))

    @settings(deadline=None, derandomize=True, max_examples=20, suppress_health_check=list(HealthCheck))
    @given(clusters, st.sampled_from(["a", "web", ""]), all_options)
    def test_certificates(self, objects: list[ClusterObject], secret: str, options: TranslateOptions) -> None:
        """Whatever handshake shows another certificate after an Ingress names another Secret, its host is told."""
        there = [one for one in objects if isinstance(one, Ingress)]
        if not there:
            return
        changed = evolve(there[0], tls=(IngressTLS(("a.com", "b.a.com"), secret),))
        old = of_state(golden.state_of(objects), options)
        new = of_state(golden.state_of([changed if one is there[0] else one for one in objects]), options)
        shown = {
            one.place.host
            for one in compare(old, new).loud
            if one.subject in (Subject.CERTIFICATE, Subject.HOST)
        }
        for host in ("a.com", "b.a.com"):
            one, other = (some.snapshot.certificates.find(host) for some in (old, new))
            if one != other and all(some.snapshot.table.get(host) for some in (old, new)):
                self.assertIn(host, shown)


PROBED_HOSTS = ("a.com", "b.a.com", "c.a.com", "d.com")
PROBED_PATHS = ("/", "/a", "/a/", "/a/b", "/A/b", "/x/y", "/a/(", "/é")


SETTINGS = {
    "affinity": "cookie",
    "backend-protocol": "HTTPS",
    "default-backend": "a",
    "enable-access-log": "false",
    "limit-rps": "3",
    "load-balance": "ewma",
    "proxy-body-size": "3m",
    "proxy-next-upstream-tries": "5",
    "proxy-read-timeout": "7",
    "rewrite-target": "/x",
    "service-upstream": "true",
    "upstream-hash-by": "$uri",
    "use-regex": "true",
    "whitelist-source-range": "10.0.0.0/8",
}


def edits(victim: Ingress, other: Ingress) -> Iterator[Ingress]:
    """Yield *victim* with one thing changed: a field as *other* has it, a setting, a backend, the type of paths."""
    for field in ("annotations", "rules", "default_backend", "class_name", "created"):
        yield evolve(victim, **{field: getattr(other, field)})
    for name, value in SETTINGS.items():
        yield evolve(victim, annotations={**victim.annotations, f"{PREFIX}/{name}": value})
    for change in (other_backend, other_type):
        rules = [evolve(rule, paths=rule.paths and tuple(map(change, rule.paths))) for rule in victim.rules]
        yield evolve(victim, rules=tuple(rules))


def other_backend(path: IngressPath) -> IngressPath:
    """Return *path* with another Service."""
    backend = path.backend
    if backend is None:
        return path
    return evolve(path, backend=evolve(backend, service="a" if backend.service == "web" else "web"))


def other_type(path: IngressPath) -> IngressPath:
    """Return *path* with another type."""
    return evolve(path, path_type="Prefix" if path.path_type == "Exact" else "Exact")


def asked(given: Input, host: str, path: str) -> tuple[str, Any]:
    """Return the host of the route that takes a request, and how it is served: all that its route says but for names."""
    try:
        route = given.snapshot.table.find(host.encode(), path.encode())
    except PathTooLong:
        return host, "too long"
    if route is None:
        # The host that decides is the one that has routes at all.
        wildcard = f"*.{host.partition('.')[2]}"
        return next((key for key in (host, wildcard, "") if given.snapshot.table.get(key)), host), None
    return route.host, behavior(route, given.state, given.options)


def behavior(route: Route, state: ClusterState, options: TranslateOptions) -> tuple[Any, ...]:
    """Return what a route does with a request."""

    def backend(reference: BackendReference | None) -> Any:
        if reference is None:
            return None
        port = port_of(reference, state)
        by_ip = options.service_upstream if reference.by_cluster_ip is None else reference.by_cluster_ip
        number = reference.port if port is None else port.number
        # Where nothing is there to be spoken to, it does not matter how.
        is_there = backend_fault(reference, state, options) is None
        return reference._replace(
            port=number, by_cluster_ip=by_ip, protocol=reference.protocol if is_there else None
        )

    def shares(some: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(
            (backend(one.backend), one.weight, one.filters, backend(one.secure_backend)) for one in some
        )

    return (
        backend(route.backend),
        backend(route.secure_backend),
        backend(route.passthrough),
        shares(route.weighted),
        tuple((one.conditions, shares(one.weighted), one.filters) for one in route.variants),
        shares([route.stand_in] if route.stand_in else []),
        route.filters,
        route.timeouts,
        route.retries,
        route.max_body_bytes,
        route.balancing,
        route.is_logged,
    )


def by_name(differences: Iterable[Any]) -> list[Any]:
    """Sort differences by all that they say."""
    return sorted(differences, key=repr)
