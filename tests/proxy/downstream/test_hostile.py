"""Hostile downstream bytes: whatever comes in, what goes on can be read in one way."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from tests.fakes.transports import Peer
from tests.http.strict import Message, StrictError, read_answers, read_request
from tests.properties import examples
from tests.proxy.playing import OK, Stage

FRAGMENTS = st.sampled_from(
    [
        b"GET / HTTP/1.1\r\nHost: shop.test\r\n",
        b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n",
        b"POST /a HTTP/1.1\r\nHost: shop.test\r\n",
        b"POST /a HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 5\r\n\r\n",
        b"POST /a HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"PUT / HTTP/1.0\r\nHost: shop.test\r\nConnection: keep-alive\r\n",
        b"Content-Length: 5\r\n",
        b"Content-Length: 5\r\n\r\nhello",
        b"Content-Length: 0\r\n",
        b"content-length : 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n",
        b"Transfer-Encoding:\x0bchunked\r\n",
        b"Connection: close\r\n",
        b"Connection: content-length, host\r\n",
        b"Expect: 100-continue\r\n",
        b"Upgrade: websocket\r\nConnection: upgrade\r\n",
        b"Host: other.test\r\n",
        b"X_Y: z\r\n",
        b" folded\r\n",
        b"hello",
        b"5\r\nhello\r\n",
        b"5;x=y\r\nhello\r\n",
        b"0\r\n\r\n",
        b"0\r\nA: b\r\n\r\n",
        b"0",
        b"5",
        b"\r\n",
        b"\r\n\r\n",
        b"\n",
        b"\r",
        b"\x00",
        b" ",
        b"GET /x HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    ]
)


WHOLE = st.sampled_from(
    [
        b"GET /1 HTTP/1.1\r\nHost: shop.test\r\n\r\n",
        b"POST /2 HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 5\r\n\r\nhello",
        b"PUT /3 HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"GET /4 HTTP/1.0\r\nHost: shop.test\r\nConnection: keep-alive\r\n\r\n",
    ]
)


def whole_requests(octets: bytes) -> tuple[list[Message], bytes]:
    """The whole requests at the beginning of *octets*, and what is left."""
    found = []
    while octets:
        try:
            message, octets = read_request(octets)
        except StrictError:
            break
        found.append(message)
    return found, octets


class HostileTests(SynchronousTestCase):
    """Streams of plausible and implausible pieces."""

    def answer(self, stage: Stage, answered: dict[Peer, int]) -> None:
        """Answer every request that reached an upstream whole."""
        again = True
        while again:
            again = False
            for peer in list(stage.connector.peers):
                while not peer.closed and answered.get(peer, 0) < len(whole_requests(peer.received)[0]):
                    answered[peer] = answered.get(peer, 0) + 1
                    again = True
                    peer.say(OK)

    @settings(max_examples=examples(150), deadline=None)
    @given(
        st.lists(st.one_of(WHOLE, WHOLE, FRAGMENTS), min_size=1, max_size=8),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    )
    def test_streams(self, fragments: list[bytes], in_one: bool, on_epoll: bool, ends: bool) -> None:
        """Upstream gets whole strict requests or a reset, downstream strict answers, and every end comes."""
        stage = Stage(on_epoll=on_epoll)
        down = stage.open()
        answered: dict[Peer, int] = {}
        for piece in [b"".join(fragments)] if in_one else fragments:
            down.say(piece)
            self.answer(stage, answered)
        if ends:
            down.finish()
            self.answer(stage, answered)
        stage.reactor.pass_time(200)
        self.assertTrue(down.closed)
        for peer in stage.connector.peers:
            self.assertTrue(peer.closed)
            messages, left = whole_requests(peer.received)
            for message in messages:
                self.assertEqual(message.values(b"host"), [b"shop.test"])
            if left:
                self.assertTrue(peer.saw_reset, left)
        answers = read_answers(down.received, [b"GET"] * 50, closed=True)
        self.assertEqual(
            [int(answer.start[1]) for answer in answers],
            [status for _, status, _ in stage.metrics.ended if status != 499],
        )
