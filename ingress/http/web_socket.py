"""The handshake of a WebSocket towards one that speaks HTTP/1.1, for a client that has none (RFC 8441)."""

from base64 import b64encode
from hashlib import sha1
from typing import Final

from ingress.http.field_values import first_value
from ingress.http.response_head import ResponseHead
from ingress.model.frozen import frozen

_ACCEPT_BY: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@frozen
class WebSocketKey:
    """The key of a handshake (RFC 6455 section 1.3)."""

    key: bytes

    @property
    def line(self) -> bytes:
        """The field line that sends it, with its CRLF."""
        return b"sec-websocket-key: %b\r\n" % self.key

    def is_accepted_by(self, head: ResponseHead) -> bool:
        """Whether *head* shows that its sender read the key."""
        proof = b64encode(sha1(self.key + _ACCEPT_BY, usedforsecurity=False).digest())
        return first_value(head.start, b"sec-websocket-accept") == proof


def web_socket_key(digits: bytes) -> WebSocketKey:
    """Make a key of 32 hexadecimal digits that were used for nothing else."""
    return WebSocketKey(b64encode(bytes.fromhex(digits.decode("ascii"))))
