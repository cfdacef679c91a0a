"""Tests for ``ingress.http2.client``: frames in, frames out, and what is made of answers."""

from __future__ import annotations

from ingress.http2.client import (
    ASSUMED_STREAMS,
    FIRST_WINDOW,
)
from ingress.http2.faults import ErrorCode
from ingress.http2.frames import FRAME_BYTES, LAST_STREAM
from ingress.http2.incoming import CONNECTION_WINDOW
from tests.fakes.http2.frames import (
    DATA,
    ENABLE_PUSH,
    HEADER_TABLE_SIZE,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    MAX_CONCURRENT_STREAMS,
    NO_ERROR,
    PROTOCOL_ERROR,
    WINDOW_UPDATE,
    block,
    data,
    headers,
    ping,
    reset,
    settings,
    string,
    window_update,
)
from tests.fakes.http2.server import answer
from tests.http2.client_case import (
    GET,
    HINTS,
    OK,
    TRAILERS,
    WITH_LENGTH,
    ClientCase,
    Connected,
)


class GreetingTests(ClientCase):
    """What is said first."""

    def test_settings(self) -> None:
        """The preface, our settings without pushes, and a larger window for the connection; theirs are acknowledged."""
        self.server.look()
        self.assertEqual(self.server.settings, {ENABLE_PUSH: 0, INITIAL_WINDOW_SIZE: FIRST_WINDOW})
        self.assertEqual(
            [(each.stream, each.increment) for each in self.server.of(WINDOW_UPDATE)],
            [(0, CONNECTION_WINDOW - 65535)],
        )
        self.assertEqual(self.server.settings_acks, 1)

    def test_not_first(self) -> None:
        """A server that begins with anything but SETTINGS, such as HTTP/1.1, ends the connection."""
        for first in (ping(), b"HTTP/1.1 400 Bad Request\r\n\r\n", answer(1)):
            connection = Connected()
            connection.greet()
            connection.receive(first)
            assert connection.fault is not None
            self.assertIn(connection.fault[0], (ErrorCode.PROTOCOL_ERROR, ErrorCode.FRAME_SIZE_ERROR))


class RequestTests(ClientCase):
    """What is sent."""

    def test_numbers(self) -> None:
        """Streams have odd numbers that rise."""
        self.assertEqual([self.ask().id for _ in range(3)], [1, 3, 5])
        self.assertEqual([each.ends_stream for each in self.server.of(HEADERS)], [True] * 3)

    def test_numbers_used_up(self) -> None:
        """After the highest number no stream is begun any more."""
        self.connection.next_id = LAST_STREAM
        self.assertGreater(self.connection.free_streams(), 0)
        self.assertEqual(self.ask().id, LAST_STREAM)
        self.assertEqual(self.connection.free_streams(), 0)

    def test_room(self) -> None:
        """As many streams at once as the server says; a hundred until it does."""
        self.assertEqual(self.connection.free_streams(), ASSUMED_STREAMS)
        self.server.send(settings((MAX_CONCURRENT_STREAMS, 2)))
        self.ask()
        self.ask()
        self.assertEqual(self.connection.free_streams(), 0)
        self.server.answer(1)
        self.assertEqual(self.connection.free_streams(), 1)
        self.server.send(settings((MAX_CONCURRENT_STREAMS, 0)))
        self.assertLessEqual(self.connection.free_streams(), 0)

    def test_body(self) -> None:
        """A body goes in frames of 16 KiB at most, as far as both windows allow, and its end with the last."""
        body = bytes(100_000)
        stream = self.ask(body)
        sent = self.server.of(DATA)
        self.assertEqual(sum(len(each.payload) for each in sent), 65535)
        self.assertLessEqual(max(len(each.payload) for each in sent), FRAME_BYTES)
        self.assertTrue(stream.is_blocked)
        self.server.send(window_update(1, 100_000))
        self.server.look()
        self.assertEqual(len(self.server.body(1)), 65535)
        self.server.send(window_update(0, 100_000))
        self.server.look()
        self.assertEqual(self.server.body(1), body)
        self.assertEqual([each.ends_stream for each in self.server.of(DATA)][-2:], [False, True])
        self.assertTrue(stream.local_ended)

    def test_small_pieces(self) -> None:
        """What waits in thousands of small pieces is put together: it takes little more than its size, and its order is kept."""
        self.server.send(settings((INITIAL_WINDOW_SIZE, 0)))
        stream = self.ask(b"a", ended=False)
        for number in range(5000):
            stream.send(b"%05d" % number, False)
        self.assertEqual(stream.unsent, 25_001)
        self.assertLess(len(stream.waiting), 30)
        stream.send(b"", True)
        self.server.send(window_update(1, 65_535))
        self.server.look()
        self.assertEqual(self.server.body(1), b"a" + b"".join(b"%05d" % number for number in range(5000)))
        self.assertTrue(stream.local_ended)

    def test_drained(self) -> None:
        """Whoever writes a body learns when what waited is sent."""
        self.server.send(settings((INITIAL_WINDOW_SIZE, 10)))
        stream = self.ask(b"a" * 15, ended=False)
        self.assertEqual((stream.seen, stream.unsent), ([], 5))
        self.server.send(window_update(1, 5))
        self.assertEqual((stream.seen, stream.unsent), (["drained"], 0))
        stream.send(b"", True)
        self.server.look()
        self.assertEqual(self.server.body(1), b"a" * 15)
        self.assertTrue(self.server.of(DATA)[-1].ends_stream)

    def test_table_size(self) -> None:
        """A server with a smaller table is told once that ours, which is empty, is as small."""
        self.server.send(settings((HEADER_TABLE_SIZE, 100)))
        self.ask()
        self.ask()
        self.assertEqual([each.payload for each in self.server.of(HEADERS)], [b"\x20" + GET, GET])


