"""Which of several routes takes a request, by its method, fields and parameters; and tables in which wildcards cover labels."""

from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.stepwise import finished
from ingress.model.text import expressions
from ingress.model.text.expressions import read_expression
from ingress.model.text.lookup_budget import MAX_RUN, LookupDeferred, found_at_last
from ingress.model.upstream.backends import BackendReference
from ingress.routing.contest import contesting
from ingress.routing.match_conditions import (
    MAX_COMPARED_BYTES,
    MAX_CONDITIONS,
    Compared,
    MatchCondition,
    TooMuchToCompare,
    first_met,
    parameters,
)
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable

WEB = BackendReference("shop", "web", 80)
ROUTE = Route("a.test", "/", Match.PREFIX, None, WEB)


@frozen
class Asking:
    """What a request says."""

    method: bytes = b"GET"
    path: bytes = b"/"
    target: bytes = b"/"
    fields: tuple[tuple[bytes, bytes], ...] = ()

    def combined(self, name: bytes) -> bytes | None:
        """Return the values of a field."""
        found = [value for called, value in self.fields if called == name]
        return b", ".join(found) if found else None


def header(value: bytes, name: bytes = b"version") -> MatchCondition:
    """Return a condition on a field."""
    return MatchCondition(Compared.HEADER, name, value)


def like(text: str, what: Compared = Compared.HEADER, name: bytes = b"version") -> MatchCondition:
    """Return a condition with an expression."""
    return MatchCondition(what, b"" if what is Compared.PATH else name, pattern=read_expression(text))


class MatchConditionTests(SynchronousTestCase):
    """What a request has to say."""

    def test_exact(self) -> None:
        """A value is compared as it is, and what is absent is none."""
        condition = header(b"two")
        self.assertTrue(condition.holds(Asking(fields=((b"version", b"two"),))))
        self.assertFalse(condition.holds(Asking(fields=((b"version", b"Two"),))))
        self.assertFalse(condition.holds(Asking()))

    def test_repeated_field(self) -> None:
        """A field that comes twice is compared as both values with a comma between."""
        asking = Asking(fields=((b"version", b"one"), (b"version", b"two")))
        self.assertFalse(header(b"one").holds(asking))
        self.assertTrue(header(b"one, two").holds(asking))

    def test_query(self) -> None:
        """The first parameter of the name counts, without escapes; names are compared as they are."""
        self.assertEqual(parameters(b"/?a=1&a=2&b=3"), {b"a": b"1", b"b": b"3"})
        self.assertEqual(parameters(b"/?a=x%20y+z"), {b"a": b"x y z"})
        self.assertEqual(parameters(b"/?%61=1&a=2"), {b"a": b"1"})
        self.assertEqual(parameters(b"/?a"), {b"a": b""})
        self.assertEqual(parameters(b"/?A=1"), {b"A": b"1"})
        self.assertNotIn(b"a", parameters(b"/a=1"))
        condition = MatchCondition(Compared.QUERY, b"a", b"1")
        self.assertTrue(condition.holds(Asking(target=b"/?b=1&a=1")))
        self.assertFalse(condition.holds(Asking(target=b"/?A=1")))

    def test_method_and_path(self) -> None:
        """Method and path are compared, too; expressions describe all of what they are compared with."""
        self.assertTrue(MatchCondition(Compared.METHOD, value=b"GET").holds(Asking()))
        self.assertFalse(MatchCondition(Compared.METHOD, value=b"GET").holds(Asking(b"get")))
        self.assertTrue(like("/a[0-9]+", Compared.PATH).holds(Asking(path=b"/a12")))
        self.assertFalse(like("/a[0-9]+", Compared.PATH).holds(Asking(path=b"/a12/b")))

    def test_absent_is_like_nothing(self) -> None:
        """An expression that takes the empty text does not take what is not there, nor what is too long."""
        self.assertFalse(like(".*").holds(Asking()))
        self.assertTrue(like(".*").holds(Asking(fields=((b"version", b""),))))
        long = b"x" * (MAX_COMPARED_BYTES + 1)
        self.assertFalse(like(".*").holds(Asking(fields=((b"version", long),))))
        self.assertTrue(like(".*").holds(Asking(fields=((b"version", b"\xff"),))))

    def test_in_words(self) -> None:
        """A condition is shown in words."""
        self.assertEqual(str(header(b"two")), "header version is two")
        self.assertEqual(str(like("a+", Compared.PATH)), "path is like a+")
        self.assertEqual(str(MatchCondition(Compared.METHOD, value=b"GET")), "method is GET")


