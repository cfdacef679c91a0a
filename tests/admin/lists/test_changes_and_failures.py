"""The pages of what happened, asked over HTTP without a socket."""

import json
from datetime import UTC, datetime, timedelta

from attrs import evolve

from ingress.history.rings import MOST_FAILURES
from ingress.model.observability.changes_and_failures import Change, ChangeSort, FailedAttempt, Failure
from tests.admin.site_case import SiteCase

THREE = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
CHANGE = Change(
    THREE,
    ChangeSort.OBJECT,
    "changed",
    "Ingress live/web changed: host live.test → moved.test",
    "Ingress",
    "live/web",
    hosts=("live.test", "moved.test"),
)
FAILURE = Failure(
    THREE,
    "bad-gateway",
    502,
    "connection refused",
    "GET",
    "shop.test",
    "/cart",
    0.25,
    "shop/web",
    "shop/web:80",
    attempts=(FailedAttempt("10.0.4.9:8080", "no connection could be made", 0.0, 0.25),),
    protocol="HTTP/2.0",
)


class HistoryPagesTests(SiteCase):
    """``/api/v1/changes`` and ``/api/v1/failures``."""

    def texts(self, path: str) -> list[int]:
        """Return the numbers of what *path* shows."""
        status, _, body = self.ask(path)
        self.assertEqual(status, 200, body)
        page = json.loads(body)
        return [one["number"] for one in page.get("changes", page.get("failures"))]

    def test_change(self) -> None:
        """A change is shown with all that is known of it, and with the number of the newest."""
        self.rings.changes.add(CHANGE)
        self.assertEqual(
            json.loads(self.ask("/api/v1/changes")[2]),
            {
                "changes": [
                    {
                        "number": 1,
                        "at": "2026-11-22T03:00:00.000Z",
                        "sort": "object",
                        "verb": "changed",
                        "text": "Ingress live/web changed: host live.test → moved.test",
                        "kind": "Ingress",
                        "object": "live/web",
                        "hosts": ["live.test", "moved.test"],
                        "trouble": False,
                    }
                ],
                "next": None,
                "snapshot": 1,
                "last": 1,
            },
        )

    def test_failure(self) -> None:
        """A failure is shown with every endpoint that was tried, its outcome and its times, and without what names the request or its client."""
        self.rings.failures.add(FAILURE)
        self.rings.failures.left_out = 7
        page = json.loads(self.ask("/api/v1/failures")[2])
        (failure,) = page.pop("failures")
        self.assertEqual(page, {"next": None, "snapshot": 1, "last": 1, "leftOut": 7})
        self.assertEqual(
            failure["attempts"],
            [
                {
                    "endpoint": "10.0.4.9:8080",
                    "outcome": "no connection could be made",
                    "began": 0.0,
                    "connected": None,
                    "seconds": 0.25,
                    "reused": False,
                }
            ],
        )
        self.assertEqual((failure["cause"], failure["reason"]), ("bad-gateway", "connection refused"))
        self.assertEqual((failure["id"], failure["query"], failure["client"]), (None, None, None))

    def test_shown(self) -> None:
        """What names the request is there where the operator has it shown, an empty query too."""
        self.rings.failures.add(evolve(FAILURE, id="4f", query="", client="203.0.113.9"))
        (failure,) = json.loads(self.ask("/api/v1/failures")[2])["failures"]
        self.assertEqual((failure["id"], failure["query"], failure["client"]), ("4f", "", "203.0.113.9"))

    def test_search(self) -> None:
        """Failures are found by number, time, namespace, host in any case, and cause; changes by all but the cause."""
        failures = self.rings.failures
        failures.add(FAILURE)
        failures.add(evolve(FAILURE, at=THREE + timedelta(hours=1), cause="cut", host="other.test"))
        failures.add(evolve(FAILURE, at=THREE + timedelta(hours=2), ingress="blog/web"))
        for query, numbers in (
            ("", [1, 2, 3]),
            ("?since=2", [3]),
            ("?since=0", [1, 2, 3]),
            ("?since=2026-11-22T04:00:00Z", [2, 3]),
            ("?since=2026-11-22T05:30:00+01:00", [3]),
            ("?since=2026-11-22T04:30:00", [3]),
            ("?namespace=shop", [1, 2]),
            ("?host=OTHER.test", [2]),
            ("?cause=cut", [2]),
            ("?cause=cut&host=shop.test", []),
        ):
            self.assertEqual(self.texts(f"/api/v1/failures{query}"), numbers, query)
        self.rings.changes.add(CHANGE)
        self.rings.changes.add(evolve(CHANGE, object="shop/web", hosts=()))
        for query, numbers in (
            ("?namespace=shop", [2]),
            ("?host=moved.test", [1]),
            ("?since=1", [2]),
            ("?namespace=nobody", []),
        ):
            self.assertEqual(self.texts(f"/api/v1/changes{query}"), numbers, query)

    def test_refused(self) -> None:
        """A query that makes no sense is 400, with a sentence that names the parameter."""
        for query, words in (
            ("?sinse=3", "there is no parameter 'sinse'; there are since, namespace, host, cause"),
            ("?since=yesterday", "it may be the number of an entry, or a time such as"),
            ("?since=999999999999999999999", "it may be the number of an entry, or a time such as"),
            (f"?since={'9' * 5000}", "it may be a text of at most 40 characters"),
            ("?cause=nobody", "it may be one of upstream, bad-gateway"),
            ("?host=a&host=b", "the parameter host comes 2 times"),
        ):
            status, fields, body = self.ask(f"/api/v1/failures{query}")
            self.assertEqual((status, fields["content-type"]), (400, "application/json"), query)
            self.assertIn(words, json.loads(body)["error"])
        self.assertEqual(self.ask("/api/v1/changes?cause=cut")[0], 400)

    def test_not_among_probes(self) -> None:
        """Where probes alone are shown, nothing of it is."""
        self.site = self.site_of(only_probes=True)
        self.assertEqual([self.ask(f"/api/v1/{name}")[0] for name in ("changes", "failures")], [404, 404])

    def test_pages(self) -> None:
        """Who reads page after page sees each once, while others come and go."""
        for _ in range(MOST_FAILURES):
            self.rings.failures.add(FAILURE)
        seen: list[int] = []
        after = ""
        while after is not None:
            page = json.loads(self.ask(f"/api/v1/failures?limit=200{after and '&after=' + after}")[2])
            seen += [one["number"] for one in page["failures"]]
            after = page["next"]
            self.rings.failures.add(FAILURE)
        self.assertEqual(seen, [*range(1, MOST_FAILURES + 3)])

    def test_full(self) -> None:
        """A full ring is one page, the oldest first."""
        for _ in range(2 * MOST_FAILURES):
            self.rings.failures.add(FAILURE)
        self.assertEqual(self.texts("/api/v1/failures"), [*range(MOST_FAILURES + 1, 2 * MOST_FAILURES + 1)])
