"""A client of TLS 1.3 that updates its keys again and again, as nobody with good intentions does.

OpenSSL sends no update (RFC 8446 section 4.6.3) that nobody asked for.
"""

from __future__ import annotations

from OpenSSL import SSL

from tests.fakes.peers.traffic_records import ALERT, APPLICATION_DATA, HANDSHAKE, SUITE, Traffic

_KEY_UPDATE = b"\x18\x00\x00\x01"


class KeyUpdates:
    """A handshake, and the records that the client sends behind it; *connection* has no socket."""

    def __init__(self, server_name: bytes) -> None:
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_min_proto_version(SSL.TLS1_3_VERSION)
        context.set_tls13_ciphersuites(SUITE.encode())
        context.set_keylog_callback(self._log_key)
        self.connection = SSL.Connection(context, None)
        self.connection.set_tlsext_host_name(server_name)
        self.connection.set_connect_state()
        self._traffic = Traffic()

    def _log_key(self, connection: SSL.Connection, line: bytes) -> None:
        label, _, secret = line.split(b" ")
        if label == b"CLIENT_TRAFFIC_SECRET_0":
            self._traffic.secret = bytes.fromhex(secret.decode())

    def shake(self, received: bytes) -> tuple[bytes, bool]:
        """Go on with the handshake by what was *received*; return what to send, and whether it is complete."""
        if received:
            self.connection.bio_write(received)
        try:
            self.connection.do_handshake()
        except SSL.WantReadError:
            return self._to_send(), False
        if self.connection.get_cipher_name() != SUITE:
            raise AssertionError("the server chose another suite")
        return self._to_send(), True

    def _to_send(self) -> bytes:
        try:
            return self.connection.bio_read(1 << 16)
        except SSL.WantReadError:
            return b""

    def update(self, asks: bool) -> bytes:
        """Return the record that updates our keys, and *asks* for an update of the server's or not."""
        return b"".join(self.update_in_two(asks, 0))

    def update_in_two(self, asks: bool, first: int) -> tuple[bytes, bytes]:
        """Return the records of that, of which one has so many octets, and the other the rest."""
        message = _KEY_UPDATE + (b"\x01" if asks else b"\x00")
        begun = self._traffic.record(message[:first], HANDSHAKE) if first else b""
        rest = self._traffic.record(message[first:], HANDSHAKE)
        self._traffic.update()
        return begun, rest

    def received(self, octets: bytes) -> bytes:
        """Return what the server says by *octets*; empty, too, where it has said goodbye."""
        self.connection.bio_write(octets)
        try:
            return self.connection.recv(1 << 16)
        except (SSL.WantReadError, SSL.ZeroReturnError):
            return b""

    def send(self, octets: bytes) -> bytes:
        """Return the record that carries these *octets*."""
        return self._traffic.record(octets, APPLICATION_DATA)

    def say_goodbye(self) -> bytes:
        """Return the record that says that nothing follows (RFC 8446 section 6.1)."""
        return self._traffic.record(b"\x01\x00", ALERT)
