"""Tests for ``examples.whoami.websocket_frames``."""

import struct

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from examples.whoami.websocket_frames import (
    Frame,
    FrameReader,
    Opcode,
    WebSocketError,
    close_frame,
    handshake,
    wants_websocket,
)

UPGRADE = (
    (b"Host", b"example.com"),
    (b"Upgrade", b"websocket"),
    (b"Connection", b"keep-alive, Upgrade"),
    (b"Sec-WebSocket-Version", b"13"),
    (b"Sec-WebSocket-Key", b"dGhlIHNhbXBsZSBub25jZQ=="),
)


def masked(opcode: int, payload: bytes, final: bool = True, mask: bytes = b"\x01\x02\x03\x04") -> bytes:
    """A frame as a downstream sends it."""
    length = len(payload)
    first = (0x80 if final else 0) | opcode
    if length < 126:
        head = struct.pack("!BB", first, 0x80 | length)
    elif length < 65536:
        head = struct.pack("!BBH", first, 0x80 | 126, length)
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, length)
    return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


def without(name: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """The handshake's fields but for one."""
    return tuple(field for field in UPGRADE if field[0] != name)


class HandshakeTests(SynchronousTestCase):
    """The opening handshake."""

    def test_accept(self) -> None:
        """The example of RFC 6455 section 1.3 gets the answer printed there."""
        status, fields = handshake(b"GET", UPGRADE)
        self.assertEqual(status, 101)
        self.assertIn((b"Sec-WebSocket-Accept", b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), fields)

    def test_other_version(self) -> None:
        """Another version is answered with 426 and the version that is spoken here."""
        fields = (*without(b"Sec-WebSocket-Version"), (b"Sec-WebSocket-Version", b"8"))
        self.assertEqual(handshake(b"GET", fields), (426, ((b"Sec-WebSocket-Version", b"13"),)))

    def test_bad_key(self) -> None:
        """A key that is missing, not base64, or not 16 bytes long is refused."""
        for extra in ((), ((b"Sec-WebSocket-Key", b"?"),), ((b"Sec-WebSocket-Key", b"c2hvcnQ="),)):
            fields = (*without(b"Sec-WebSocket-Key"), *extra)
            self.assertEqual(handshake(b"GET", fields), (400, ()), fields)

    def test_only_get(self) -> None:
        """A handshake is a GET."""
        self.assertEqual(handshake(b"POST", UPGRADE), (400, ()))

    def test_wants(self) -> None:
        """An upgrade is asked for by both fields, whatever their case, and by no single one."""
        self.assertTrue(wants_websocket(UPGRADE))
        self.assertTrue(wants_websocket(((b"UPGRADE", b"WebSocket"), (b"connection", b"upgrade"))))
        self.assertFalse(wants_websocket(without(b"Upgrade")))
        self.assertFalse(wants_websocket(without(b"Connection")))
        self.assertFalse(wants_websocket(((b"Upgrade", b"h2c"), (b"Connection", b"Upgrade"))))


class FrameReaderTests(SynchronousTestCase):
    """Bytes to frames."""

    def assert_refused(self, code: int, *received: bytes, limit: int = 1000) -> None:
        """Feeding the bytes must end in a WebSocketError with that close code."""
        reader = FrameReader(limit)
        with self.assertRaises(WebSocketError) as caught:
            for part in received:
                list(reader.feed(part))
        self.assertEqual(caught.exception.code, code)

    def test_lengths(self) -> None:
        """All three ways to state a length are read, at their borders."""
        for length in (0, 1, 125, 126, 65535, 65536):
            frames = list(FrameReader().feed(masked(2, b"x" * length)))
            self.assertEqual(frames, [Frame(Opcode.BINARY, b"x" * length)], length)

    def test_byte_by_byte(self) -> None:
        """How the bytes arrive does not matter."""
        stream = masked(1, "grüße".encode()) + masked(9, b"p") + masked(2, b"y" * 300) + masked(8, b"")
        reader = FrameReader()
        one_by_one = [frame for byte in stream for frame in reader.feed(bytes([byte]))]
        self.assertEqual(one_by_one, list(FrameReader().feed(stream)))
        self.assertEqual([frame.opcode for frame in one_by_one], [1, 9, 2, 8])

    @given(payload=st.binary(max_size=300), mask=st.binary(min_size=4, max_size=4))
    def test_unmasking(self, payload: bytes, mask: bytes) -> None:
        """Whatever the mask, the payload comes out as it went in."""
        self.assertEqual(
            list(FrameReader().feed(masked(2, payload, mask=mask))), [Frame(Opcode.BINARY, payload)]
        )

    def test_fragments(self) -> None:
        """Fragments are handed on as they come, and control frames may stand between them."""
        stream = masked(1, b"\xc3", final=False) + masked(9, b"") + masked(0, b"\xa4")
        self.assertEqual(
            list(FrameReader().feed(stream)),
            [
                Frame(Opcode.TEXT, b"\xc3", False),
                Frame(Opcode.PING, b""),
                Frame(Opcode.CONTINUATION, b"\xa4"),
            ],
        )

    def test_fragments_out_of_order(self) -> None:
        """A continuation of nothing, or a new message within another, breaks the protocol."""
        self.assert_refused(1002, masked(0, b"x"))
        self.assert_refused(1002, masked(2, b"x", final=False), masked(2, b"y"))
        self.assert_refused(1002, masked(2, b"x", final=False), masked(0, b"y"), masked(0, b"z"))

    def test_too_long(self) -> None:
        """A frame over the bound is refused by its head, before its content is sent."""
        self.assert_refused(1009, masked(2, b"x" * 1001)[:4])
        self.assertEqual(len(list(FrameReader(1000).feed(masked(2, b"x" * 1000)))), 1)

    def test_not_masked(self) -> None:
        """A frame without a mask is refused."""
        self.assert_refused(1002, b"\x81\x01x")

    def test_bad_heads(self) -> None:
        """Reserved bits, unknown opcodes, and long or fragmented control frames are refused."""
        self.assert_refused(1002, b"\xc1\x80")
        self.assert_refused(1002, masked(3, b""))
        self.assert_refused(1002, masked(9, b"x" * 126))
        self.assert_refused(1002, masked(9, b"x", final=False))
        self.assert_refused(1002, masked(8, b"x"))

    def test_not_utf8(self) -> None:
        """Text that is not UTF-8, or ends within a character, is refused with 1007."""
        self.assert_refused(1007, masked(1, b"\xff"))
        self.assert_refused(1007, masked(1, b"\xc3"))
        self.assert_refused(1007, masked(1, b"\xc3", final=False), masked(0, b"("))


class FrameTests(SynchronousTestCase):
    """Frames to bytes."""

    def test_as_bytes(self) -> None:
        """Frames are sent without a mask, with the shortest way to state their length."""
        self.assertEqual(Frame(Opcode.TEXT, b"hi").as_bytes(), b"\x81\x02hi")
        self.assertEqual(Frame(Opcode.CONTINUATION, b"hi", False).as_bytes(), b"\x00\x02hi")
        self.assertEqual(Frame(Opcode.BINARY, b"x" * 126).as_bytes()[:4], b"\x82\x7e\x00\x7e")
        self.assertEqual(Frame(Opcode.BINARY, b"x" * 65536).as_bytes()[:10], b"\x82\x7f\0\0\0\0\0\x01\0\0")

    def test_close_frame_is_cut(self) -> None:
        """The text of a close frame is cut to fit a control frame."""
        self.assertEqual(len(close_frame(1002, "x" * 500).payload), 125)
