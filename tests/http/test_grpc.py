"""Tests for ``ingress.http.grpc``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.grpc import is_grpc
from ingress.http.request_head import parse_request_head


class IsGrpcTests(SynchronousTestCase):
    """Which requests are gRPC."""

    def test_content_types(self) -> None:
        """The content type decides, in any case, with a suffix or parameters; gRPC-Web is something else."""
        for kind, expected in (
            (b"application/grpc", True),
            (b"Application/GRPC+proto", True),
            (b"application/grpc;charset=utf-8", True),
            (b"application/grpc ; x=y", True),
            (b"application/grpc-web", False),
            (b"application/grpc-web+proto", False),
            (b"application/grpcish", False),
            (b"application/json", False),
            (b"", False),
        ):
            head = parse_request_head(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: " + kind)
            self.assertEqual(is_grpc(head), expected, kind)
        self.assertFalse(is_grpc(parse_request_head(b"POST / HTTP/1.1\r\nHost: a")))
