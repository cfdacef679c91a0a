"""Variants of a route: conditions, weights, and the choice among them."""

from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.hosts.transport_security import TransportSecurity
from ingress.annotations.redirects.https_redirect import HttpsRedirect
from ingress.filters import FilterSpec
from ingress.model.upstream.backends import BackendReference
from ingress.routing.backend_choice import chances, choose, with_endpoint
from ingress.routing.route import Match, Route
from ingress.routing.variants import Choice, RequestCondition, Said, Variant, WeightedBackend

MAIN, SAFE, CANARY, OTHER, THIRD = (
    BackendReference("shop", name, 80) for name in ("main", "safe", "canary", "other", "third")
)
ROUTE = Route("a.test", "/", Match.PREFIX, None, MAIN)
OWN: tuple[FilterSpec, ...] = (HttpsRedirect(),)
VARIANTS: tuple[FilterSpec, ...] = (GuardMissing(),)
BACKENDS: tuple[FilterSpec, ...] = (TransportSecurity(b""),)
NAMES = st.sampled_from([b"x", b"y"])
VALUES = st.sampled_from([b"", b"1", b"2"])


@frozen
class Asking:
    """What a request says."""

    method: bytes = b"GET"
    scheme: bytes = b"http"
    target: bytes = b"/"
    fields: tuple[tuple[bytes, bytes], ...] = ()

    def field(self, name: bytes) -> bytes:
        """Return the value of a field."""
        return dict(self.fields).get(name, b"")


REQUESTS = st.builds(
    lambda method, scheme, header, cookie, query: Asking(
        method, scheme, b"/?%b=%b" % query, ((b"x-" + header[0], header[1]), (b"cookie", b"%b=%b" % cookie))
    ),
    st.sampled_from([b"GET", b"POST"]),
    st.sampled_from([b"http", b"https"]),
    *[st.tuples(NAMES, VALUES)] * 3,
)
CONDITIONS = st.builds(
    lambda said, name, values, negated: RequestCondition(
        said,
        b"" if said is Said.METHOD else b"x-" + name if said is Said.HEADER else name,
        frozenset(values),
        negated,
    ),
    st.sampled_from(list(Said)),
    NAMES,
    st.sets(st.sampled_from([b"1", b"2", b"GET"]), max_size=2),
    st.booleans(),
)
WEIGHTED = st.lists(
    st.builds(
        WeightedBackend,
        st.sampled_from([CANARY, OTHER, THIRD]),
        st.integers(1, 5),
        st.sampled_from([(), BACKENDS]),
        st.sampled_from([None, SAFE]),
    ),
    min_size=1,
    max_size=3,
).map(tuple)
ROUTES = st.builds(
    lambda secure, weighted, variants: evolve(
        ROUTE, secure_backend=secure, weighted=weighted, variants=variants, filters=OWN
    ),
    st.sampled_from([None, SAFE]),
    WEIGHTED | st.just(()),
    st.lists(st.builds(Variant, st.lists(CONDITIONS, max_size=3).map(tuple), WEIGHTED, st.just(VARIANTS)))
    .map(tuple),
)  # fmt: skip


def never() -> float:
    """Fail the test: nothing is left to chance."""
    raise AssertionError("asked for chance")


class ConditionTests(SynchronousTestCase):
    """What a request has to say."""

    def test_each_kind(self) -> None:
        """Method, field, cookie and parameter are compared with all values that may be."""
        request = Asking(b"PUT", b"http", b"/?a=1", ((b"x-y", b"z"), (b"cookie", b"c=2")))
        for said, name, value in (
            (Said.METHOD, b"", b"PUT"),
            (Said.HEADER, b"x-y", b"z"),
            (Said.COOKIE, b"c", b"2"),
            (Said.QUERY, b"a", b"1"),
        ):
            self.assertTrue(RequestCondition(said, name, frozenset({value, b"no"})).holds(request))
            self.assertFalse(RequestCondition(said, name, frozenset({b"no"})).holds(request))
            self.assertTrue(RequestCondition(said, name, frozenset({b"no"}), is_negated=True).holds(request))
            self.assertTrue(RequestCondition(said, name).holds(request))

    def test_absent_is_empty(self) -> None:
        """Without values, a condition asks whether anything is there at all."""
        for said in (Said.HEADER, Said.COOKIE, Said.QUERY):
            self.assertFalse(RequestCondition(said, b"x").holds(Asking()))
            self.assertTrue(RequestCondition(said, b"x", is_negated=True).holds(Asking()))

    def test_words(self) -> None:
        """A condition says what it asks for."""
        asked = RequestCondition(Said.HEADER, b"x-canary", frozenset({b"b", b"a"}))
        self.assertEqual(str(asked), "header x-canary is a or b")
        self.assertEqual(str(RequestCondition(Said.COOKIE, b"c", is_negated=True)), "cookie c is not there")