class FirstMetTests(SynchronousTestCase):
    """The first route that takes a request has it, at a bounded cost."""

    def test_first(self) -> None:
        """All conditions have to hold; a route without any takes what is left."""
        both = evolve(ROUTE, conditions=(header(b"two"), header(b"blue", b"color")))
        one = evolve(ROUTE, conditions=(header(b"two"),))
        routes = (both, one, ROUTE)
        two, blue = (b"version", b"two"), (b"color", b"blue")
        self.assertIs(first_met(routes, Asking(fields=(two, blue))), both)
        self.assertIs(first_met(routes, Asking(fields=(two,))), one)
        self.assertIs(first_met(routes, Asking(fields=(blue,))), ROUTE)
        self.assertIsNone(first_met(routes[:2], Asking(fields=(blue,))))

    def test_asked_once(self) -> None:
        """What many routes ask for is looked up once."""
        asked: list[bytes] = []

        @frozen
        class Counting(Asking):
            def combined(self, name: bytes) -> bytes | None:
                asked.append(name)
                return None

        routes = [evolve(ROUTE, conditions=(header(b"%d" % number),)) for number in range(100)]
        self.assertIsNone(first_met(routes, Counting()))
        self.assertEqual(asked, [b"version"])

    def test_query_is_read_once(self) -> None:
        """The query is taken apart once, however many parameters are asked for, and not at all where none is."""
        asked: list[bytes] = []

        class Target(bytes):
            def partition(self, separator: Any, /) -> tuple[bytes, bytes, bytes]:
                asked.append(separator)
                return super().partition(separator)

        routes = [
            evolve(ROUTE, conditions=(MatchCondition(Compared.QUERY, b"q%d" % number, b"x"),))
            for number in range(100)
        ]
        last = evolve(ROUTE, conditions=(header(b"two"),))
        self.assertIsNone(first_met([last], Asking(target=Target(b"/?q99=x"))))
        self.assertEqual(asked, [])
        self.assertIs(first_met([*routes, last], Asking(target=Target(b"/?q99=x"))), routes[99])
        self.assertEqual(asked, [b"?"])

    def test_too_many(self) -> None:
        """More conditions than may be looked at end the search."""
        routes = [evolve(ROUTE, conditions=(header(b"x"),))] * (MAX_CONDITIONS + 1)
        self.assertIsNone(first_met(routes[1:], Asking()))
        self.assertRaises(TooMuchToCompare, first_met, routes, Asking())

    def test_how_many_expressions_run(self) -> None:
        """However short a value is, no more expressions than ``MAX_RUN`` are run; of what the request does not say, none is."""
        routes = [
            evolve(
                ROUTE,
                conditions=(MatchCondition(Compared.HEADER, name, pattern=read_expression(f"a+{number}")),),
            )
            for name in (b"version", b"other")
            for number in range(MAX_RUN)
        ]
        asking = Asking(fields=((b"version", b"a"),))
        self.assertIsNone(found_at_last(partial(first_met, routes, asking)))
        routes.append(
            evolve(
                ROUTE, conditions=(MatchCondition(Compared.HEADER, b"version", pattern=read_expression("b")),)
            )
        )
        self.assertRaises(TooMuchToCompare, partial(found_at_last, partial(first_met, routes, asking)))

    def test_making_is_bounded(self) -> None:
        """One lookup makes some of the programs that are not kept; those that ask again find them, and get further."""
        routes = [
            evolve(
                ROUTE,
                conditions=(
                    MatchCondition(Compared.HEADER, b"version", pattern=read_expression(f"a+{number}")),
                ),
            )
            for number in range(1000)
        ]
        asking = Asking(fields=((b"version", b"a"),))
        expressions._programs.clear()
        made = [0]
        while len(made) < 100:
            try:
                self.assertIsNone(first_met(routes, asking))
                break
            except LookupDeferred:
                made.append(len(expressions._programs))
                self.assertTrue(0 < made[-1] - made[-2] < 600, made)
        self.assertTrue(2 < len(made) < 20, made)
        self.assertIsNone(first_met(routes, asking))

    def test_too_much_work(self) -> None:
        """Expressions that would take too long together end the search before they are run."""
        route = evolve(ROUTE, conditions=(like("(x{1,30}y){1,10}z"),))
        routes = [route] * 1000
        asking = Asking(fields=((b"version", b"x" * 4000),))
        self.assertRaises(TooMuchToCompare, first_met, routes, asking)


