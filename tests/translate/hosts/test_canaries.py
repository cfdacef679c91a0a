"""What becomes of canaries."""

from datetime import UTC, datetime

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.upstream.affinity import mark_of_backend
from ingress.model.upstream.backends import BackendReference
from ingress.model.upstream.balancing import Algorithm, Balancing
from ingress.routing.backend_choice import choose
from ingress.routing.route import Route
from ingress.translate.hosts.canaries import MOST_CANARIES
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress, IngressBackend, ServicePortReference
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.routing.test_variants import Asking
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress

NEW = BackendReference("demo", "new", 80)
OLD = BackendReference("demo", "web", 80)


def canary(name: str = "canary", *paths: str, service: str = "new", **annotations: str) -> Ingress:
    """Return an Ingress that is a canary of the paths, the root path if none is named."""
    one = ingress(name, *(paths or ("/",)), canary="true", **annotations)
    (rule,) = one.rules
    backend = IngressBackend(service, ServicePortReference("", 80))
    return evolve(
        one, rules=(evolve(rule, paths=tuple(evolve(path, backend=backend) for path in rule.paths or ())),)
    )


def translated(*ingresses: Ingress, shared: bool = False) -> Snapshot:
    """Translate these Ingresses."""
    return translate(state_of(list(ingresses)), TranslateOptions(shared_hosts=shared), datetime.now(UTC))


def told(snapshot: Snapshot) -> list[str]:
    """Return what is told of canaries."""
    return [one.message for one in snapshot.problems if one.reason is Reason.CANARY_WITHOUT_PRIMARY]


def asking(header: bytes = b"", cookie: bytes = b"", session: bytes = b"") -> Asking:
    """Return a request with these values of the field ``x-new`` and of the cookies ``new`` and ``route``."""
    cookies = [b"new=" + cookie] * bool(cookie) + [b"route=" + session] * bool(session)
    return Asking(fields=((b"x-new", header), (b"cookie", b"; ".join(cookies))))


def chosen(route: Route, request: Asking, chance: float = 0.99) -> str:
    """Return the Service that a request goes to."""
    return choose(route, request, lambda: chance).backend.name


