"""What a controller really tells, as ``ingressctl top`` has it."""

from __future__ import annotations

from attrs import evolve
from twisted.internet.defer import succeed

from ingress.admin.contract.page_sources import PageSources
from ingress.ctl.top.board import Board
from ingress.ctl.top.feed import Feed
from ingress.model.cluster.objects import ObjectKey
from ingress.model.exchanges.causes import Cause
from ingress.model.observability.changes_and_failures import Change, ChangeSort, Failure
from ingress.model.observability.endpoint_states import Ejection, EndpointsSeen, EndpointStage, RotationRow
from ingress.model.stepwise import finished
from tests.admin.listed import NOW
from tests.admin.live_case import live_of
from tests.admin.site_case import SiteCase
from tests.fakes.records import record_of

SHOP = ObjectKey("shop", "web")


class Viewer:
    """Whoever looks, with a board."""

    is_full = False

    def __init__(self) -> None:
        self.board = Board()
        self._feed = Feed()

    def send(self, octets: bytes) -> None:
        """Take what is told."""
        for event in self._feed.take(octets):
            self.board.take(event.name, event.data)

    def end(self, octets: bytes) -> None:
        """Take what is told last."""
        self.send(octets)


class StreamTests(SiteCase):
    """The stream of a controller in memory."""

    def setUp(self) -> None:
        self.seen = EndpointsSeen()
        super().setUp()
        self.missing = ("no Secret may be read",)
        self.metrics.exchanges.follow_every()
        self.live = live_of(self.known(), self.clock)

    def known(self) -> PageSources:
        return evolve(super().known(), endpoints=lambda: succeed(self.seen))

    def pass_seconds(self, seconds: int) -> None:
        """Let time pass, and whatever is done in slices be done."""
        for _ in range(seconds):
            self.clock.advance(1.0)
            while any(call.getTime() <= self.clock.seconds() for call in self.clock.getDelayedCalls()):
                self.clock.advance(0)

    def test_all_of_it_is_known(self) -> None:
        """Status, numbers, rows, failures, changes, endpoints and the end are understood, each under its name."""
        viewer = Viewer()
        board = viewer.board
        self.rings.changes.add(
            Change(NOW, ChangeSort.OBJECT, "came", "Ingress shop/web came", object="shop/web")
        )
        self.metrics.exchanges.ended(record_of(SHOP))
        self.live.join(viewer)
        self.pass_seconds(1)
        finished(
            self.seen.take(
                [RotationRow("shop/web:80", "10.0.0.1:80", EndpointStage.EJECTED, 20.0, Ejection.UNREACHABLE)]
            )
        )
        for _ in range(40):
            self.metrics.exchanges.ended(record_of(SHOP, 502, cause=Cause.BAD_GATEWAY))
        self.rings.failures.add(
            Failure(
                NOW,
                "bad-gateway",
                502,
                "refused",
                "GET",
                "a.test",
                "/",
                0.1,
                ingress="shop/web",
                backend="shop/web:80",
            )
        )
        self.assertFalse(board.is_known)
        self.pass_seconds(2)
        self.assertEqual([*board.rows], ["shop/web/web"])
        self.pass_seconds(4)
        self.assertTrue(board.is_known)
        self.assertEqual((board.status.is_ready, board.status.missing), (False, self.missing))
        self.assertEqual(board.numbers.failures, (("bad-gateway", 40.0),))
        self.assertEqual((board.numbers.most_clients, board.numbers.clients), (100.0, 0.0))
        self.assertEqual(max(board.history), 40.0)
        [row] = board.rows.values()
        self.assertEqual((row.name, row.failing, row.p99 is None), ("shop/web/web", 1.0, False))
        self.assertEqual(row.last_failure, f"{NOW:%H:%M:%S} 502 bad-gateway")
        self.assertEqual([one.about for one in board.failures], ["502 GET a.test/"])
        self.assertEqual([one.text for one in board.changes], ["Ingress shop/web came"])
        [endpoint] = board.endpoints
        self.assertEqual((endpoint.endpoint, endpoint.state), ("10.0.0.1:80", "ejected"))
        self.assertTrue(endpoint.why)
        self.live.end("the controller stops")
        self.assertEqual(board.why_ended, "the controller stops")
