"""Tests for ``ingress.fastcgi.records``: records as bytes, both ways."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.fastcgi.records import (
    MOST_CONTENT,
    MOST_EMPTY,
    PARAMS,
    RECORDS_AT_ONCE,
    STDIN,
    FastCgiError,
    RecordReader,
    RequestDeclined,
    abort_request,
    begin_request,
    end_of_stream,
    name_values,
    stream_records,
)
from tests.fakes.fastcgi.records import STDOUT, asked, end, record, stderr, stdout
from tests.properties import examples

WHOLE = stdout(b"A: b\r\n\r\nhello", padding=3) + stderr(b"oh") + stdout(b"") + end()


def all_of(reader: RecordReader, *pieces: bytes) -> tuple[bytes, bytes]:
    """Feed *pieces*, and return all of STDOUT and STDERR."""
    said = complained = b""
    for piece in pieces:
        said += b"".join(reader.feed(piece))
        complained += b"".join(reader.errors)
        while reader.has_more:
            said += b"".join(reader.feed(b""))
            complained += b"".join(reader.errors)
    return said, complained


class SendingTests(SynchronousTestCase):
    """What is sent, read by another reader."""

    def test_a_request(self) -> None:
        """A request begins as one to a responder, and its streams end."""
        for keeps in (False, True):
            octets = begin_request(keeps) + stream_records(PARAMS, name_values({b"A": b"b"}))
            octets += end_of_stream(PARAMS) + stream_records(STDIN, b"hello") + end_of_stream(STDIN)
            (request,) = asked(octets)
            self.assertEqual((request.role, request.keeps), (1, keeps))
            self.assertEqual((request.params, request.body, request.is_whole), ({b"A": b"b"}, b"hello", True))

    def test_by_the_specification(self) -> None:
        """The bytes of a beginning are those of the specification's example (appendix B.1)."""
        self.assertEqual(begin_request(False), bytes((1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)))
        self.assertEqual(begin_request(True)[10], 1)
        self.assertEqual(abort_request(), bytes((1, 2, 0, 1, 0, 0, 0, 0)))

    def test_lengths(self) -> None:
        """Below 128 bytes a length is one byte, and else four."""
        self.assertEqual(name_values({b"n" * 127: b""})[:2], b"\x7f\0")
        self.assertEqual(name_values({b"n" * 128: b""})[:5], b"\x80\0\0\x80\0")
        self.assertEqual(name_values({b"": b"v" * 70_000})[:5], b"\0\x80\x01\x11\x70")

    @settings(max_examples=examples(100), deadline=None)
    @given(st.dictionaries(st.binary(max_size=200), st.binary(max_size=300)), st.integers(0, 200_000))
    def test_anything_arrives(self, params: dict[bytes, bytes], size: int) -> None:
        """Whatever the params are and however long the body is, it arrives as it was, in records that are aligned."""
        body = b"0123456789" * (size // 10 + 1)
        octets = begin_request(False) + stream_records(PARAMS, name_values(params))
        octets += end_of_stream(PARAMS) + stream_records(STDIN, body) + end_of_stream(STDIN)
        (request,) = asked(octets)
        self.assertEqual((request.params, request.body), (params, body))

    def test_nothing_ends_nothing(self) -> None:
        """No content is no record, which would end the stream; and the longest record is as long as it may be."""
        self.assertEqual(stream_records(STDIN, b""), b"")
        self.assertEqual(len(stream_records(STDIN, b"x" * MOST_CONTENT)), MOST_CONTENT + 8)
        self.assertEqual(len(stream_records(STDIN, b"x" * (MOST_CONTENT + 1))), MOST_CONTENT + 8 + 16)


class ReadingTests(SynchronousTestCase):
    """What comes."""

    def test_whole_and_byte_by_byte(self) -> None:
        """However the bytes are split, the same comes of them, and what is behind is the rest."""
        for pieces in ([WHOLE + b"more"], [*(WHOLE[at : at + 1] for at in range(len(WHOLE))), b""]):
            reader = RecordReader()
            self.assertEqual(all_of(reader, *pieces), (b"A: b\r\n\r\nhello", b"oh"))
            self.assertTrue(reader.finished)
        reader = RecordReader()
        all_of(reader, WHOLE + b"more")
        self.assertEqual(reader.rest, b"more")

    @settings(max_examples=examples(200), deadline=None)
    @given(
        st.lists(st.binary(min_size=1, max_size=400), max_size=30), st.integers(1, 50), st.integers(0, 255)
    )
    def test_any_split(self, contents: list[bytes], step: int, padding: int) -> None:
        """Any contents with any padding in any pieces are read as they were said."""
        octets = b"".join(stdout(one, padding) for one in contents) + end()
        reader = RecordReader()
        said, _ = all_of(reader, *(octets[at : at + step] for at in range(0, len(octets), step)))
        self.assertEqual((said, reader.finished, reader.rest), (b"".join(contents), True, b""))

    @settings(max_examples=examples(300), deadline=None)
    @given(st.binary(max_size=300))
    def test_any_bytes(self, octets: bytes) -> None:
        """Whatever comes is read or refused, alike whole and in pieces, and nothing else is raised."""

        def outcome(*pieces: bytes) -> object:
            reader = RecordReader()
            try:
                return all_of(reader, *pieces)
            except FastCgiError as error:
                return type(error)

        whole = outcome(octets)
        self.assertEqual(outcome(*(octets[at : at + 1] for at in range(len(octets)))), whole)

    def test_refused_at_once(self) -> None:
        """What can be no record of an answer is refused with its first wrong byte."""
        for octets, why in (
            (b"HTTP/1.1 200 OK\r\n", "no record of FastCGI: 'HTTP/1.1 200 OK"),
            (b"\x02", "no record of FastCGI"),
            (b"\x01\x0b", "a record of type 11"),
            (b"\x01\x05", "a record of type 5"),
            (record(STDOUT, b"x", request=2)[:4], "a record of request 2"),
            (record(STDOUT, b"x", request=0), "a record of request 0"),
            (record(3, b"x" * 7), "an END_REQUEST of 7 bytes"),
            (record(3), "an END_REQUEST of 0 bytes"),
            (stdout(b"a") + stdout(b"") + stdout(b"b"), "STDOUT goes on behind its end"),
            (stdout(b"") * (MOST_EMPTY + 1), "too many records without content"),
            (stderr(b"") * (MOST_EMPTY + 1), "too many records without content"),
            (end(3), "knows no responders"),
            (end(9), "ends with 9"),
        ):
            error = self.assertRaises(FastCgiError, all_of, RecordReader(), octets)
            self.assertIn(why, str(error))
            self.assertNotIsInstance(error, RequestDeclined)

    def test_declined(self) -> None:
        """An endpoint that is overloaded, or takes nothing beside another request, says that it did nothing."""
        for status in (1, 2):
            reader = RecordReader()
            self.assertRaises(RequestDeclined, reader.feed, end(status))
            self.assertTrue(reader.is_untouched)
        reader = RecordReader()
        self.assertRaises(RequestDeclined, reader.feed, stdout(b"x") + end(2))
        self.assertFalse(reader.is_untouched)

    def test_many_small_records(self) -> None:
        """Of many small records only some are read in one go, and the rest when it is asked again, in order."""
        reader = RecordReader()
        octets = b"".join(stdout(b"%04d" % number) for number in range(1000)) + end()
        first = reader.feed(octets)
        self.assertEqual(len(first), RECORDS_AT_ONCE)
        self.assertTrue(reader.has_more)
        reader.keep(b"")
        said = b"".join(first) + all_of(reader, b"")[0]
        self.assertEqual(said, b"".join(b"%04d" % number for number in range(1000)))
        self.assertTrue(reader.finished)
