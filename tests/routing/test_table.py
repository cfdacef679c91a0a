"""Tests for ``ingress.routing.table``."""

import gc
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.hosts.transport_security import TransportSecurity
from ingress.model.upstream.backends import BackendReference
from ingress.routing.beginnings import Beginnings
from ingress.routing.paths import PathError, normal_path, other_reading
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from tests.properties import examples


def route(host: str, path: str, match: Match = Match.PREFIX, service: str = "web") -> Route:
    """A route to *service*."""
    return Route(host, path, match, None, BackendReference("shop", service, 80))


def exact(host: str, path: str, service: str = "web") -> Route:
    """An exact route to *service*."""
    return route(host, path, Match.EXACT, service)


def elements(path: str) -> list[str]:
    """The elements of a path as ``HTTPIngressPath.pathType`` counts them."""
    return [element for element in path.split("/") if element]


def expected_route(routes: Iterable[Route], host: str, path: str) -> Route | None:
    """Find a route as slowly and as plainly as the rules are written."""
    routes = list(routes)
    wildcard = "*." + host.partition(".")[2]
    for claimed in (host, wildcard, ""):
        candidates = [one for one in routes if one.host == claimed]
        if candidates:
            break
    for one in candidates:
        # Of nobody's paths, what is closed comes first.
        if one.beginnings is not None and path.lower().startswith(one.beginnings.prefixes[0].decode()):
            return one
    for one in candidates:
        if one.match is Match.EXACT and one.path == path:
            return one
    prefixes = [
        one
        for one in candidates
        if one.match is Match.PREFIX and elements(path)[: len(elements(one.path))] == elements(one.path)
    ]
    longest_first = sorted(
        prefixes, key=lambda one: (len(elements(one.path)), one.path.endswith("/")), reverse=True
    )
    return longest_first[0] if longest_first else None


HOSTS = st.sampled_from(["", "a.com", "b.a.com", "*.a.com", "*.com", "c.b.a.com", "*.b.a.com"])
PATHS = st.builds(
    lambda segments, slash: "/" + "/".join(segments) + ("/" if slash and segments else ""),
    st.lists(st.sampled_from(["a", "b", "ab", "A"]), max_size=4),
    st.booleans(),
)
MATCHES = st.sampled_from([Match.EXACT, Match.PREFIX])
CLOSED = st.builds(
    lambda host, path: evolve(
        route(host, path + "(.*)", Match.BEGINNING), beginnings=Beginnings((path.lower().encode(),))
    ),
    HOSTS,
    PATHS,
)
PLAIN = st.lists(st.builds(route, HOSTS, PATHS, MATCHES), max_size=12)
ROUTES = PLAIN | st.lists(st.builds(route, HOSTS, PATHS, MATCHES) | CLOSED, max_size=12)
REQUEST_HOSTS = st.sampled_from(
    [
        "a.com",
        "b.a.com",
        "x.a.com",
        "x.y.a.com",
        "c.b.a.com",
        "d.b.a.com",
        "com",
        "x.com",
        "other.org",
        "1.2.3.4",
    ]
)


