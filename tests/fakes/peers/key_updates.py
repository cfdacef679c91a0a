"""A client of TLS 1.3 that updates its keys again and again, as nobody with good intentions does.

Its records are written by hand (RFC 8446 sections 4.6.3, 5.2 and 7.2), since OpenSSL sends
none that nobody asked for.
"""

from __future__ import annotations

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from OpenSSL import SSL

_HANDSHAKE, _APPLICATION_DATA = b"\x16", b"\x17"
_SUITE = "TLS_AES_256_GCM_SHA384"
_KEY_UPDATE = b"\x18\x00\x00\x01"


class KeyUpdates:
    """A handshake, and the records that the client sends behind it; *connection* has no socket."""

    def __init__(self, server_name: bytes) -> None:
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_min_proto_version(SSL.TLS1_3_VERSION)
        context.set_tls13_ciphersuites(_SUITE.encode())
        context.set_keylog_callback(self._log_key)
        self.connection = SSL.Connection(context, None)
        self.connection.set_tlsext_host_name(server_name)
        self.connection.set_connect_state()
        self._secret = b""
        self._sequence = 0

    def _log_key(self, connection: SSL.Connection, line: bytes) -> None:
        label, _, secret = line.split(b" ")
        if label == b"CLIENT_TRAFFIC_SECRET_0":
            self._secret = bytes.fromhex(secret.decode())

    def shake(self, received: bytes) -> tuple[bytes, bool]:
        """Go on with the handshake by what was *received*; return what to send, and whether it is complete."""
        if received:
            self.connection.bio_write(received)
        try:
            self.connection.do_handshake()
        except SSL.WantReadError:
            return self._to_send(), False
        if self.connection.get_cipher_name() != _SUITE:
            raise AssertionError("the server chose another suite")
        return self._to_send(), True

    def _to_send(self) -> bytes:
        try:
            return self.connection.bio_read(1 << 16)
        except SSL.WantReadError:
            return b""

    def update(self, asks: bool) -> bytes:
        """Return the record that updates our keys, and *asks* for an update of the server's or not."""
        record = self._record(_KEY_UPDATE + (b"\x01" if asks else b"\x00"), _HANDSHAKE)
        self._secret = self._expand(b"traffic upd", 48)
        self._sequence = 0
        return record

    def send(self, octets: bytes) -> bytes:
        """Return the record that carries these *octets*."""
        return self._record(octets, _APPLICATION_DATA)

    def _record(self, content: bytes, kind: bytes) -> bytes:
        nonce = int.from_bytes(self._expand(b"iv", 12)) ^ self._sequence
        self._sequence += 1
        header = _APPLICATION_DATA + b"\x03\x03" + (len(content) + 17).to_bytes(2)
        return header + AESGCM(self._expand(b"key", 32)).encrypt(nonce.to_bytes(12), content + kind, header)

    def _expand(self, label: bytes, length: int) -> bytes:
        label = b"tls13 " + label
        info = length.to_bytes(2) + bytes((len(label),)) + label + b"\x00"
        return HKDFExpand(hashes.SHA384(), length, info).derive(self._secret)
