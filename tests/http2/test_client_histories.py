"""Whatever an endpoint says, cut wherever: a client's connection makes the same of it, and leaves nothing behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http2.client import ANSWER_WINDOW, GREETING
from ingress.http2.faults import ErrorCode
from ingress.http2.incoming import CONNECTION_WINDOW
from tests.fakes.http2 import frames as frames
from tests.fakes.http2.client import Http2Client
from tests.fakes.http2.frames import block, data, frame, goaway, headers, ping, reset, window_update
from tests.http2.client_case import GET, Connected, PureWire, Told
from tests.properties import examples

STREAMS = 4
ALIVE_SHARE = 0.5
"""How many generated histories must end without a fault: else the generator reaches nothing."""

OK = block([(b":status", b"200")])
INDEXED = b"\x88\x40\x01a\x01b"
SHORT = block([(b":status", b"200"), (b"content-length", b"3")])
HINTS = block([(b":status", b"103"), (b"link", b"</a>")])
TRAILERS = block([(b"grpc-status", b"0")])

ANSWERS: tuple[Callable[[int], list[bytes]], ...] = (
    lambda n: [headers(n, OK)],
    lambda n: [headers(n, OK, ended=False), data(n, b"ab"), data(n, b"", ended=True)],
    lambda n: [
        headers(n, HINTS, ended=False),
        headers(n, INDEXED, ended=False),
        data(n, bytes(5000), ended=True),
    ],
    lambda n: [headers(n, SHORT, ended=False), data(n, b"abc", padding=9), headers(n, TRAILERS)],
    lambda n: [headers(n, TRAILERS + OK), data(n, b"never")],
    lambda n: [headers(n, SHORT, ended=False), data(n, b"abcd")],
    lambda n: [headers(n, OK, ended=False), reset(n, 8)],
    lambda n: [reset(n, 7)],
)
"""What may be said about a request: well most of the time."""
OTHERS = st.one_of(
    st.builds(window_update, st.sampled_from((0, 3, 7)), st.sampled_from((1, 1000, 100_000))),
    # All that the bodies of requests wait for, which by chance alone comes in one history of a hundred.
    st.just(window_update(0, 100_000)),
    st.builds(
        frames.settings, st.tuples(st.just(frames.INITIAL_WINDOW_SIZE), st.sampled_from((0, 10, 70_000)))
    ),
    st.builds(frames.settings, st.tuples(st.just(frames.MAX_CONCURRENT_STREAMS), st.integers(0, 9))),
    st.just(ping()),
    st.builds(goaway, st.sampled_from((3, 5, 2**31 - 1))),
)
ODD = st.one_of(
    st.binary(min_size=1, max_size=20),
    st.builds(frame, st.integers(0, 12), st.binary(max_size=12), st.integers(0, 255), st.integers(0, 9)),
    st.just(frame(frames.PUSH_PROMISE, bytes(8), 4, 1)),
    st.just(headers(1, b"\xff\xff\xff\xff\xff")),
)


@st.composite
def histories(draw: st.DrawFn) -> bytes:
    """Return what an endpoint says: answers to four requests, their frames and others in any order, or worse."""
    scripts = [draw(st.sampled_from(ANSWERS))(2 * number + 1) for number in range(STREAMS)]
    scripts.append(draw(st.lists(OTHERS, max_size=4)))
    said = [frames.settings()]
    while any(scripts):
        script = draw(st.sampled_from([each for each in scripts if each]))
        said.append(script.pop(0))
    if draw(st.integers(0, 3)) == 0:
        said.insert(draw(st.integers(1, len(said))), draw(ODD))
    return b"".join(said)


def joined(seen: list[object]) -> list[object]:
    """Return what a stream was told with all pieces of its body as one: those of one read come together."""
    told: list[object] = []
    for each in seen:
        last = told[-1] if told else None
        if _is_piece(last) and _is_piece(each):
            told[-1] = (last[0] + each[0], each[1])  # type: ignore[index]
        else:
            told.append(each)
    return told


def _is_piece(told: object) -> bool:
    return isinstance(told, tuple) and isinstance(told[0], bytes)


def frames_but_credit(sent: bytes) -> list[bytes]:
    """Return the frames that were sent, in order of their bytes, but for WINDOW_UPDATE.

    What came in one read is taken together, stream by stream, and given back together.
    """
    at = len(frames.PREFACE)
    others = []
    while at < len(sent):
        end = at + 9 + int.from_bytes(sent[at : at + 3], "big")
        if sent[at + 3] != frames.WINDOW_UPDATE:
            others.append(sent[at:end])
        at = end
    return sorted(others)


class Outcome(NamedTuple):
    """What became of a history."""

    seen: list[list[object]]
    sent: list[bytes]
    fault: tuple[ErrorCode, str] | None


class HistoryTests(SynchronousTestCase):
    """Histories of what endpoints say to four requests."""

    def play(self, pieces: list[bytes]) -> tuple[Outcome, Connected, list[Told]]:
        """Have a new connection with four requests receive *pieces*."""
        connection = Connected()
        connection.greet()
        streams = []
        for number in range(STREAMS):
            stream = Told(connection)
            connection.begin(stream, GET, bytes(20_000 * number), number % 2 == 0)
            streams.append(stream)
        for piece in pieces:
            connection.receive(piece)
        return (
            Outcome(
                [joined(each.seen) for each in streams], frames_but_credit(connection.sent), connection.fault
            ),
            connection,
            streams,
        )

    def check(self, connection: Connected, streams: list[Told]) -> None:
        """Check that what is over is gone, and that windows are what they were said to be."""
        for stream in streams:
            is_open = connection.streams.get(stream.id) is stream
            is_broken = any(isinstance(each, str) and each.startswith("broken") for each in stream.seen)
            if is_broken or (stream.remote_ended and stream.local_ended):
                self.assertFalse(is_open, stream.seen)
                self.assertNotIn(stream, connection.outgoing.blocked)
            self.assertEqual(stream in connection.outgoing.blocked, is_open and stream.is_blocked)
        client = Http2Client(PureWire(connection))
        self.assertTrue(connection.sent.startswith(GREETING))
        connection.sent = connection.sent[len(frames.PREFACE) :]
        client.look()
        given = sum(each.increment for each in client.of(frames.WINDOW_UPDATE, 0))
        self.assertGreaterEqual(given, CONNECTION_WINDOW - 65535)
        for stream in streams:
            self.assertLessEqual(stream.credit, ANSWER_WINDOW)
            if not connection.reader.is_closed:
                self.assertGreaterEqual(stream.credit, 0)

    def test_anything(self) -> None:
        """Cut anywhere, it is the same; nothing raises; and many histories reach the end."""
        ends: Counter[str] = Counter()

        @settings(max_examples=examples(300), deadline=None, derandomize=True)
        @given(histories(), st.lists(st.integers(0, 6000), max_size=6))
        def play(octets: bytes, cuts: list[int]) -> None:
            places = sorted({0, len(octets), *(cut for cut in cuts if cut < len(octets))})
            cut_up = [octets[start:end] for start, end in pairwise(places)]
            whole, connection, streams = self.play([octets])
            in_pieces, _, _ = self.play(cut_up)
            bytewise, dripped, dripped_streams = self.play([octets[at : at + 1] for at in range(len(octets))])
            self.assertEqual(in_pieces.fault, whole.fault)
            self.assertEqual(bytewise.fault, whole.fault)
            if whole.fault is None:
                # Before a fault, bodies that came in one read may have come in another order.
                self.assertEqual(in_pieces, whole)
                self.assertEqual(bytewise, whole)
            self.check(connection, streams)
            self.check(dripped, dripped_streams)
            ends["all"] += 1
            ends["alive"] += whole.fault is None
            for seen in whole.seen:
                for each in seen:
                    ends[each if isinstance(each, str) else type(each).__name__] += 1

        play()
        self.assertGreater(ends["alive"], ALIVE_SHARE * ends["all"], ends)
        for reached in ("tuple", "int", "list", "broken 1", "broken 7", "drained"):
            self.assertGreater(ends[reached], 0, ends)
