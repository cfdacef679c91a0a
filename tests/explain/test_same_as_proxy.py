"""The explanation of a request is what the proxy really does with it, whatever the objects and the request are."""

from hypothesis import given
from twisted.trial.unittest import SynchronousTestCase

from ingress.explain.asked_request import Asked, read_asked
from ingress.explain.explaining import explain
from ingress.explain.explanation import End, Explanation
from ingress.explain.handshakes import server_name_of
from ingress.explain.objects import KnownObjects
from ingress.explain.served import Served
from ingress.model.cluster.objects import ClusterObject
from ingress.translate.options import TranslateOptions
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.explain.clusters import NOW, clients, clusters, headers, methods, options, urls
from tests.explain.playing import Played, play
from tests.translate.golden import state_of


class CompareCase(SynchronousTestCase):
    """Compares what is explained with what a proxy in memory does."""

    def compare(self, asked: Asked, snapshot: Snapshot, found: Explanation) -> None:
        """Have a proxy get *asked*, and check that it does what *found* says."""
        outcome = found.outcome
        if outcome.end in (End.PASSED_THROUGH, End.CLOSED):
            route = snapshot.table.passing(asked.url.host.lower().removesuffix(".").encode())
            assert route is not None and route.passthrough is not None, found
            has_endpoints = bool(snapshot.backends[route.passthrough].endpoints)
            self.assertEqual(outcome.end is End.PASSED_THROUGH, has_endpoints, found)
            return
        played = play(asked, snapshot, server_name_of(asked.url.host))
        if outcome.end is End.ANSWERED:
            self.assertEqual((played.status, played.location), (outcome.status, outcome.location), found)
            self.assertIsNone(played.endpoint, found)
            if not outcome.conditions:
                self.assertEqual(played.record.filter, outcome.by, found)
        else:
            self.compare_sent(played, found)
        self.compare_route(played, found)

    def compare_sent(self, played: Played, found: Explanation) -> None:
        """Check where the request went, and what was asked there."""
        assert found.upstream is not None
        endpoints = [one for backend in found.backends for one in backend.endpoints]
        self.assertIn(str(played.endpoint), endpoints, found)
        if not played.head:
            return
        line, host = played.head.decode("latin-1").split("\r\n")[:2]
        self.assertEqual(line, f"{found.upstream.method} {found.upstream.target} HTTP/1.1", found)
        self.assertEqual(host, f"Host: {found.upstream.authority}", found)

    def compare_route(self, played: Played, found: Explanation) -> None:
        """Check which route had the request."""
        route, seen = played.record.route, found.route
        if route is None or seen is None:
            self.assertIs(route is None, seen is None, found)
        else:
            self.assertEqual((route.host, route.path), (seen.host, seen.path), found)


class SameTests(CompareCase):
    """The same objects, explained and served."""

    @given(clusters, options, urls, methods, headers, clients)
    def test_explanation_is_what_the_proxy_does(
        self,
        objects: list[ClusterObject],
        chosen: TranslateOptions,
        url: str,
        method: str,
        fields: list[str],
        client: str,
    ) -> None:
        """Status, place, route, endpoint and what that is asked are as explained, in plain HTTP and over TLS."""
        state = state_of(objects)
        snapshot = translate(state, chosen, NOW)
        asked = read_asked(url, method, fields, client)
        found = explain(asked, Served(snapshot, NOW, (), KnownObjects(state, chosen)))
        self.compare(asked, snapshot, found)
