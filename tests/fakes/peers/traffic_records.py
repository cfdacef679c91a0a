"""Records of TLS 1.3 as one side sends them, written by hand: OpenSSL sends none that nobody asked for, and fills its own."""

from __future__ import annotations

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

SUITE = "TLS_AES_256_GCM_SHA384"
"""The one that these records are of."""
ALERT, HANDSHAKE, APPLICATION_DATA = 21, 22, 23
"""What a record holds (RFC 8446 section 5.1)."""


class Traffic:
    """What one side sends behind the handshake; *secret* is its traffic secret, *sequence* how many records it has sent with it."""

    def __init__(self) -> None:
        self.secret = b""
        self.sequence = 0

    def record(self, content: bytes, kind: int) -> bytes:
        """Return the next record (RFC 8446 section 5.2), which holds *content*."""
        nonce = int.from_bytes(self._expand(b"iv", 12)) ^ self.sequence
        self.sequence += 1
        header = bytes((APPLICATION_DATA, 3, 3)) + (len(content) + 17).to_bytes(2)
        sealed = AESGCM(self._expand(b"key", 32)).encrypt(
            nonce.to_bytes(12), content + bytes((kind,)), header
        )
        return header + sealed

    def update(self) -> None:
        """Go over to the next secret (RFC 8446 section 7.2)."""
        self.secret = self._expand(b"traffic upd", 48)
        self.sequence = 0

    def _expand(self, label: bytes, length: int) -> bytes:
        label = b"tls13 " + label
        info = length.to_bytes(2) + bytes((len(label),)) + label + b"\x00"
        return HKDFExpand(hashes.SHA384(), length, info).derive(self.secret)
