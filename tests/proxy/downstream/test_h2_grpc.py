"""Calls of gRPC that are refused by their heads: clients are told so in gRPC's words."""

from ingress.http2.frames import GOAWAY
from ingress.http2.hpack.field_decoder import DEFAULT_MOST_BYTES
from tests.fakes.http2.frames import block, continuation, headers, request_fields
from tests.proxy.h2_playing import MessageCase

CALL = (b"content-type", b"application/grpc+proto")
TRAILERS = (b"te", b"trailers")
LARGE = tuple((b"x-%d" % number, b"v" * 4000) for number in range(10))
MANY = tuple((b"x-%d" % number, b"v") for number in range(101))


class RefusedCallTests(MessageCase):
    """What is answered before an endpoint is chosen, or a route."""

    def send(self, stream: int, octets: bytes) -> None:
        """Send a field block in as many frames as it takes."""
        pieces = [octets[at : at + 16_384] for at in range(0, len(octets), 16_384)]
        self.client.send(headers(stream, pieces[0], True, whole=len(pieces) == 1))
        for piece in pieces[1:]:
            self.client.send(continuation(stream, piece, whole=piece is pieces[-1]))

    def ask(self, stream: int, *more: tuple[bytes, bytes], **parts: bytes) -> dict[bytes, bytes]:
        """Send a request with these fields besides, and return the only head of its answer."""
        self.send(stream, block(request_fields(more=more, method=b"POST", **parts)))
        fields = self.fields(stream)
        self.assertTrue(self.client.has_ended(stream))
        self.assertEqual(len(self.client.heads(stream)), 1)
        return fields

    def logged(self) -> list[int]:
        """The statuses in the log."""
        return [int(line.split(b" ")[5]) for line in self.stage.log_lines()]

    def assert_told(self, fields: dict[bytes, bytes], code: int) -> None:
        """Check that *fields* are Trailers-Only with *code*."""
        self.assertEqual((fields[b":status"], fields[b"grpc-status"]), (b"200", b"%d" % code))
        self.assertEqual(fields[b"content-type"], b"application/grpc")
        self.assertTrue(fields[b"grpc-message"])

    def test_too_large(self) -> None:
        """A head with too much in it is RESOURCE_EXHAUSTED, wherever in it the content type stands."""
        self.assert_told(self.ask(1, CALL, TRAILERS, *LARGE), 8)
        self.assert_told(self.ask(3, *LARGE, TRAILERS, CALL), 8)
        self.assert_told(self.ask(5, *MANY, TRAILERS, CALL), 8)
        self.assert_told(self.ask(7, TRAILERS, CALL, path=b"/shop.Cart/" + b"a" * 9000), 8)
        self.assertEqual(self.logged(), [431, 431, 431, 414])

    def test_unreadable(self) -> None:
        """A call for an impossible host or path, or with an expectation of its own, is told so in gRPC's words."""
        self.assert_told(self.ask(1, CALL, path=b"/a%zz"), 13)
        self.assert_told(self.ask(3, CALL, authority=b"shop..test"), 13)
        self.assert_told(self.ask(5, CALL, (b"expect", b"a-miracle")), 2)
        self.assertEqual(self.logged(), [400, 400, 417])

    def test_others(self) -> None:
        """Any other request is told so in HTTP's words, gRPC-Web included, which has its status in the body."""
        for stream, kind in ((1, b"text/plain"), (3, b"application/grpc-web"), (5, b"application/grpcx")):
            fields = self.ask(stream, (b"content-type", kind), *LARGE)
            self.assertEqual(fields[b":status"], b"431")
            self.assertNotIn(b"grpc-status", fields)
        self.assertEqual(self.ask(7, *MANY)[b":status"], b"431")

    def test_bound(self) -> None:
        """A head larger than any that is read to its end costs the connection, whatever it asks for."""
        more = tuple((b"x-%d" % number, b"v" * 4000) for number in range(DEFAULT_MOST_BYTES // 4000 + 1))
        self.send(1, block(request_fields(more=(CALL, *more), method=b"POST")))
        self.client.look()
        self.assertEqual(len(self.client.of(GOAWAY)), 1)
        self.assertEqual(self.client.heads(1), [])

    def test_table(self) -> None:
        """What a refused head puts into the table of fields is there for the next request."""
        fields = request_fields(more=(CALL, *LARGE, (b"x-last", b"known")), method=b"POST")
        self.send(1, block(fields, 0x40))
        self.assert_told(self.fields(1), 8)
        # The newest entry of the dynamic table.
        self.client.send(headers(3, block(request_fields(method=b"POST")) + b"\xbe", True))
        self.client.look()
        self.assertIn((b"x-last", b"known"), self.stage.requests[-1].fields)