class ShareTests(SynchronousTestCase):
    """Which requests a canary gets."""

    def route(self, *canaries: Ingress, **annotations: str) -> Route:
        """Return the route of a primary with its canaries."""
        (route,) = translated(ingress("p", "/", **annotations), *canaries).table.routes
        return route

    def test_header(self) -> None:
        """A field that says ``always`` is for the canary, whatever the weight says; any other text is for nobody."""
        route = self.route(canary(canary_by_header="X-New"))
        for value, service in (
            (b"always", "new"),
            (b"never", "web"),
            (b"", "web"),
            (b"Always", "web"),
            (b"1", "web"),
        ):
            self.assertEqual(chosen(route, asking(value)), service)

    def test_header_value(self) -> None:
        """With a value of its own, only that is for the canary, and ``never`` is a value as any other."""
        route = self.route(canary(canary_by_header="X-New", canary_by_header_value="eu", canary_weight="100"))
        self.assertEqual(chosen(route, asking(b"eu")), "new")
        self.assertEqual(chosen(route, asking(b"never")), "new")
        route = self.route(canary(canary_by_header="X-New", canary_by_header_value="eu"))
        for value in (b"EU", b"eu ", b"always"):
            self.assertEqual(chosen(route, asking(value)), "web")

    def test_header_pattern(self) -> None:
        """A pattern may match any part of the value, unless it says otherwise."""
        for pattern, good, bad in (
            ("eu|us", b"in eu-west", b"asia"),
            ("^eu$", b"eu", b"eu1"),
            ("v[0-9]+", b"v12", b"v"),
        ):
            route = self.route(canary(canary_by_header="X-New", canary_by_header_pattern=pattern))
            self.assertEqual(chosen(route, asking(good)), "new")
            self.assertEqual(chosen(route, asking(bad)), "web")
            self.assertEqual(chosen(route, asking(b"")), "web")
            self.assertEqual(chosen(route, asking(good * 2000)), "web")

    def test_underscore(self) -> None:
        """A name with ``_`` is also that of the field with ``-``, as it is for nginx; so for a value and a pattern, and before the weight."""
        by_word = self.route(canary(canary_by_header="X_New", canary_by_cookie="new", canary_weight="50"))
        for name in (b"x-new", b"x_new"):
            for value, chance, expected in ((b"always", 0.0, "new"), (b"never", 0.99, "web")):
                cookie = (b"cookie", b"new=never" if value == b"always" else b"new=always")
                request = Asking(fields=((name, value), cookie))
                self.assertEqual(chosen(by_word, request, chance), expected)
        self.assertEqual(chosen(by_word, asking(cookie=b"always"), 0.0), "new")
        self.assertEqual(chosen(by_word, asking(), 0.0), "web")
        for more in ({"canary_by_header_value": "eu"}, {"canary_by_header_pattern": "^e"}):
            route = self.route(canary(canary_by_header="X_New", **more))
            self.assertEqual(chosen(route, asking(b"eu")), "new")
            self.assertEqual(chosen(route, asking(b"us")), "web")

    def test_cookie_in_upper_and_lower_case(self) -> None:
        """The name of the cookie counts in any case, as it does for nginx; the very name comes first."""
        route = self.route(canary(canary_by_cookie="NEW"))
        self.assertEqual(chosen(route, asking(cookie=b"always")), "new")
        both = Asking(fields=((b"cookie", b"new=always; NEW=never"),))
        self.assertEqual(chosen(route, both), "web")

    def test_no_pattern(self) -> None:
        """With a pattern that is none, whatever the field says is against the canary, and comes before cookie and weight, as in ingress-nginx."""
        of_canary = {"canary_by_header": "X-New", "canary_by_header_pattern": "[][**da?$&*"}
        for more in ({}, {"canary_weight": "100"}):
            route = self.route(canary(**of_canary, canary_by_cookie="new", **more))
            for value in (b"DoCanary", b"always", b"never"):
                for cookie in (b"", b"always", b"never"):
                    self.assertEqual(chosen(route, asking(value, cookie), 0.0), "web")
            self.assertEqual(chosen(route, asking(b"", b"always"), 0.0), "new")
            self.assertEqual(chosen(route, asking(b"", b"never"), 0.99), "web")
            self.assertEqual(chosen(route, asking(), 0.99), "new" if more else "web")
        route = self.route(canary(**of_canary, canary_by_header_value="eu"))
        self.assertEqual(chosen(route, asking(b"eu")), "new")

    @given(
        st.sampled_from([b"", b"always", b"never", b"x"]),
        st.sampled_from([b"", b"always", b"never", b"x"]),
        st.integers(0, 100),
        st.floats(0, 1, exclude_max=True),
        st.booleans(),
        st.booleans(),
    )
    def test_precedence(
        self, header: bytes, cookie: bytes, weight: int, chance: float, by_header: bool, by_cookie: bool
    ) -> None:
        """The field comes before the cookie, and the cookie before the weight, as in ingress-nginx."""
        annotations = {"canary_weight": str(weight)}
        if by_header:
            annotations["canary_by_header"] = "X-New"
        if by_cookie:
            annotations["canary_by_cookie"] = "new"
        words = {b"always": "new", b"never": "web"}
        # Of all shares laid end to end, the primary's comes first.
        expected = "new" if int(chance * 100) >= 100 - weight else "web"
        if by_cookie and cookie in words:
            expected = words[cookie]
        if by_header and header in words:
            expected = words[header]
        self.assertEqual(chosen(self.route(canary(**annotations)), asking(header, cookie), chance), expected)

    def test_weights(self) -> None:
        """A weight is of a hundred, or of its total; what is more than all is all."""
        for annotations, shares in (
            ({"canary_weight": "20"}, {"web": 80, "new": 20}),
            ({"canary_weight": "1", "canary_weight_total": "1000"}, {"web": 999, "new": 1}),
            ({"canary_weight": "100"}, {"new": 100}),
            ({"canary_weight": "900"}, {"new": 100}),
            ({"canary_weight": "5", "canary_weight_total": "10"}, {"web": 95, "new": 5}),
        ):
            route = self.route(canary(**annotations))
            self.assertEqual({one.backend.name: one.weight for one in route.weighted}, shares)

    def test_several(self) -> None:
        """Several canaries share what is asked for; one that a request does not want leaves the others theirs."""
        first = canary("canary", canary_weight="10", canary_by_header="X-New")
        second = canary("canary-too", service="newer", canary_weight="30", canary_by_cookie="new")
        route = self.route(second, first)
        self.assertEqual(
            [(one.backend.name, one.weight) for one in route.weighted],
            [("web", 60), ("new", 10), ("newer", 30)],
        )
        self.assertEqual(chosen(route, asking(b"always", b"always")), "new")
        self.assertEqual(chosen(route, asking(b"", b"always")), "newer")
        found = {chosen(route, asking(b"never"), chance / 100) for chance in range(100)}
        self.assertEqual(found, {"web", "newer"})
        found = {chosen(route, asking(b"never", b"never"), chance / 100) for chance in range(100)}
        self.assertEqual(found, {"web"})

    def test_too_many(self) -> None:
        """Beyond a few canaries of one path, the youngest get nothing and are told so."""
        all_canaries = [
            evolve(
                canary(f"c{number}", service=f"s{number}", canary_weight="1"),
                created=f"2021-01-01T00:00:0{number}Z",
            )
            for number in range(MOST_CANARIES + 2)
        ]
        snapshot = translated(ingress("p", "/"), *all_canaries)
        (route,) = snapshot.table.routes
        self.assertEqual(len(route.weighted), 1 + MOST_CANARIES)
        self.assertEqual(len(told(snapshot)), 2)


