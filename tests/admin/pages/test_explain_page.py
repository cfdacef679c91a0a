"""The page that explains requests."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.admin.pages.explaining import explanation_as_json
from ingress.explain.asked_request import read_asked
from ingress.explain.served import Served
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.cluster.problems import Reason
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from ingress.translate.snapshot import Snapshot
from tests.admin.site_case import SiteCase
from tests.fakes.counting import longest_step

OWNER = Owner(Kind.INGRESS, ObjectKey("web", "shop"))
BACKEND = BackendReference("web", "shop", 80)
NOW = datetime(2026, 7, 1, tzinfo=UTC)


def route(path: str, host: str = "a.test") -> Route:
    """Return a route of a prefix."""
    return Route(host, path, Match.PREFIX, OWNER, BACKEND)


def snapshot(*routes: Route, problems: int = 0) -> Snapshot:
    """Return a snapshot of *routes*, with so many problems of other objects."""
    told = tuple(
        Owner(Kind.INGRESS, ObjectKey("web", str(number))).problem(Reason.INVALID_RULE, "no")
        for number in range(problems)
    )
    return Snapshot(RouteTable(routes), {BACKEND: BackendState((Endpoint("10.0.0.1", 80),))}, problems=told)


class ExplainPageTests(SiteCase):
    """What it answers."""

    def explained(self, query: str, method: str = "GET", host: str = "10.0.0.7:10254") -> tuple[int, Any]:
        """Return status and JSON of the page with *query*."""
        status, fields, body = self.ask(f"/api/v1/explain?{query}", method, host)
        self.assertEqual(fields["content-type"], "application/json")
        return status, json.loads(body)

    def test_the_current_snapshot_explains(self) -> None:
        """Method, headers and client are parameters."""
        self.snapshot = snapshot(route("/"))
        query = f"url={quote('http://a.test/x y?q=1')}&method=PUT&header=X-A:1&header=X-B:+2&client=10.0.0.9"
        status, data = self.explained(query)
        self.assertEqual(status, 200)
        self.assertEqual(data["outcome"]["sentence"], "sent to Service web/shop port 80 at 10.0.0.1:80")
        request = data["request"]
        self.assertEqual((request["method"], request["client"]), ("PUT", "10.0.0.9"))
        self.assertEqual(request["fields"], [["X-A", "1"], ["X-B", "2"]])
        self.assertEqual(data["upstream"]["target"], "/x%20y?q=1")

    def test_a_request_that_nobody_takes_is_an_explanation_too(self) -> None:
        """The status of the page is its own."""
        status, data = self.explained("url=b.test")
        self.assertEqual((status, data["outcome"]["isTaken"], data["outcome"]["status"]), (200, False, 404))

    def test_streams_are_explained_too(self) -> None:
        """By their own URLs, which have no method and no header fields."""
        status, data = self.explained(f"url={quote('tcp://:5432')}")
        self.assertEqual((status, data["outcome"]["end"]), (200, "refused"))
        self.assertEqual(self.explained(f"url={quote('tcp://:5432')}&method=PUT")[0], 400)

    def test_mistakes_are_400_and_say_what_is_wrong(self) -> None:
        """As JSON, with one text."""
        for query, word in (
            ("", "say which request"),
            ("method=GET", "say which request"),
            ("url=", "the URL is empty"),
            ("url=/cart", "names no host"),
            ("url=a.test&url=b.test", "comes 2 times"),
            ("url=a.test&uri=b", "no parameter 'uri'"),
            ("url=a.test&client=me", "no IP address"),
            ("url=a.test&header=x", "header"),
            ("url=%ff", "no UTF-8"),
            ("url=a.test&method=%0d%0a", "no method"),
        ):
            status, data = self.explained(query)
            self.assertEqual((status, list(data)), (400, ["error"]), query)
            self.assertIn(word, data["error"])

    def test_it_is_asked_as_other_pages_are(self) -> None:
        """By GET and HEAD, and by a known name; it is in the list of pages."""
        self.assertEqual(self.ask("/api/v1/explain?url=a.test", "POST")[0], 405)
        self.assertEqual(self.ask("/api/v1/explain?url=a.test", host="evil.example.com")[0], 421)
        self.assertEqual(self.ask("/api/v1/explain?url=a.test", "HEAD")[::2], (200, ""))
        self.assertIn("/api/v1/explain", self.ask("/")[2])

    def test_probes_do_not_show_it(self) -> None:
        """It names objects in full."""
        self.site = self.site_of(only_probes=True)
        self.assertEqual(self.ask("/api/v1/explain?url=a.test")[0], 404)


class SliceTests(SynchronousTestCase):
    """A large host is explained in many small pieces, between which requests are served."""

    def most_calls(self, url: str, table: Snapshot) -> tuple[int, int]:
        """Return how many pieces there are, and how many calls the dearest takes."""
        table.table.find(b"a.test", b"/")
        pieces = explanation_as_json(read_asked(url, "GET", (), "::1"), Served(table, NOW))
        number = 0

        def taken() -> Iterator[None]:
            nonlocal number
            for number, _ in enumerate(pieces, 1):  # noqa: B007 - who asked for this looks at it
                yield

        most = longest_step(taken())
        return number, most

    def test_no_piece_of_a_host_of_10000_paths_takes_long(self) -> None:
        """Neither where a route is found nor where none is, nor with as many problems of others."""
        large = snapshot(*(route(f"/{number}") for number in range(10_000)), problems=10_000)
        for url in ("http://a.test/77/x", "http://a.test/none", "http://none.test/"):
            pieces, most = self.most_calls(url, large)
            self.assertGreater(pieces, 50)
            self.assertLess(most, 2500, url)

    def test_no_piece_of_10000_hosts_takes_long(self) -> None:
        """Where a name is looked for that is like theirs."""
        large = snapshot(*(route("/", f"h{number}.test") for number in range(10_000)))
        pieces, most = self.most_calls("http://h12x.test/", large)
        self.assertGreater(pieces, 100)
        self.assertLess(most, 1200)

    def test_no_piece_of_10000_problems_of_one_object_takes_long(self) -> None:
        """Those of the object that takes the request are sorted, and the first are shown."""
        told = tuple(OWNER.problem(Reason.INVALID_RULE, f"no {number:05}") for number in range(10_000))
        large = evolve(snapshot(route("/")), problems=tuple(reversed(told)))
        pieces, most = self.most_calls("http://a.test/", large)
        self.assertGreater(pieces, 100)
        self.assertLess(most, 6000)
        shown = json.loads(
            "".join(explanation_as_json(read_asked("a.test", "GET", (), "::1"), Served(large, NOW)))
        )
        self.assertEqual([one["message"] for one in shown["problems"]], [one.message for one in told[:20]])
        self.assertEqual(shown["moreProblems"], 10_000 - 20)
