"""Tests for ``ingress.http.grpc``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.grpc import is_grpc
from ingress.http.request_head import UNREADABLE, parse_request_head


class IsGrpcTests(SynchronousTestCase):
    """Which requests are calls of gRPC."""

    def test_by_media_type(self) -> None:
        """The media type decides, with whatever message format and parameters."""
        for media_type, expected in (
            (b"application/grpc", True),
            (b"application/grpc+proto", True),
            (b"application/grpc+json", True),
            (b"application/grpc;charset=utf-8", True),
            (b"application/grpc ; a=b", True),
            (b"application/grpc+proto; a=b", True),
            (b"Application/GRPC", True),
            (b"application/grpc-web", False),
            (b"application/grpc-web+proto", False),
            (b"application/grpc-web-text", False),
            (b"application/grpcx", False),
            (b"application/json", False),
            (b"text/plain; a=application/grpc", False),
            (b"", False),
        ):
            head = parse_request_head(b"POST /a.B/C HTTP/1.1\r\nHost: a\r\nContent-Type: " + media_type)
            self.assertIs(is_grpc(head), expected, media_type)

    def test_without_one(self) -> None:
        """A request that says nothing about its content is none, nor is one that could not be read."""
        self.assertFalse(is_grpc(parse_request_head(b"GET / HTTP/1.1\r\nHost: a")))
        self.assertFalse(is_grpc(UNREADABLE))
