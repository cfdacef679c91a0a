"""Tests for ``ingress.http.plain_request``: what is taken for a request that forgot its TLS."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.plain_request import ANSWER, is_plain_request
from tests.tls.hellos import hello


class PlainRequestTests(SynchronousTestCase):
    """Requests, whole or without their first five bytes, and what only looks like one."""

    def test_requests(self) -> None:
        """A line with a version of HTTP/1 at its end is one, whatever its method."""
        for line in (
            b"GET / HTTP/1.1\r\n",
            b"DELETE /a?b HTTP/1.0\n",
            b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        ):
            self.assertTrue(is_plain_request(line), line)
            self.assertTrue(is_plain_request(line[5:]), line)

    def test_others(self) -> None:
        """Nothing, half a line, one that is too long, other protocols and TLS are none."""
        for received in (
            b"",
            b"\r\n",
            b"GET / HTTP/1.1",
            b"GET / HTTP/1.1 \r\n",
            b"PRI * HTTP/2.0\r\n",
            b"SSH-2.0-x\r\n",
            b"GET /" + b"a" * 8192 + b" HTTP/1.1\r\n",
            hello(b"a HTTP/1.1\n"),
            hello(b"app.test"),
            bytes(100),
            b"\x17\x03\x01\x00\x10GET / HTTP/1.1\r\n",
        ):
            self.assertFalse(is_plain_request(received), received)

    def test_answer(self) -> None:
        """The answer is whole."""
        head, _, body = ANSWER.partition(b"\r\n\r\n")
        self.assertTrue(head.startswith(b"HTTP/1.1 400 Bad Request\r\n"))
        self.assertIn(b"\r\nContent-Length: %d\r\n" % len(body), head)
        self.assertTrue(head.endswith(b"\r\nConnection: close"))
