"""Tests of the tests' own reader: it must refuse what it is there to find."""

from twisted.trial.unittest import SynchronousTestCase

from tests.http.strict import StrictError, read_answers, read_request, read_requests


class StrictTests(SynchronousTestCase):
    """The reader."""

    def test_requests(self) -> None:
        """Requests are told apart by their framing."""
        first, second, third = read_requests(
            b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
            b"POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
            b"POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n"
        )
        self.assertEqual([first.body, second.body, third.body], [b"", b"abc", b"de"])

    def test_refusals(self) -> None:
        """Nothing is repaired."""
        good = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
        read_request(good)
        for old, new in (
            (b" /a ", b" a "),
            (b" /a ", b"  /a "),
            (b" /a ", b" /a\x80 "),
            (b"1.1", b"1.0"),
            (b"Host: x", b"Host : x"),
            (b"Host: x", b"Host: x\rY: z"),
            (b"Host: x", b"Host: x\nY: z"),
            (b"Host: x", b"Y: x"),
            (b"Host: x", b"Host: x\r\nHost: x"),
            (b"Host: x", b"Host: x\r\nContent-Length: 1"),
            (b"Host: x", b"Host: x\r\nContent-Length: +0"),
            (b"Host: x", b"Host: x\r\nContent-Length: 0\r\nTransfer-Encoding: chunked"),
            (b"Host: x", b"Host: x\r\nTransfer-Encoding: gzip"),
            (b"Host: x\r\n", b"Host: x\r\n folded\r\n"),
        ):
            self.assertRaises(StrictError, read_request, good.replace(old, new))

    def test_answers(self) -> None:
        """Answers are told apart by their framing, their status and the method."""
        found = read_answers(
            b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
            b"HTTP/1.1 204 \r\n\r\n"
            b"HTTP/1.1 200 OK\r\n\r\nrest",
            [b"HEAD", b"GET", b"GET"],
            closed=True,
        )
        self.assertEqual([message.body for message in found], [b"", b"", b"", b"rest"])
        self.assertRaises(StrictError, read_answers, b"HTTP/1.1 200 OK\r\n\r\nrest", [b"GET"])
        self.assertRaises(StrictError, read_answers, b"HTTP/1.1 204 \r\n\r\n" * 2, [b"GET"])
