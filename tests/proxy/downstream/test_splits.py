"""Every byte split: how the bytes of a conversation are cut into packets changes nothing."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.serving.limits import Limits
from tests.fakes.transports import Peer
from tests.http.strict import Message, StrictError, read_answers, read_requests
from tests.properties import turns
from tests.proxy.playing import GET, OK, Stage

POST = b"POST /form HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 11\r\n\r\nhello=world"
CHUNKED_POST = (
    b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5;x\r\nhello\r\n6\r\n world\r\n0\r\nT: x\r\n\r\n"
)
CHUNKED_OK = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x\r\n world\r\n0\r\nT: x\r\n\r\n"
)
UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\nX: y\r\n\r\nhello world"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nframes"
UPGRADE = b"GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nframes"
EXPECT = POST.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n")

DOWN, UP, DOWN_ENDS, UP_ENDS = "downstream says", "upstream says", "downstream ends", "upstream ends"


@frozen
class Conversation:
    """Who says what, in order, and which methods downstream uses."""

    steps: tuple[tuple[str, bytes], ...]
    methods: tuple[bytes, ...] = (b"GET",)
    is_tunnel: bool = False


def down(octets: bytes) -> tuple[str, bytes]:
    """Downstream says *octets*."""
    return DOWN, octets


def up(octets: bytes) -> tuple[str, bytes]:
    """Upstream says *octets*."""
    return UP, octets


CONVERSATIONS = {
    "one": Conversation((down(GET), up(OK))),
    "two in a row": Conversation((down(GET), up(OK), down(GET), up(CHUNKED_OK)), (b"GET", b"GET")),
    "pipelined": Conversation(
        (down(GET + POST + GET), up(OK), up(CHUNKED_OK), up(OK)), (b"GET", b"POST", b"GET")
    ),
    "length": Conversation((down(POST), up(OK)), (b"POST",)),
    "chunked": Conversation((down(CHUNKED_POST), up(CHUNKED_OK)), (b"POST",)),
    "empty line first": Conversation((down(b"\r\n" + GET), up(OK))),
    "until close": Conversation((down(GET), up(UNTIL_CLOSE), (UP_ENDS, b""))),
    "until close for 1.0": Conversation((down(GET.replace(b"1.1", b"1.0")), up(UNTIL_CLOSE), (UP_ENDS, b""))),
    "chunked for 1.0": Conversation((down(GET.replace(b"1.1", b"1.0")), up(CHUNKED_OK))),
    "head": Conversation((down(GET.replace(b"GET", b"HEAD") + GET), up(OK[:-2]), up(OK)), (b"HEAD", b"GET")),
    "interim": Conversation((down(GET), up(b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + OK))),
    "expectation": Conversation((down(EXPECT), up(b"HTTP/1.1 100 Continue\r\n\r\n" + OK)), (b"POST",)),
    "half-close": Conversation((down(GET), (DOWN_ENDS, b""), up(OK))),
    "no route": Conversation((down(GET.replace(b"shop", b"none") * 2),), (b"GET", b"GET")),
    "short answer": Conversation((down(GET), up(OK[:-1]), (UP_ENDS, b""))),
    "short head": Conversation((down(GET), up(OK[:20]), (UP_ENDS, b""))),
    "short request": Conversation((down(POST[:-1]), (DOWN_ENDS, b"")), (b"POST",)),
    "bad head": Conversation((down(b"GET / HTTP/1.1\r\nHost : shop.test\r\n\r\n" + GET),)),
    "two hosts": Conversation((down(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + GET),)),
    "empty lines": Conversation((down(b"\r\n\r\n" + GET),)),
    "bare LF": Conversation((down(b"GET / HTTP/1.1\nHost: shop.test\n\n"),)),
    "bad second": Conversation((down(GET + b"nonsense\r\n\r\n" + GET), up(OK)), (b"GET", b"GET")),
    "tunnel": Conversation((down(UPGRADE), up(SWITCH), (UP_ENDS, b""), (DOWN_ENDS, b"")), is_tunnel=True),
}

Cut = Callable[[str, int, bytes], list[bytes]]
"""Cuts what a side says; the number is how much that side said before."""


def whole(side: str, before: int, octets: bytes) -> list[bytes]:
    """Cut nothing."""
    return [octets]


def cut_at(cut_side: str, place: int) -> Cut:
    """Cut what *cut_side* says in two at *place*."""

    def cut(side: str, before: int, octets: bytes) -> list[bytes]:
        at = place - before if side == cut_side else 0
        return [octets[:at], octets[at:]] if 0 < at < len(octets) else [octets]

    return cut


def to_bytes(side: str, before: int, octets: bytes) -> list[bytes]:
    """Cut everything into single bytes."""
    return [octets[at : at + 1] for at in range(len(octets))]


def told(messages: list[Message]) -> list[object]:
    """What *messages* say."""
    return [(message.start, message.fields, message.body, message.trailers) for message in messages]


def requests(octets: bytes) -> object:
    """What upstream can read; of an unfinished message, its head."""
    try:
        return told(read_requests(octets))
    except StrictError:
        return octets.partition(b"\r\n\r\n")


def play(conversation: Conversation, cut: Cut, on_epoll: bool = False) -> object:
    """Play *conversation* and return all that can be seen of it from outside."""
    stage = Stage(on_epoll=on_epoll, limits=Limits(allow_half_close=True))
    peer = stage.open()
    said = {DOWN: 0, UP: 0}
    for side, octets in conversation.steps:
        upstream = stage.connector.peers[-1] if stage.connector.peers else None
        speaker: Peer | None = peer if side in (DOWN, DOWN_ENDS) else upstream
        assert speaker is not None, (side, octets)
        if side in said:
            speaker.say(*cut(side, said[side], octets))
            said[side] += len(octets)
        else:
            speaker.finish()
    seen: object
    if conversation.is_tunnel:
        seen = peer.received, [each.received for each in stage.connector.peers]
    else:
        try:
            seen = told(
                read_answers(peer.received, list(conversation.methods), peer.closed and not peer.saw_reset)
            )
        except StrictError:
            seen = peer.received
        seen = seen, [requests(each.received) for each in stage.connector.peers]
    ends = [(each.saw_end, each.saw_reset) for each in (peer, *stage.connector.peers)]
    return seen, ends, stage.metrics.ended, stage.log_lines()


class SplitTests(SynchronousTestCase):
    """The same conversations in other packets."""

    def compare(self, side: str) -> None:
        """Split what *side* says at every offset of its turn, in every conversation, on either transport."""
        for turn, (name, conversation) in enumerate(CONVERSATIONS.items()):
            expected = play(conversation, whole)
            total = sum(len(octets) for speaker, octets in conversation.steps if speaker == side)
            for count, place in enumerate(range(1 + turn % turns(), total, turns())):
                outcome = play(conversation, cut_at(side, place), on_epoll=bool(count % 2))
                self.assertEqual(outcome, expected, (name, place))

    def test_downstream(self) -> None:
        """Whatever downstream says may be split in two anywhere."""
        self.compare(DOWN)

    def test_upstream(self) -> None:
        """Whatever upstream says may be split in two anywhere."""
        self.compare(UP)

    def test_bytewise(self) -> None:
        """Everything may come byte by byte."""
        for name, conversation in CONVERSATIONS.items():
            self.assertEqual(play(conversation, to_bytes), play(conversation, whole), name)

    def test_they_are_told_apart(self) -> None:
        """What is compared is not the same for all conversations."""
        outcomes = [repr(play(conversation, whole)) for conversation in CONVERSATIONS.values()]
        self.assertGreater(len(set(outcomes)), 15)
