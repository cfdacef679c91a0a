"""Tests for ``ingress.routing.prefix_tree``, and for hosts with prefixes of many elements."""

from functools import partial
from typing import Any, SupportsIndex

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.routing.beginnings import Beginnings
from ingress.routing.match_conditions import Compared, MatchCondition
from ingress.routing.prefix_tree import MOST_ELEMENTS, PrefixTree
from ingress.routing.route import Match
from ingress.routing.table import HostRoutes
from tests.fakes.counting import calls
from tests.properties import examples
from tests.routing.test_table import expected_route, route

# Few names, and many of them alike, so that paths have much in common and part late.
_DEEP = st.lists(st.sampled_from(["a", "aa", "b"]), max_size=4).map(
    lambda names: "/a" * (MOST_ELEMENTS - 1) + "".join(f"/{name}" for name in names)
)
_SHALLOW = st.sampled_from(["", "/a", "/a/a", "/b", "/aa"])
_PATHS = st.builds(
    lambda path, slash: path + ("/" if slash or not path else ""), _DEEP | _SHALLOW, st.booleans()
)
_ROUTES = st.lists(
    st.builds(
        lambda path, match: route("h", path, match), _PATHS, st.sampled_from([Match.EXACT, Match.PREFIX])
    ),
    max_size=10,
)
ON_POST = MatchCondition(Compared.METHOD, value=b"POST")


class Counted(bytes):
    """A path that counts how many bytes of it are copied, and so hashed."""

    copied = 0

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        """Count a piece."""
        piece = super().__getitem__(key)
        if isinstance(piece, bytes):
            self.copied += len(piece)
        return piece


class PrefixTreeTests(SynchronousTestCase):
    """What a path begins with."""

    @settings(derandomize=True, deadline=None, max_examples=examples(300))
    @given(st.lists(_DEEP, max_size=10), st.lists(_PATHS, min_size=1, max_size=8))
    def test_along(self, prefixes: list[str], paths: list[str]) -> None:
        """All that a path begins with element by element is found, the shortest first, in whatever order it came."""
        tree: PrefixTree[str] = PrefixTree()
        for prefix in prefixes:
            tree.put(prefix.encode(), prefix)
        for path in paths:
            wanted = {one for one in prefixes if f"{path}/".startswith(f"{one}/")}
            self.assertEqual(tree.along(path.encode()), sorted(wanted, key=len), path)

    def test_put_again(self) -> None:
        """Of several values for one prefix the last is found."""
        tree: PrefixTree[int] = PrefixTree()
        for value in range(2):
            tree.put(b"/a/b", value)
        self.assertEqual(tree.along(b"/a/b/c"), [1])

    def test_many_along_one_path(self) -> None:
        """To put twice as many that are prefixes of each other takes twice as many calls, whether the longest comes last or first."""

        def put(lengths: list[int]) -> None:
            tree: PrefixTree[int] = PrefixTree()
            for length in lengths:
                tree.put(b"/a" * length, length)

        for step in (1, -1):
            few, many = (calls(partial(put, list(range(1, count))[::step])) for count in (200, 400))
            self.assertLess(many, 2.3 * few)


class DeepHostTests(SynchronousTestCase):
    """Hosts with such prefixes, beside others."""

    @settings(derandomize=True, deadline=None, max_examples=examples(300))
    @given(_ROUTES, st.lists(_PATHS, min_size=1, max_size=8))
    def test_like_any_other(self, routes: list[Any], paths: list[str]) -> None:
        """The longest prefix has a path, and an exact path comes before it, however many elements they have."""
        host = HostRoutes(tuple(routes))
        for path in paths:
            self.assertIs(host.find(path.encode()), expected_route(routes, "h", path), path)

    @settings(derandomize=True, deadline=None, max_examples=examples(100))
    @given(_ROUTES, st.lists(_PATHS, min_size=1, max_size=8))
    def test_conditional(self, routes: list[Any], paths: list[str]) -> None:
        """Where routes have conditions, all that take a path come in order, exact ones first and then the longest prefix."""
        by_text = sorted(routes, key=lambda one: (one.match is not Match.EXACT, -len(one.path.rstrip("/"))))
        given = [evolve(one, conditions=(ON_POST,), place=f"{number}") for number, one in enumerate(by_text)]
        host = HostRoutes(tuple(given))
        for path in paths:
            wanted = [
                one
                for one in given
                if (
                    one.path == path
                    if one.match is Match.EXACT
                    else f"{path}/".startswith(one.path.rstrip("/") + "/")
                )
            ]
            self.assertEqual(
                [one.place for one in host.taking(path.encode())], [one.place for one in wanted], path
            )

    def test_beside_closed_paths(self) -> None:
        """Beside regular expressions they are found as well."""
        deep = route("h", "/a" * 20)
        closed = evolve(route("h", "/b(.*)", Match.BEGINNING), beginnings=Beginnings((b"/b",)))
        for one in ((deep, closed), (closed, deep)):
            host = HostRoutes(one)
            self.assertEqual([host.find(path) for path in (b"/a" * 21, b"/b", b"/a")], [deep, closed, None])

    def test_in_steps(self) -> None:
        """They are put in order in steps, beforehand as well as for the first request."""
        routes = tuple(route("h", f"/{number}" + "/a" * 20) for number in range(500))
        host = HostRoutes(routes)
        self.assertGreaterEqual(len(list(host.put_in_order())), 4)
        for one in (host, HostRoutes(routes)):
            self.assertIs(one.find(b"/7" + b"/a" * 30), routes[7])
            self.assertIsNone(one.find(b"/7" + b"/a" * 19))

    def test_cost(self) -> None:
        """Of a path twice as long twice as much is looked at, whatever prefixes there are."""
        for conditions in ((), (ON_POST,)):
            host = HostRoutes(
                tuple(
                    evolve(route("h", "/a" * count), conditions=conditions, place=f"{5000 - count}")
                    for count in range(4000, 0, -40)
                )
            )
            copied = []
            for count in (1990, 3990):
                path = Counted(b"/a" * count + b"/b")
                host.find(path)
                path = Counted(b"/a" * count + b"/b")
                self.assertEqual(len(list(host.taking(path))), count // 40 if conditions else 1)
                copied.append(path.copied)
            self.assertLess(copied[1], 2.2 * copied[0] + 100, copied)
