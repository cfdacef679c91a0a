"""Peers that send messages of the handshake behind it, in records of any size.

Their records are written by hand (RFC 8446 section 5.2, RFC 5288 section 3), since OpenSSL fills its own.
"""

from __future__ import annotations

import contextlib
import hmac
import socket
from collections.abc import Iterator
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from OpenSSL import SSL, crypto

from ingress.tls.binding import step
from ingress.tls.generated_certificate import generate_certificate
from tests.fakes.peers.traffic_records import APPLICATION_DATA, HANDSHAKE, Traffic

_HELLO, _TICKET = b"\x01", b"\x04"


def _cut(message: bytes, size: int) -> Iterator[bytes]:
    for at in range(0, len(message), size):
        yield message[at : at + size]


def _shake(here: SSL.Connection, sock: socket.socket, there: SSL.Connection) -> list[bytes]:
    """Complete the handshake of *here*, in memory at *sock*, and *there* at the other end; return what *here* has sent."""
    sent, is_done = [], False
    while not is_done:
        with contextlib.suppress(BlockingIOError):
            here.bio_write(sock.recv(1 << 16))
        with contextlib.suppress(SSL.WantReadError):
            here.do_handshake()
        with contextlib.suppress(SSL.WantReadError):
            sent.append(here.bio_read(1 << 16))
            sock.send(sent[-1])
        is_done = (
            step(there) == 0 and here.get_finished() is not None and here.get_peer_finished() is not None
        )
    return sent


def _received(here: SSL.Connection, sock: socket.socket) -> bytes:
    """Return what *here*, in memory at *sock*, was sent; raises ``SSL.Error`` for an alert that ends all."""
    with contextlib.suppress(BlockingIOError):
        here.bio_write(sock.recv(1 << 16))
    try:
        return here.recv(1 << 16)
    except SSL.WantReadError:
        return b""


class TicketServer:
    """A server of TLS 1.3 at *sock*, whose client has the other end."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        certificate = generate_certificate(datetime.now(UTC))
        context = SSL.Context(SSL.TLS_SERVER_METHOD)
        context.use_certificate(x509.load_pem_x509_certificate(certificate.chain_pem))
        context.use_privatekey(crypto.load_privatekey(crypto.FILETYPE_PEM, certificate.key_pem))
        context.set_keylog_callback(self._log_key)
        self._connection = SSL.Connection(context, None)
        self._connection.set_accept_state()
        self._traffic = Traffic()

    def _log_key(self, connection: SSL.Connection, line: bytes) -> None:
        label, _, secret = line.split(b" ")
        if label == b"SERVER_TRAFFIC_SECRET_0":
            self._traffic.secret = bytes.fromhex(secret.decode())

    def shake(self, client: SSL.Connection) -> None:
        """Complete the handshake with *client*."""
        *_, flight = _shake(self._connection, self._sock, client)
        # What it sent last are tickets of its own.
        while flight:
            flight = flight[5 + int.from_bytes(flight[3:5]) :]
            self._traffic.sequence += 1

    def ticket(self, octets: int, size: int) -> bytes:
        """Return the records, of *size* octets each, of a ticket of so many *octets*."""
        extension = b"\xfe\xfe" + octets.to_bytes(2) + bytes(octets)
        body = bytes(8) + b"\x00" + b"\x00\x01t" + len(extension).to_bytes(2) + extension
        message = _TICKET + len(body).to_bytes(3) + body
        return b"".join(self._traffic.record(piece, HANDSHAKE) for piece in _cut(message, size))

    def data(self, octets: bytes) -> bytes:
        """Return the record that carries these *octets*."""
        return self._traffic.record(octets, APPLICATION_DATA)

    def received(self) -> bytes:
        """Return what the client has sent."""
        return _received(self._connection, self._sock)


class HelloAgain:
    """A client of TLS 1.2 at *sock*, whose server has the other end."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_max_proto_version(SSL.TLS1_2_VERSION)
        context.set_cipher_list(b"ECDHE-ECDSA-AES128-GCM-SHA256")
        self._connection = SSL.Connection(context, None)
        self._connection.set_connect_state()
        self._keys = b""
        # The end of the handshake was the first record.
        self._sequence = 1

    def begin(self) -> None:
        """Say hello."""
        with contextlib.suppress(SSL.WantReadError):
            self._connection.do_handshake()
        self._sock.send(self._connection.bio_read(1 << 16))

    def go_on(self) -> bool:
        """Take what has come, and answer it; return whether the handshake is over."""
        with contextlib.suppress(BlockingIOError):
            self._connection.bio_write(self._sock.recv(1 << 16))
        is_done = True
        try:
            self._connection.do_handshake()
        except SSL.WantReadError:
            is_done = False
        with contextlib.suppress(SSL.WantReadError):
            self._sock.send(self._connection.bio_read(1 << 16))
        return is_done

    def hello(self, octets: int, size: int) -> bytes:
        """Return the records, of *size* octets each, of a hello with an extension of so many *octets*."""
        extension = b"\xfe\xfe" + octets.to_bytes(2) + bytes(octets)
        body = b"\x03\x03" + bytes(32) + b"\x00" + b"\x00\x02\xc0\x2b" + b"\x01\x00"
        body += len(extension).to_bytes(2) + extension
        message = _HELLO + len(body).to_bytes(3) + body
        return b"".join(self._record(piece, HANDSHAKE) for piece in _cut(message, size))

    def data(self, octets: bytes) -> bytes:
        """Return the record that carries these *octets*."""
        return self._record(octets, APPLICATION_DATA)

    def received(self) -> bytes:
        """Return what the server has sent; raises ``SSL.Error`` for an alert that ends all."""
        return _received(self._connection, self._sock)

    def _record(self, content: bytes, kind: int) -> bytes:
        key, salt = self._key_and_salt()
        explicit = self._sequence.to_bytes(8)
        about = explicit + bytes((kind, 3, 3)) + len(content).to_bytes(2)
        sealed = explicit + AESGCM(key).encrypt(salt + explicit, content, about)
        self._sequence += 1
        return bytes((kind, 3, 3)) + len(sealed).to_bytes(2) + sealed

    def _key_and_salt(self) -> tuple[bytes, bytes]:
        """Return what our records are sealed by (RFC 5246 section 6.3): of AES-128-GCM, keys have 16 octets, and salts four."""
        if not self._keys:
            ours = self._connection
            server, client, secret = ours.server_random(), ours.client_random(), ours.master_key()
            assert server and client and secret, "the handshake comes before"
            seed = chained = b"key expansion" + server + client
            while len(self._keys) < 2 * 16 + 2 * 4:
                chained = hmac.digest(secret, chained, "sha256")
                self._keys += hmac.digest(secret, chained + seed, "sha256")
        return self._keys[:16], self._keys[32:36]
