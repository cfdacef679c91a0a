"""Answers are read in one way only, however their bytes are split."""

from twisted.trial.unittest import SynchronousTestCase

from bench.disruptions.faults.answers import AnswerError, AnswerReader

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: x\r\n\r\n"
)
CLOSED = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"


def read(*pieces: bytes, method: bytes = b"GET") -> AnswerReader:
    """Return a reader that was fed *pieces*."""
    reader = AnswerReader(method)
    for piece in pieces:
        reader.feed(piece)
    return reader


class WholeTests(SynchronousTestCase):
    """Answers that come to their end."""

    def test_split_anywhere(self) -> None:
        """Each framing gives the same body whole, split in two anywhere, and byte by byte."""
        for sent in (LENGTH, CHUNKED, INTERIM + LENGTH):
            splits = [(sent[:at], sent[at:]) for at in range(len(sent))]
            for pieces in (*splits, tuple(sent[at : at + 1] for at in range(len(sent)))):
                reader = read(*pieces)
                self.assertEqual((reader.is_whole, reader.status, bytes(reader.body)), (True, 200, b"hello"))

    def test_end_of_connection(self) -> None:
        """A body without framing is whole when the connection ends, and not before."""
        reader = read(CLOSED)
        self.assertFalse(reader.is_whole)
        reader.end()
        self.assertTrue(reader.is_whole)
        self.assertTrue(reader.says_close)

    def test_no_body(self) -> None:
        """Answers to HEAD, and those with 204 and 304, have no body whatever they say."""
        self.assertTrue(read(LENGTH[:-5], method=b"HEAD").is_whole)
        for status in (b"204", b"304"):
            self.assertTrue(read(LENGTH[:-5].replace(b"200", status)).is_whole)

    def test_interim(self) -> None:
        """Interim answers are passed over and counted."""
        self.assertEqual(read(INTERIM + LENGTH).interim, 2)

    def test_rest(self) -> None:
        """What comes after the end of an answer is kept apart."""
        reader = read(LENGTH + b"HTTP", b"/1.1")
        self.assertEqual((bytes(reader.body), reader.rest), (b"hello", b"HTTP/1.1"))


class CutTests(SynchronousTestCase):
    """Answers that do not come to their end."""

    def test_cut_anywhere(self) -> None:
        """An answer with a framing that breaks off is never whole, wherever that happens."""
        for sent in (LENGTH, CHUNKED):
            for at in range(len(sent)):
                reader = read(sent[:at])
                reader.end()
                self.assertFalse(reader.is_whole, sent[:at])
                self.assertEqual(reader.is_begun, at > 0)


class MalformedTests(SynchronousTestCase):
    """What is no answer, or more than one."""

    def test_refused(self) -> None:
        """Anything that could be read in two ways is an error."""
        for sent in (
            b"garbage\r\n\r\n",
            b"HTTP/2.0 200 OK\r\n\r\n",
            b"HTTP/1.1 99 No\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nA: b\x00\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
            b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000,
        ):
            with self.assertRaises(AnswerError, msg=repr(sent[:80])):
                read(sent)
