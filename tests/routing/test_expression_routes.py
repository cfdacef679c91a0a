"""Routes that are regular expressions, among others of their host."""

from functools import partial

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.text import path_expressions
from ingress.model.text.lookup_budget import MAX_RUN, MAX_WORK, LookupDeferred, TurnBudget, found_at_last
from ingress.model.text.path_expressions import PathExpression, read_path_expression
from ingress.model.upstream.backends import BackendReference
from ingress.routing.beginnings import Beginnings, regex_beginnings
from ingress.routing.expression_routes import PathTooLong
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from tests.fakes.counting import calls, longest_step


def expression(path: str, realm: str = "demo", order: int = 0, *more: str) -> Route:
    """Return a route of an expression; *more* are further texts of it."""
    beginnings: Beginnings = evolve(regex_beginnings(path), realm=realm, order=order)
    texts = (path, *more)
    return Route(
        "h",
        path,
        Match.EXPRESSION,
        Owner(Kind.INGRESS, ObjectKey(realm, path)),
        BackendReference(realm, "web", 80),
        beginnings=beginnings,
        expressions=tuple(map(read_path_expression, texts)),
    )


def standing(path: str, *texts: str, order: int = 0) -> Route:
    """Return a route of *texts* that stands by ``/api``."""
    made = expression(path, "demo", order)
    assert made.beginnings is not None
    expressions = tuple(map(read_path_expression, texts))
    return evolve(made, beginnings=evolve(made.beginnings, text="/api"), expressions=expressions)


def plain(path: str, match: Match = Match.PREFIX, namespace: str = "bank") -> Route:
    """Return a route that is none."""
    return Route(
        "h",
        path,
        match,
        Owner(Kind.INGRESS, ObjectKey(namespace, path)),
        BackendReference(namespace, "web", 80),
    )


def found(path: str, *routes: Route) -> str:
    """Return the path of the route that is found."""
    one = RouteTable(routes).find(b"h", path.encode())
    return "" if one is None else one.path


class OrderTests(SynchronousTestCase):
    """Which of those that take a path has it."""

    def test_longest_text_first_and_then_backwards(self) -> None:
        """In a realm the longest text is asked first; of those of one length the one that is later in the alphabet."""
        routes = (
            expression("/"),
            expression("/a.*"),
            expression("/abc"),
            expression("/b.*"),
            expression("/[ab].+"),
        )
        for path, wanted in (("/abc", "/[ab].+"), ("/a", "/a.*"), ("/x", "/"), ("/b", "/b.*")):
            self.assertEqual(found(path, *routes), wanted)
            self.assertEqual(found(path, *reversed(routes)), wanted)
        self.assertEqual(found("/aaaa", expression("/aaa"), expression("/a.a")), "/aaa")

    def test_place_of_a_rule(self) -> None:
        """A route of two texts stands at the place of its rule; of one text the older stands first, and else the longer."""
        double = standing("/api", "/api/", "/api")
        for other, wanted in (("/(.*)", "/(.*)"), ("/a.*", "/api"), ("/a.i", "/api"), ("/z", "/api")):
            self.assertEqual(found("/api/x", double, expression(other)), wanted, other)
        exact = standing("/api", "/api", order=1)
        for path, order, wanted in (
            ("/api/x", 2, "/api"),
            ("/api/x", 1, "/api/"),
            ("/api/x", 0, "/api/"),
            ("/apix", 0, "/api"),
        ):
            slashed = standing("/api/", "/api/", order=order)
            self.assertEqual(found(path, exact, slashed), wanted, (path, order))

    def test_text_with_a_slash_counts_for_its_order(self) -> None:
        """A route of two texts that has no other place comes by the longer one where that takes the path, and by the shorter one else."""
        double = expression("/foo", "demo", 0, "/foo/")
        other = expression("/f.o")
        longer = expression("/f.oo?")
        for path, wanted in (("/foo/x", "/f.oo?"), ("/foobar", "/f.oo?")):
            self.assertEqual(found(path, double, other, longer), wanted)
        self.assertEqual(found("/foo/x", double, expression("/f.o.")), "/foo")
        self.assertEqual(found("/foobar", double, expression("/f.o.")), "/f.o.")

    def test_beginnings_count_between_realms(self) -> None:
        """An expression takes from a path of others what begins longer, or as long and is not theirs before."""
        one = expression("/api/(.*)")
        own = evolve(one, beginnings=Beginnings((), frozenset(), "demo", (b"/api/",)))
        self.assertEqual(found("/api/x", one, plain("/")), "/api/(.*)")
        self.assertEqual(found("/api/x", one, plain("/api")), "/api/(.*)")
        self.assertEqual(found("/api/x", own, plain("/api")), "/api")
        self.assertEqual(found("/api/x", one, plain("/api/x")), "/api/x")
        self.assertEqual(found("/api/x", one, plain("/api/x", Match.EXACT)), "/api/x")
        self.assertEqual(found("/api/x", own, plain("/b")), "/api/(.*)")

    def test_older_realm_first(self) -> None:
        """Of two realms whose beginnings are equal the older one has the path; the longer beginning comes before that."""
        old, new, longer = (
            expression("/(.*)/a", "old", 0),
            expression("/(.*)/(a|b)", "new", 1),
            expression("/x/.*", "longer", 2),
        )
        for path, wanted in (("/y/a", old), ("/y/b", new), ("/x/a", longer)):
            self.assertEqual(found(path, new, longer, old), wanted.path)

    def test_passthrough(self) -> None:
        """TLS for the host goes by the route that says so, whichever expression takes the path of nothing; by none where none does."""
        root = evolve(expression("/"), passthrough=BackendReference("demo", "tls", 443))
        table = RouteTable([root, expression("/(.*)")])
        self.assertEqual(table.find(b"h", b"/").path, "/(.*)")  # type: ignore[union-attr]
        self.assertIs(table.passing(b"h"), root)
        self.assertIsNone(table.passing(b"other"))
        self.assertIsNone(RouteTable([expression("/(.*)")]).passing(b"h"))