class BehindTests(SynchronousTestCase):
    """What a canary stands behind."""

    def test_older_canary(self) -> None:
        """A canary is never a primary, however old it is."""
        old = evolve(canary(canary_weight="50"), created="2001-01-01T00:00:00Z")
        (route,) = translated(old, ingress("p", "/")).table.routes
        self.assertEqual((route.backend, [one.backend for one in route.weighted]), (OLD, [OLD, NEW]))

    def test_no_primary(self) -> None:
        """A path that nobody else has, in this way, gets nothing and is told; so does a canary without paths."""
        for others in ((), (ingress("p", "/other"),), (ingress("p", "/", host="b.test"),)):
            snapshot = translated(canary(canary_weight="50"), *others)
            self.assertNotIn(NEW, snapshot.backends)
            self.assertEqual(len(told(snapshot)), 1)
        empty = evolve(canary(canary_weight="50"), rules=())
        self.assertEqual(len(told(translated(empty, ingress("p", "/")))), 1)

    def test_default_backend(self) -> None:
        """A canary's default backend stands behind what takes the hosts that no rule names, with rules of its own or without."""
        backend = IngressBackend("web", ServicePortReference("", 80))
        primary = evolve(ingress("p"), rules=(), default_backend=backend)
        new = IngressBackend("new", ServicePortReference("", 80))
        alone = evolve(canary(canary_by_header="x-new"), rules=(), default_backend=new)
        beside = evolve(canary("canary", "/else", canary_by_header="x-new"), default_backend=new)
        for one, lost in ((alone, 0), (beside, 1)):
            snapshot = translated(primary, one)
            (route,) = snapshot.table.routes
            self.assertEqual((route.host, route.backend, len(told(snapshot))), ("", OLD, lost))
            self.assertEqual([chosen(route, asking(said)) for said in (b"always", b"")], ["new", "web"])
        snapshot = translated(ingress("p", "/"), alone)
        (problem,) = [one for one in snapshot.problems if one.reason is Reason.CANARY_WITHOUT_PRIMARY]
        self.assertEqual(problem.field, "spec.defaultBackend")

    def test_behind_a_default_backend(self) -> None:
        """One of the prefix ``/`` stands behind a default backend where no rule of its host has that path."""
        backend = IngressBackend("web", ServicePortReference("", 80))
        primary = evolve(ingress("p", "/a"), default_backend=backend)
        snapshot = translated(primary, canary(canary_by_header="x-new"))
        self.assertEqual(told(snapshot), [])
        routes = {route.path: route for route in snapshot.table.routes if route.host}
        self.assertEqual([chosen(routes[path], asking(b"always")) for path in ("/", "/a")], ["new", "web"])

    def test_other_namespace(self) -> None:
        """A canary of another namespace gets nothing of a team's requests, unless hosts are shared."""
        stranger = evolve(canary(canary_weight="100"), key=ObjectKey("other", "canary"))
        snapshot = translated(ingress("p", "/"), stranger)
        (route,) = snapshot.table.routes
        self.assertEqual((route.weighted, route.variants), ((), ()))
        (message,) = told(snapshot)
        self.assertIn("of another namespace", message)
        (route,) = translated(ingress("p", "/"), stranger, shared=True).table.routes
        self.assertEqual([one.backend.namespace for one in route.weighted], ["other"])

    def test_own_annotations(self) -> None:
        """What a canary says of anything else has no effect, and one note says what that is."""
        snapshot = translated(
            ingress("p", "/", proxy_body_size="2m"),
            canary(canary_weight="50", proxy_body_size="9m", ssl_redirect="nope", auth_type="basic"),
        )
        (route,) = snapshot.table.routes
        self.assertEqual((route.max_body_bytes, route.filters), (2 * 1024 * 1024, ()))
        (note,) = [one for one in snapshot.problems if "annotations" in one.field]
        self.assertTrue(note.is_note)
        self.assertTrue(note.message.endswith("auth-type, proxy-body-size, ssl-redirect"), note.message)

    def test_own_balancing(self) -> None:
        """How its requests are shared is for a canary to say, and what it leaves out is as usual, whatever its primary says."""
        (route,) = translated(
            ingress("p", "/", upstream_hash_by="$request_uri"),
            canary(canary_weight="50", load_balance="ewma"),
            canary("plain", canary_weight="10", service="plain"),
        ).table.routes
        assert route.balancing is not None and route.balancing.hash_by is not None
        self.assertIs(route.balancing_of(OLD), route.balancing)
        self.assertEqual(route.balancing_of(NEW), Balancing(Algorithm.EWMA))
        self.assertIsNone(route.balancing_of(BackendReference("demo", "plain", 80)))

    def test_balancing_of_the_same(self) -> None:
        """Where a canary says what its primary says, also nothing, or leads to the same Service, nothing is told apart."""
        for of_primary, one in (
            ({}, canary(canary_weight="50")),
            ({"load_balance": "ewma"}, canary(canary_weight="50", load_balance="ewma")),
            ({}, canary(service="web", canary_by_header="X-New", load_balance="ewma")),
        ):
            (route,) = translated(ingress("p", "/", **of_primary), one).table.routes
            self.assertEqual(route.balancing_beside, ())

    def test_balancing_over_tls(self) -> None:
        """It holds for what requests over TLS get, too."""
        (route,) = translated(
            ingress("p", "/", backend_protocol="AUTO_HTTP"),
            canary(canary_weight="50", load_balance="ewma"),
        ).table.routes
        _, new = route.weighted
        assert new.secure_backend is not None
        self.assertEqual(route.balancing_of(new.secure_backend), Balancing(Algorithm.EWMA))

    def test_cookies_before_balancing(self) -> None:
        """Who stays by the cookie of the primary stays at an endpoint; a legacy canary, with which nobody stays, shares as it says."""
        for behavior, found in (("sticky", None), ("legacy", Balancing(Algorithm.EWMA))):
            (route,) = translated(
                ingress("p", "/", affinity="cookie"),
                canary(canary_weight="50", load_balance="ewma", affinity_canary_behavior=behavior),
            ).table.routes
            self.assertEqual(route.balancing_of(NEW), found or route.balancing)

    def test_protocol_of_the_primary(self) -> None:
        """The endpoints of a canary are spoken to as those of its primary, over TLS as well."""
        (route,) = translated(
            ingress("p", "/", backend_protocol="AUTO_HTTP"),
            canary(canary_weight="50", backend_protocol="GRPC"),
        ).table.routes
        old, new = route.weighted
        self.assertEqual(old.backend.protocol, new.backend.protocol)
        assert old.secure_backend is not None and new.secure_backend is not None
        self.assertEqual(old.secure_backend.protocol, new.secure_backend.protocol)


