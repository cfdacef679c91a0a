"""The made-up sessions once more, with endpoints that speak HTTP/2, too.

What clients say is that of ``sessions``; endpoints answer stream by stream, as far as their windows allow, and some
of them badly.  What holds of the session of a client must hold here, too; those to endpoints must have room
for more all along, and at the end no stream of theirs may be left.
"""

from __future__ import annotations

from random import Random

from ingress.http2.incoming import CONNECTION_WINDOW
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.proxy.contract.limits import STREAM_END_SECONDS
from ingress.proxy.upstream.h2_session import UpstreamSession
from tests.fakes.http2.client import MemoryWire
from tests.fakes.http2.frames import (
    END_STREAM,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    REFUSED_STREAM,
    RST_STREAM,
    WINDOW_UPDATE,
    block,
    data,
    goaway,
    headers,
    reset,
)
from tests.fakes.http2.server import Http2Server
from tests.fakes.transports import Peer
from tests.fuzz.sessions import Playing, Told, acts_of, need

ENDPOINTS = tuple(Endpoint(f"10.0.0.{number}", 8000, LinkSettings(is_http2=True)) for number in (1, 2))
USUAL = 65_535


class Server(Http2Server):
    """An endpoint that sends no more than it may."""

    def __init__(self, wire: MemoryWire) -> None:
        super().__init__(wire)
        self.waiting: dict[int, tuple[bytes, bytes]] = {}
        """What is to be sent on a stream: octets of a body, and frames behind it."""
        self.answered: set[int] = set()
        """Streams with a head."""
        self.over: set[int] = set()
        self._sent: dict[int, int] = {}

    @property
    def open(self) -> list[int]:
        """Streams that want an answer, or the rest of one."""
        gone = {each.stream for each in self.of(RST_STREAM)} | self.over | set(self.waiting)
        return [each.stream for each in self.of(HEADERS) if each.stream not in gone]

    def credit(self, stream: int) -> int:
        """Return how much may be sent."""
        first = self.settings.get(INITIAL_WINDOW_SIZE, USUAL) if stream else USUAL
        given = sum(each.increment for each in self.of(WINDOW_UPDATE, stream))
        return first + given - self._sent.get(stream, 0)

    def flow(self) -> None:
        """Send what may be sent."""
        gone = {each.stream for each in self.of(RST_STREAM)}
        for stream in list(self.waiting):
            body, behind = self.waiting.pop(stream)
            if stream in gone:
                continue
            while body and (room := min(self.credit(stream), self.credit(0), 16_384)) > 0:
                piece, body = body[:room], body[room:]
                for which in (0, stream):
                    self._sent[which] = self._sent.get(which, 0) + len(piece)
                self.send(data(stream, piece))
                self.look()
            if body:
                self.waiting[stream] = body, behind
            else:
                self.send(behind)

    def do(self, stream: int, what: str) -> None:
        """Answer, or something else."""
        head, body, behind = _ANSWERS[what]
        if what == "interim" and stream in self.answered:
            return
        if head is not None and stream not in self.answered:
            self.send(headers(stream, block(head), ended=False))
        if what != "interim":
            self.answered.add(stream)
        if behind is not None:
            self.over.add(stream)
        self.waiting[stream] = body, b"" if behind is None else behind(stream)
        self.flow()


def _ended(stream: int) -> bytes:
    return data(stream, b"", ended=True)


_OK = [(b":status", b"200")]
_ANSWERS = {
    "short": (_OK, b"hello", _ended),
    "nothing": ([(b":status", b"204")], b"", _ended),
    "long": (_OK, b"x" * 100_000, _ended),
    "head": ([*_OK, (b"x-some", b"thing")], b"", None),
    "chunked": (_OK, b"hello", lambda stream: headers(stream, block([(b"x-sum", b"y")]))),
    "open": (_OK, b"until the end", None),
    "interim": ([(b":status", b"103"), (b"link", b"x")], b"", None),
    "piece": (_OK, b"x" * 20_000, None),
    "nonsense": ([(b"no-status", b"200")], b"", lambda stream: b""),
    "finish": (None, b"", lambda stream: goaway(stream)),
    "reset": (None, b"", lambda stream: reset(stream, REFUSED_STREAM)),
}


class Relaying(Playing):
    """One session while it is played."""

    def __init__(self, number: int, cuts: Random | None) -> None:
        self._servers: dict[Peer, Server] = {}
        super().__init__(number, cuts)
        self._stage.publish(ENDPOINTS)

    @property
    def _upstreams(self) -> list[UpstreamSession]:
        protocols = [peer.protocol for peer in self._stage.connector.peers if not peer.closed]
        return [protocol for protocol in protocols if isinstance(protocol, UpstreamSession)]

    def _listen(self) -> None:
        for peer in list(self._stage.connector.peers):
            server = self._servers.get(peer)
            if server is None:
                server = self._servers[peer] = Server(MemoryWire(self._stage.reactor, peer))
                server.greet()
            server.look()
            server.flow()

    def _act_upstream(self, which: int, what: str) -> None:
        self._listen()
        waiting = [
            (server, stream)
            for server in self._servers.values()
            for stream in server.open
            if not server.closed
        ]
        if waiting:
            server, stream = waiting[which % len(waiting)]
            server.do(stream, what)

    def _check_windows(self) -> None:
        super()._check_windows()
        for session in self._upstreams:
            if session.reader.is_closed:
                continue
            need(
                CONNECTION_WINDOW // 2 <= session.incoming.credit <= CONNECTION_WINDOW,
                f"upstream, credit of {session.incoming.credit}",
            )
            waiting = sum(stream.unsent for stream in session.streams.values())
            need(
                session.outgoing.waiting == waiting,
                f"upstream, {waiting} bytes wait, {session.outgoing.waiting} are counted",
            )

    def _end(self) -> None:
        super()._end()
        # The end of an answer without content may come as late.
        for _ in range(int(STREAM_END_SECONDS)):
            self._stage.reactor.pass_time(1)
        for session in self._upstreams:
            need(not session.streams, f"left upstream: {session.streams}")
        for server in self._servers.values():
            if server.closed:
                continue
            server.look()
            ended = {
                each.stream for each in server.frames if each.kind == RST_STREAM or each.flags & END_STREAM
            }
            need(
                not {each.stream for each in server.of(HEADERS)} - ended - server.over,
                "an endpoint waits for ever",
            )


def fuzz_relayed(number: int) -> Told:
    """Play the session with this number; raises ``WrongError`` if anything is wrong."""
    return Relaying(number, Random(number + 1) if number % 3 else None).play(acts_of(number))
