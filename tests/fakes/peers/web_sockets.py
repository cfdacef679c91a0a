"""WebSockets (RFC 6455) without any library: frames, and an upstream that shakes hands and echoes messages."""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from collections.abc import Iterator
from hashlib import sha1
from itertools import cycle
from typing import Any

from attrs import frozen

from tests.fakes.peers.upstreams import Upstream, UpstreamWire

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
GOODBYE = struct.pack(">H", 1000)
"""The content of a CLOSE frame: a regular end."""

_MASK = b"\x11\x22\x33\x44"
_ACCEPT_BY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def accept_of(key: bytes) -> bytes:
    """Return what shows that a key was read (section 4.2.2)."""
    return b64encode(sha1(key + _ACCEPT_BY).digest())


def _masked(octets: bytes) -> bytes:
    size = len(octets)
    mask = _MASK * (size // 4 + 1)
    return (int.from_bytes(octets, "big") ^ int.from_bytes(mask[:size], "big")).to_bytes(size, "big")


def message(kind: int, octets: bytes, masked: bool = False, is_last: bool = True) -> bytes:
    """Return a message in one frame, or a piece of one; clients mask theirs (section 5.2)."""
    size = len(octets)
    flag = 0x80 if masked else 0
    kind |= 0x80 if is_last else 0
    if size < 126:
        head = struct.pack(">BB", kind, flag | size)
    elif size < 1 << 16:
        head = struct.pack(">BBH", kind, flag | 126, size)
    else:
        head = struct.pack(">BBQ", kind, flag | 127, size)
    return head + (_MASK + _masked(octets) if masked else octets)


@frozen
class Message:
    """A message: its kind, its content, and whether it was masked; or a piece of one, as browsers send large ones."""

    kind: int
    octets: bytes
    masked: bool
    is_last: bool = True


class MessageReader:
    """Reads messages frame by frame, wherever they are cut."""

    def __init__(self) -> None:
        self._unread = b""

    def feed(self, octets: bytes) -> Iterator[Message]:
        """Take what came; yield the messages that are whole now."""
        self._unread += octets
        while (found := self._next()) is not None:
            yield found

    def _next(self) -> Message | None:
        unread = self._unread
        if len(unread) < 2:
            return None
        kind, size, at = unread[0] & 0x0F, unread[1] & 0x7F, 2
        masked = bool(unread[1] & 0x80)
        if size >= 126:
            at = 4 if size == 126 else 10
            size = int.from_bytes(unread[2:at], "big")
        mask = unread[at : at + 4] if masked else b""
        at += len(mask)
        if len(unread) < at + size or (masked and len(mask) < 4):
            return None
        octets, self._unread = unread[at : at + size], unread[at + size :]
        if masked:
            octets = _masked(octets) if mask == _MASK else bytes(a ^ b for a, b in zip(octets, cycle(mask)))
        return Message(kind, octets, masked, bool(unread[0] & 0x80))


class EchoUpstream(Upstream):
    """Opens each WebSocket that it is asked for, and sends every message back.

    Of CLOSE it sends one back, too, and ends the connection; so it does by itself when
    it is told *bye*.  *keys* are those that it was shown, *messages* those that came.
    """

    def __init__(self, reactor: Any) -> None:
        super().__init__(reactor, self._shake_hands)
        self.keys: list[bytes] = []
        self.messages: list[Message] = []
        self._readers: dict[UpstreamWire, MessageReader] = {}
        self.on_tunnel = self._tunnelled

    def _shake_hands(self, wire: UpstreamWire) -> None:
        fields = dict(line.split(b": ", 1) for line in wire.heads[-1].split(b"\r\n")[1:])
        values = {name.lower(): value for name, value in fields.items()}
        key = values[b"sec-websocket-key"]
        assert len(b64decode(key, validate=True)) == 16, key
        assert values[b"sec-websocket-version"] == b"13", values
        assert values[b"upgrade"].lower() == b"websocket", values
        assert wire.heads[-1].startswith(b"GET "), wire.heads[-1]
        self.keys.append(key)
        self._readers[wire] = MessageReader()
        wire.is_tunnel = True
        wire.write(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Accept: %b\r\n\r\n" % accept_of(key)
        )

    def _tunnelled(self, wire: UpstreamWire) -> None:
        octets, wire.after = wire.after, b""
        for each in self._readers[wire].feed(octets):
            self.messages.append(each)
            wire.write(message(each.kind, each.octets, is_last=each.is_last))
            if each.kind == CLOSE:
                wire.close()
            elif each.octets == b"bye":
                wire.write(message(CLOSE, GOODBYE))
                wire.close()