class RouteTableTests(SynchronousTestCase):
    """Which route a host and a path lead to."""

    def assert_found(self, table: RouteTable, host: str, path: str, wanted: Route | None) -> None:
        """Check what *table* finds, by identity."""
        self.assertIs(table.find(host.encode(), path.encode()), wanted, f"{host} {path}")

    def test_empty(self) -> None:
        """A table without routes finds none."""
        self.assert_found(RouteTable(), "example.com", "/", None)
        self.assertEqual(RouteTable().routes, ())

    def test_routes(self) -> None:
        """The routes are kept as they were given."""
        routes = [route("b.com", "/"), route("a.com", "/"), route("b.com", "/")]
        self.assertEqual(RouteTable(iter(routes)).routes, tuple(routes))

    def test_hosts(self) -> None:
        """A precise host goes before the wildcard, the wildcard before the routes of all hosts."""
        precise, wildcard, everywhere = route("b.a.com", "/"), route("*.a.com", "/"), route("", "/")
        table = RouteTable([everywhere, wildcard, precise])
        for host, wanted in (
            ("b.a.com", precise),
            ("c.a.com", wildcard),
            ("a.com", everywhere),
            ("c.b.a.com", everywhere),
            ("other.org", everywhere),
            ("localhost", everywhere),
            ("[::1]", everywhere),
        ):
            self.assert_found(table, host, "/x", wanted)

    def test_wildcard_stands_for_one_label(self) -> None:
        """A wildcard matches neither its own domain nor two labels nor an empty one."""
        table = RouteTable([route("*.foo.com", "/")])
        for host in ("foo.com", "baz.bar.foo.com", ".foo.com", "foo.com.foo"):
            self.assert_found(table, host, "/", None)

    def test_claimed_host(self) -> None:
        """A host with routes of its own never falls through to others for a path it lacks."""
        table = RouteTable([route("b.a.com", "/x"), route("*.a.com", "/"), route("", "/")])
        self.assert_found(table, "b.a.com", "/y", None)
        table = RouteTable([route("*.a.com", "/x"), route("", "/")])
        self.assert_found(table, "b.a.com", "/y", None)

    def test_rule_host_case(self) -> None:
        """The letters of a route's host may be of either case."""
        precise, wildcard = route("Shop.Example.com", "/"), route("*.Example.COM", "/")
        table = RouteTable([precise, wildcard])
        self.assert_found(table, "shop.example.com", "/", precise)
        self.assert_found(table, "other.example.com", "/", wildcard)

    def test_exact(self) -> None:
        """An exact path is compared as a whole and with its case."""
        foo = exact("", "/foo")
        table = RouteTable([foo])
        self.assert_found(table, "h", "/foo", foo)
        for path in ("/foo/", "/FOO", "/bar", "/", "/foo/x", "/fo"):
            self.assert_found(table, "h", path, None)
        slash = exact("", "/foo/")
        self.assert_found(RouteTable([slash]), "h", "/foo/", slash)
        self.assert_found(RouteTable([slash]), "h", "/foo", None)

    def test_prefix(self) -> None:
        """A prefix is compared element by element, the longest first."""
        foo, bbb, aaa = route("", "/foo"), route("", "/aaa/bbb"), route("", "/aaa")
        table = RouteTable([foo, bbb, aaa])
        for path, wanted in (
            ("/foo", foo),
            ("/foo/", foo),
            ("/FOO", None),
            ("/aaa/bbb", bbb),
            ("/aaa/bbb/", bbb),
            ("/aaa/bbb/ccc", bbb),
            ("/aaa/bbb/ccc/ddd/eee", bbb),
            ("/aaa/bbbc", aaa),
            ("/aaa/ccc", aaa),
            ("/aaaccc", None),
            ("/", None),
        ):
            self.assert_found(table, "h", path, wanted)

    def test_prefix_with_trailing_slash(self) -> None:
        """A slash at the end of a prefix makes no difference to what it matches."""
        rule = route("", "/aaa/bbb/")
        table = RouteTable([rule])
        for path, wanted in (("/aaa/bbb", rule), ("/aaa/bbb/", rule), ("/aaa/bbb/c", rule), ("/aaa", None)):
            self.assert_found(table, "h", path, wanted)

    def test_prefix_with_and_without_slash(self) -> None:
        """Of the prefixes ``/foo`` and ``/foo/`` the longer text is used, whichever came first."""
        plain, slash = route("", "/foo"), route("", "/foo/")
        for routes in ([plain, slash], [slash, plain]):
            for path in ("/foo", "/foo/", "/foo/x"):
                self.assert_found(RouteTable(routes), "h", path, slash)

    def test_exact_before_prefix(self) -> None:
        """An exact path goes before a prefix of the same elements, also one that ends in a slash."""
        whole = exact("", "/foo")
        for prefix in (route("", "/foo"), route("", "/foo/")):
            table = RouteTable([prefix, whole])
            self.assert_found(table, "h", "/foo", whole)
            self.assert_found(table, "h", "/foo/", prefix)
            self.assert_found(table, "h", "/foo/x", prefix)

    def test_root_prefix(self) -> None:
        """The prefix ``/`` matches every path that nothing longer matches."""
        root, deep = route("", "/"), route("", "/a/b/c")
        table = RouteTable([root, deep])
        for path, wanted in (("/", root), ("/x", root), ("/a/b", root), ("/a/b/c", deep), ("/a/b/c/d", deep)):
            self.assert_found(table, "h", path, wanted)

    def test_given_twice(self) -> None:
        """Of two routes that match the same, the first given is used."""
        for match in Match:
            first, second = route("h", "/a", match, "first"), route("h", "/a", match, "second")
            self.assert_found(RouteTable([first, second]), "h", "/a", first)

    def test_escaped_rule_path(self) -> None:
        """A path that a rule writes with escapes matches the decoded path of a request."""
        rule = exact("", "/a%20b/%C3%A9")
        self.assert_found(RouteTable([rule]), "h", "/a b/é", rule)

    def test_protected_path(self) -> None:
        """However ``/admin`` is written, the request is refused or takes the route of ``/admin``."""
        admin, rest = route("", "/admin"), route("", "/")
        table = RouteTable([rest, admin])
        for raw in (
            b"/admin",
            b"/admin/",
            b"//admin",
            b"///admin",
            b"/./admin",
            b"/x/../admin",
            b"/x/%2e%2e/admin",
            b"/x/..%2fadmin",
            b"/%2fadmin",
            b"/%61dmin",
            b"/admin;a=b",
            b"/admin%3fx",
            b"/admin%23",
            b"/admin%2f",
            b"/admin%00",
            b"/x/..;/admin",
            b"/;/admin",
            b"/x\\..\\admin",
            b"/x/..%5cadmin",
            b"/..//admin",
        ):
            try:
                found = table.find(b"h", normal_path(raw))
            except PathError:
                continue
            self.assertIs(found, admin, raw)
        for raw, one, another in (
            (b"/admin%2fx", admin, rest),
            (b"/%2fadmin", admin, rest),
            (b"/admin%2f", admin, rest),
            (b"/x%2fadmin", rest, rest),
            (b"/administrators%2f1", rest, rest),
            (b"/admin/users/a%2fb", admin, admin),
        ):
            other = other_reading(raw)
            assert other is not None
            self.assertIs(table.find(b"h", normal_path(raw)), one, raw)
            self.assertIs(table.find(b"h", other), another, raw)
        for raw in (b"/ADMIN", b"/adminx", b"/x/%252e%252e/admin"):
            self.assertIs(table.find(b"h", normal_path(raw)), rest, raw)

    @settings(derandomize=True, deadline=None, max_examples=examples(300))
    @given(ROUTES, st.lists(st.tuples(REQUEST_HOSTS, PATHS), min_size=1, max_size=8))
    def test_equals_reference(self, routes: list[Route], requests: list[tuple[str, str]]) -> None:
        """The table finds what a plain reading of the rules finds."""
        table = RouteTable(routes)
        for host, path in requests:
            wanted = expected_route(routes, host, path)
            found = table.find(host.encode(), path.encode())
            if wanted is None or wanted.beginnings is None:
                self.assertIs(found, wanted, f"{host} {path}")
            else:
                # One of those that take it; which one is all the same.
                assert found is not None and found.beginnings is not None, f"{host} {path}"
                self.assertTrue(found.beginnings.take(path.encode()))

    def test_host_filters(self) -> None:
        """Where no route matches, what stands before the host is that of the host that would have matched."""
        own, wild, every = (TransportSecurity(b"max-age=%d" % number) for number in range(3))
        given = {
            host: HostRoutes((route(host, "/x"),), (spec,))
            for host, spec in (("a.test", own), ("*.test", wild), ("", every))
        }
        table = RouteTable().patched(given)
        for host, spec in ((b"a.test", own), (b"b.test", wild), (b"c.d.test", every), (b"", every)):
            self.assertEqual(table.host_filters(host), (spec,))
        self.assertEqual(RouteTable().patched({"a.test": given["a.test"]}).host_filters(b"b.test"), ())