def host_routes(*paths: tuple[str, Match, tuple[MatchCondition, ...]]) -> tuple[Route, ...]:
    """Return routes with places of their own."""
    return tuple(
        evolve(ROUTE, path=path, match=match, conditions=conditions, place=f"spec.rules[{number}]")
        for number, (path, match, conditions) in enumerate(paths)
    )


V2 = (header(b"two"),)


class FallThroughTests(SynchronousTestCase):
    """A request that a more specific path's routes do not take goes to those of less specific ones."""

    def find(self, routes: tuple[Route, ...], path: bytes, *fields: tuple[bytes, bytes]) -> Route | None:
        """Find the route of a request."""
        table = RouteTable(routes)
        return first_met(table.taking(b"a.test", path), Asking(path=path, fields=fields))

    def test_to_the_next_prefix(self) -> None:
        """From an exact path to prefixes, longest first, element by element."""
        routes = host_routes(
            ("/a/b", Match.EXACT, V2),
            ("/a/b", Match.PREFIX, V2),
            ("/a", Match.PREFIX, V2),
            ("/", Match.PREFIX, ()),
        )
        two = (b"version", b"two")
        self.assertIs(self.find(routes, b"/a/b", two), routes[0])
        self.assertIs(self.find(routes, b"/a/b/", two), routes[1])
        self.assertIs(self.find(routes, b"/a/bc", two), routes[2])
        self.assertIs(self.find(routes, b"/a/b"), routes[3])
        self.assertIs(self.find(routes, b"/ab", two), routes[3])

    def test_to_nothing(self) -> None:
        """Where nothing takes the rest, there is no route."""
        self.assertIsNone(self.find(host_routes(("/", Match.PREFIX, V2)), b"/"))

    def test_patterns_in_their_place(self) -> None:
        """A regular expression comes where the order has it, between other paths."""
        pattern = like("/[a-z]+/b", Compared.PATH)
        routes = host_routes(
            ("/x/b", Match.EXACT, ()), ("/[a-z]+/b", Match.PATTERN, (pattern,)), ("/x", Match.PREFIX, ())
        )
        self.assertIs(self.find(routes, b"/x/b"), routes[0])
        self.assertIs(self.find(routes, b"/y/b"), routes[1])
        self.assertIs(self.find(routes, b"/x/c"), routes[2])
        self.assertIsNone(self.find(routes, b"/y/c"))

    def test_routes_without_conditions(self) -> None:
        """A host without conditions is looked up as ever, and has one route for a path."""
        [route] = host_routes(("/a", Match.PREFIX, ()))
        routes = HostRoutes((route,))
        self.assertEqual(list(routes.taking(b"/a/b")), [route])
        self.assertEqual(list(routes.taking(b"/b")), [])


def naive(routes: tuple[Route, ...], asking: Asking) -> Route | None:
    """Find the first of *routes*, in order, that takes a request, as simply as can be."""
    for route in routes:
        if route.match is Match.EXACT:
            takes = asking.path == route.path.encode()
        elif route.match is Match.PREFIX:
            elements = route.path.rstrip("/").encode()
            takes = asking.path == elements or asking.path.startswith(elements + b"/")
        else:
            takes = True
        if takes and all(condition.holds(asking) for condition in route.conditions):
            return route
    return None


PATHS = st.sampled_from(["/", "/a", "/a/", "/a/b", "/a/b/c", "/ab", "/b"])
PATTERNS = st.sampled_from(["/a.*", "/[ab]", "/.*/b"])
CONDITIONS = st.lists(
    st.builds(header, st.sampled_from([b"1", b"2"]), st.sampled_from([b"x", b"y"])), max_size=2
).map(tuple)


