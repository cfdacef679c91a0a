"""How the route of a request is found, and why others lost."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.stepwise import finished
from ingress.model.text import path_expressions
from ingress.routing.contest import AT_ONCE, MOST_LOSERS, Contest, Why, contesting
from ingress.routing.expression_routes import PathTooLong
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from tests.routing.test_expression_routes import expression, plain

plain_routes = st.builds(
    plain,
    st.sampled_from(["/", "/a", "/a/", "/a/b", "/%61", "/A", "/ab"]),
    st.sampled_from([Match.EXACT, Match.PREFIX]),
    st.sampled_from(["bank", "demo"]),
)
expressions = st.builds(
    expression,
    st.sampled_from(["/", "/a", "/a.*", "/a(/|$)(.*)", "/[ab]+", "/(a|b)$"]),
    st.sampled_from(["demo", "bank"]),
)
tables = st.lists(plain_routes | expressions, max_size=6, unique_by=lambda one: one.key).map(RouteTable)
paths = st.sampled_from([b"/", b"/a", b"/a/", b"/a/b", b"/a/b/c", b"/A/x", b"/ab", b"/b", b"/c"])


def contest(path: str, *routes: Route) -> Contest:
    """Return the contest for *path* of the host ``h``."""
    return finished(contesting(RouteTable(routes), b"h", path.encode()))


def found(table: RouteTable, path: bytes) -> Route | None:
    """Return what *table* finds for *path*."""
    try:
        return table.find(b"h", path)
    except PathTooLong:
        return None


class PropertyTests(SynchronousTestCase):
    @given(tables, paths)
    def test_losers_are_those_that_would_have_the_request_alone(self, table: RouteTable, path: bytes) -> None:
        """The winner is the table's own; each other route lost exactly if it takes the path where it is the only one."""
        told = finished(contesting(table, b"h", path))
        self.assertIs(told.route, table.find(b"h", path))
        alone = [one for one in table.routes if found(RouteTable([one]), path) is one]
        expected = [one for one in alone if one is not told.route] if told.route is not None else []
        self.assertCountEqual([one.route for one in told.losers], expected)
        if told.route is None:
            self.assertEqual(alone, [])


class StepTests(SynchronousTestCase):
    """How much is done in a step."""

    def test_programs(self) -> None:
        """Programs that are not kept are made some in each step, as for a lookup, whether a route has won or not."""
        beginnings = [expression(f"/[a-z]+{'(.*a)' * 30}{number:03}x") for number in range(200)]
        for last in ("/[a-z]+b", "/[a-z]+"):
            with self.subTest(last=last):
                table = RouteTable([*beginnings, expression(last)])
                path_expressions._programs.clear()
                made = [0]
                steps = contesting(table, b"h", b"/a")
                for _ in steps:
                    made.append(len(path_expressions._programs))
                self.assertGreater(made[-1], 190)
                self.assertLess(max(after - before for before, after in pairwise(made)), 100)


class WhyTests(SynchronousTestCase):
    """The reasons."""

    def test_reasons(self) -> None:
        """Each way to lose has its word."""
        for path, winner, loser, why in (
            ("/a", plain("/a", Match.EXACT), plain("/a/"), Why.EXACT_FIRST),
            ("/a/b", plain("/a"), plain("/"), Why.SHORTER),
            ("/a", plain("/a/"), plain("/a"), Why.SAME_PATH),
            (
                "/abc",
                expression("/a.*", "bank"),
                plain("/abc"[:2].replace("a", "") or "/"),
                Why.EXPRESSION_FIRST,
            ),
            ("/abc", expression("/a[b]c"), expression("/a.*"), Why.SHORTER_EXPRESSION),
            ("/a/b", expression("/a/b.*", "demo"), expression("/a.*", "bank"), Why.OTHER_REALM),
            ("/abc", plain("/abc", Match.EXACT), expression("/ab.*", "demo"), Why.OTHER_REALM),
        ):
            told = contest(path, loser, winner)
            self.assertIs(told.route, winner, (path, told))
            self.assertEqual([(one.route, one.why) for one in told.losers], [(loser, why)])
            self.assertTrue(told.losers[0].sentence)

    def test_the_most_exact_host_decides_alone(self) -> None:
        """What less exact hosts would do is told, and the hosts that were looked for."""
        routes = [
            Route(host, "/", Match.PREFIX, None, plain("/").backend)
            for host in ("a.example.com", "*.example.com", "")
        ]
        told = finished(contesting(RouteTable(routes), b"a.example.com", b"/x"))
        self.assertIs(told.route, routes[0])
        self.assertEqual([one.host for one in told.looked_for], ["a.example.com"])
        self.assertEqual(
            [(one.route.host, one.why) for one in told.losers],
            [("*.example.com", Why.LESS_EXACT_HOST), ("", Why.LESS_EXACT_HOST)],
        )
        other = finished(contesting(RouteTable(routes), b"b.example.com", b"/"))
        self.assertEqual(
            [(one.host, one.paths) for one in other.looked_for], [("b.example.com", 0), ("*.example.com", 1)]
        )

    def test_near_paths_and_hosts(self) -> None:
        """Where nothing is found, what is like it is told, the most like it first."""
        told = contest("/cart/itmes", plain("/cart/items"), plain("/cars"), plain("/x"), plain("/y"))
        self.assertEqual([one.path for one in told.near_paths][:2], ["/cart/items", "/cars"])
        table = RouteTable(
            Route(host, "/", Match.PREFIX, None, plain("/").backend)
            for host in ("shop.example.com", "*.sites.example.com", "www.example.org", "other.test")
        )
        for host, near in (
            (b"shpo.example.com", ("shop.example.com",)),
            (b"sites.example.com", ("*.sites.example.com",)),
            (b"a.b.sites.example.com", ("*.sites.example.com",)),
            (b"example.org", ("www.example.org",)),
            (b"nowhere.at.all", ()),
        ):
            self.assertEqual(finished(contesting(table, host, b"/")).near_hosts, near)

    def test_a_path_that_is_too_long_for_expressions(self) -> None:
        """It is told as such, and nobody is said to have lost."""
        many = [expression(f"/a(x|y{number})*{number}", order=number) for number in range(200)]
        told = contest("/a" + "x" * 8000, *many)
        self.assertTrue(told.is_too_long)
        self.assertEqual((told.route, told.losers), (None, ()))


class CostTests(SynchronousTestCase):
    """What it costs to find that out, counted in steps."""

    def test_a_host_of_10000_paths_is_looked_through_in_slices(self) -> None:
        """No step looks at more than some routes; a contest that is dropped amid costs no more."""
        table = RouteTable(plain(f"/{number}") for number in range(10_000))
        steps = contesting(table, b"h", b"/7/x")
        count = 0
        for _ in steps:
            count += 1
        self.assertGreaterEqual(count, 10_000 // AT_ONCE)

    def test_losers_are_counted_beyond_some(self) -> None:
        """A path of many segments may have many prefixes."""
        path = "/".join(["", *map(str, range(MOST_LOSERS + 10))])
        prefixes = [path[: path.index(f"/{number}")] or "/" for number in range(MOST_LOSERS + 10)]
        told = finished(contesting(RouteTable(plain(one) for one in prefixes), b"h", path.encode()))
        self.assertEqual((len(told.losers), told.more_losers), (MOST_LOSERS, 9))