class StickyCanaryTests(SynchronousTestCase):
    """Canaries of clients that stay."""

    def route(self, of_canary: dict[str, str] | None = None, /, **annotations: str) -> Route:
        """Return the route of a primary with affinity, and its canary, which has annotations of its own."""
        primary = ingress("p", "/", affinity="cookie", session_cookie_name="route", **annotations)
        other = canary(canary_weight="50", canary_by_header="X-New", **(of_canary or {}))
        snapshot = translated(primary, other)
        self.assertEqual([one for one in snapshot.problems if one.reason is Reason.ANNOTATION_NOTE], [])
        (route,) = snapshot.table.routes
        return route

    def test_sticky(self) -> None:
        """A client stays where its session cookie says, whatever field or weight say."""
        route = self.route()
        key = b"k" + b"0" * 16
        for backend, service in ((OLD, "web"), (NEW, "new")):
            session = key + b"." + mark_of_backend(backend)
            for header in (b"", b"always", b"never"):
                for chance in (0.0, 0.99):
                    self.assertEqual(chosen(route, asking(header, session=session), chance), service)
        self.assertEqual(chosen(route, asking(b"always", session=key)), "new")
        self.assertEqual(chosen(route, asking(b"always", session=key + b".00000000")), "new")

    def test_each_has_its_cookie(self) -> None:
        """Each backend tells clients its own mark, and nothing else stands before the route for that."""
        route = self.route()
        self.assertEqual(route.filters, ())
        marks = {one.backend: one.filters[0].mark for one in route.weighted}  # type: ignore[attr-defined]
        self.assertEqual(marks, {OLD: mark_of_backend(OLD), NEW: mark_of_backend(NEW)})

    def test_legacy(self) -> None:
        """A canary that keeps nobody is decided about anew with each request, but for clients that met the primary, as in ingress-nginx."""
        route = self.route({"affinity_canary_behavior": "legacy"})
        key = b"k" + b"0" * 16 + b"."
        of_canary, of_primary = key + mark_of_backend(NEW), key + mark_of_backend(OLD)
        self.assertEqual(chosen(route, asking(b"", session=of_canary), 0.0), "web")
        self.assertEqual(chosen(route, asking(b"", session=of_canary), 0.99), "new")
        self.assertEqual(chosen(route, asking(b"always", session=of_canary), 0.0), "new")
        for chance in (0.0, 0.99):
            self.assertEqual(chosen(route, asking(b"always", session=of_primary), chance), "web")

    def test_legacy_of_a_primary(self) -> None:
        """It is for the canary to say; a primary that says so changes nothing, as in ingress-nginx."""
        self.assertEqual(self.route(affinity_canary_behavior="legacy"), self.route())

    def test_legacy_beside_sticky(self) -> None:
        """Of several canaries each speaks for itself."""
        primary = ingress("p", "/", affinity="cookie", session_cookie_name="route")
        other = canary("second", service="newer", canary_weight="10")
        legacy = canary(canary_weight="50", affinity_canary_behavior="legacy")
        (route,) = translated(primary, legacy, other).table.routes
        told = {one.backend.name: len(one.filters) for one in route.weighted}
        self.assertEqual(told, {"web": 1, "new": 0, "newer": 1})

    def test_legacy_cookies(self) -> None:
        """There the primary tells its clients its mark, and the canary nothing; what stands in for it tells that of the primary."""
        route = self.route({"affinity_canary_behavior": "legacy"})
        filters = {one.backend: one.filters for one in route.weighted}
        self.assertEqual([one.mark for one in filters[OLD]], [mark_of_backend(OLD)])  # type: ignore[attr-defined]
        self.assertEqual(filters[NEW], ())
        (variant,) = (one for one in route.variants if one.weighted[0].backend == NEW)
        self.assertEqual(variant.weighted[0].filters, ())
        (stand_in,) = (one.stand_in for one in route.weighted if one.backend == NEW)
        assert stand_in is not None
        self.assertEqual(stand_in.filters, filters[OLD])
