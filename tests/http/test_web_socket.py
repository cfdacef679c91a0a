"""Tests of the handshake that a WebSocket over HTTP/2 has towards an endpoint of HTTP/1.1."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.response_head import ResponseHead
from ingress.http.web_socket import WebSocketKey, web_socket_key

KEY = WebSocketKey(b"dGhlIHNhbXBsZSBub25jZQ==")
"""The example of RFC 6455 section 1.3."""
PROOF = b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def switched(fields: bytes) -> ResponseHead:
    """Return an answer that opens a tunnel, with these lines."""
    return ResponseHead(101, b"HTTP/1.1 101 Switching Protocols\r\n" + fields, 0)


class WebSocketKeyTests(SynchronousTestCase):
    """What is sent, and what answers it."""

    def test_line(self) -> None:
        """The key goes as a field line."""
        self.assertEqual(KEY.line, b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n")

    def test_accepted(self) -> None:
        """Who read the key can prove it, and nobody else."""
        self.assertTrue(KEY.is_accepted_by(switched(b"Sec-WebSocket-Accept: " + PROOF + b"\r\n")))
        self.assertFalse(KEY.is_accepted_by(switched(b"Sec-WebSocket-Accept: " + KEY.key + b"\r\n")))
        self.assertFalse(KEY.is_accepted_by(switched(b"")))

    def test_made(self) -> None:
        """A key is sixteen octets in base64, the same for the same digits."""
        made = web_socket_key(b"00112233445566778899aabbccddeeff")
        self.assertEqual(made, WebSocketKey(b"ABEiM0RVZneImaq7zN3u/w=="))