class ChoiceTests(SynchronousTestCase):
    """Where a request leads."""

    def test_plain_route(self) -> None:
        """Without variants and weights it is the backend, the secure one for what came over TLS, and no chance."""
        route = evolve(ROUTE, secure_backend=SAFE, filters=OWN)
        self.assertEqual(choose(route, Asking(), never), Choice(MAIN, OWN))
        self.assertEqual(choose(route, Asking(scheme=b"https"), never), Choice(SAFE, OWN))

    def test_first_variant_that_holds(self) -> None:
        """Of two variants that hold the first is taken, with its own filters; one that does not hold is passed over."""
        on = RequestCondition(Said.HEADER, b"x", frozenset({b"on"}))
        variants = (
            Variant(
                (on, RequestCondition(Said.METHOD, values=frozenset({b"POST"}))), (WeightedBackend(THIRD),)
            ),
            Variant((on,), (WeightedBackend(CANARY),), VARIANTS),
            Variant((), (WeightedBackend(OTHER),)),
        )
        route = evolve(ROUTE, variants=variants, filters=OWN)
        fields = ((b"x", b"on"),)
        self.assertEqual(choose(route, Asking(fields=fields), never), Choice(CANARY, VARIANTS))
        self.assertEqual(choose(route, Asking(b"POST", fields=fields), never), Choice(THIRD, ()))
        self.assertEqual(choose(route, Asking(), never), Choice(OTHER, ()))

    def test_without_endpoint(self) -> None:
        """What stands in for a backend gets its requests, then what stands in for all of the route; if they have endpoints."""
        own = WeightedBackend(MAIN, filters=VARIANTS, secure_backend=SAFE)
        route = evolve(ROUTE, weighted=(WeightedBackend(CANARY, filters=OWN, stand_in=own),), filters=OWN)
        pages = evolve(route, stand_in=WeightedBackend(OTHER, filters=VARIANTS))
        for some, scheme, up, wanted in (
            (route, b"http", {CANARY, MAIN, SAFE}, (CANARY, OWN)),
            (route, b"http", {MAIN, OTHER}, (MAIN, VARIANTS)),
            (route, b"https", {MAIN, SAFE}, (SAFE, VARIANTS)),
            (route, b"https", {MAIN}, (CANARY, OWN)),
            (pages, b"http", {MAIN, OTHER}, (MAIN, VARIANTS)),
            (pages, b"http", {OTHER}, (OTHER, VARIANTS)),
            (pages, b"http", set(), (CANARY, OWN)),
        ):
            asking = Asking(scheme=scheme)
            choice = choose(some, asking, never)
            self.assertEqual(with_endpoint(choice, some, asking, up.__contains__), wanted)

    def test_weights_are_shares(self) -> None:
        """Over evenly spread chances each backend gets exactly its share, and its filters go with it."""
        weighted = (
            WeightedBackend(CANARY, 1, BACKENDS),
            WeightedBackend(OTHER, 3),
            WeightedBackend(THIRD, 4),
        )
        route = evolve(ROUTE, weighted=weighted, filters=OWN)
        found = [choose(route, Asking(), iter([(number + 0.5) / 80]).__next__) for number in range(80)]
        self.assertEqual([found.count(one) for one in dict.fromkeys(found)], [10, 30, 40])
        self.assertEqual(found[0], Choice(CANARY, OWN, BACKENDS))

    def test_weight_of_nothing(self) -> None:
        """There is no backend of weight 0, and no variant without backend."""
        with self.assertRaises(ValueError):
            WeightedBackend(CANARY, 0)
        with self.assertRaises(ValueError):
            Variant((), ())

    @given(ROUTES, REQUESTS, st.floats(0, 1, exclude_max=True))
    def test_random_routes(self, route: Route, request: Asking, chance: float) -> None:
        """What is chosen is among what the route leads to, and what the plainest reading of it says."""
        found = choose(route, request, lambda: chance)
        self.assertIn(found.backend, route.backends)
        holding = [
            one for one in route.variants if all(condition.holds(request) for condition in one.conditions)
        ]
        weighted = holding[0].weighted if holding else route.weighted
        self.assertEqual(found.filters, VARIANTS if holding else OWN)
        if weighted:
            drawn = [one for one in weighted for _ in range(one.weight)]
            entry = drawn[int(chance * len(drawn))]
            normal, secure, filters = entry.backend, entry.secure_backend, entry.filters
        else:
            normal, secure, filters = route.backend, route.secure_backend, ()
        is_secure = request.scheme == b"https" and secure is not None
        self.assertEqual((found.backend, found.backend_filters), (secure if is_secure else normal, filters))

    @given(ROUTES, REQUESTS)
    def test_chances_are_what_is_chosen_over_all_of_chance(self, route: Route, request: Asking) -> None:
        """Each share of all random numbers leads where it is said to, and the variant is the first that holds."""
        told = chances(route, request)
        of = told.choices[0].of
        drawn = [choose(route, request, iter([(number + 0.5) / of]).__next__) for number in range(of)]
        said = [one.choice for one in told.choices for _ in range(one.share)]
        self.assertEqual(drawn, said)
        if told.variant is not None:
            self.assertTrue(all(condition.holds(request) for condition in told.variant.conditions))

    @given(ROUTES)
    def test_all_backends_are_named(self, route: Route) -> None:
        """A route names each backend that it may lead to, once."""
        entries = [*route.weighted, *(one for variant in route.variants for one in variant.weighted)]
        named = {MAIN, route.secure_backend}
        named |= {one for entry in entries for one in (entry.backend, entry.secure_backend)}
        self.assertEqual(set(route.backends), named - {None})
        self.assertEqual(len(route.backends), len(set(route.backends)))
