"""Tests for ``ingress.fastcgi.answer``: heads and bodies of CGI programs."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.fastcgi.answer import KEPT_ERROR_BYTES, MOST_ERROR_BYTES, MOST_LINES, Answer, read_head
from ingress.fastcgi.records import FastCgiError
from ingress.http.response_head import ResponseError
from tests.fakes.fastcgi.records import answered, end, stderr, stdout
from tests.properties import examples

MOST = 4096


def read(*pieces: bytes, is_bare: bool = False) -> tuple[Answer, bytes]:
    """Read *pieces*; return the answer with its body."""
    answer = Answer(MOST, is_bare)
    body = b""
    for piece in pieces:
        body += answer.feed(piece)
        while answer.has_more:
            body += answer.feed(b"")
    return answer, body


class HeadTests(SynchronousTestCase):
    """What a head is."""

    def start(self, block: bytes) -> bytes:
        """Return the head that goes on."""
        return read_head(block).start

    def test_status(self) -> None:
        """``Status`` says the status, and goes no further."""
        self.assertEqual(self.start(b"Status: 404 Not Found\r\nA: b"), b"HTTP/1.1 404 Not Found\r\nA: b\r\n")
        self.assertEqual(self.start(b"A: b\r\nstatus:503"), b"HTTP/1.1 503 \r\nA: b\r\n")
        self.assertEqual(read_head(b"Status: 204 No Content").has_body, False)

    def test_no_status(self) -> None:
        """Without it the status is 200, or 302 beside a ``Location``, as in nginx."""
        self.assertEqual(self.start(b"Content-Type: a/b"), b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n")
        self.assertEqual(self.start(b"Location: /x"), b"HTTP/1.1 302 Found\r\nLocation: /x\r\n")
        self.assertEqual(
            self.start(b"Location: /x\r\nStatus: 201 Made"), b"HTTP/1.1 201 Made\r\nLocation: /x\r\n"
        )

    def test_lines(self) -> None:
        """Lines may end in LF alone; a status line as of HTTP is passed over, as nginx does it."""
        self.assertEqual(self.start(b"A: b\nC: d"), b"HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n")
        self.assertEqual(self.start(b"HTTP/1.1 404 No\r\nA: b"), b"HTTP/1.1 200 OK\r\nA: b\r\n")

    def test_for_one_connection_alone(self) -> None:
        """What is for a connection stops here, and what frames a message of HTTP is not believed."""
        head = read_head(
            b"Connection: X-Own\r\nX-Own: 1\r\nKeep-Alive: 5\r\nTransfer-Encoding: chunked\r\nUpgrade: x\r\nA: b"
        )
        self.assertEqual(head.start, b"HTTP/1.1 200 OK\r\nA: b\r\n")
        self.assertFalse(head.chunked)

    def test_refused(self) -> None:
        """What cannot be relayed is refused."""
        for block in (
            b"Status: 99", b"Status: 100 Continue", b"Status: abc", b"Status: 1000", b"Status:",
            b"Status: 200 a\x01b", b"Status: 200\r\nStatus: 200", b"no field", b"A: b\r\n C: folded", b"A : b",
            b"A: b\rc", b"A: \0", b": x", b"Content-Length: x", b"Content-Length: 1\r\nContent-Length: 2",
            b"A: b\r\nHTTP/1.1 200 OK", b"A: b\n" * (MOST_LINES + 2) + b"C: d",
        ):  # fmt: skip
            self.assertRaises(ResponseError, read_head, block)

    @settings(max_examples=examples(300), deadline=None)
    @given(st.binary(max_size=200))
    def test_any_bytes(self, block: bytes) -> None:
        """Whatever stands there is a head without a way to say more, or refused."""
        try:
            head = read_head(block)
        except ResponseError:
            return
        self.assertTrue(200 <= head.status <= 999)
        self.assertNotIn(b"\r\n\r\n", head.start)
        self.assertNotIn(b"\n", head.start.replace(b"\r\n", b""))


class BodyTests(SynchronousTestCase):
    """Where an answer ends."""

    def test_until_the_end(self) -> None:
        """Without a length the body is what comes before END_REQUEST."""
        answer, body = read(answered(b"hello"))
        assert answer.head is not None
        self.assertEqual((answer.head.status, body), (200, b"hello"))
        self.assertTrue(answer.is_whole and answer.is_over and answer.is_clean)

    def test_byte_by_byte(self) -> None:
        """However it is split, it is the same."""
        octets = answered(b"hello", b"Status: 201 Made\nContent-Length: 5\n")
        answer, body = read(*(octets[at : at + 1] for at in range(len(octets))))
        assert answer.head is not None
        self.assertEqual((answer.head.status, body, answer.is_clean), (201, b"hello", True))

    def test_with_a_length(self) -> None:
        """A body is whole with its last byte, and over with END_REQUEST; what is too much is dropped."""
        answer, body = read(stdout(b"Content-Length: 2\r\n\r\nok"))
        self.assertEqual((body, answer.is_whole, answer.is_over), (b"ok", True, False))
        answer.feed(end())
        self.assertTrue(answer.is_over and answer.is_clean)
        answer, body = read(stdout(b"Content-Length: 2\r\n\r\nokay") + end())
        self.assertEqual((body, answer.is_over, answer.is_clean), (b"ok", True, False))

    def test_until_stdout_ends(self) -> None:
        """One without a length is whole with the end of STDOUT, and over with END_REQUEST."""
        answer, body = read(stdout(b"A: b\r\n\r\nok"))
        self.assertEqual((body, answer.is_whole), (b"ok", False))
        answer.feed(stdout(b""))
        self.assertEqual((answer.is_whole, answer.is_over), (True, False))
        answer.feed(end())
        self.assertTrue(answer.is_over and answer.is_clean)

    def test_too_short(self) -> None:
        """A body that lacks some of its length is no answer."""
        for ending in (end(), stdout(b"")):
            error = self.assertRaises(FastCgiError, read, stdout(b"Content-Length: 5\r\n\r\nok") + ending)
            self.assertIn("lacks 3 bytes", str(error))

    def test_no_body(self) -> None:
        """An answer to HEAD, and 204 and 304, are over with their heads, and nothing behind them goes on."""
        for head, is_bare in (
            (b"Content-Length: 9\r\n", True),
            (b"A: b\r\n", True),
            (b"Status: 204 No Content\r\n", False),
            (b"Status: 304 Not Modified\r\nContent-Length: 9\r\n", False),
        ):
            answer, body = read(stdout(head + b"\r\n"), is_bare=is_bare)
            self.assertEqual(
                (body, answer.is_whole, answer.is_over, answer.is_clean), (b"", True, True, False)
            )
            answer, body = read(answered(b"", head), is_bare=is_bare)
            self.assertEqual((body, answer.is_over, answer.is_clean), (b"", True, True))
            answer, body = read(answered(b"body", head), is_bare=is_bare)
            self.assertEqual((body, answer.is_over, answer.is_clean), (b"", True, False))

    def test_nothing_said(self) -> None:
        """A request that is ended without a head has no answer."""
        for octets in (end(), stdout(b"") + end(), stdout(b"A: b\r\n") + end(), stderr(b"x") + end()):
            error = self.assertRaises(FastCgiError, read, octets)
            self.assertIn("without a head", str(error))

    def test_bounds_of_heads(self) -> None:
        """A head may be as long as is said, and no byte longer, also if it never ends; and it has a field."""
        fits = b"A: " + b"x" * (MOST - 7) + b"\r\n\r\n"
        self.assertEqual(len(fits), MOST)
        assert read(stdout(fits))[0].head is not None
        self.assertRaises(ResponseError, read, stdout(b"A" + fits))
        self.assertRaises(ResponseError, read, *[stdout(b"A: b\r\n" * 100)] * 8)
        for block in (b"\r\nbody", b"\nbody"):
            self.assertRaises(ResponseError, read, stdout(block))


class ErrorTests(SynchronousTestCase):
    """STDERR."""

    def test_kept(self) -> None:
        """Its beginning is kept, wherever it stands, and no part of the answer."""
        answer, body = read(stderr(b"one") + stdout(b"A: b\r\n\r\nhi") + stderr(b"two") + end())
        self.assertEqual((answer.errors, body), (b"onetwo", b"hi"))
        answer, _ = read(stderr(b"x" * 5000))
        self.assertEqual(answer.errors, b"x" * KEPT_ERROR_BYTES + b"...")
        answer.errors = b""
        answer.feed(stderr(b"more"))
        self.assertEqual(answer.errors, b"")

    def test_without_end(self) -> None:
        """Who complains without end is broken off."""
        flood = [stderr(b"x" * 60_000)] * (MOST_ERROR_BYTES // 60_000)
        answer, _ = read(*flood)
        error = self.assertRaises(FastCgiError, answer.feed, stderr(b"x" * 60_000))
        self.assertIn("STDERR", str(error))

    def test_beside_what_is_refused(self) -> None:
        """What is wrong with an answer does not hide what the program said of it."""
        answer = Answer(MOST, False)
        self.assertRaises(FastCgiError, answer.feed, stderr(b"why") + b"\x02")
        self.assertEqual(answer.errors, b"why")
