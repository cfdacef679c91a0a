"""Plays cases through a proxy in memory."""

from __future__ import annotations

from collections.abc import Iterable

from ingress.filters import Facts, Filter, Reply
from ingress.model.serving.limits import Limits
from ingress.model.upstream.backends import BackendState
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from tests.corpus.cases import Case, get, got
from tests.corpus.judge import Outcome, WrongError, judge, take_requests
from tests.fakes.specs import SpecOf
from tests.fakes.transports import Peer
from tests.http.strict import Message
from tests.proxy.playing import BACKEND, ONE, OWNER, Stage

HOSTS = ("shop.test",)


class Guard(Filter):
    """Lets nobody in."""

    def on_request(self, facts: Facts) -> Reply:
        """Answer 403."""
        return Reply(403, body=b"no")


def routes() -> RouteTable:
    """The routes that every case counts on."""
    return RouteTable(
        Route(host, path, Match.PREFIX, OWNER, BACKEND, filters=filters)
        for host in HOSTS
        for path, filters in (("/", ()), ("/admin", (SpecOf(Guard()),)))
    )


class Play:
    """A proxy and whoever answers behind it; cases are played on it, one after the other."""

    def __init__(self, on_epoll: bool = False) -> None:
        # An end behind a request lets cases be short; whether its sender has left is not what they are about.
        self._stage = Stage(on_epoll=on_epoll, limits=Limits(allow_half_close=True))
        self._stage.resource.publish(routes(), {BACKEND: BackendState((ONE,))})
        self._case: Case | None = None
        self._requests: list[Message] = []
        self._unread: dict[Peer, bytes] = {}
        self._answered = 0
        self._hung_up: set[Peer] = set()
        """Those that ended the connection themselves, whatever they may still get."""

    def run(self, case: Case, pieces: Iterable[bytes], with_canary: bool = True) -> Outcome:
        """Play *case*, its bytes in these *pieces*, and then see whether the next request is harmed."""
        outcome = self._run(case, pieces)
        if not with_canary:
            # Nobody may take what is left of this case for a connection to be used again.
            for peer in self._stage.connector.peers:
                if not peer.closed:
                    peer.finish()
            self._stage.connector.peers.clear()
            return outcome
        number = b"/canary?%d" % self._stage.reactor.seconds()
        canary = Case("canary", get(target=number), (got(target=number),))
        after = self._run(canary, [canary.sent])
        try:
            judge(canary, after)
        except WrongError as wrong:
            raise WrongError(f"poisoned: {wrong}") from wrong
        return outcome

    def end(self) -> str:
        """Let time go by until every deadline is over; return what is still open."""
        peers = self._stage.reactor.epoll.peers.values()
        for _ in range(40):
            self._stage.reactor.advance(80)
            self._stage.reactor.settle()
            if all(peer.closed for peer in peers):
                break
        return " ".join(repr(peer) for peer in self._stage.reactor.epoll.peers.values() if not peer.closed)

    def _run(self, case: Case, pieces: Iterable[bytes]) -> Outcome:
        self._case = case
        self._requests = []
        self._answered = 0
        before = set(self._stage.connector.peers)
        down = self._stage.open()
        for piece in pieces:
            down.say(piece)
            self._serve(case)
        if case.finishes:
            down.finish()
            self._serve(case)
        outcome = Outcome(
            down.received,
            down.closed or down.saw_end,
            down.saw_reset,
            self._requests,
            [
                (self._unread[peer], peer.saw_reset)
                for peer in self._stage.connector.peers
                if self._unread.get(peer)
                and peer not in self._hung_up
                and (peer not in before or not peer.closed)
            ],
        )
        # The peer goes away, whatever the proxy would still like to do.
        if not down.closed:
            down.finish()
        return outcome

    def _serve(self, case: Case) -> None:
        """Answer, as *case* says, whatever reached upstream."""
        busy = True
        while busy:
            busy = False
            for peer in list(self._stage.connector.peers):
                received = peer.take()
                if not received:
                    continue
                busy = True
                requests, unread = take_requests(self._unread.get(peer, b"") + received)
                self._unread[peer] = unread
                for request in requests:
                    self._requests.append(request)
                    self._answer(case, peer)
                if case.early and b"\r\n\r\n" in unread:
                    self._answer(case, peer)

    def _answer(self, case: Case, peer: Peer) -> None:
        answer = case.answers[min(self._answered, len(case.answers) - 1)]
        self._answered += 1
        if not peer.closed:
            peer.say(answer)
        if case.hangs_up and not peer.closed:
            self._hung_up.add(peer)
            peer.finish()
