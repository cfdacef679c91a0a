"""``python -m bench.disruptions.faults.greedy KIND PORT SECONDS``: one client that has the proxy do as much as it can, legally.

It never has more under way than it may, takes all that it gets, and comes again when its connection ends.
At its end it prints how much was worked off: requests, or bytes of bodies.
"""

import asyncio
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from random import Random
from time import monotonic

from bench.setup.processes import HOST
from ingress.http2.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    FRAME_BYTES,
    FRAME_HEAD_BYTES,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    LARGEST_WINDOW,
    PREFACE,
    SETTINGS,
    USUAL_WINDOW,
    WINDOW_UPDATE,
    frame,
    settings_frame,
    unpack_head,
    unpack_number,
    unpack_setting,
    window_update,
)
from ingress.http2.hpack import huffman
from ingress.http2.hpack.field_encoder import encode_field

KINDS = ("fields", "bombs", "octets", "chunks", "pipeline")
_FIELD_BYTES = 4400
_AT_ONCE = 50
_PIECE = 65_536
_OCTETS = 4096
_random = Random(1)


class Asking:
    """One connection that speaks HTTP/2, with what came of it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.ended = 0
        """Streams whose answers are whole."""
        self._of_connection = USUAL_WINDOW
        self._of_stream = USUAL_WINDOW
        self._reader = reader
        self._writer = writer
        self._unread = b""

    @property
    def window(self) -> int:
        """How many bytes may be sent on a connection with one stream, all in all."""
        return min(self._of_connection, self._of_stream)

    async def send(self, octets: bytes) -> None:
        """Send, as fast as it is taken."""
        self._writer.write(octets)
        await self._writer.drain()

    async def look(self) -> None:
        """Read some of what came.  Raises ``ConnectionError`` at its end."""
        octets = await self._reader.read(_PIECE)
        if not octets:
            raise ConnectionError
        octets = self._unread + octets
        at = 0
        while len(octets) - at >= FRAME_HEAD_BYTES:
            high, length, kind, flags, stream = unpack_head(octets, at)
            end = at + FRAME_HEAD_BYTES + (high << 16) + length
            if end > len(octets):
                break
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                self.ended += 1
            elif kind == WINDOW_UPDATE:
                self._credited(stream, unpack_number(octets, at + FRAME_HEAD_BYTES)[0])
            elif kind == SETTINGS:
                for name, value in unpack_setting(octets[at + FRAME_HEAD_BYTES : end]):
                    self._of_stream += value - USUAL_WINDOW if name == INITIAL_WINDOW_SIZE else 0
            at = end
        self._unread = octets[at:]

    def _credited(self, stream: int, count: int) -> None:
        if stream:
            self._of_stream += count
        else:
            self._of_connection += count


def _request(stream: int, fields: bytes, ended: bool = True) -> bytes:
    flags = END_STREAM if ended else 0
    if len(fields) <= FRAME_BYTES:
        return frame(HEADERS, flags | END_HEADERS, stream, fields)
    rest = frame(CONTINUATION, END_HEADERS, stream, fields[FRAME_BYTES:])
    return frame(HEADERS, flags, stream, fields[:FRAME_BYTES]) + rest


def _fields(authority: bytes, method: bytes = b"GET") -> bytes:
    fields = ((b":method", method), (b":scheme", b"https"), (b":path", b"/"), (b":authority", authority))
    return b"".join(encode_field(*field) for field in fields)


def _integer(number: int, prefix: int, pattern: int) -> bytes:
    """RFC 7541 section 5.1."""
    most = (1 << prefix) - 1
    if number < most:
        return bytes((pattern | number,))
    octets = [pattern | most]
    number -= most
    while number >= 128:
        octets.append(number & 127 | 128)
        number >>= 7
    return bytes((*octets, number))


def _literal(name: bytes, value: bytes, pattern: int) -> bytes:
    coded = huffman.encode(value)
    return bytes((pattern, len(name))) + name + _integer(len(coded), 7, 0x80) + coded


def _large() -> bytes:
    """Fields of which each has to be decoded; no two requests have the same."""
    text = bytes(_random.choices(b"abcdefghijklmnopqrstuvwxyz0123456789-", k=_FIELD_BYTES))
    return _fields(b"none.test") + b"".join(
        _literal(b"x-%d" % number, text[number:], 0) for number in range(6)
    )


@asynccontextmanager
async def _session(port: int) -> AsyncIterator[Asking]:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    reader, writer = await asyncio.open_connection(HOST, port, ssl=context)
    asking = Asking(reader, writer)
    try:
        # Of an answer there are few bytes, but of all of them more than the usual window.
        credit = window_update(0, LARGEST_WINDOW - USUAL_WINDOW)
        await asking.send(PREFACE + settings_frame(()) + credit)
        yield asking
    finally:
        writer.transport.abort()


async def _ask(port: int, until: float, kind: str) -> int:
    """Requests that are answered by the proxy itself."""
    texts = [_large() for _ in range(_AT_ONCE)]
    async with _session(port) as asking:
        ids = count(1, 2)
        if kind == "bombs":
            entry = _literal(b"x-large", b"x" * 3900, 0x40)
            await asking.send(_request(next(ids), _fields(b"none.test") + entry))
            texts = [_fields(b"none.test") + b"\xbe" * 7]
        asked = asking.ended + (kind == "bombs")
        while monotonic() < until:
            await asking.send(
                b"".join(_request(next(ids), texts[number % len(texts)]) for number in range(_AT_ONCE))
            )
            asked += _AT_ONCE
            while asking.ended < asked:
                await asking.look()
        return asking.ended


async def _upload_octets(port: int, until: float) -> int:
    """A body in DATA frames of an octet."""
    pieces = frame(DATA, 0, 1, b"x") * _OCTETS
    async with _session(port) as asking:
        await asking.send(_request(1, _fields(b"fault.test", b"POST"), ended=False))
        sent = 0
        try:
            while monotonic() < until:
                while sent + _OCTETS > asking.window:
                    await asking.look()
                await asking.send(pieces)
                sent += _OCTETS
        except ConnectionError:
            pass  # Hardly any payload: the proxy may end it.
        return sent


async def _upload_chunks(port: int, until: float) -> int:
    """A body in chunks of an octet."""
    _, writer = await asyncio.open_connection(HOST, port)
    writer.write(b"POST / HTTP/1.1\r\nHost: fault.test\r\nTransfer-Encoding: chunked\r\n\r\n")
    sent = 0
    try:
        while monotonic() < until:
            writer.write(b"1\r\nx\r\n" * _OCTETS)
            await writer.drain()
            sent += _OCTETS
    finally:
        writer.transport.abort()
    return sent


async def _pipeline(port: int, until: float) -> int:
    """A thousand requests in one breath, that the proxy answers itself."""
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        writer.write(b"GET / HTTP/1.1\r\nHost: none.test\r\n\r\n" * 1000)
        answered = 0
        while octets := await reader.read(_PIECE):
            answered += octets.count(b"HTTP/1.1 ")
        return answered
    finally:
        writer.transport.abort()


async def _visit(kind: str, port: int, seconds: float) -> int:
    until = monotonic() + seconds
    done = 0
    while monotonic() < until:
        try:
            async with asyncio.timeout(seconds + 1):
                if kind in ("fields", "bombs"):
                    done += await _ask(port, until, kind)
                elif kind == "octets":
                    done += await _upload_octets(port, until)
                elif kind == "chunks":
                    done += await _upload_chunks(port, until)
                else:
                    done += await _pipeline(port, until)
        except (OSError, TimeoutError):
            pass  # The proxy has had enough; come again.
    return done


def main(kind: str, port: str, seconds: str) -> None:
    """Be greedy, and say how much came of it."""
    print(asyncio.run(_visit(kind, int(port), float(seconds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
