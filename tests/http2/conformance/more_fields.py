"""Rules about field blocks and their tables that the well-known cases leave out."""

from __future__ import annotations

from attrs import frozen

from tests.fakes.http2.client import Http2Client
from tests.fakes.http2.frames import INITIAL_WINDOW_SIZE, Frame, data, headers, literal, settings, table_size
from tests.http2.conformance.fields import undecodable
from tests.http2.conformance.rows import Answers, Outcome, Row, get, has_ended, post
from tests.http2.conformance.streams import most_streams, too_many

FIRST = b"\xbe"
"""The newest entry of the dynamic table."""
KEPT = literal(b"x-kept", b"yes", 0x40)
SECOND = b"\xbf"
ENORMOUS = literal(b"x-enormous", b"x" * 4096, 0x40)


@frozen
class AnswersLast(Outcome):
    """The request behind the one that was refused is answered."""

    def meets(self, frames: list[Frame], client: Http2Client, strict: bool) -> bool:
        return Answers(2 * most_streams(client) + 5).meets(frames, client, strict)


UNDECODABLE = (
    undecodable("2.3.3", "the first entry of an empty table", get(suffix=FIRST)),
    undecodable(
        "4.3",
        "an entry that an update drove out",
        get(suffix=KEPT),
        has_ended(),
        get(3, prefix=table_size(0), suffix=FIRST),
    ),
    undecodable(
        "4.4",
        "an entry that a larger one drove out",
        get(suffix=KEPT + ENORMOUS),
        has_ended(),
        get(3, suffix=FIRST),
    ),
    undecodable(
        "4.4",
        "an entry that others drove out",
        get(suffix=KEPT + literal(b"x-long", b"x" * 4050, 0x40)),
        has_ended(),
        get(3, suffix=SECOND),
    ),
    undecodable("4.2", "three updates of the table's size", get(prefix=table_size(0) * 2 + table_size(4096))),
    undecodable("5.1", "an integer without end", get(suffix=b"\xff" + b"\x80" * 64)),
    undecodable("5.1", "an integer beyond all bounds", get(suffix=b"\xff" + b"\xff" * 9 + b"\x7f")),
    undecodable("5.2", "a string longer than its block", get(suffix=b"\x00\x01x\x7f\x00y")),
    undecodable("5.2", "a field without a value", get(suffix=b"\x00\x01x")),
    undecodable("5.2", "Huffman code of nothing but padding", get(suffix=b"\x00\x01x\x81\xff")),
    undecodable("6.1", "an undecodable field in trailers", post(), data(1, b"test"), headers(1, FIRST)),
    undecodable(
        "6.1", "an undecodable block behind a malformed field", get(more=[(b"X", b"y")], suffix=FIRST)
    ),
)

IN_STEP = (
    Row(
        "7541 2.2",
        "entries last from request to request",
        (get(suffix=KEPT), has_ended(), get(3, suffix=FIRST)),
        Answers(3),
    ),
    Row(
        "4.3",
        "the block of a malformed request is decoded",
        (get(more=[(b"X", b"y")], suffix=KEPT), get(3, suffix=FIRST)),
        Answers(3),
    ),
    Row(
        "4.3",
        "trailers of a stream that the server reset are decoded",
        (
            post(more=[(b"content-length", b"1")]),
            data(1, b"test"),
            headers(1, KEPT),
            get(3, suffix=FIRST),
        ),
        Answers(3),
    ),
    Row(
        "4.3",
        "the block of a stream that is refused is decoded",
        (
            settings((INITIAL_WINDOW_SIZE, 0)),
            too_many,
            lambda client: get(2 * most_streams(client) + 3, suffix=KEPT)(client),
            settings((INITIAL_WINDOW_SIZE, 65535)),
            has_ended(1),
            lambda client: get(2 * most_streams(client) + 5, suffix=FIRST)(client),
        ),
        AnswersLast(),
    ),
    Row("7541 4.4", "an entry larger than the table empties it", (get(suffix=KEPT + ENORMOUS),), Answers()),
    Row(
        "7541 4.2",
        "a table of nothing still takes literals for it",
        (
            get(prefix=table_size(0), suffix=KEPT),
            has_ended(),
            get(3, prefix=table_size(4096), suffix=KEPT),
            has_ended(3),
            get(5, suffix=FIRST),
        ),
        Answers(5),
    ),
)

ROWS = UNDECODABLE + IN_STEP
