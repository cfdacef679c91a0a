"""Tests for ``ingress.http2.client``: what credit it gives, and how streams and connections end."""

from __future__ import annotations

from collections.abc import Iterable

from ingress.http2.client import (
    ANSWER_WINDOW,
    FIRST_WINDOW,
)
from ingress.http2.faults import ErrorCode
from ingress.http2.frames import FRAME_BYTES, LAST_STREAM
from ingress.http2.incoming import CONNECTION_WINDOW
from tests.fakes.http2.frames import (
    DATA,
    ENABLE_PUSH,
    GOAWAY,
    NO_ERROR,
    PING,
    PUSH_PROMISE,
    REFUSED_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    data,
    frame,
    goaway,
    headers,
    ping,
    reset,
    settings,
    window_update,
)
from tests.http2.client_case import (
    OK,
    ClientCase,
)


class CreditTests(ClientCase):
    """Windows of what comes."""

    def granted(self, stream: int) -> int:
        """Return what was given to the server since the last call."""
        self.server.look()
        total = sum(each.increment for each in self.server.of(WINDOW_UPDATE, stream))
        self.server.frames.clear()
        return total

    def send_body(self, stream: int, size: int) -> None:
        for at in range(0, size, FRAME_BYTES):
            self.server.send(data(stream, bytes(min(FRAME_BYTES, size - at))))

    def test_taken(self) -> None:
        """What is taken is given back, on the stream and on the connection, and a stream that flows gets more."""
        self.ask()
        self.granted(0)
        self.server.send(headers(1, OK, ended=False))
        self.send_body(1, FIRST_WINDOW)
        self.assertEqual(self.granted(1), ANSWER_WINDOW)
        for _ in range(2 * CONNECTION_WINDOW // ANSWER_WINDOW):
            self.send_body(1, ANSWER_WINDOW)
        self.assertGreaterEqual(self.granted(0), CONNECTION_WINDOW)
        self.assertIsNone(self.connection.fault)

    def test_held(self) -> None:
        """Whoever takes nothing stops his own stream; all others go on, however many of them do so."""
        slow = [self.ask() for _ in range(8)]
        quick = self.ask()
        for stream in slow:
            stream.pause()
            self.server.send(headers(stream.id, OK, ended=False))
            self.send_body(stream.id, FIRST_WINDOW)
            self.assertEqual(stream.credit, 0)
        self.server.send(headers(quick.id, OK, ended=False))
        self.send_body(quick.id, FIRST_WINDOW)
        self.assertIsNone(self.connection.fault)
        self.assertEqual(self.resets(), [])
        self.granted(1)
        slow[0].resume()
        self.assertEqual(self.granted(1), ANSWER_WINDOW)

    def test_too_much(self) -> None:
        """More than a stream's window ends the stream."""
        stream = self.ask()
        stream.pause()
        self.server.send(headers(1, OK, ended=False))
        self.send_body(1, FIRST_WINDOW + 1)
        self.assertEqual(stream.seen[-1], f"broken {int(ErrorCode.FLOW_CONTROL_ERROR)}")

    def test_padding(self) -> None:
        """Padding counts, and is given back."""
        self.ask()
        self.granted(0)
        self.server.send(headers(1, OK, ended=False))
        for _ in range(2 * FIRST_WINDOW // 256):
            self.server.send(data(1, b"", padding=255) + data(1, b"x"))
        self.assertGreaterEqual(self.granted(1), FIRST_WINDOW)
        self.assertIsNone(self.connection.fault)


class EndTests(ClientCase):
    """How streams and connections end."""

    def test_reset(self) -> None:
        """A reset ends the stream with its code; what follows for it is ignored."""
        for code in (REFUSED_STREAM, NO_ERROR, 99):
            stream = self.ask(b"a", ended=False)
            self.server.send(reset(stream.id, code), window_update(stream.id, 1))
            self.assertEqual(stream.seen, [f"broken {code}"])
        self.assertEqual((self.connection.streams, self.resets()), ({}, []))
        self.assertIsNone(self.connection.fault)

    def test_goodbye(self) -> None:
        """Streams above the last are refused untouched, the others finish, and nothing new begins."""
        streams = [self.ask() for _ in range(4)]
        self.server.send(goaway(3))
        self.assertEqual([each.seen for each in streams], [[], [], ["broken 7"], ["broken 7"]])
        self.assertEqual((self.connection.free_streams(), self.connection.said_goodbye), (0, 1))
        self.server.answer(1)
        self.assertEqual(streams[0].seen, [(200, False), (b"ok", True)])
        self.assertIsNone(self.connection.fault)

    def test_two_steps(self) -> None:
        """A goodbye that names no stream is followed by one that does."""
        streams = [self.ask() for _ in range(2)]
        self.server.send(goaway(LAST_STREAM))
        self.assertEqual([each.seen for each in streams], [[], []])
        self.assertEqual(self.connection.free_streams(), 0)
        self.server.send(goaway(1))
        self.assertEqual([each.seen for each in streams], [[], ["broken 7"]])

    def test_our_goodbye(self) -> None:
        """We say goodbye once, naming no stream, for the server began none."""
        self.connection.leave()
        self.connection.leave()
        self.server.look()
        (goodbye,) = self.server.of(GOAWAY)
        self.assertEqual((goodbye.last_stream, goodbye.code), (0, NO_ERROR))
        self.assertEqual(self.connection.free_streams(), 0)

    def test_ping(self) -> None:
        """A PING is answered."""
        self.server.send(ping(b"12345678"))
        self.server.look()
        self.assertEqual([each.payload for each in self.server.of(PING)], [b"12345678"])

    def test_faults(self) -> None:
        """What breaks the connection is answered by GOAWAY with its code, and nothing is read any more."""
        streams: Iterable[tuple[str, bytes, ErrorCode]] = (
            ("push", frame(PUSH_PROMISE, b"\0\0\0\2" + OK, 4, 1), ErrorCode.PROTOCOL_ERROR),
            ("pushes wanted", settings((ENABLE_PUSH, 1)), ErrorCode.PROTOCOL_ERROR),
            ("answer to nothing", headers(3, OK), ErrorCode.PROTOCOL_ERROR),
            ("stream of the server", headers(2, OK), ErrorCode.PROTOCOL_ERROR),
            ("reset of nothing", reset(3), ErrorCode.PROTOCOL_ERROR),
            ("body of nothing", data(3, b"x"), ErrorCode.PROTOCOL_ERROR),
            ("no stream", headers(0, OK), ErrorCode.PROTOCOL_ERROR),
            ("bad block", headers(1, b"\xff\xff\xff\xff\xff\xff"), ErrorCode.COMPRESSION_ERROR),
            ("too large", frame(DATA, bytes(FRAME_BYTES + 1), 0, 1), ErrorCode.FRAME_SIZE_ERROR),
            ("second end", headers(1, OK) + data(1, b"x"), ErrorCode.STREAM_CLOSED),
            ("window", window_update(0, 2**31 - 1), ErrorCode.FLOW_CONTROL_ERROR),
            ("settings of a stream", frame(SETTINGS, b"", 0, 1), ErrorCode.PROTOCOL_ERROR),
        )
        for what, octets, code in streams:
            self.setUp()
            stream = self.ask()
            self.server.send(octets, headers(1, OK))
            assert self.connection.fault is not None, what
            self.assertEqual(self.connection.fault[0], code, what)
            self.server.look()
            (goodbye,) = self.server.of(GOAWAY)
            self.assertEqual((goodbye.last_stream, goodbye.code), (0, code), what)
            self.assertEqual(self.connection.free_streams(), 0, what)
            self.assertNotIn((200, True), [] if what == "second end" else stream.seen, what)

    def test_patience(self) -> None:
        """Many resets, and windows opened by small steps, are no reason to end the connection of others."""
        for _ in range(2000):
            stream = self.ask()
            self.server.send(reset(stream.id, REFUSED_STREAM))
        self.ask(b"a", ended=False)
        self.server.send(window_update(0, 1) * 2000)
        self.assertIsNone(self.connection.fault)

    def test_flood(self) -> None:
        """A flood of what carries nothing still ends it."""
        self.server.send(ping() * 10_000)
        assert self.connection.fault is not None
        self.assertEqual(self.connection.fault[0], ErrorCode.ENHANCE_YOUR_CALM)
