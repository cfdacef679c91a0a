"""Tests for the beginnings of answers: what can never become a head is told at its first wrong byte."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.response_head import ResponseError, check_beginning, parse_response_head, words_of_other

HEAD = b"HTTP/1.1 503 Service Unavailable\r\nServer: x\r\nContent-Length: 0\r\n\r"


class BeginningTests(SynchronousTestCase):
    """Heads that are not whole."""

    def test_good(self) -> None:
        """No beginning of a head is refused, wherever it is cut."""
        for head in (HEAD, HEAD.replace(b"1.1", b"1.0"), b"HTTP/1.1 200\r\nA: b\r\n\r", b"HTTP/1.1 999 \r\n"):
            for end in range(1, len(head) + 1):
                check_beginning(head[:end])

    def test_bad(self) -> None:
        """Each wrong byte of a status line is one at once."""
        for wrong in (
            b"\r\n",
            b"h",
            b"HTTQ",
            b"HTTP/2",
            b"HTTP/1.2",
            b"HTTP/1.1\r",
            b"HTTP/1.1 x",
            b"HTTP/1.1 099",
            b"HTTP/1.1 20\r",
            b"HTTP/1.1 2000",
            b"HTTP/1.1 200\t",
            b"HTTP/1.1  200",
        ):
            self.assertRaises(ResponseError, check_beginning, wrong)

    def test_lines(self) -> None:
        """Lines that end in LF alone are no lines, neither the first one nor another."""
        for wrong in (b"HTTP/1.1 200 OK\n", b"HTTP/1.1 200\n", HEAD.replace(b"x\r\n", b"x\n")):
            told = str(self.assertRaises(ResponseError, check_beginning, wrong))
            self.assertIn("LF alone", told)

    def test_searched(self) -> None:
        """What was looked at before is not looked at again, but for what may be part of a line ending."""
        check_beginning(HEAD.replace(b"x\r\n", b"x\n"), HEAD.index(b"x\r\n") + 10)
        cut = HEAD.index(b"\n")
        check_beginning(HEAD[: cut + 1], cut - 3)


class WordsTests(SynchronousTestCase):
    """What came instead, in words for the log."""

    def test_known(self) -> None:
        """The usual mistakes have a name."""
        for received, words in (
            (b"\x15\x03\x01\x00\x02\x02\x46", "a TLS alert, number 70"),
            (b"\x15\x03\x01", "a TLS alert"),
            (b"\x16\x03\x01\x02\x00\x01", "a TLS handshake"),
            (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03", "HTTP/2"),
            (b"\x00\x00\x08\x07\x00\x00\x00\x00\x00", "HTTP/2"),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2"),
            (b"SSH-2.0-OpenSSH_9.2\r\n", "'SSH-2.0-OpenSSH_9.2\\r\\n'"),
            (b"", "an empty line"),
        ):
            self.assertEqual(words_of_other(received), words)

    def test_safe(self) -> None:
        """What is quoted is short, and cannot pass for another line of the log."""
        words = words_of_other(bytes(range(1, 40)) + b"\x7f\xff" * 5000)
        self.assertTrue(words.isascii() and words.isprintable())
        self.assertLess(len(words), 120)

    def test_whole_heads(self) -> None:
        """A head that came whole is told of in the same words."""
        told = str(self.assertRaises(ResponseError, parse_response_head, b"HTTP/2 200\r\nA: b"))
        self.assertEqual(told, "no status line of HTTP/1.1: 'HTTP/2 200'")
