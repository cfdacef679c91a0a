"""A proxy that asks other services on behalf of filters, in memory."""

from __future__ import annotations

from random import Random

from attrs import evolve
from twisted.internet.defer import Deferred

from ingress.model.exchanges.sub_requests import SubAnswer, SubRequest, SubRequestFailed
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.proxy.exchange.sub_requests.sub_requests import SubRequests
from ingress.proxy.upstream.rotation import Rotation, Rotations
from tests.fakes.transports import Peer
from tests.proxy.playing import BACKEND, ONE, TWO, ProxyCase

URL = "http://auth.test:8080/verify?a=b"
ASKED = SubRequest(URL)
AUTH = Endpoint("auth.test", 8080, LinkSettings(is_external=True))
POST = evolve(ASKED, method=b"POST", body=b"name=x")
OF_BACKEND = evolve(ASKED, backend=BACKEND)


class SubRequestCase(ProxyCase):
    """A proxy, and who sends its sub-requests."""

    def setUp(self) -> None:
        super().setUp()
        stage = self.stage
        rotations = Rotations(self.reactor, stage.deadlines, self.metrics, Random(7))
        self.endpoints: tuple[Endpoint, ...] = (ONE,)
        self.rotation: Rotation | None = rotations.make(BACKEND, (ONE, TWO))
        self.sub_requests = SubRequests(
            stage.pool,
            stage.deadlines,
            self.metrics.sub_requests,
            rotations,
            lambda reference: self.rotation if reference == BACKEND else None,
        )
        self.asked: list[Deferred[SubAnswer]] = []
        self.addCleanup(self.assert_nothing_left)

    def assert_nothing_left(self) -> None:
        """Check, after every test, that nothing is under way, and nothing is waited for."""
        self.sub_requests.close()
        for asked in self.asked:
            asked.addErrback(lambda failure: failure.trap(SubRequestFailed))
        self.reactor.settle()
        self.assertEqual(repr(self.sub_requests), "<SubRequests: 0 under way, 0 of them mirrors>")
        # What ticks once a second is all that is left to come.
        self.assertLessEqual(len(self.reactor.getDelayedCalls()), 2)

    def ask(self, request: SubRequest = ASKED) -> Deferred[SubAnswer]:
        """Send a sub-request."""
        asked = self.sub_requests.ask(request)
        self.asked.append(asked)
        self.reactor.settle()
        return asked

    def answered(self, asked: Deferred[SubAnswer], *said: bytes) -> SubAnswer:
        """Have the endpoint say this, and return the answer."""
        self.upstream().say(*said)
        return self.successResultOf(asked)

    def assert_failed(self, asked: Deferred[SubAnswer], why: str, request: SubRequest = ASKED) -> None:
        """Check why there is no answer."""
        self.assertEqual(str(self.failureResultOf(asked, SubRequestFailed).value), f"{request.url}: {why}")

    def assert_counts(self, kind: str, **counts: int) -> None:
        """Check how many ended in which way; any other way had none."""
        for outcome in ("answered", "failed", "cancelled", "dropped"):
            found = self.metrics.value("ingress_sub_requests_total", kind=kind, outcome=outcome)
            self.assertEqual(found, counts.get(outcome, 0), outcome)

    def busy(self) -> list[Peer]:
        """The endpoints' ends of connections that are open."""
        return [peer for peer in self.connector.peers if not peer.closed]