class PatchedTests(SynchronousTestCase):
    """The successor of a table."""

    def test_hosts_changed(self) -> None:
        """The hosts named have their new routes or none, and the others those that they had."""
        kept, gone, new = route("a.com", "/"), route("*.b.com", "/"), route("", "/new")
        before = RouteTable([kept, gone])
        after = before.patched({"*.b.com": None, "": HostRoutes((new,)), "absent.com": None})
        self.assertIs(after.find(b"a.com", b"/"), kept)
        self.assertIs(after.find(b"x.b.com", b"/new"), new)
        self.assertEqual((after.routes, after.count, after.hosts), ((new, kept), 2, 2))
        self.assertIs(after.get("a.com"), before.get("a.com"))
        self.assertIsNone(after.get("*.b.com"))

    def test_uses(self) -> None:
        """How often each tuple of specs is used is kept, where that is asked for, as it is counted anew."""
        one, two = (TransportSecurity(b"max-age=%d" % number) for number in range(2))
        some = [(), (one,), (two,), (one, two)]
        kept = RouteTable()
        kept.keep_uses()
        for turn in range(12):
            host = f"{turn % 5}.test"
            own = HostRoutes((evolve(route(host, "/"), filters=some[turn % 4]),), some[turn * 3 % 4])
            kept = kept.patched({host: None if turn % 7 == 6 else own})
            self.assertIs(kept.kept_uses, kept.kept_uses)
            anew = RouteTable().patched(dict(kept.by_host()))
            anew.keep_uses()
            self.assertEqual(kept.kept_uses, anew.kept_uses)
        self.assertTrue(kept.kept_uses)

    def test_predecessor_stays(self) -> None:
        """The table that was patched finds what it found before."""
        old, new = route("a.com", "/"), route("a.com", "/x")
        before = RouteTable([old])
        before.patched({"a.com": HostRoutes((new,))})
        self.assertIs(before.find(b"a.com", b"/x"), old)
        self.assertEqual((before.routes, before.count, before.hosts), ((old,), 1, 1))

    @given(ROUTES, ROUTES)
    def test_like_a_new_one(self, first: list[Route], second: list[Route]) -> None:
        """A table whose every host was replaced is the table built of the new routes."""
        wanted = RouteTable(second)
        hosts = {one.host for one in (*first, *second)}
        table = RouteTable(first).patched({host: wanted.get(host) for host in hosts})
        self.assertEqual(sorted(map(id, table.routes)), sorted(map(id, wanted.routes)))
        self.assertEqual((table.count, table.hosts), (wanted.count, wanted.hosts))
        for host in (b"a.com", b"b.a.com", b"c.b.a.com", b"other"):
            for path in (b"/", b"/a", b"/a/b/c"):
                self.assertIs(table.find(host, path), wanted.find(host, path))


