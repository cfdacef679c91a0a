"""Sessions of HTTP/2 that are made up: mostly valid, cut anywhere, with upstreams that answer when they like.

A number is the seed of one session.  It is played twice, in whole acts and in pieces cut at
random, and everything that can be seen of it must be the same.  All along, the windows of the
session must be those of a model, and credit must neither be lost nor made of nothing;
at the end nothing may be left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from attrs import define, field, frozen

from ingress.http2.incoming import CONNECTION_WINDOW
from tests.corpus.judge import WrongError
from tests.fakes.http2.client import Http2Client, MemoryWire
from tests.fakes.http2.frames import (
    DATA,
    INITIAL_WINDOW_SIZE,
    LARGEST_WINDOW,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    block,
    continuation,
    data,
    frame,
    goaway,
    headers,
    literal,
    ping,
    priority,
    request_fields,
    reset,
    settings,
    table_size,
    window_update,
)
from tests.fakes.transports import Peer
from tests.fuzz.streams import nothing_logged
from tests.proxy.h2_playing import Http2Stage

USUAL = 65_535
ACTS = 60


@frozen
class Say:
    """The client sends this; no more than one frame of it gives credit, for a cut behind that lets upstreams go on."""

    octets: bytes
    windows: tuple[tuple[int, int], ...] = ()
    """The credit in it: stream and increment."""
    initial: int | None = None
    """The initial window that it sets."""


@frozen
class Answer:
    """The upstream that this points at, among those that have something to answer, says or does something."""

    which: int
    what: str


@frozen
class Pass:
    """Time passes."""

    seconds: int


Act = Say | Answer | Pass

ANSWERS = {
    "short": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "nothing": b"HTTP/1.1 204 No Content\r\n\r\n",
    "long": b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100_000,
    "head": b"HTTP/1.1 200 OK\r\nContent-Length: 40000\r\nX-Some: thing\r\n\r\n",
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: y\r\n\r\n",
    "open": b"HTTP/1.1 200 OK\r\n\r\nuntil the end",
    "interim": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n",
    "piece": b"x" * 20_000,
    "nonsense": b"nonsense\r\n\r\n",
    "finish": b"",
    "reset": b"",
}
WHOLE = ("short", "nothing", "long", "chunked")
LIKELY = ("short", "short", "short", "nothing", "long", "long", "head", "piece", "chunked", "interim", "open")
UNLIKELY = ("nonsense", "finish", "reset", "piece")


@define
class Author:
    """Makes up what a client says, and knows what it said."""

    random: Random
    next_id: int = 1
    uploads: list[int] = field(factory=list)
    """Streams whose request goes on."""
    asked: list[int] = field(factory=list)
    """All streams."""
    entries: int = 0
    """What is in the table, at least."""

    def act(self) -> Act:
        """Return the next act."""
        at = self.random.random()
        if at < 0.40:
            return Answer(self.random.randrange(8), self.random.choice(LIKELY if at < 0.385 else UNLIKELY))
        if at < 0.43:
            return Pass(self.random.choice((0, 1, 1, 2, 5)))
        if at < 0.445:
            return (
                Say(self.wrong())
                if at < 0.444
                else Say(window_update(0, LARGEST_WINDOW), ((0, LARGEST_WINDOW),))
            )
        return self.random.choice(SAYINGS)(self)

    def stream(self) -> int:
        """Open another stream."""
        stream = self.next_id
        self.next_id += 2 * self.random.choice((1, 1, 1, 1, 1, 2, 9))
        self.asked.append(stream)
        return stream

    def block(self, method: bytes, *more: tuple[bytes, bytes]) -> bytes:
        """Make a field block, with fields in different forms."""
        random = self.random
        octets = table_size(4096) if random.random() < 0.05 else b""
        path = random.choice((b"/", b"/a", b"/a?b=c", b"/" + b"long" * 100))
        octets += block(request_fields(method, path), random.choice((0, 0x10)))
        for name, value in more:
            octets += literal(name, value)
        for _ in range(random.randrange(3)):
            octets += literal(b"x-some-%d" % random.randrange(9), b"y" * random.randrange(90), 0x40)
            self.entries += 1
        for _ in range(random.randrange(3) if self.entries else 0):
            octets += bytes([0x80 | 62 + random.randrange(min(self.entries, 10))])
        return octets

    def head(self, method: bytes, ended: bool, *more: tuple[bytes, bytes]) -> bytes:
        """Make a head, perhaps in several frames."""
        stream, fields = self.stream(), self.block(method, *more)
        if not ended:
            self.uploads.append(stream)
        if self.random.random() < 0.8:
            padding = self.random.choice((None, None, 0, 9))
            return headers(stream, fields, ended, padding=padding, depends_on=self.random.choice((None, 0)))
        at = self.random.randrange(len(fields))
        return headers(stream, fields[:at], ended, whole=False) + continuation(stream, fields[at:])

    def get(self) -> Say:
        """Ask."""
        return Say(self.head(self.random.choice((b"GET", b"GET", b"HEAD", b"DELETE")), True))

    def several(self) -> Say:
        """Ask for several things at once."""
        return Say(b"".join(self.head(b"GET", True) for _ in range(self.random.randrange(2, 6))))

    def upload(self) -> Say:
        """Begin a request with a body."""
        return Say(self.head(self.random.choice((b"POST", b"PUT")), False))

    def whole_upload(self) -> Say:
        """A whole request with a body of known length."""
        size = self.random.choice((0, 1, 100, 20_000))
        octets = self.head(b"POST", False, (b"content-length", b"%d" % size))
        stream = self.uploads.pop()
        body = b"".join(data(stream, b"z" * min(9000, size - at)) for at in range(0, size, 9000))
        return Say(octets + body + data(stream, b"", ended=True))

    def piece(self) -> Say:
        """More of a body, perhaps the last."""
        if not self.uploads:
            return self.upload()
        stream = self.random.choice(self.uploads)
        ended = self.random.random() < 0.4
        if ended:
            self.uploads.remove(stream)
            if self.random.random() < 0.3:
                return Say(headers(stream, block([(b"x-trailer", b"y")])))
        size = self.random.choice((0, 1, 10, 1000, 16_000))
        return Say(data(stream, b"z" * size, ended, self.random.choice((None, None, None, 0, 100))))

    def cancel(self) -> Say:
        """Reset a stream; it may be over already."""
        if not self.asked:
            return self.get()
        stream = self.random.choice(self.asked[-5:])
        if stream in self.uploads:
            self.uploads.remove(stream)
        return Say(reset(stream))

    def credit(self) -> Say:
        """Give credit."""
        stream = self.random.choice([0, 0, *self.asked[-5:]])
        increment = self.random.choice((1, 100, 20_000, 100_000))
        return Say(window_update(stream, increment), ((stream, increment),))

    def initial(self) -> Say:
        """Set another initial window."""
        size = self.random.choice((0, 1, 1000, USUAL, USUAL, 200_000))
        return Say(settings((INITIAL_WINDOW_SIZE, size)), (), size)

    def small_talk(self) -> Say:
        """Say what means nothing."""
        return Say(
            self.random.choice(
                (
                    ping(self.random.randbytes(8)),
                    settings(),
                    priority(self.next_id + 2),
                    frame(0x33, self.random.randbytes(5), 0xFF),
                    settings((0x99, 1), (3, 100)),
                )
            )
        )

    def wrong(self) -> bytes:
        """Say something that must not be said."""
        last = self.asked[-1] if self.asked else 1
        return self.random.choice(
            (
                lambda: headers(self.stream(), block([(b"X", b"y")])),
                lambda: headers(self.stream(), block(request_fields(path=b"nowhere"))),
                lambda: headers(self.stream(), block(request_fields(more=[(b"connection", b"x")]))),
                lambda: headers(self.stream(), b"\xff\xff\xff"),
                lambda: headers(last, block([(b"x", b"y")]), ended=False),
                lambda: data(last, b"z", ended=True),
                lambda: data(self.next_id + 4, b"z"),
                lambda: window_update(last, 0),
                lambda: frame(PRIORITY, bytes(4), 0, last),
                lambda: frame(PUSH_PROMISE, bytes(4), 4, last),
                lambda: frame(RST_STREAM, bytes(3), 0, last),
                lambda: goaway(),
                lambda: self.random.randbytes(30),
                lambda: continuation(last, b""),
            )
        )()


SAYINGS: tuple[Callable[[Author], Say], ...] = (
    Author.get,
    Author.get,
    Author.get,
    Author.several,
    Author.upload,
    Author.whole_upload,
    Author.piece,
    Author.piece,
    Author.cancel,
    Author.credit,
    Author.credit,
    Author.initial,
    Author.small_talk,
)


def acts_of(number: int) -> list[Act]:
    """Return what happens in the session with this number."""
    author = Author(Random(number))
    return [author.act() for _ in range(author.random.randrange(5, ACTS))]


@define
class Told:
    """All that could be seen of a session."""

    frames: list[object]
    upstreams: list[tuple[bytes, bool]]
    ended: list[int]
    is_alive: bool
    answers: int


class Playing:
    """One session while it is played."""

    def __init__(self, number: int, cuts: Random | None) -> None:
        self._cuts = cuts
        self._stage = Http2Stage(on_epoll=bool(number % 2))
        self._heard: dict[Peer, bytes] = {}
        """What upstreams got, all of it."""
        self._asked: dict[Peer, None] = {}
        """Those that have something to answer."""
        self._client = Http2Client(MemoryWire(self._stage.reactor, self._stage.open(), self._listen))
        self._client.begin()
        self._sent: dict[int, int] = {}
        """Octets of DATA by stream; 0 is the connection."""
        self._given: dict[int, int] = {}
        """Credit by stream."""
        self._initial = USUAL
        self._counted = 0

    def play(self, acts: list[Act]) -> Told:
        """Play to the end; raises ``WrongError``."""
        with nothing_logged():
            for act in acts:
                self._play(act)
                self._client.look()
                self._count()
                self._check_windows()
            told = self._told()
            self._end()
        return told

    def _play(self, act: Act) -> None:
        if isinstance(act, Pass):
            self._stage.reactor.pass_time(act.seconds)
        elif isinstance(act, Answer):
            self._act_upstream(act.which, act.what)
        else:
            self._given.update(
                {stream: self._given.get(stream, 0) + increment for stream, increment in act.windows}
            )
            if act.initial is not None:
                self._initial = act.initial
            for piece in self._pieces(act.octets):
                self._client.send(piece)

    def _pieces(self, octets: bytes) -> Iterator[bytes]:
        if self._cuts is None:
            yield octets
            return
        while octets:
            size = self._cuts.choice((1, 2, 5, 9, 12, 40, 1000, 20_000))
            yield octets[:size]
            octets = octets[size:]

    def _act_upstream(self, which: int, what: str) -> None:
        waiting = [peer for peer in self._stage.connector.peers if peer in self._asked and not peer.closed]
        if waiting:
            self._answer(waiting[which % len(waiting)], what)

    def _answer(self, peer: Peer, what: str) -> None:
        if what in WHOLE:
            self._asked.pop(peer)
        if what == "finish":
            peer.finish()
        elif what == "reset":
            peer.reset()
        else:
            peer.say(ANSWERS[what])

    def _listen(self) -> None:
        for peer in self._stage.connector.peers:
            octets = peer.take()
            if octets:
                self._heard[peer] = self._heard.get(peer, b"") + octets
                if b"HTTP/1.1\r\n" in octets:
                    self._asked[peer] = None

    def _count(self) -> None:
        for each in self._client.frames[self._counted :]:
            if each.kind == DATA:
                for stream in (0, each.stream):
                    self._sent[stream] = self._sent.get(stream, 0) + len(each.payload)
        self._counted = len(self._client.frames)

    def _check_windows(self) -> None:
        """Compare the session's windows with those that follow from what was said."""
        for session in self._stage.sessions:
            if session.reader.is_closed:
                continue
            window = USUAL + self._given.get(0, 0) - self._sent.get(0, 0)
            need(window >= 0, f"sent {-window} more than the connection takes")
            need(
                session.outgoing.window == window,
                f"window of the connection is {session.outgoing.window}, not {window}",
            )
            for stream in session.streams.values():
                window = self._initial + self._given.get(stream.id, 0) - self._sent.get(stream.id, 0)
                need(stream.window == window, f"window of {stream} is {stream.window}, not {window}")
            waiting = sum(stream.unsent for stream in session.streams.values())
            need(
                session.outgoing.waiting == waiting,
                f"{waiting} bytes wait, and {session.outgoing.waiting} are counted",
            )
            held = sum(stream.held for stream in session.streams.values())
            credit = session.incoming.credit + session.incoming.owed + held
            need(credit == CONNECTION_WINDOW, f"credit of {credit} is left in all")

    def _told(self) -> Told:
        client = self._client
        frames: list[object] = []
        for each in client.frames:
            frames.append(each._replace(payload=b"") if each.kind == 1 else each)
        heads = {stream: client.heads(stream) for stream in {each.stream for each in client.frames}}
        frames.append(heads)
        return Told(
            frames,
            [(self._heard.get(peer, b""), peer.saw_reset) for peer in self._stage.connector.peers],
            [status for _, status, _ in self._stage.metrics.ended],
            client.end is None and not client.closed,
            sum(each.ends_stream for each in client.frames),
        )

    def _end(self) -> None:
        """The client goes away; nothing may be left."""
        self._client.wire.close()
        for _ in range(3):
            self._stage.reactor.pass_time(1)
        need(not self._stage.site.connections.all, f"left: {self._stage.site.connections.all}")
        need(" 0 busy" in repr(self._stage.pool), f"left: {self._stage.pool}")
        for session in self._stage.sessions:
            need(not session.streams, f"left: {session.streams}")


def play(number: int, cuts: Random | None = None) -> Told:
    """Play the session with this number; raises ``WrongError``."""
    return Playing(number, cuts).play(acts_of(number))


def fuzz_session(number: int) -> Told:
    """Play it whole and in pieces; raises ``WrongError`` if anything is wrong, or other."""
    whole = play(number)
    cut = play(number, Random(number + 1))
    for name in ("frames", "upstreams", "ended", "is_alive"):
        need(getattr(whole, name) == getattr(cut, name), f"cut, it has other {name}")
    return whole


def need(condition: object, why: str) -> None:
    """Raise ``WrongError`` unless *condition* holds."""
    if not condition:
        raise WrongError(why)