class CostTests(SynchronousTestCase):
    """What a lookup costs, counted."""

    def setUp(self) -> None:
        """Count what is run."""
        self.work: list[int] = []
        takes = PathExpression.takes

        def counted(one: PathExpression, path: bytes) -> bool:
            self.work.append(one.size * len(path))
            return takes(one, path)

        self.patch(PathExpression, "takes", counted)

    def test_first_request(self) -> None:
        """Where there are very many they are put in order in steps, and the first request of the host finds that done."""
        routes = [expression(f"/app{number:04}(/|$)(.*)", str(number % 3)) for number in range(1200)]
        host = HostRoutes((*routes, *(plain(f"/{number}") for number in range(300))))
        usual = calls(lambda: HostRoutes(host.routes).find(b"/app0007/x"))
        self.assertLess(longest_step(host.put_in_order()), usual / 4)
        self.assertLess(calls(lambda: host.find(b"/app0007/x")), usual / 20)
        for path in (b"/app0007/x", b"/app1199", b"/299/x", b"/none"):
            self.assertEqual(host.find(path), HostRoutes(host.routes).find(path))

    def test_thousand_expressions_are_one_search(self) -> None:
        """Of a thousand expressions those alone are run that a path begins like."""
        table = RouteTable(
            [expression("/(.*)"), *(expression(f"/app{number:04}(/|$)(.*)") for number in range(1000))]
        )
        for path, count in ((b"/app0007/x", 1), (b"/APP0999", 1), (b"/app1000", 1), (b"/app0007x", 1)):
            self.work.clear()
            self.assertIsNotNone(table.find(b"h", path))
            self.assertEqual(len(self.work), count, path)

    def test_work_is_bounded(self) -> None:
        """What may be run for one path is bounded by steps and bytes: for a longer one nothing is found, and it is said."""
        routes = [expression(f"/[a-z]+{'(.*a)' * 30}{number:03}x") for number in range(200)]
        table = RouteTable(routes)
        self.assertIsNone(found_at_last(partial(table.find, b"h", b"/" + b"a" * 20)))
        self.assertRaises(PathTooLong, table.find, b"h", b"/" + b"a" * 8000)
        self.work.clear()
        self.assertRaises(PathTooLong, table.find, b"h", b"/" + b"a" * 1000)
        self.assertLessEqual(sum(self.work), MAX_WORK)

    def test_captures_are_bounded(self) -> None:
        """What the expression captures that is found counts, too: a dear one draws on the turn, and one that is too dear is refused."""
        spent = TurnBudget()
        spent.running = 0
        table = RouteTable([expression("/" + "(.*)" * 31)])
        self.assertIsNotNone(table.find(b"h", b"/" + b"a" * 100, spent))
        self.assertRaises(LookupDeferred, table.find, b"h", b"/" + b"a" * 1500, spent)
        self.assertIsNotNone(table.find(b"h", b"/" + b"a" * 1500))
        self.assertRaises(PathTooLong, table.find, b"h", b"/" + b"a" * 8000)

    def test_usual_captures_are_cheap(self) -> None:
        """Usual ones draw on no turn, even of a path of nine hundred bytes; nor do groups that nobody takes a path by."""
        spent = TurnBudget()
        spent.running = 0
        table = RouteTable([expression("/app(/|$)(.*)"), expression("/" + "(b*)" * 31 + "c", "old")])
        self.assertIsNotNone(table.find(b"h", b"/app/" + b"a" * 900, spent))

    def test_usual_captures_of_long_paths(self) -> None:
        """Of a few groups a long path is taken, also where each digit of them is a step."""
        digits = "([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
        one = b"01234567-89ab-cdef-0123-456789abcdef"
        for text, path, size in (
            ("/(v1|v2)/(users|orders)/([0-9]+)(/.*)?", b"/v1/orders/7/", 8192),
            (f"/tenants/{digits}/projects/{digits}(/.*)?", b"/tenants/%b/projects/%b/" % (one, one), 2400),
        ):
            self.assertIsNotNone(RouteTable([expression(text)]).find(b"h", path.ljust(size, b"a")), text)

    def test_how_many_run_is_bounded(self) -> None:
        """However short a path is, no more expressions than ``MAX_RUN`` are run for it, those of all namespaces taken together."""
        routes = [expression(f"/[a-z]+{number}", str(number % 2), number % 2) for number in range(MAX_RUN)]
        self.assertIsNone(found_at_last(partial(RouteTable(routes).find, b"h", b"/a")))
        table = RouteTable([*routes, expression("/[a-z]+z", "2", 2)])
        self.work.clear()
        self.assertRaises(PathTooLong, partial(found_at_last, partial(table.find, b"h", b"/a")))

    def test_making_is_bounded(self) -> None:
        """One lookup makes some of the programs that are not kept; those that ask again find them, and get further."""
        routes = [expression(f"/[a-z]+{'(.*a)' * 30}{number:03}x") for number in range(200)]
        table = RouteTable(routes)
        path_expressions._programs.clear()
        asked = 1
        while asked < 100:
            made = len(path_expressions._programs)
            try:
                self.assertIsNone(table.find(b"h", b"/a"))
                break
            except LookupDeferred:
                asked += 1
                self.assertLess(len(path_expressions._programs) - made, 100)
                self.assertGreater(len(path_expressions._programs), made)
        self.assertTrue(2 < asked < 20, asked)
        self.assertIsNone(table.find(b"h", b"/b"))

    def test_programs_are_bounded(self) -> None:
        """Those that were used least lately go first."""
        path_expressions._programs.clear()
        for number in range(path_expressions._KEPT + 1):
            path_expressions.PathExpression(f"/{number}.", 2).takes(b"/")
            path_expressions.PathExpression("/0.", 2).takes(b"/")
        self.assertEqual(len(path_expressions._programs), path_expressions._KEPT)
        self.assertIn("/0.", path_expressions._programs)
        self.assertNotIn("/1.", path_expressions._programs)

    def test_plain_paths_with_dots_are_cheap(self) -> None:
        """A thousand paths that begin alike and have no sign but dots are compared with a path of a thousand bytes."""
        table = RouteTable([expression(f"/api/v1.0/{number:04}") for number in range(1000)])
        self.assertIsNone(found_at_last(partial(table.find, b"h", b"/api/v1.0/" + b"x" * 1000)))
        found_one = table.find(b"h", b"/api/v1.0/0007" + b"x" * 990)
        self.assertEqual("/api/v1.0/0007", found_one and found_one.path)

    def test_passthrough_needs_no_work(self) -> None:
        """However many expressions there are, a handshake is told where its TLS goes."""
        root = evolve(expression("/"), passthrough=BackendReference("demo", "tls", 443))
        heavy = [evolve(expression(f"/?{'(?:.*a)' * 400}{number}x")) for number in range(20)]
        many = evolve(
            heavy[0], expressions=tuple(evolve(heavy[0].expressions[0], size=MAX_WORK) for _ in range(2))
        )
        table = RouteTable([root, *heavy, many])
        self.assertRaises(PathTooLong, table.find, b"h", b"/")
        self.assertIs(table.passing(b"h"), root)

    def test_stranger_makes_no_path_too_long(self) -> None:
        """Expressions that come after what is found are not run, and keep nobody else's path from being served."""
        mine = expression("/(.*)", "old", 0)
        theirs = [expression(f"/[a-z]+{'(.*a)' * 30}{number:03}x", "new", 1) for number in range(200)]
        path = "/" + "a" * 8000
        self.assertEqual(found(path, mine, *theirs), "/(.*)")
        behind = [
            evolve(one, beginnings=Beginnings((), frozenset(), "new", (b"/",), order=1)) for one in theirs
        ]
        self.assertEqual(found(path, plain("/"), *behind), "/")
