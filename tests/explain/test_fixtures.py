"""The objects of each golden fixture, explained and served: every annotation that there is stands in one of them."""

from collections.abc import Iterator
from pathlib import Path

from ingress.explain.asked_request import read_asked
from ingress.explain.explaining import explain
from ingress.explain.objects import KnownObjects
from ingress.explain.served import Served
from ingress.routing.table import RouteTable
from ingress.translate.translate import translate
from tests.explain.test_same_as_proxy import CompareCase
from tests.translate import golden

MOST_ROUTES = 6
"""Of one fixture."""


def urls_of(table: RouteTable) -> Iterator[str]:
    """Yield URLs of requests that routes of *table* take, and some that none takes."""
    seen: dict[str, None] = {}
    for route in table.routes[:MOST_ROUTES]:
        host = (route.host or "nobody.test").replace("*", "some")
        path = route.path if route.path.isascii() and route.path.isprintable() else "/"
        for scheme, one in (("http", path), ("https", path), ("http", f"{path.rstrip('/')}/x")):
            seen[f"{scheme}://{host}{one}"] = None
    yield from seen
    yield "http://nowhere.test/none"


class FixtureTests(CompareCase):
    def check(self, case: Path) -> int:
        """Explain and send requests to what *case* becomes; return how many."""
        state, options = golden.state_of_case(case), golden.options_of_case(case)
        snapshot = translate(state, options, golden.NOW)
        served = Served(snapshot, golden.NOW, (), KnownObjects(state, options))
        count = 0
        for url in urls_of(snapshot.table):
            asked = read_asked(url, "GET", (), "192.0.2.1")
            self.compare(asked, snapshot, explain(asked, served))
            count += 1
        return count

    def test_all_fixtures_are_explained_as_they_are_served(self) -> None:
        """Requests to the hosts and paths of each, in plain HTTP and over TLS."""
        self.assertGreater(sum(map(self.check, golden.cases())), 1000)