class LookupCostTests(SynchronousTestCase):
    """What a lookup costs, counted in steps of the interpreter rather than in time."""

    def lines_run(self, table: RouteTable, host: bytes, path: bytes) -> int:
        """Count the lines of Python that one lookup runs, after the first one of the host."""
        table.find(host, path)
        count = 0

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal count
            count += event == "line"
            return trace

        before = sys.gettrace()
        # What is called when the collector runs, which is no part of a lookup, would be counted, too.
        gc.disable()
        sys.settrace(trace)
        try:
            table.find(host, path)
        finally:
            sys.settrace(before)
            gc.enable()
        return count

    def test_independent_of_hosts(self) -> None:
        """A lookup runs the same steps among two hosts as among two thousand."""
        few = RouteTable(route(f"h{number}.example.com", "/a/b") for number in range(2))
        many = RouteTable(route(f"h{number}.example.com", "/a/b") for number in range(2000))
        for host in (b"h1.example.com", b"unknown.example.com"):
            self.assertEqual(self.lines_run(few, host, b"/a/b/c"), self.lines_run(many, host, b"/a/b/c"))

    def test_independent_of_closed_routes(self) -> None:
        """On a host with regular expressions, it runs the same steps beside two of them as beside two thousand."""

        def closed(number: int) -> Route:
            path = f"/{number:06}/"
            beginnings = Beginnings((path.lower().encode(),))
            return evolve(route("h", path + "(.*)", Match.BEGINNING), beginnings=beginnings)

        few = RouteTable([route("h", "/"), *map(closed, range(2))])
        many = RouteTable([route("h", "/"), *map(closed, range(2000))])
        for path in (b"/000001/x", b"/x"):
            self.assertEqual(self.lines_run(few, b"h", path), self.lines_run(many, b"h", path))

    def test_bounded_by_deepest_prefix(self) -> None:
        """A path with ten thousand segments costs what the deepest prefix of the host costs."""
        table = RouteTable([route("h", "/a/b/c")])
        self.assertEqual(
            self.lines_run(table, b"h", b"/x/x/x/x"), self.lines_run(table, b"h", b"/x" * 10_000)
        )