def _rank(one: tuple[str, Match, tuple[MatchCondition, ...]]) -> tuple[int, int, int]:
    path, match, conditions = one
    return [Match.EXACT, Match.PATTERN, Match.PREFIX].index(match), -len(path.rstrip("/")), -len(conditions)


TEXT_ROUTES = st.tuples(PATHS, st.sampled_from([Match.EXACT, Match.PREFIX]), CONDITIONS)
PATTERN_ROUTES = st.tuples(PATTERNS, st.just(Match.PATTERN), CONDITIONS).map(
    lambda one: (one[0], one[1], (like(one[0], Compared.PATH), *one[2]))
)


class LookupProperties(SynchronousTestCase):
    """Looking up by dictionaries finds what going through all routes in order finds."""

    @given(
        st.lists(st.one_of(TEXT_ROUTES, PATTERN_ROUTES), max_size=8),
        PATHS,
        st.lists(st.tuples(st.sampled_from([b"x", b"y"]), st.sampled_from([b"1", b"2"])), max_size=2),
    )
    def test_same_as_in_order(
        self,
        made: list[tuple[str, Match, tuple[MatchCondition, ...]]],
        path: str,
        fields: list[tuple[bytes, bytes]],
    ) -> None:
        """Whatever routes there are, in their order."""
        # The fast way of hosts without any condition keeps one route of a path.
        routes = host_routes(*sorted(made, key=_rank), ("/never", Match.EXACT, V2))
        asking = Asking(path=path.encode(), fields=tuple(fields))
        found = first_met(RouteTable(routes).taking(b"a.test", asking.path), asking)
        self.assertIs(found, naive(routes, asking))


class CoversLabelsTests(SynchronousTestCase):
    """In tables of Gateways a wildcard covers any number of labels, and a host may be there to be refused."""

    def table(self, *hosts: str) -> Callable[[bytes], str | None]:
        """Return who finds the host that decides."""
        routes = {host: HostRoutes((evolve(ROUTE, host=host),)) for host in hosts}
        table = RouteTable(covers_labels=True).patched(routes)

        def find(host: bytes) -> str | None:
            found = table.find(host, b"/")
            by_steps = finished(contesting(table, host, b"/")).route
            assert found is by_steps
            return None if found is None else found.host

        return find

    def test_longest_wildcard(self) -> None:
        """The longest wildcard that covers a host has it; the bare domain is none of its hosts."""
        find = self.table("*.wildcard.io", "*.bar.wildcard.io", "very.bar.wildcard.io")
        self.assertEqual(find(b"foo.wildcard.io"), "*.wildcard.io")
        self.assertEqual(find(b"a.b.c.wildcard.io"), "*.wildcard.io")
        self.assertEqual(find(b"a.b.bar.wildcard.io"), "*.bar.wildcard.io")
        self.assertEqual(find(b"bar.wildcard.io"), "*.wildcard.io")
        self.assertEqual(find(b"very.bar.wildcard.io"), "very.bar.wildcard.io")
        self.assertIsNone(find(b"wildcard.io"))

    def test_all_hosts_last(self) -> None:
        """What nothing covers goes to the routes of all hosts."""
        find = self.table("", "*.a.test")
        self.assertEqual(find(b"x.y.a.test"), "*.a.test")
        self.assertEqual(find(b"x.y.b.test"), "")

    def test_kept_host(self) -> None:
        """A host that a listener has keeps its requests from wider ones, though it have no route."""
        table = RouteTable(covers_labels=True).patched(
            {
                "*.a.test": HostRoutes((evolve(ROUTE, host="*.a.test"),)),
                "*.b.a.test": HostRoutes((), is_kept=True),
            }
        )
        self.assertIsNone(table.find(b"x.b.a.test", b"/"))
        self.assertIsNotNone(table.find(b"b.a.test", b"/"))
        self.assertEqual((table.count, table.hosts), (1, 2))
        self.assertEqual([route.host for route in table.routes], ["*.a.test"])

    def test_usual_tables(self) -> None:
        """In the table of Ingresses a wildcard covers one label, as ever."""
        table = RouteTable((evolve(ROUTE, host="*.a.test"),))
        self.assertIsNotNone(table.find(b"x.a.test", b"/"))
        self.assertIsNone(table.find(b"y.x.a.test", b"/"))
