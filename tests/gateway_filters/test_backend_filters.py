"""Filters of a rule's backends: they are for those requests alone that the backend gets."""

from __future__ import annotations

from typing import ClassVar

from ingress.gateway_filters.refusals import BAD_FILTER
from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from ingress.routing.variants import WeightedBackend
from ingress.translate.readers.gateway.objects.routes import (
    HeaderEdits,
    PathEdit,
    RequestRedirect,
    URLRewrite,
)
from tests.gateway_filters.reading_case import OfAnswers, RuleCase, Written, specs
from tests.proxy.playing import OK, ONE, OWNER, TWO, fields_of

FIRST = BackendReference("demo", "first", 80)
SECOND = BackendReference("demo", "second", 80)
REQUESTS = 40


class BackendFilterTests(RuleCase):
    """In the proxy."""

    is_http2: ClassVar[bool] = False

    def share(
        self, first: tuple[Written, ...], second: tuple[Written, ...], of_rule: tuple[Written, ...] = ()
    ) -> None:
        """Serve two backends with their filters, half of the requests each."""
        weighted = (
            WeightedBackend(FIRST, 10, specs(*first, prefix="/prefix")),
            WeightedBackend(SECOND, 10, specs(*second, prefix="/prefix")),
        )
        route = Route(
            "shop.test",
            "/",
            Match.PREFIX,
            OWNER,
            FIRST,
            filters=specs(*of_rule, prefix="/prefix"),
            weighted=weighted,
        )
        states = {FIRST: BackendState((ONE,)), SECOND: BackendState((TWO,))}
        self.stage.resource.publish(RouteTable((route,)), states)

    def asked(self, target: bytes = b"/prefix/original") -> list[tuple[str, bytes]]:
        """Return address and request of all that the endpoints got."""
        found = []
        for _ in range(REQUESTS):
            before = [len(peer.received) for peer in self.connector.peers]
            client = self.get(target=target)
            if client.heard().status:
                continue
            for number, peer in enumerate(self.connector.peers):
                if number >= len(before) or len(peer.received) > before[number]:
                    port = self.connector.asked[number].address
                    found.append((port, peer.take()))
                    peer.say(OK)
        return found

    def test_edits(self) -> None:
        """Each backend gets the fields that are meant for it, and its answers theirs (…BackendHeaderModifierWithWeights)."""
        names = (
            HeaderEdits(put=(("Backend", "first"),)),
            HeaderEdits(put=(("Backend", "second"),)),
        )
        self.share((names[0], OfAnswers(names[0])), (names[1], OfAnswers(names[1])))
        found = self.asked()
        counts = {ONE.address: 0, TWO.address: 0}
        for address, said in found:
            counts[address] += 1
            expected = b"first" if address == ONE.address else b"second"
            self.assertEqual(fields_of(said)[b"backend"], expected)
        self.assertEqual(sum(counts.values()), REQUESTS)
        self.assertGreater(min(counts.values()), REQUESTS // 5)

    def test_rewrites(self) -> None:
        """A rewrite of a backend counts for it, also where its rule has one (HTTPRouteBackendURLRewrite)."""
        by_prefix = URLRewrite(path=PathEdit("ReplacePrefixMatch", "/rewritten-prefix"))
        whole = URLRewrite("other.test", PathEdit("ReplaceFullPath", "/rewritten-full"))
        of_rule = URLRewrite("rule.test", PathEdit("ReplaceFullPath", "/of-rule"))
        self.share((by_prefix,), (whole,), (of_rule,))
        lines = {
            (address, said.split(b"\r\n")[0], fields_of(said)[b"host"]) for address, said in self.asked()
        }
        self.assertEqual(
            lines,
            {
                (ONE.address, b"GET /rewritten-prefix/original HTTP/1.1", b"rule.test"),
                (TWO.address, b"GET /rewritten-full HTTP/1.1", b"other.test"),
            },
        )

    def test_redirects(self) -> None:
        """A redirect of a backend answers its share, and no other."""
        self.share((RequestRedirect(hostname="example.org", status=303),), ())
        found = self.asked()
        self.assertEqual({address for address, _ in found}, {TWO.address})
        statuses = [status for _, status, _ in self.metrics.ended]
        self.assertEqual(set(statuses), {200, 303})
        self.assertEqual(statuses.count(200), len(found))

    def test_refusals(self) -> None:
        """So does a refusal, whose status nobody takes for the endpoint's."""
        weighted = (WeightedBackend(FIRST, 1, (BAD_FILTER,)), WeightedBackend(SECOND, 1))
        route = Route("shop.test", "/", Match.PREFIX, OWNER, FIRST, weighted=weighted)
        self.stage.resource.publish(RouteTable((route,)), {SECOND: BackendState((TWO,))})
        found = self.asked()
        statuses = [status for _, status, _ in self.metrics.ended]
        self.assertEqual(set(statuses), {200, 500})
        self.assertEqual(statuses.count(200), len(found))


class Http2BackendFilterTests(BackendFilterTests):
    """The same over HTTP/2."""

    is_http2: ClassVar[bool] = True
