"""A client of HTTP/2 over TLS that keeps no rule: it sends what a script says, and looks only for the end."""

import asyncio
import ssl
from collections.abc import Iterable
from time import monotonic

from bench.setup.processes import HOST
from ingress.http2.frames import FRAME_HEAD_BYTES, GOAWAY, PREFACE, settings_frame, unpack_head, unpack_number
from ingress.http2.hpack.field_encoder import encode_field

_PIECE = 65536
_AT_ONCE = 16
_PAUSE_SECONDS = 0.002
_END_SECONDS = 5.0


def block(path: bytes = b"/", method: bytes = b"GET") -> bytes:
    """The fields of a request."""
    fields = ((b":method", method), (b":scheme", b"https"), (b":path", path), (b":authority", b"fault.test"))
    return b"".join(encode_field(*field) for field in fields)


class Raider:
    """One connection to the HTTPS port *port*; ``end`` is the code of a GOAWAY that came."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.end: int | None = None
        self.is_closed = False
        self._writer = writer
        self._reader = reader
        self._unread = b""
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def arrive(cls, port: int, *settings: tuple[int, int], reads: bool = True) -> "Raider":
        """Connect, agree on HTTP/2, and say these settings; what comes is read only if it *reads*."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        # The least that asyncio may keep, so that whoever does not read lets the kernel fill up.
        raider = cls(*await asyncio.open_connection(HOST, port, ssl=context, limit=1024))
        if reads:
            raider._reading = asyncio.create_task(raider._read())
        await raider.send(PREFACE + settings_frame(settings))
        return raider

    async def send(self, octets: bytes) -> None:
        """Send, if the proxy still takes it."""
        try:
            self._writer.write(octets)
            await self._writer.drain()
        except OSError:
            self.is_closed = True

    async def flood(self, pieces: Iterable[bytes]) -> int:
        """Send *pieces* until the proxy ends the connection; returns how many that were."""
        sent = 0
        packet: list[bytes] = []
        for piece in pieces:
            packet.append(piece)
            if len(packet) == _AT_ONCE:
                await self.send(b"".join(packet))
                sent += len(packet)
                packet.clear()
                # Long enough to hear of the end before much more is under way.
                await asyncio.sleep(_PAUSE_SECONDS)
            if self.end is not None or self.is_closed:
                break
        began = monotonic()
        while not self.is_closed and monotonic() - began < _END_SECONDS:
            await asyncio.sleep(0.02)
        return sent

    def leave(self) -> None:
        """Close the connection."""
        if self._reading is not None:
            self._reading.cancel()
        self._writer.transport.abort()

    async def _read(self) -> None:
        try:
            while octets := await self._reader.read(_PIECE):
                self._look(self._unread + octets)
        except OSError:
            pass
        self.is_closed = True

    def _look(self, octets: bytes) -> None:
        at = 0
        while len(octets) - at >= FRAME_HEAD_BYTES:
            high, length, kind, _, _ = unpack_head(octets, at)
            end = at + FRAME_HEAD_BYTES + (high << 16) + length
            if end > len(octets):
                break
            if kind == GOAWAY:
                self.end = unpack_number(octets, at + FRAME_HEAD_BYTES + 4)[0]
            at = end
        self._unread = octets[at:]
