"""Tests for ``ingress.http.head_buffer``."""

from hypothesis import given
from hypothesis.strategies import binary
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.grammar import MAX_HEAD, MAX_REQUEST_LINE
from ingress.http.head_buffer import HeadBuffer
from ingress.http.request_head import HeadError, only_head

GET = b"GET / HTTP/1.1\r\nHost: a.test"
END = b"\r\n\r\n"


def feed(*pieces: bytes) -> list[bytes | int]:
    """Add *pieces*; return the heads that come out, with the status of a refusal at the end."""
    buffer = HeadBuffer()
    found: list[bytes | int] = []
    for piece in pieces:
        buffer.extend(piece)
        try:
            while (head := buffer.next_head()) is not None:
                found.append(head)
        except HeadError as error:
            return [*found, error.status]
    return found


class HeadBufferTests(SynchronousTestCase):
    """Heads, one after the other."""

    def same(self, octets: bytes, expected: list[bytes | int], splits: int = 200) -> None:
        """Check what comes out of *octets*, whole, byte by byte and split anywhere near either end."""
        self.assertEqual(feed(octets), expected, octets[:60])
        self.assertEqual(feed(*(octets[at : at + 1] for at in range(len(octets)))), expected, octets[:60])
        for at in {*range(min(splits, len(octets))), *range(max(0, len(octets) - 8), len(octets))}:
            self.assertEqual(feed(octets[:at], octets[at:]), expected, (octets[:60], at))

    def test_heads(self) -> None:
        """Heads come out one by one, without the lines that end them."""
        self.same(b"", [])
        self.same(GET + END, [GET])
        self.same((GET + END) * 3, [GET] * 3)
        self.same(GET + END + GET + b"\r\n", [GET])

    def test_empty_lines(self) -> None:
        """One empty line before each head is ignored; two are refused, however they come."""
        self.same(b"\r\n" + GET + END, [GET])
        self.same((b"\r\n" + GET + END) * 2, [GET, GET])
        self.same(b"\r\n\r\n" + GET + END, [400])
        self.same(GET + END + b"\r\n\r\n", [GET, 400])

    def test_bare_line_feeds(self) -> None:
        """A bare LF in an unfinished head is refused at once."""
        self.same(b"\n", [400])
        self.same(GET + b"\nX: y", [400])
        self.same(GET + b"\r\n\n", [400])
        self.same(GET + END + b"\n", [GET, 400])

    def test_request_line(self) -> None:
        """A first line may be just so long."""
        line = b"GET /".ljust(MAX_REQUEST_LINE - 9, b"a") + b" HTTP/1.1"
        self.assertEqual(len(line), MAX_REQUEST_LINE)
        self.same(line + END, [line], 3)
        self.same(b"a" * (MAX_REQUEST_LINE + 2), [414], 3)

    def test_size(self) -> None:
        """A head may be just so large."""
        head = (GET + b"\r\nX: ").ljust(MAX_HEAD, b"x")
        self.same(head + END, [head], 3)
        self.same(head + b"xxxx", [431], 3)
        self.assertEqual(feed(head + b"x" + END), [431])

    def test_take(self) -> None:
        """What follows a head can be taken out as it is."""
        buffer = HeadBuffer()
        buffer.extend(GET + END + b"\r\nbody")
        self.assertEqual(buffer.next_head(), GET)
        self.assertEqual((buffer.take(), len(buffer)), (b"\r\nbody", 0))
        buffer.extend(b"\r\n" + GET + END)
        self.assertEqual(buffer.next_head(), GET)

    def test_clear(self) -> None:
        """A cleared buffer has forgotten everything."""
        buffer = HeadBuffer()
        buffer.extend(b"\r\n" + GET)
        self.assertIsNone(buffer.next_head())
        buffer.clear()
        self.assertEqual(len(buffer), 0)
        buffer.extend(b"\r\n" + GET + END)
        self.assertEqual(buffer.next_head(), GET)


class OnlyHeadTests(SynchronousTestCase):
    """Tests for ``only_head``."""

    def test_one_head(self) -> None:
        """Bytes that are one head and nothing else need no buffer."""
        self.assertEqual(only_head(GET + END), GET)

    def test_everything_else(self) -> None:
        """What is not complete, goes on, begins with an empty line or is too large goes through the buffer."""
        for received in (
            b"",
            END,
            GET,
            GET + END[:3],
            GET + END + b"x",
            b"\r\n" + GET + END,
            b"x" * MAX_HEAD + b"x" + END,
        ):
            self.assertIsNone(only_head(received), received[:40])

    @given(binary(max_size=20), binary(max_size=20))
    def test_same_as_the_buffer(self, before: bytes, behind: bytes) -> None:
        """Whatever is taken for a head is the head that the buffer finds, and nothing is left behind it."""
        received = before + b"\r\n" + behind + END
        head = only_head(received)
        if head is not None:
            buffer = HeadBuffer()
            buffer.extend(received)
            self.assertEqual(buffer.next_head(), head)
            self.assertFalse(buffer)
