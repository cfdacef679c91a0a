"""Lists, whole and page by page."""

import json
from base64 import urlsafe_b64encode
from typing import Any

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.admin.contract.listing import Listing, paged, read_token, token_of, whole
from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.parameters import QueryRefusedError
from ingress.admin.contract.sorted_entries import KEPT_SECONDS, SortedEntries
from ingress.admin.lists.problems import PROBLEMS
from ingress.admin.lists.routes import ROUTES
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.upstream.backends import BackendReference
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from ingress.translate.snapshot import ListenerTable, Snapshot
from tests.admin.listed import asked_of


def route(host: str, path: str = "/", namespace: str = "shop", field: str = "") -> Route:
    """Return a route of an Ingress in *namespace*."""
    owner = Owner(Kind.INGRESS, ObjectKey(namespace, "web"))
    return Route(host, path, Match.PREFIX, owner, BackendReference(namespace, "web", 80), place=field)


def page(listing: Listing[Any], asked: PageRequest) -> dict[str, Any]:
    """Return a page as it is read."""
    read: dict[str, Any] = json.loads("".join(paged(listing, asked)))
    return read


def hosts(of: dict[str, Any]) -> list[str]:
    """Return the hosts of a page of routes."""
    return [one["host"] for one in of["routes"]]


class PagesTests(SynchronousTestCase):
    """``paged``."""

    def setUp(self) -> None:
        self.snapshot = Snapshot(RouteTable(route(f"h{number:02}.test") for number in range(25)))

    def test_without_limit(self) -> None:
        """Without a limit all of it comes, in order, with the number of the snapshot."""
        found = page(ROUTES, asked_of(self.snapshot))
        self.assertEqual(hosts(found), [f"h{number:02}.test" for number in range(25)])
        self.assertEqual((found["next"], found["snapshot"]), (None, 1))

    def test_page_by_page(self) -> None:
        """Pages follow each other without gap or repetition, and the last one says that it is."""
        seen: list[str] = []
        sizes = []
        found = page(ROUTES, asked_of(self.snapshot, limit="10"))
        while True:
            seen += hosts(found)
            sizes.append(len(found["routes"]))
            if found["next"] is None:
                break
            found = page(ROUTES, asked_of(self.snapshot, limit="10", after=found["next"]))
        self.assertEqual(sizes, [10, 10, 5])
        self.assertEqual(seen, [f"h{number:02}.test" for number in range(25)])

    def test_just_full(self) -> None:
        """A page that has all that is left is the last one, also where it is full."""
        self.assertIsNone(page(ROUTES, asked_of(self.snapshot, limit="25"))["next"])
        self.assertIsNotNone(page(ROUTES, asked_of(self.snapshot, limit="24"))["next"])

    def test_published_in_between(self) -> None:
        """What is published between two pages shifts nothing: the next page has what stands behind the last entry, even if that is gone."""
        first = page(ROUTES, asked_of(self.snapshot, limit="10"))
        later = Snapshot(
            RouteTable(
                route(host)
                for host in ("a.test", "h05.test", "h09a.test", *(f"h{n:02}.test" for n in range(10, 25)))
            )
        )
        second = page(ROUTES, asked_of(later, limit="2", after=first["next"]))
        self.assertEqual(hosts(second), ["h09a.test", "h10.test"])

    def test_filters(self) -> None:
        """Only what is asked for counts towards the limit."""
        snapshot = Snapshot(
            RouteTable(
                [
                    *(route(f"h{number:03}.test", namespace=f"team-{number % 100}") for number in range(500)),
                    Route("", "/", Match.PREFIX, None, BackendReference("shop", "none", 80)),
                ]
            )
        )
        first = page(ROUTES, asked_of(snapshot, namespace="team-7", limit="3"))
        self.assertEqual(hosts(first), ["h007.test", "h107.test", "h207.test"])
        second = page(ROUTES, asked_of(snapshot, namespace="team-7", limit="3", after=first["next"]))
        self.assertEqual((hosts(second), second["next"]), (["h307.test", "h407.test"], None))
        self.assertEqual(hosts(page(ROUTES, asked_of(snapshot, namespace="team"))), [])

    def test_host(self) -> None:
        """A host is compared as a whole, a wildcard as it is written, and nothing means the routes of all hosts."""
        table = RouteTable(map(route, ("a.test", "b.a.test", "*.a.test", "", "a.testing")))
        snapshot = Snapshot(table)
        for host in ("a.test", "A.Test", "*.a.test", ""):
            self.assertEqual(hosts(page(ROUTES, asked_of(snapshot, host=host))), [host.lower()])
        self.assertEqual(hosts(page(ROUTES, asked_of(snapshot, host="c.a.test"))), [])

    def test_host_page_by_page(self) -> None:
        """Paths of one host come page by page, too."""
        snapshot = Snapshot(
            RouteTable(route(host, f"/{n}") for host in ("a.test", "b.test", "c.test") for n in range(5))
        )
        first = page(ROUTES, asked_of(snapshot, host="b.test", limit="3"))
        second = page(ROUTES, asked_of(snapshot, host="b.test", limit="3", after=first["next"]))
        paths = [one["path"] for one in (*first["routes"], *second["routes"])]
        self.assertEqual((paths, second["next"]), (["/0", "/1", "/2", "/3", "/4"], None))

    def test_alike(self) -> None:
        """Routes that differ in their table or in their place alone are all there, page by page as well."""
        some = [route("a.test", "/", field=f"spec.rules[{number}].matches[0]") for number in range(12)]
        snapshot = Snapshot(
            RouteTable([route("a.test")]), others={"gateway": ListenerTable(RouteTable(some))}
        )
        fields = []
        found = page(ROUTES, asked_of(snapshot, limit="5"))
        while True:
            fields += [one["field"] for one in found["routes"]]
            if found["next"] is None:
                break
            found = page(ROUTES, asked_of(snapshot, limit="5", after=found["next"]))
        self.assertEqual(sorted(fields), sorted(["", *(one.place for one in some)]))
        # As they are tried: the tenth rule is not before the second.
        self.assertEqual([one for one in fields if one], [one.place for one in some])

    def test_problems_once(self) -> None:
        """A problem that was brought up twice is there once, and counts once."""
        problems = tuple(
            Problem("Ingress", "shop", str(number // 2), Reason.INVALID_RULE, "no") for number in range(10)
        )
        found = page(PROBLEMS, asked_of(Snapshot(problems=problems), limit="5"))
        self.assertEqual([one["name"] for one in found["problems"]], ["0", "1", "2", "3", "4"])
        self.assertIsNone(found["next"])

    def test_sorted_once(self) -> None:
        """Whoever asks for page after page of one snapshot has it put in order once."""
        asked = asked_of(self.snapshot, limit="1")
        first = len(list(paged(ROUTES, asked)))
        self.assertLess(len(list(paged(ROUTES, asked))), first)
        self.assertEqual(repr(asked.orders), "<SortedEntries of 1 snapshot>")

    def test_forgotten(self) -> None:
        """What was put in order is kept for half a minute after somebody looked, and not for longer, nor beyond its snapshot."""
        clock = Clock()
        asked = evolve(asked_of(self.snapshot, limit="1"), orders=SortedEntries(clock))
        for _ in range(3):
            list(paged(ROUTES, asked))
            clock.advance(KEPT_SECONDS - 1)
        self.assertEqual(repr(asked.orders), "<SortedEntries of 1 snapshot>")
        clock.advance(1)
        self.assertEqual(repr(asked.orders), "<SortedEntries of 0 snapshots>")
        self.assertEqual(clock.getDelayedCalls(), [])
        self.assertEqual(len(page(ROUTES, asked)["routes"]), 1)

    def test_whole(self) -> None:
        """The form of before has entries and nothing else."""
        found = json.loads("".join(whole(ROUTES, asked_of(self.snapshot))))
        self.assertEqual((list(found), len(found["routes"])), (["routes"], 25))


class TokenTests(SynchronousTestCase):
    """``token_of`` and ``read_token``."""

    @given(st.text(), st.integers())
    def test_back(self, text: str, number: int) -> None:
        """Any position can be read back, and its token can stand in a URL as it is."""
        token = token_of((text, number))
        self.assertRegex(token, r"^[A-Za-z0-9_-]+$")
        self.assertEqual(read_token(token, (str, int)), (text, number))

    @given(st.text())
    def test_total(self, token: str) -> None:
        """Whatever else is no token is refused in a line that names the parameter."""
        try:
            read_token(token, (str, str))
        except QueryRefusedError as refused:
            self.assertTrue(str(refused).startswith("after is no token"))

    def test_of_others(self) -> None:
        """A token of another list is none of this one, nor is JSON of any other form."""
        for value in (["a"], ["a", "b", "c"], ["a", True], [None, 1], {"a": 1}, "ab", 1, [["a"], 1]):
            token = urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
            self.assertRaises(QueryRefusedError, read_token, token, (str, int))
        deep = urlsafe_b64encode(b"[" * 6000).decode()
        self.assertRaises(QueryRefusedError, read_token, deep, (str, int))