class AnswerTests(ClientCase):
    """What is made of answers."""

    def test_again_and_again(self) -> None:
        """A block that puts the same into the table each time means the same, and its entries can be used."""
        literal = b"\x88\x40\x01a\x011"
        streams = [self.ask() for _ in range(5)]
        for stream in streams:
            self.server.send(headers(stream.id, literal, ended=True))
        self.assertEqual([stream.seen for stream in streams], [[(200, True)]] * 5)
        last = self.ask()
        self.server.send(headers(last.id, b"\x88\xbe\xc2"))  # The newest of the five, and the oldest.
        self.assertEqual(last.seen, [(200, True)])
        beyond = self.ask()
        self.server.send(headers(beyond.id, b"\x88\xc3"))
        self.assertEqual(self.connection.fault and self.connection.fault[0], ErrorCode.COMPRESSION_ERROR)

    def test_whole(self) -> None:
        """Head, body and trailers are told apart, and the stream is over."""
        stream = self.ask()
        self.server.answer(
            1, b"ok", more=[(b"x", b"y")], trailers=[(b"grpc-status", b"0"), (b"host", b"evil")]
        )
        self.assertEqual(stream.seen, [(200, False), (b"ok", False), [b"grpc-status: 0"]])
        self.assertEqual((self.connection.closed_streams, self.connection.streams), ([1], {}))
        self.assertEqual(self.resets(), [])

    def test_interim(self) -> None:
        """1xx heads come before, but not without bound, in number and in bytes."""
        stream = self.ask()
        self.server.send(headers(1, HINTS, ended=False) * 2, headers(1, OK))
        self.assertEqual(stream.seen, [103, 103, (200, True)])
        stream = self.ask()
        self.server.send(headers(3, HINTS, ended=False) * 33)
        self.assertEqual(stream.seen, [103] * 32 + [f"broken {int(ErrorCode.ENHANCE_YOUR_CALM)}"])
        stream = self.ask()
        large = block([(b":status", b"103"), (b"x", b"y" * 16_000)])
        self.server.send(headers(5, large, ended=False) * 9)
        self.assertEqual(stream.seen, [103] * 8 + [f"broken {int(ErrorCode.ENHANCE_YOUR_CALM)}"])

    def test_without_a_body(self) -> None:
        """What answers HEAD, 204 and 304 have no body, whatever length they tell of."""
        stream = self.ask(has_no_content=True)
        self.server.send(headers(1, block([(b":status", b"200"), (b"content-length", b"5")])))
        self.assertEqual(stream.seen, [(200, True)])
        stream = self.ask()
        self.server.send(headers(3, block([(b":status", b"304"), (b"content-length", b"5")])))
        self.assertEqual(stream.seen, [(304, True)])
        stream = self.ask(has_no_content=True)
        self.server.send(headers(5, WITH_LENGTH, ended=False), data(5, b"ok", ended=True))
        self.assertEqual(stream.seen, [(200, False), "broken 1"])

    def test_malformed(self) -> None:
        """Whatever is no answer, or not a whole one, ends its stream with PROTOCOL_ERROR, and no other."""
        fields = {
            "no status": headers(1, block([(b"x", b"y")])),
            "no fields": headers(1, b""),
            "two statuses": headers(1, block([(b":status", b"200"), (b":status", b"200")])),
            "status behind a field": headers(1, block([(b"x", b"y"), (b":status", b"200")])),
            "status of two digits": headers(1, block([(b":status", b"20")])),
            "switch": headers(1, block([(b":status", b"101")]), ended=False),
            "interim that ends": headers(1, HINTS),
            "field of a request": headers(1, block([(b":status", b"200"), (b":path", b"/")])),
            "field of a connection": headers(1, block([(b":status", b"200"), (b"connection", b"close")])),
            "coding": headers(1, block([(b":status", b"200"), (b"transfer-encoding", b"chunked")])),
            "capital": headers(1, block([(b":status", b"200"), (b"X", b"y")])),
            "line end": headers(1, block([(b":status", b"200"), (b"x", b"y\r\nz: 1")])),
            "two lengths": headers(
                1, block([(b":status", b"200"), (b"content-length", b"1"), (b"content-length", b"2")])
            ),
            "length without a body": headers(1, WITH_LENGTH),
            "body without a head": data(1, b"x"),
            "end without a head": data(1, b"", ended=True),
            "too long": headers(1, WITH_LENGTH, ended=False) + data(1, b"abc"),
            "too short": headers(1, WITH_LENGTH, ended=False) + data(1, b"a", ended=True),
            "too short, with trailers": headers(1, WITH_LENGTH, ended=False) + data(1, b"a") + headers(1, TRAILERS),
            "second head": headers(1, OK, ended=False) + headers(1, OK),
            "fields amid the body": headers(1, OK, ended=False) + headers(1, TRAILERS, ended=False),
            "status in trailers": headers(1, OK, ended=False) + headers(1, block([(b"x", b"y"), (b":status", b"200")])),
        }  # fmt: skip
        for what, octets in fields.items():
            self.setUp()
            stream, other = self.ask(), self.ask()
            self.server.send(octets)
            self.assertEqual(stream.seen[-1:], [f"broken {PROTOCOL_ERROR}"], what)
            self.assertEqual(self.resets(), [(1, PROTOCOL_ERROR)], what)
            self.server.answer(3)
            self.assertEqual(other.seen, [(200, False), (b"ok", True)], what)
            self.assertIsNone(self.connection.fault, what)

    def test_early(self) -> None:
        """An answer before the request has ended is good, and the rest of the request is not sent."""
        self.server.send(settings((INITIAL_WINDOW_SIZE, 10)))
        stream = self.ask(b"a" * 15, ended=False)
        self.server.answer(1, b"no", b"413")
        self.assertEqual(stream.seen, [(413, False), (b"no", True)])
        self.assertEqual(self.resets(), [(1, NO_ERROR)])
        self.assertFalse(stream.is_blocked)
        self.assertEqual(self.connection.streams, {})

    def test_after_the_end(self) -> None:
        """What still comes for a stream that we have reset is no fault, and its fields are decoded all the same."""
        stream = self.ask()
        stream.reset(ErrorCode.CANCEL)
        indexed = b"\x40" + string(b"x-kept") + string(b"yes")
        self.server.send(headers(1, OK + indexed, ended=False), data(1, b"late"), reset(1))
        other = self.ask()
        self.server.send(headers(3, b"\x88\xbe"))
        self.assertEqual(other.seen, [(200, True)])
        self.assertIsNone(self.connection.fault)

    def test_remembered(self) -> None:
        """A block that came before means the same again, until the table changes."""
        first, second = self.ask(), self.ask()
        self.server.send(headers(1, OK + block([(b"x", b"y")])), headers(3, OK + block([(b"x", b"y")])))
        self.assertEqual((first.seen, second.seen), ([(200, True)], [(200, True)]))
        self.assertEqual(len(self.connection.blocks.known), 1)
        self.ask()
        self.server.send(headers(5, OK + b"\x40" + string(b"new") + string(b"entry")))
        self.assertEqual(len(self.connection.blocks.known), 0)

    def test_remembered_in_another_place(self) -> None:
        """What was trailers is no head, and what was a head no trailers, although both are remembered."""
        self.ask()
        self.server.answer(1, trailers=[(b"x", b"y")])
        stream = self.ask()
        self.server.send(headers(3, block([(b"x", b"y")])))
        self.assertEqual(stream.seen, ["broken 1"])
