"""The requests of the load generator for HTTP/2, against RFC 7541 and another implementation of it."""

import hpack
from twisted.trial.unittest import SynchronousTestCase

from bench.loads.unique_requests import (
    END_STREAM,
    FRAME_HEAD,
    HEADERS,
    PREFACE,
    has_status_200,
    huffman,
    integer,
    opening,
    request_frames,
)

HOST = "shop.bench.test"


def decoded(frames: list[bytes]) -> list[list[tuple[str, str]]]:
    """The fields of *frames* of one connection."""
    decoder = hpack.Decoder()
    return [[(str(name), str(value)) for name, value in decoder.decode(one[FRAME_HEAD:])] for one in frames]


class CodingTests(SynchronousTestCase):
    """Integers and strings."""

    def test_huffman(self) -> None:
        """The examples of RFC 7541 appendix C."""
        for text, coded in (
            ("www.example.com", "f1e3c2e5f23a6ba0ab90f4ff"),
            ("no-cache", "a8eb10649cbf"),
            ("Mon, 21 Oct 2013 20:13:21 GMT", "d07abe941054d444a8200595040b8166e082a62d1bff"),
        ):
            self.assertEqual(huffman(text).hex(), coded)

    def test_unknown_sign(self) -> None:
        """A sign without a code is refused, not left out."""
        self.assertRaises(KeyError, huffman, "\x00")

    def test_integer(self) -> None:
        """The examples of RFC 7541 appendix C.1."""
        self.assertEqual(integer(10, 5), b"\x0a")
        self.assertEqual(integer(1337, 5), b"\x1f\x9a\x0a")
        self.assertEqual(integer(42, 8), b"\x2a")
        self.assertEqual(integer(2, 7, 0x80), b"\x82")

    def test_opening(self) -> None:
        """A connection begins with the preface, then SETTINGS."""
        self.assertTrue(opening().startswith(PREFACE + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"))


class RequestTests(SynchronousTestCase):
    """Whole requests."""

    def test_frames(self) -> None:
        """Each is one HEADERS frame that ends a stream of its own, in the order that clients number them."""
        frames = list(request_frames(HOST, 3, 1))
        for one in frames:
            self.assertEqual(int.from_bytes(one[:3], "big"), len(one) - FRAME_HEAD)
            self.assertEqual((one[3], one[4] & END_STREAM), (HEADERS, END_STREAM))
        self.assertEqual([int.from_bytes(one[5:9], "big") for one in frames], [1, 3, 5])

    def test_fields(self) -> None:
        """Each request has the same 14 names, pseudo fields first, and three values of its own."""
        requests = [dict(fields) for fields in decoded(list(request_frames(HOST, 50, 1_000_000)))]
        names = list(requests[0])
        self.assertEqual(len(names), 14)
        self.assertEqual(names[:4], [":method", ":scheme", ":path", ":authority"])
        self.assertEqual({tuple(one) for one in requests}, {tuple(names)})
        values = {name: {one[name] for one in requests} for name in names}
        differing = {name for name in names if len(values[name]) == len(requests)}
        self.assertEqual(differing, {":path", "cookie", "x-request-id"})
        self.assertEqual({len(values[name]) for name in set(names) - differing}, {1})
        self.assertEqual(requests[0][":authority"], HOST)
        self.assertTrue(requests[0][":path"].startswith("/unique/"))

    def test_numbers_do_not_meet(self) -> None:
        """Connections with numbers of their own share no request."""
        first = {dict(one)["x-request-id"] for one in decoded(list(request_frames(HOST, 20, 100)))}
        second = {dict(one)["x-request-id"] for one in decoded(list(request_frames(HOST, 20, 120)))}
        self.assertFalse(first & second)


class StatusTests(SynchronousTestCase):
    """The status of an answer."""

    def test_200(self) -> None:
        """It is found first, also behind updates of the table's size of any length."""
        encoder = hpack.Encoder()
        self.assertTrue(has_status_200(encoder.encode([(":status", "200"), ("server", "x")])))
        self.assertTrue(has_status_200(b"\x20\x3f\xe1\x1f\x88"))

    def test_others(self) -> None:
        """Anything else is another status."""
        encoder = hpack.Encoder()
        for status in ("204", "404", "502"):
            self.assertFalse(has_status_200(encoder.encode([(":status", status)])))
        self.assertFalse(has_status_200(b""))
        self.assertFalse(has_status_200(b"\x3f\xe1"))
