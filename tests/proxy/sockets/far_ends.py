"""Far ends of connections on real sockets, plain and with TLS, that do only what a test tells them."""

from __future__ import annotations

import socket
import ssl
import struct
import sys

_PIECE = 256 * 1024


class PlainEnd:
    """The other side of a plain connection."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._out = b""
        self._finishing = False
        self._received = bytearray()
        self.saw_end = False
        self.saw_reset = False
        host, port = sock.getsockname()[:2]
        self.address: tuple[str, int] = (host, port)

    @property
    def received(self) -> bytes:
        """What was read so far."""
        return bytes(self._received)

    def packets(self, with_content: bool) -> int:
        """How many packets have come so far, of those with something in them or of all."""
        # ``tcpi_segs_in`` and ``tcpi_data_segs_in`` of ``struct tcp_info`` (Linux 4.6 and later).
        told = self._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
        return int.from_bytes(told[152:156] if with_content else told[140:144], sys.byteorder)

    def say(self, octets: bytes) -> None:
        """Send *octets*, as far as the other side takes them; ``push`` sends the rest."""
        self._out += octets
        self.push()

    def push(self) -> None:
        """Send what still waits."""
        try:
            while self._out:
                self._out = self._out[self._sock.send(self._out[: 16 * _PIECE]) :]
            if self._finishing:
                self._finishing = False
                self._sock.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            pass
        except OSError:
            self._out = b""

    def read(self) -> None:
        """Take what is there."""
        self.push()
        try:
            while not self.saw_end and not self.saw_reset:
                piece = self._sock.recv(_PIECE)
                self._take(piece)
        except BlockingIOError:
            pass
        except OSError:
            self.saw_reset = True

    def _take(self, piece: bytes) -> None:
        self._received += piece
        self.saw_end = not piece

    def finish(self) -> None:
        """End this side, behind what was said."""
        self._finishing = True
        self.push()

    def reset(self) -> None:
        """Break the connection off."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._sock.close()

    def close(self) -> None:
        """Be gone."""
        self._sock.close()


class TLSEnd(PlainEnd):
    """The client of a TLS connection, or with *server*, which has its certificate, the server."""

    def __init__(self, sock: socket.socket, server: ssl.SSLContext | None = None) -> None:
        super().__init__(sock)
        context = server or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if server is None:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming,
            self._outgoing,
            server_side=server is not None,
            server_hostname="app.test" if server is None else None,
        )
        self.is_ready = False
        self._plain = b""
        self._ending = False

    def shake(self) -> None:
        """Go on with the handshake."""
        try:
            self._tls.do_handshake()
            self.is_ready = True
        except ssl.SSLWantReadError:
            pass
        super().say(self._outgoing.read())

    def say(self, octets: bytes) -> None:
        """Encrypt and send *octets*."""
        for at in range(0, len(octets), 16384):
            self._tls.write(octets[at : at + 16384])
        super().say(self._outgoing.read())

    def _take(self, piece: bytes) -> None:
        if not piece:
            self.saw_end = True
            return
        self._incoming.write(piece)
        if not self.is_ready:
            self.shake()
            return
        try:
            while True:
                plain = self._tls.read(_PIECE)
                if not plain:
                    # close_notify; whatever the socket still says is of no matter.
                    self.saw_end = True
                    return
                self._received += plain
        except ssl.SSLWantReadError:
            pass

    def finish(self) -> None:
        """Say that nothing more comes, and close this side."""
        if not self.saw_reset:
            try:
                self._tls.unwrap()
            except ssl.SSLError:
                pass  # The other side's word has not come yet.
            self._out += self._outgoing.read()
        super().finish()
